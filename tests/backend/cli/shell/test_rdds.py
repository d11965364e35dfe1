"""`headwater.lineage(rdd)`: the examples of Titian's paper as a user writes them in PySpark, and what else the moves say."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from operator import add
from pathlib import Path
from typing import Any

import pytest
from pyspark import RDD
from pyspark.sql import SparkSession

import headwater
from headwater.backend.cli.shell.lineage_warning import LineageWarning
from headwater.errors import InvalidQueryError, UnsupportedError
from tests.jvm import start_with

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]

LOG = [
    "ERROR\tE1\tNETWORK\talice", "INFO\t-\tDISK\tbob", "ERROR\tE2\tDISK\tGuest", "ERROR\tE1\tDISK\tbob", "ERROR\tE3\tNETWORK\tGuest",
    "WARN\t-\tNETWORK\talice", "ERROR\tE2\tDISK\talice", "ERROR\tE1\tNETWORK\tGuest",
]  # fmt: skip
MEANING = {"E1": "timeout", "E2": "full", "E3": "reset"}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    start_with()
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    headwater.attach(session, mode="active", home=str(tmp_path_factory.mktemp("home")), quiet=True)
    yield session
    headwater.detach(session)
    session.stop()


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "log.txt"
    path.write_text("".join(f"{line}\n" for line in LOG))
    return str(path)


@pytest.fixture
def program(spark: SparkSession, log: str) -> dict[str, Any]:
    """The paper's first figure: how often each error comes, by what it means."""
    meaning = dict(MEANING)
    lines = spark.sparkContext.textFile(log, 3)
    errors = lines.filter(lambda line: line.startswith("ERROR"))
    codes = errors.map(lambda line: line.split("\t")[1])
    pairs = codes.map(lambda code: (code, 1))
    counts = pairs.reduceByKey(add)
    reports = counts.map(lambda pair: (meaning[pair[0]], pair[1]))
    return {"lines": lines, "errors": errors, "codes": codes, "counts": counts, "reports": reports}


def test_the_lines_of_the_most_frequent_error(program: dict[str, Any]) -> None:
    reports = program["reports"]
    assert sorted(reports.collect()) == [("full", 2), ("reset", 1), ("timeout", 3)]
    frequent = reports.sortBy(lambda pair: pair[1], ascending=False).take(1)[0]
    lineage = headwater.lineage(reports).filter(lambda report: report == frequent)
    lines = lineage.goBackAll()
    assert lines.collect() == [line for line in LOG if "\tE1\t" in line]
    assert lines.count() == 3


def test_the_codes_of_the_network_lines(program: dict[str, Any]) -> None:
    network = headwater.lineage(program["reports"]).goBackAll().filter(lambda line: "NETWORK" in line)
    assert sorted(network.goNextAll().collect()) == [("reset", 1), ("timeout", 3)]
    assert sorted(network.goNext().map(lambda pair: pair[0]).collect()) == ["E1", "E3"]
    assert sorted(network.goNext().goNext().collect()) == [("reset", 1), ("timeout", 3)]
    # the same stage, run again on those lines
    assert sorted(network.goTo(program["codes"]).collect()) == ["E1", "E1", "E3"]


def test_the_counts_without_guest(program: dict[str, Any]) -> None:
    lines = headwater.lineage(program["reports"]).goBackAll()
    without = lines.filter(lambda line: "Guest" not in line)
    counts = without.map(lambda line: line.split("\t")[1]).map(lambda code: (code, 1)).reduceByKey(add)
    assert sorted(counts.collect()) == [("E1", 2), ("E2", 1)]


def test_back_goes_point_by_point(program: dict[str, Any]) -> None:
    full = headwater.lineage(program["reports"]).filter(lambda report: report[0] == "full").getLineage()
    groups = full.goBack()
    assert groups.collect() == [("E2", 2)]
    assert groups.goBack().collect() == [line for line in LOG if "\tE2\t" in line]
    assert groups.goTo(program["reports"]).collect() == [("full", 2)]
    with pytest.raises(InvalidQueryError, match="is a source"):
        groups.goBack().goBack()
    with pytest.raises(InvalidQueryError, match="asked for"):
        full.goNext()
    with pytest.raises(InvalidQueryError, match="same stage"):
        groups.goTo(program["errors"])


def test_a_join_has_a_branch_for_each_side(spark: SparkSession, log: str) -> None:
    context = spark.sparkContext
    lines = context.textFile(log, 2)
    pairs = lines.map(lambda line: (line.split("\t")[1], line.split("\t")[3]))
    meanings = context.parallelize([("E1", "timeout"), ("E2", "full"), ("E9", "other")], 2)
    joined = pairs.join(meanings)
    users = joined.map(lambda pair: pair[1]).filter(lambda pair: pair[0] == "Guest")
    lineage = headwater.lineage(users)
    assert sorted(lineage.collect()) == [("Guest", "full"), ("Guest", "timeout")]
    with pytest.raises(InvalidQueryError, match="branch"):
        lineage.goBack()
    assert sorted(lineage.goBack(0).collect()) == sorted(line for line in LOG if "Guest" in line and "\tE3\t" not in line)
    assert sorted(lineage.goBackAll(1).collect()) == [("E1", "timeout"), ("E2", "full")]
    full = lineage.goBackAll(1).filter(lambda pair: pair[1] == "full")
    assert full.goNextAll().collect() == [("Guest", "full")]
    with pytest.raises(InvalidQueryError, match="no branch 2"):
        lineage.goBackAll(2)


def test_what_is_kept_is_a_point(spark: SparkSession, log: str) -> None:
    kept = spark.sparkContext.textFile(log, 2).flatMap(lambda line: line.split("\t")[:2]).persist()
    words = kept.map(lambda word: (word, 1)).groupByKey(2).mapValues(len)
    warn = headwater.lineage(words).filter(lambda pair: pair[0] == "-")
    assert warn.goBack().goBack().collect() == ["-", "-"]
    assert warn.goBackAll().collect() == [line for line in LOG if "\t-\t" in line]
    lines = warn.goBackAll().filter(lambda line: "bob" in line)
    assert sorted(lines.goNext().collect()) == ["-", "INFO"]
    assert sorted(lines.goNextAll().collect()) == [("-", 2), ("INFO", 1)]
    kept.unpersist()


def test_a_function_over_a_partition_is_said_to_give_more(spark: SparkSession, log: str) -> None:
    halves = spark.sparkContext.textFile(log, 2).mapPartitions(lambda lines: [len(list(lines))])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert headwater.lineage(halves).goBackAll().count() == len(LOG)
    assert any(one.category is LineageWarning and "whole partition" in str(one.message) for one in said)


def test_what_is_not_followed_is_refused(spark: SparkSession, log: str) -> None:
    lines = spark.sparkContext.textFile(log)
    unknown: RDD[str] = RDD(lines._jrdd, lines.ctx, lines._jrdd_deserializer)
    with pytest.raises(UnsupportedError, match="not known what made it"):
        headwater.lineage(unknown)
