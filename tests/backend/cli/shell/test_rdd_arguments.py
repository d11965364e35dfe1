"""LineageRDDs in operations of other RDDs, Titian's own call, and the way forward from a source."""

from __future__ import annotations

from collections.abc import Callable
from operator import add
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headwater
from headwater.errors import InvalidQueryError
from tests.backend.cli.shell.test_rdds import LOG, log, program, spark

__all__ = ["log", "program", "spark"]  # the fixtures
pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]


def pairs(lines: Any) -> Any:
    return lines.map(lambda line: (line.split("\t")[1], line))


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "union": lambda lines, some: lines.union(some),
    "union of a context": lambda lines, some: lines.ctx.union([lines, some]),
    "union of a context, first": lambda lines, some: lines.ctx.union([some, lines]),
    "intersection": lambda lines, some: lines.intersection(some),
    "subtract": lambda lines, some: lines.subtract(some),
    "cartesian": lambda lines, some: lines.cartesian(some),
}
OF_PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    "join": lambda left, right: left.join(right),
    "leftOuterJoin": lambda left, right: left.leftOuterJoin(right),
    "fullOuterJoin": lambda left, right: left.fullOuterJoin(right),
    "cogroup": lambda left, right: left.cogroup(right).mapValues(lambda sides: [sorted(side) for side in sides]),
    "groupWith": lambda left, right: left.groupWith(right, right).mapValues(lambda sides: [sorted(side) for side in sides]),
    "subtractByKey": lambda left, right: left.subtractByKey(right),
}


def test_a_lineage_is_taken_for_its_raw_records(program: dict[str, Any]) -> None:
    lines = program["lines"]
    some = headwater.lineage(lines).filter(lambda line: "NETWORK" in line)
    raw = lines.ctx.parallelize([line for line in LOG if "NETWORK" in line])
    for name, operation in OPERATIONS.items():
        assert sorted(operation(lines, some).collect()) == sorted(operation(lines, raw).collect()), name
    keyed = pairs(lines)
    lineage = headwater.lineage(keyed).filter(lambda pair: "NETWORK" in pair[1])
    for name, operation in OF_PAIRS.items():
        assert sorted(map(repr, operation(keyed, lineage).collect())) == sorted(map(repr, operation(keyed, pairs(raw)).collect())), name


def test_an_rdd_has_titians_own_call(program: dict[str, Any]) -> None:
    lineage = program["reports"].getLineage()
    assert lineage.filter(lambda report: report[0] == "full").goBackAll().collect() == [line for line in LOG if "\tE2\t" in line]
    assert lineage.getLineage() is lineage


def test_all_on_from_a_source_gives_what_its_records_went_into(program: dict[str, Any]) -> None:
    some = program["lines"].getLineage().filter(lambda line: "DISK" in line)
    assert sorted(some.goNextAll().collect()) == [("full", 2), ("timeout", 3)]
    assert some.goNextAll().goBackAll().count() == 5


def test_all_on_from_a_source_that_went_several_ways_needs_a_branch(program: dict[str, Any]) -> None:
    users = program["lines"].map(lambda line: (line.split("\t")[3], 1)).reduceByKey(add)
    some = program["lines"].getLineage().filter(lambda line: "DISK" in line)
    with pytest.raises(InvalidQueryError, match="branch"):
        some.goNextAll()
    found = [sorted(some.goNextAll(branch).collect()) for branch in (0, 1)]
    assert found == [[("full", 2), ("timeout", 3)], [("Guest", 3), ("alice", 3), ("bob", 2)]]
    assert users.count() == 3


def test_all_on_from_records_that_went_nowhere_gives_themselves(spark: SparkSession, log: str) -> None:
    lines = spark.sparkContext.textFile(log)
    assert lines.getLineage().filter(lambda line: "bob" in line).goNextAll().collect() == [line for line in LOG if "bob" in line]
