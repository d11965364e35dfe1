"""Plain and captured queries by turns in one session, as single queries are measured (bench.pairs)."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from bench.spark.arm import SparkArm
from bench.spark.processes import Processes
from bench.spark.session import java_process
from bench.spark.turns import Turns

pytestmark = pytest.mark.spark


class Arm(SparkArm):
    """A plain arm of a session that is there already."""

    def __init__(self, spark: SparkSession, folder: Path, program: Any) -> None:
        self.spark, self._folder, self._programs = spark, folder, {"a": program}
        self._processes, self._watch = Processes(java_process(spark)), None


def test_a_turn_of_a_mode_captures_and_a_plain_one_does_not(spark: SparkSession, table: Any, tmp_path: Path) -> None:
    path = table("sales", [{"id": i, "k": i % 7} for i in range(50)])

    def program(session: SparkSession) -> DataFrame:
        return session.read.parquet(path).groupBy("k").count()

    rules = spark._jsparkSession.experimental().extraOptimizations()
    turns = Turns(Arm(spark, tmp_path, program), tmp_path)
    taken = {name: turns.run(name, "a", 0) for name in ("plain", "active", "control", "coarse", "lazy")}
    assert all(sample["seconds"] > 0 for sample in taken.values())
    assert {name: sample.get("associations") for name, sample in taken.items()} == {
        "plain": None, "control": None, "coarse": None, "active": 57.0, "lazy": 7.0,
    }  # fmt: skip
    assert spark._jsparkSession.experimental().extraOptimizations().equals(rules)


def test_a_turn_of_a_mode_that_captures_nothing_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    def program(session: SparkSession) -> DataFrame:
        return session.range(3).mapInPandas(lambda batches: batches, "id long").groupBy("id").applyInPandas(lambda rows: rows, "id long")

    with pytest.raises(RuntimeError, match="a was not captured"):
        Turns(Arm(spark, tmp_path, program), tmp_path).run("active", "a", 0)
