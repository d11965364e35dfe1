"""Plain and captured queries by turns in one session, as what capture costs is measured (bench.pairs)."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from bench.processes import ProcessTree
from bench.spark.turns import SparkTurns

pytestmark = pytest.mark.spark


class HereTurns(SparkTurns):
    """Turns in a session that is there already."""

    def __init__(self, spark: SparkSession, folder: Path, program: Any) -> None:
        self.spark, self._folder, self._programs = spark, folder, {"a": program}
        self._processes, self._kept, self._layout = ProcessTree(), set(), None


def test_a_turn_of_a_mode_captures_and_a_plain_one_does_not(spark: SparkSession, table: Any, tmp_path: Path) -> None:
    path = table("sales", [{"id": i, "k": i % 7} for i in range(50)])

    def program(session: SparkSession) -> DataFrame:
        return session.read.parquet(path).groupBy("k").count()

    rules = spark._jsparkSession.experimental().extraOptimizations()
    turns = HereTurns(spark, tmp_path, program)
    taken = {name: turns.run(name, "a", 0) for name in ("plain", "active", "control", "coarse", "lazy")}
    assert all(sample["seconds"] > 0 and sample["cpu_seconds"] >= sample["cpu_seconds_after"] for sample in taken.values())
    assert {name: sample.get("associations") for name, sample in taken.items()} == {
        "plain": None, "control": None, "coarse": None, "active": 57.0, "lazy": 7.0,
    }  # fmt: skip
    assert taken["active"]["keeping_cpu_seconds"] > 0
    assert taken["active"]["kept_bytes"] > 0
    assert taken["active"]["tasks_ms"] > 0
    assert spark._jsparkSession.experimental().extraOptimizations().equals(rules)


def test_a_refused_query_is_told_as_not_captured(spark: SparkSession, tmp_path: Path) -> None:
    def program(session: SparkSession) -> DataFrame:
        return session.range(3).mapInPandas(lambda batches: batches, "id long").selectExpr("map(id, id) m").groupBy("m").count()

    assert HereTurns(spark, tmp_path, program).run("active", "a", 0)["captured"] == 0
