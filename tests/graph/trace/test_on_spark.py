"""Traces whose records are followed by jobs of Spark: the answer is that of DuckDB, or a refusal by name."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.errors import DamagedError, UnsupportedError
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.trace import Semantics, TraceAnswer, TraceRequest, trace
from headwater.graph.trace.on_spark.connection import NotOnSparkError, SparkConnection, shares_files, spark_sql
from headwater.graph.trace.on_spark.errors import SparkJobError
from headwater.graph.trace.on_spark.walk import WalkOnSpark, open_spark_session
from tests.backend.cli.command import headwater
from tests.captured import capture_pipeline
from tests.graph.jobs import TENANT
from tests.graph.trace.later import LazyJob
from tests.graph.trace.pipeline import build
from tests.graph.trace.test_recomputed_groups import SALES, SOLD, table
from tests.jvm import start_with, submit
from tests.oracle.laboratory import INTERPRETED

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]

WITNESS = {"semantics": Semantics.WITNESS}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    start_with()
    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.adaptive.enabled", "false")
        .config(map=INTERPRETED)
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AssociationStore, Path]]:
    root = tmp_path_factory.mktemp("a [b] {c} 100% ü, 'd'")
    store = AssociationStore(root / "associations", sources=ANYWHERE)
    build(store, root, 3)
    yield store, root
    store.close()


def told(answer: TraceAnswer) -> tuple[Any, ...]:
    hops = [(hop.run, hop.output, hop.inputs, hop.operations, hop.records) for hop in answer.path]
    return answer.exact, answer.total, answer.records, hops, answer.incomplete, answer.selected


# `few` rows of a table are searched in memory: with none of them every step is Spark's, with some most kinds of step are both.
CASES: dict[str, tuple[int, str, dict[str, Any]]] = {
    "upstream": (0, "enriched", {"where": "number < 9"}),
    "windows": (6, "hourly", {"where": "origin = 'A'"}),
    "all the way": (9, "report", {"where": "true"}),
    "to a dataset": (0, "report", {"where": "origin = 'A'", "to": "clean/flights"}),
    "of what suffices": (4, "report", {"where": "true", "column": "flights", **WITNESS}),
    "a record by its place": (0, "clean/planes", {"where": "tail = 't1'"}),
    "downstream": (0, "raw/planes.csv", {"where": "true", "forward": True}),
    "downstream through windows": (5, "raw/weather.csv", {"where": "day = 1", "forward": True, "to": "hourly"}),
    "cut": (0, "clean/flights", {"where": "true", "limit": 3, "values": True}),
    "nothing": (0, "enriched", {"where": "number < 0"}),
}


# A longer trace or one through windows does the same.
_LONG = {"upstream", "to a dataset", "downstream"}


@pytest.mark.parametrize("case", [pytest.param(case, marks=pytest.mark.torture if case in _LONG else ()) for case in CASES])
async def test_a_trace_on_spark_has_the_same_answer(spark, pipeline, monkeypatch, case: str) -> None:
    store, root = pipeline
    few, dataset, asked = CASES[case]
    if "to" in asked:
        asked = {**asked, "to": str(root / asked["to"])}
    request = TraceRequest(**{"dataset": str(root / dataset), "values": False, **asked})
    made: list[str] = []
    real = WalkOnSpark.make_table
    monkeypatch.setattr(
        WalkOnSpark, "make_table", lambda self, select, parameters=None: made.append(select) or real(self, select, parameters)
    )
    met: list[str] = []
    answer = await trace(
        None, store, TENANT, request, session_factory=partial(open_spark_session, SparkConnection(spark), few_rows=few, say=met.append)
    )
    assert told(answer) == told(await trace(None, store, TENANT, request))
    assert made or case == "nothing"  # of Spark: the walk is not this process's
    assert len(met) >= len(answer.path)
    assert spark.catalog.listTables() == []
    assert spark._jsparkSession.sharedState().cacheManager().isEmpty()


async def test_what_needs_values_on_the_way_is_refused_by_name(spark, pipeline) -> None:
    store, root = pipeline
    request = TraceRequest(dataset=str(root / "report"), where="true", column="max_wind", values=False, **WITNESS)
    with pytest.raises(NotOnSparkError, match="Choosing records by their values is not done on Spark"):
        await trace(None, store, TENANT, request, session_factory=partial(open_spark_session, SparkConnection(spark), few_rows=3))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AssociationStore]:
    opened = AssociationStore(tmp_path / "associations", sources=ANYWHERE)
    yield opened
    opened.close()


@pytest.mark.parametrize("few", [0, 100])
async def test_what_was_left_to_be_found_again_is_refused_by_name(spark, store, tmp_path: Path, few: int) -> None:
    job = LazyJob(store, "lazy", 1)
    grouped = job.group(job.scan(table(tmp_path / "sales", SALES, SOLD), "parquet", SALES), ["shop"], "by values")
    job.write(grouped, tmp_path / "out", "parquet", ["shop", "rows"], files=1)
    request = TraceRequest(dataset=str(tmp_path / "out"), where="shop = 1", values=False)
    assert (await trace(None, store, TENANT, request)).total
    with pytest.raises(NotOnSparkError, match=r"Finding the records of .* again is not done on Spark"):
        await trace(None, store, TENANT, request, session_factory=partial(open_spark_session, SparkConnection(spark), few_rows=few))


@pytest.mark.parametrize("checked", [True, False], ids=["small", "large"])
async def test_a_damaged_table_is_told_by_its_name(spark, store, tmp_path: Path, monkeypatch, checked: bool) -> None:
    build(store, tmp_path, 1)
    if not checked:  # as of a table that is too large to be read once more before
        monkeypatch.setattr("headwater.graph.records.key_lookup._CHECKED", -1)
    for path in store.root.rglob("b*.parquet"):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    request = TraceRequest(dataset=str(tmp_path / "enriched"), where="true", values=False)
    with pytest.raises(DamagedError, match=r"b\d+\.parquet"):
        await trace(None, store, TENANT, request, session_factory=partial(open_spark_session, SparkConnection(spark), few_rows=0))


@pytest.mark.parametrize(("setting", "spoil"), [("ignoreMissingFiles", "removed"), ("ignoreCorruptFiles", "cut")])
async def test_a_cluster_that_passes_over_files_passes_over_no_kept_table(
    spark, store, tmp_path: Path, monkeypatch, setting: str, spoil: str
) -> None:
    """A cluster may have this setting for other work. Records would be missing from the answer without notice."""
    build(store, tmp_path, 1)
    monkeypatch.setattr("headwater.graph.records.key_lookup._CHECKED", -1)  # as of tables that are too large to be read once more before
    settings = spark.sparkContext._jsc.sc().conf()
    settings.set(f"spark.sql.files.{setting}", "true")
    read = SparkConnection.read

    def spoiled(connection: SparkConnection, name: str, uri: str) -> None:
        read(connection, name, uri)
        path = Path(uri.removeprefix("file:").replace("\\", ""))
        content = path.read_bytes()
        path.unlink()
        if spoil == "cut":
            path.write_bytes(content[:4] + b"x" * (len(content) - 4))

    monkeypatch.setattr(SparkConnection, "read", spoiled)
    request = TraceRequest(dataset=str(tmp_path / "enriched"), where="true", values=False)
    try:
        with pytest.raises((SparkJobError, DamagedError)):
            await trace(None, store, TENANT, request, session_factory=partial(open_spark_session, SparkConnection(spark), few_rows=0))
    finally:
        settings.remove(f"spark.sql.files.{setting}")


@pytest.mark.parametrize(
    "asked", [None, pytest.param("true", marks=pytest.mark.torture)], ids=["by default", "where Spark's settings ask for them"]
)
def test_sparks_own_pages_are_served_only_where_its_settings_ask_for_them(asked: str | None) -> None:
    program = (
        "from headwater.backend.traces.spark_session import spark_session\n"
        "with spark_session('local[1]') as spark: print('pages', spark.sparkContext.uiWebUrl is not None)"
    )
    options = submit(f"--conf spark.ui.enabled={asked} --conf spark.ui.port=0" if asked else "")
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"PYSPARK_SUBMIT_ARGS": options}, capture_output=True, text=True, check=True
    )
    assert f"pages {asked is not None}" in done.stdout


async def test_executors_elsewhere_need_tables_that_are_shared(spark, pipeline, monkeypatch) -> None:
    store, root = pipeline
    monkeypatch.setattr(spark.sparkContext, "master", "spark://elsewhere:7077")
    request = TraceRequest(dataset=str(root / "enriched"), where="true", values=False)
    with pytest.raises(UnsupportedError, match="lie on this machine"):
        await trace(None, store, TENANT, request, session_factory=partial(open_spark_session, SparkConnection(spark)))


@pytest.mark.parametrize(
    ("query", "same"),
    [
        ("SELECT DISTINCT a.origin, b.r0 FROM t1 a JOIN t2 b ON b.key = a.ref WHERE b.r0 <> -1", True),
        ("SELECT origin FROM t1 EXCEPT SELECT origin FROM t2", True),
        ("SELECT file, bool_or(row IS NULL) AS vague, min(row) FROM t1 GROUP BY file", True),
        ("SELECT row_number() OVER () AS origin, file FROM t1", False),
        ("SELECT DISTINCT ON (ref) * FROM t1", False),
        ("SELECT 1 FROM t1 LIMIT 1", False),
        ("SELECT any_value(ref) FROM t1", False),
        ("SELECT first(ref) FROM t1 GROUP BY origin", False),
    ],
)
def test_lost_parts_are_made_again_only_of_what_is_the_same_each_time(query: str, same: bool) -> None:
    assert shares_files(spark_sql(query)) is same


def test_tables_of_few_rows_have_few_parts_and_are_broadcast(spark) -> None:
    connection = SparkConnection(spark)
    for name, value in {"spark.sql.shuffle.partitions": "50", "spark.sql.adaptive.enabled": "true"}.items():
        connection._spark.conf.set(name, value)
    connection.register("numbers", {"id": [n // 100 for n in range(1000)]})
    assert connection.make("made", "SELECT DISTINCT id AS ref FROM numbers") == 10
    assert connection.frame("SELECT * FROM made")._jdf.queryExecution().toRdd().getNumPartitions() == 1
    joined = connection.frame("SELECT * FROM numbers JOIN made ON ref = id")
    assert "BroadcastHashJoin" in joined._jdf.queryExecution().executedPlan().toString()


def test_statements_of_steps_are_put_into_sparks_words() -> None:
    assert spark_sql("FROM t1 WHERE ref <> -1") == "SELECT * FROM t1 WHERE ref <> -1"
    assert "MONOTONICALLY_INCREASING_ID" in spark_sql("SELECT row_number() OVER () AS origin FROM t1").upper()
    with pytest.raises(NotOnSparkError):
        spark_sql("SELECT (")


def test_the_command_follows_records_on_spark(spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, root = tmp_path / "home", tmp_path / "lake"
    asyncio.run(capture_pipeline(home, root))
    monkeypatch.delenv("HEADWATER_URL", raising=False)
    ask: Callable[..., Any] = partial(_asked, root, home)
    there, here = ask("--on-spark", "local[1]"), ask()
    assert there["records"]
    assert {**there, "storage": None} == {**here, "storage": None}
    refused = headwater("trace", "x", "--where", "true", "--on-spark", "local", code=2, HEADWATER_URL="http://127.0.0.1:1")
    assert "HEADWATER_URL names a service" in refused.stderr


def test_the_command_goes_to_spark_by_the_size_of_a_trace_and_back_with_what_is_not_done_there(
    spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, root = tmp_path / "home", tmp_path / "lake"
    asyncio.run(capture_pipeline(home, root))
    monkeypatch.delenv("HEADWATER_URL", raising=False)
    whole = ("trace", str(root / "report"), "--where", "true", "-f", "json", "--home", str(home))
    chosen = (*whole, "--column", "max_wind", "--semantics", "witness")
    here = [headwater(*question) for question in (whole, chosen)]
    assert not any("Spark" in printed.stderr for printed in here)
    sized = {"HEADWATER_SPARK_MASTER": "local[1]", "HEADWATER_SPARK_TRACE_ROWS": "30"}
    there = [headwater(*question, **sized) for question in (whole, chosen)]
    for first, second in zip(here, there, strict=True):
        assert "expected to look at" in second.stderr
        assert {**json.loads(first.stdout), "storage": None} == {**json.loads(second.stdout), "storage": None}
    assert "is not done on Spark" not in there[0].stderr
    assert "Choosing records by their values is not done on Spark. This trace is followed in one process." in there[1].stderr
    small = headwater(*whole, **{**sized, "HEADWATER_SPARK_TRACE_ROWS": "100000"})
    assert "Spark" not in small.stderr


def _asked(root: Path, home: Path, *more: str) -> dict[str, Any]:
    printed = headwater("trace", str(root / "enriched"), "--where", "number = 3", "-f", "json", "--home", str(home), *more)
    answer: dict[str, Any] = json.loads(printed.stdout)
    return answer
