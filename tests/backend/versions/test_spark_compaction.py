"""A compaction by Spark: content, types, partitions and traces stay the same, also in folders with odd names and with new columns."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from tests.spark_listener.spark import environment, run, script

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]

NAME = "odd [1] é"
PROGRAM = f"""
    from pyspark.sql import SparkSession, functions as F

    spark = SparkSession.builder.appName("writer").getOrCreate()
    raw = spark.read.schema("k int, p string, v int").csv("raw.csv")
    typed = raw.selectExpr(
        "k", "p", "cast(v as decimal(20, 3)) as d", "timestamp_seconds(v) as t", "date_add(date'2026-01-01', v) as day",
        "array(v, k) as l", "named_struct('a', v, 'b', array(cast(k as string))) as s", "if(k = 2, null, v) as n",
    )
    out = "data/{NAME}"
    typed.filter("k < 3").write.mode("overwrite").partitionBy("p").parquet(out)
    typed.filter("k between 3 and 5").write.mode("append").partitionBy("p").parquet(out)
    typed.filter("k > 5").withColumn("extra", F.col("k") * 2).write.mode("append").partitionBy("p").parquet(out)
    back = spark.read.option("mergeSchema", "true").parquet(out.replace("[", r"\\[").replace("]", r"\\]"))  # readers take patterns
    back.groupBy("p").agg(F.max("n").alias("m")).write.mode("overwrite").parquet("data/greatest")
    back.filter("k > 1").select("k", "n").write.mode("overwrite").parquet("data/copy")
"""
PARTITIONS = ["01", "a b%:", "__NULL__"]


def _content(folder: Path) -> Counter[str]:
    table = ds.dataset([str(path) for path in sorted(folder.rglob("*.parquet"))], schema=_schema(folder)).to_table()
    places = [
        str(path.parent.relative_to(folder)) for path in sorted(folder.rglob("*.parquet")) for _ in range(pq.read_metadata(path).num_rows)
    ]
    return Counter(repr((place, sorted(row.items()))) for place, row in zip(places, table.to_pylist(), strict=True))


def _schema(folder: Path) -> Any:
    return max((pq.read_schema(path) for path in folder.rglob("*.parquet")), key=len)


def _types(schema: Any) -> dict[str, str]:
    """The types by column. Spark writes every column as one that may be null."""
    return {field.name: str(field.type).replace(" not null", "") for field in schema}


@pytest.mark.slow
def test_a_dataset_is_the_same_after_a_compaction(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    home, out, env = tmp_path / "home", tmp_path / "data" / NAME, environment(pytestconfig.rootpath)

    def headwater(*arguments: str, code: int = 0) -> Any:
        done = run(["-m", "headwater", *arguments, "--home", str(home)], tmp_path, env)
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout) if "json" in arguments else done.stderr

    def traces(name: str) -> Any:
        answer = headwater("trace", str(tmp_path / "data" / name), "--where", "true", "-f", "json")
        assert answer["exact"], answer
        return sorted(json.dumps(record, sort_keys=True) for record in answer["records"])

    (tmp_path / "raw.csv").write_text("".join(f"{k},{'' if k % 3 == 2 else PARTITIONS[k % 3]},{k * k}\n" for k in range(9)))
    done = run(["-m", "headwater", "run", "--home", str(home), "--mode", "active", script(tmp_path, "job.py", PROGRAM).name], tmp_path, env)
    assert done.returncode == 0, done.stderr
    names = (NAME, "greatest", "copy")
    before, content, schema = {name: traces(name) for name in names}, _content(out), _schema(out)
    headwater("versions", "enrol", str(out))
    assert len(headwater("versions", "compact", str(out), "-f", "json")) == 3  # a dry run
    assert _content(out) == content
    headwater("versions", "compact", str(out), "--apply")
    assert _content(out) == content
    assert len([*out.rglob("*.parquet")]) < 9
    assert _types(_schema(out)) == _types(schema)
    assert {name: traces(name) for name in names} == before
    consumers = headwater("consumers", str(out), "-f", "json")
    assert [(one["cursor"], one["unread_blocks"]) for one in consumers] == [(4, 0)] * 2
    assert "nothing to merge" in headwater("versions", "compact", str(out))
    (state,) = [json.loads(path.read_text()) for path in home.glob("versions/*/compaction.json")]
    headwater("versions", "restore", state["id"])
    assert _content(out) == content
    assert [block["sequence"] for block in headwater("versions", str(out), "-f", "json")] == [3, 2, 1]
