"""Folders with names that look like escapes, patterns, queries or partitions: each is a dataset of its own, and traced as any other."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.backend.cli.answers import open_answers
from headwater.backend.home.settings import load_settings
from headwater.backend.workspace import Workspace
from headwater.graph.model import NodeKind, node_id
from headwater.graph.trace import TraceRequest
from tests.spark_listener.spark import environment, run, script

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = r"""
    import json, re, sys
    from pyspark.sql import SparkSession, functions as F

    base, names = sys.argv[1], json.loads(sys.argv[2])
    spark = SparkSession.builder.appName("odd").getOrCreate()
    for name in names:
        pattern = re.sub(r"([{}\[\]*?\\])", r"\\\1", name)  # what a reader is given is a pattern
        rows = spark.read.parquet(f"{base}/in/{pattern}")
        rows.where("v >= 0").write.parquet(f"{base}/copy/{name}")
        spark.read.parquet(f"{base}/copy/{pattern}").groupBy("id").agg(F.sum("v").alias("s")).write.parquet(f"{base}/group/{name}")
        rows.withColumn("p", F.concat(F.lit(name), F.lit("="), "id")).write.partitionBy("p").parquet(f"{base}/parts/{name}")
        spark.read.parquet(f"{base}/parts/{pattern}").drop("p").write.csv(f"{base}/csv/{name}")
        spark.read.schema("id long, v long").csv(f"{base}/csv/{pattern}").write.json(f"{base}/json/{name}")
        if not re.search("[,:]", name):  # the one separates two paths, the other a scheme
            spark.sparkContext.textFile(f"{base}/lines/{pattern}").map(str.upper).saveAsTextFile(f"{base}/text/{name}")
            spark.sparkContext.textFile(f"{base}/text/{pattern}").filter(len).saveAsTextFile(f"{base}/again/{name}")
"""
FEW = ["run #1", "run #2", "50%25", "[x]*?", "k=v %2F;&+'\"\n"]
ALL = [
    *FEW, "50%", "k=v", "what?", "what?x=1", "a%20b", "a b", "a:b", "b\\s", "{a,b}", "a,b", "ä", "a\u0308", "tab\t", "x..y", "trail ",
    "trail.", "p=__HIVE_DEFAULT_PARTITION__", "@h", "x@2026-01-01", "s3:", "~", "$x`y`|^", "%", "%zz", "[red]x[/]", "-x", "a\\[b",
]  # fmt: skip
OF_RDDS = ["lines", "text", "again"]
WRITTEN = ["copy", "group", "parts", "csv", "json"]


@pytest.mark.parametrize("mode", ["auto", "active"])
@pytest.mark.parametrize("names", [pytest.param(FEW, id="few"), pytest.param(ALL, id="all", marks=pytest.mark.torture)])
def test_every_odd_name_is_a_dataset_of_its_own(tmp_path: Path, root: Path, mode: str, names: list[str]) -> None:
    base, home = tmp_path / "data #1 50%25", tmp_path / "home #1 50%25"
    for number, name in enumerate(names):
        (base / "in" / name).mkdir(parents=True)
        pq.write_table(pa.table({"id": [number * 10, number * 10 + 1], "v": [7, number]}), base / "in" / name / "p.parquet")
        (base / "lines" / name).mkdir(parents=True)
        (base / "lines" / name / "some.txt").write_text(f"a{number}\nb{number}\n")
    program = script(tmp_path, "odd.py", PROGRAM)
    arguments = ["run", "--mode", mode, "--home", str(home), str(program), str(base), json.dumps(names)]
    done = run(["-m", "headwater", *arguments], tmp_path, environment(root))
    assert done.returncode == 0, done.stderr[-5000:]
    asyncio.run(_check(home, base, names))
    if mode == "auto":
        _check_commands(tmp_path, home, "[x]*?")


def _check_commands(folder: Path, home: Path, name: str) -> None:
    """Ask the command line about a dataset, by a path relative to the working folder."""

    def ask(*arguments: str) -> Any:
        done = run(["-m", "headwater", *arguments, "--home", str(home), "--format", "json"], folder, environment(folder))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    path = f"data #1 50%25/copy/{name}"
    source = f"{folder}/data #1 50%25/in/{name}"
    found = ask("trace", path, "--where", "true")
    assert (found["exact"], {record["dataset"] for record in found["records"]}) == (True, {source})
    data = next(each.name for each in sorted((folder / path).iterdir()) if each.name.startswith("part-"))
    (again,) = ask("trace", path, "--row", f"{path}/{data}:0")["records"]
    assert (again["dataset"], again["file"]) == (source, f"file:{source}/p.parquet")
    assert _id(source) in {node["id"] for node in ask("lineage", path)["nodes"]}
    assert _id(f"{folder}/{path}") in {node["id"] for node in ask("impact", f"data #1 50%25/in/{name}")}


async def _check(home: Path, base: Path, names: list[str]) -> None:
    async with await Workspace.open(load_settings(home=home)) as workspace:
        await asyncio.to_thread(workspace.take_spool)
        assert not await workspace.settle(patience=600)  # on a busy machine a question does not wait so long
    async with open_answers(home) as answers:
        known = {node.id async for node in _datasets(answers)}
        assert known == {
            _id(_whole(f"{base}/{kind}/{name}"))
            for name in names
            for kind in ("in", *WRITTEN, *(() if re.search("[,:]", name) else OF_RDDS))
        }
        for number, name in enumerate(names):
            ids = {number * 10, number * 10 + 1}
            for kind in WRITTEN:
                found = await answers.trace(TraceRequest(dataset=f"{base}/{kind}/{name}", where="true"))
                place = f"{kind}/{name!r}: {found.incomplete}"
                assert {record.dataset for record in found.records} == {_id(_whole(f"{base}/in/{name}"))}, place
                assert (found.exact, {record.values.get("id") for record in found.records}) == (True, ids), place
                forward = TraceRequest(dataset=f"{base}/in/{name}", where="true", forward=True, to=f"{base}/{kind}/{name}")
                found = await answers.trace(forward)
                assert {record.dataset for record in found.records} == {_id(_whole(f"{base}/{kind}/{name}"))}, place
                assert (found.exact, len(found.records)) == (True, 2), place
            page = (await answers.ask(_ROWS, dataset=_id(f"{base}/parts/{name}")))["rows"]
            column = [column["name"] for column in page["columns"]].index("p")
            assert {row["values"][column] for row in page["rows"]} == {f"{name}={one}" for one in ids}
            if not re.search("[,:]", name):
                found = await answers.trace(TraceRequest(dataset=f"{base}/again/{name}", where="true"))
                place = f"{name!r}: {found.incomplete}"
                assert {record.dataset for record in found.records} == {_id(_whole(f"{base}/lines/{name}"))}, place
                lines = {record.values.get("value") for record in found.records}
                assert (found.exact, lines) == (True, {f"a{number}", f"b{number}"}), f"{name!r}: {found.incomplete}"


def _whole(path: str) -> str:
    """The dataset at a path: two of the names are those of partitions."""
    return path.rpartition("/")[0] if path.endswith(("/k=v", "/p=__HIVE_DEFAULT_PARTITION__")) else path


_ROWS = "query ($dataset: ID!) { rows(dataset: $dataset, first: 10) { columns { name } rows { values } } }"


def _id(path: str) -> str:
    return node_id(NodeKind.DATASET, "file", path)


async def _datasets(answers: Any) -> Any:
    cursor = None
    while True:
        page = await answers.graph.search(answers.tenant, "", kinds=[NodeKind.DATASET], first=500, after=cursor)
        for node in page.nodes:
            yield node
        if (cursor := page.cursor) is None:
            return
