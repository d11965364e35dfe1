"""Partitions, patterns, parts and single files that programs name by their paths: one dataset, in the graph and in traces of records."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from headwater.backend.access.masks import Mask
from headwater.backend.home.default_settings import DEFAULT_TENANT
from headwater.backend.home.settings import load_settings
from headwater.backend.projection import declaration_stamp, fold, project_declaration
from headwater.backend.questions.masked_answers import SHOWN, MaskedQuestions
from headwater.backend.workspace import Workspace
from headwater.errors import InvalidQueryError
from headwater.graph.model import EdgeKind, NodeKind, node_id, parse_id
from headwater.graph.model.declaration import Declaration
from headwater.graph.stores import Direction
from headwater.graph.trace import TraceAnswer, TraceRequest, trace
from headwater.graph.trace.questions import DirectQuestions, RowsRequest
from tests.spark_listener.spark import script
from tests.spark_listener.warm_spark import WarmSpark

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

PROGRAM = """
    import glob
    from pyspark.sql import SparkSession, functions as F

    spark = SparkSession.builder.appName("folders").getOrCreate()
    read, sc = spark.read.parquet, spark.sparkContext

    def write(frame, name):
        frame.write.mode("overwrite").parquet(f"out/{name}")

    read("in/raw").write.partitionBy("year", "month").parquet("out/sales")
    write(read("out/sales/year=2026/month=5"), "partition")
    write(read("out/sales/year=2026/month=5/*.parquet"), "files")
    write(read(glob.glob("out/sales/year=2026/month=5/*.parquet")[0]), "part")
    write(read("out/sales/year=2025/month=4", "out/sales/year=2026/month=5"), "several")
    write(spark.read.option("basePath", "out/sales").parquet("out/sales/year=2026/month=5"), "base")
    write(read("out/sales/year=*/month=[45]"), "pattern")
    write(read("out/sales/year=2026/month={4,5}"), "choice")
    write(read("out/sales").where("year = 2026 and month = 5"), "whole")

    for day in (14, 15):
        write(read(f"in/day{day}").select("id", "amount"), f"events/dt=2026-05-{day}")
    write(read("out/events").groupBy("dt").agg(F.sum("amount").alias("amount")), "per_day")
    write(read("in/day1*").select("id"), "days")

    for stage in ("prod", "dev"):
        write(read("in/raw").where("id < 5"), f"env={stage}/orders/day=1")
        write(read(f"out/env={stage}/orders"), f"of_{stage}")

    sc.textFile("in/lines/some.txt").saveAsTextFile("out/text/day=1")
    sc.textFile("out/text/day=1/part-*").map(str.upper).saveAsTextFile("out/upper")
    sc.textFile("out/text/day=*").map(str.lower).saveAsTextFile("out/lower")

    spark.read.option("header", True).csv("in/files/large.csv").write.csv("out/large")

    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    read("in/raw").where("year = 2026").write.partitionBy("year").mode("overwrite").parquet("out/years")
    read("in/day14").write.partitionBy("year").mode("overwrite").parquet("out/years")

    schema = read("out/sales/year=2026/month=5").schema
    stream = spark.readStream.schema(schema).parquet("out/sales/year=2026/month=5").writeStream.format("parquet")
    stream.option("checkpointLocation", "state").trigger(availableNow=True).start("out/streamed/source=sales").awaitTermination()
    write(read("out/streamed"), "of_stream")
"""

# Each output, with the datasets that the jobs which wrote it have read.
FLOWS = {
    "out/sales": {"in/raw"},
    **{f"out/{name}": {"out/sales"} for name in ("partition", "files", "part", "several", "base", "pattern", "choice", "whole")},
    "out/events": {"in/day14", "in/day15"},
    "out/per_day": {"out/events"},
    "out/days": {"in/day14", "in/day15"},
    "out/env=prod/orders": {"in/raw"},
    "out/env=dev/orders": {"in/raw"},
    "out/of_prod": {"out/env=prod/orders"},
    "out/of_dev": {"out/env=dev/orders"},
    "out/text": {"in/lines/some.txt"},
    "out/upper": {"out/text"},
    "out/lower": {"out/text"},
    "out/large": {"in/files/large.csv"},
    "out/years": {"in/raw", "in/day14"},
    "out/streamed": {"out/sales"},
    "out/of_stream": {"out/streamed"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, warm_spark: WarmSpark) -> Path:
    folder = tmp_path_factory.mktemp("folders")
    for name, ids in (("raw", range(24)), ("day14", (1, 2)), ("day15", (3, 4))):
        (folder / "in" / name).mkdir(parents=True)
        rows = {"id": list(ids), "year": [2025 + i % 2 for i in ids], "month": [4 + i % 3 for i in ids], "amount": [i * 10 for i in ids]}
        pq.write_table(pa.table(rows), folder / "in" / name / "p.parquet")
    for name in ("lines", "files"):
        (folder / "in" / name).mkdir()
    (folder / "in/lines/some.txt").write_text("a\nb\n")
    pyarrow.csv.write_csv(pa.table({"id": [1, 2]}), folder / "in/files/large.csv")
    program = script(folder, "folders.py", PROGRAM)
    done = warm_spark.run(["-m", "headwater", "run", "--home", str(folder / "home"), str(program)], folder)
    assert done.returncode == 0, done.stderr[-5000:]
    return folder


async def _taken(folder: Path) -> Workspace:
    workspace = await Workspace.open(load_settings(home=folder / "home"))
    await asyncio.to_thread(workspace.take_spool)
    assert not await workspace.settle(patience=600)
    return workspace


def test_a_part_of_a_dataset_is_that_dataset_in_the_graph(folder: Path) -> None:
    async def flows() -> dict[str, set[str]]:
        async with await _taken(folder) as workspace:
            page = await workspace.graph.search(DEFAULT_TENANT, "", kinds=[NodeKind.DATASET], first=200)
            found = {}
            for node in page.nodes:
                reach = await workspace.graph.reach(
                    DEFAULT_TENANT, [node.id], direction=Direction.UPSTREAM, kinds=[EdgeKind.READS, EdgeKind.WRITES], depth=2, limit=100
                )
                found[_short(folder, node.id)] = {
                    _short(folder, other.id) for other in reach.nodes if other.kind is NodeKind.DATASET and reach.distance[other.id]
                }
            return found

    found = asyncio.run(flows())
    sources = ("in/raw", "in/day14", "in/day15", "in/lines/some.txt", "in/files/large.csv")
    assert found == FLOWS | {source: set() for source in sources}


def test_a_partition_has_the_columns_of_its_dataset(folder: Path) -> None:
    async def columns(name: str) -> set[str]:
        async with await _taken(folder) as workspace:
            listing = await workspace.graph.listed(DEFAULT_TENANT, node_id(NodeKind.COLUMN, "file", f"{folder}/{name}", ""))
            return {node.name for node in listing.nodes}

    assert asyncio.run(columns("out/events")) == {"id", "amount", "dt"}
    assert asyncio.run(columns("out/sales")) == {"id", "amount", "year", "month"}


@pytest.mark.parametrize("output", ["partition", "files", "part", "several", "base", "pattern", "choice", "whole"])
def test_records_of_a_part_are_traced_exactly(folder: Path, output: str) -> None:
    back = _ask(folder, f"{folder}/out/{output}", "id = 7")
    assert ([record.values["id"] for record in back.records], back.exact) == ([7], True), back.incomplete
    onward = _ask(folder, f"{folder}/in/raw", "id = 7", forward=True, to=f"{folder}/out/{output}")
    assert ([record.values["id"] for record in onward.records], onward.exact) == ([7], True), onward.incomplete


@pytest.mark.parametrize(
    ("name", "where", "ids"),
    [
        ("out/events", "dt = '2026-05-14'", {1, 2}),
        ("out/events/dt=2026-05-15", "true", {3, 4}),
        ("out/sales/year=2026/month=5", "true", {7, 13, 19, 1}),
        ("out/sales/year=2026", "month = 5", {7, 13, 19, 1}),
        ("out/years", "year = 2025", {2}),
    ],
)
def test_a_partition_is_named_by_its_path(folder: Path, name: str, where: str, ids: set[int]) -> None:
    for dataset in (f"{folder}/{name}", node_id(NodeKind.DATASET, "file", f"{folder}/{name}")):
        back = _ask(folder, dataset, where)
        found = {record.values["id"] for record in back.records}
        assert found == ids, back.incomplete
        assert back.exact, back.incomplete


@pytest.mark.parametrize("rule", [Mask(columns=("amount",), datasets=("*/out/sales",)), Mask(tag="pii")])
def test_what_is_masked_of_a_dataset_is_masked_of_its_partitions(folder: Path, rule: Mask) -> None:
    tagged = {"id": node_id(NodeKind.COLUMN, "file", f"{folder}/out/sales", "amount"), "aspect": "tag", "value": "pii"}
    declaration = Declaration.from_json({"declared": "2026-01-01T00:00:00Z", "by": "ann", "descriptions": [tagged]})

    async def shown(name: str) -> set[object]:
        async with await _taken(folder) as workspace:
            batch = project_declaration(declaration, declaration_stamp(declaration, "k"))
            await fold(workspace.graph, DEFAULT_TENANT, [batch])
            direct = DirectQuestions(workspace.graph, workspace.records)
            questions = MaskedQuestions(direct, workspace.graph, workspace.records, [rule])
            page = await questions.rows(DEFAULT_TENANT, RowsRequest(f"{folder}/{name}"))
            assert page.rows
            with pytest.raises(InvalidQueryError, match="masked"):
                await questions.rows(DEFAULT_TENANT, RowsRequest(f"{folder}/{name}", where="amount > 0"))
            with pytest.raises(InvalidQueryError, match="masked"):
                await questions.trace(DEFAULT_TENANT, TraceRequest(dataset=f"{folder}/{name}", where="amount > 0"))
            column = [name for name, _ in page.columns].index("amount")
            return {row.values[column] for row in page.rows}

    (part,) = (folder / "out/sales/year=2026/month=5").glob("part-*.parquet")
    for name in ("out/sales", "out/sales/year=2026", "out/sales/year=2026/month=5", str(part.relative_to(folder))):
        assert asyncio.run(shown(name)) == {SHOWN}, name


def _ask(folder: Path, dataset: str, where: str, **request: object) -> TraceAnswer:
    async def ask() -> TraceAnswer:
        async with await _taken(folder) as workspace:
            asked = TraceRequest(**{"dataset": dataset, "where": where, **request})  # type: ignore[arg-type]
            return await trace(workspace.graph, workspace.records, DEFAULT_TENANT, asked)

    return asyncio.run(ask())


def _short(folder: Path, identifier: str) -> str:
    return parse_id(identifier)[1][1].removeprefix(f"{folder}/")
