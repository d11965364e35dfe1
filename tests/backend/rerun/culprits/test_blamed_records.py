"""Which records `headwater blame` names, for programs without lineage and with it. One process runs all trials."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headwater.backend.rerun.culprits.blame import BlameReport, find_blamed_records
from headwater.backend.rerun.culprits.trials import Trials
from headwater.backend.rerun.replay.model import Invocation
from headwater.graph.culprits.record_set import RecordSet

pytestmark = pytest.mark.spark

SUMS = """\
pairs = spark.sparkContext.textFile(f"{folder}/bookings.txt", 1).map(lambda line: line.split(","))
sums = pairs.map(lambda each: (each[0], int(each[1]))).reduceByKey(lambda one, other: one + other, 1)
spark.createDataFrame(sums, "account string, total long").write.mode("overwrite").json(f"{folder}/balances")
"""
JOINED = """\
bookings = spark.read.csv(f"{folder}/bookings.txt", schema="account string, amount long")
accounts = spark.read.csv(f"{folder}/accounts.csv", schema="account string, factor long")
joined = bookings.join(accounts, "account").selectExpr("account", "amount * factor AS total")
joined.coalesce(1).write.mode("overwrite").json(f"{folder}/balances")
"""
CONSTANT = 'spark.range(1).selectExpr("5000L AS total").write.mode("overwrite").json(f"{folder}/balances")\n'
ROWS = 14
PAIR = (3, 9)  # bookings of one account that are too large together


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bookings")
    rows = [f"{'a' if number % 2 else 'b'},{900 if number in PAIR else 1}" for number in range(ROWS)]
    (folder / "bookings.txt").write_text("\n".join(rows) + "\n")
    (folder / "accounts.csv").write_text("a,3\nb,1\n")
    return folder


def _invocation(folder: Path, name: str, body: str) -> Invocation:
    script = folder / name
    script.write_text(f"from pyspark.sql import SparkSession\nspark, folder = SparkSession.builder.getOrCreate(), {str(folder)!r}\n{body}")
    return Invocation(
        run="run", namespace="default", job="job", argv=[name], working_directory=str(folder), script=str(script),
        script_sha256=hashlib.sha256(script.read_bytes()).hexdigest(),
        environment={"PYSPARK_PYTHON": sys.executable, "SPARK_SUBMIT_OPTS": os.environ.get("SPARK_SUBMIT_OPTS", "")},
    )  # fmt: skip


@pytest.fixture(scope="module")
def trials(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trials]:
    with Trials(tmp_path_factory.mktemp("trials") / "search", [_invocation(folder, "sums.py", SUMS)], 3_000) as trials:
        yield trials


def _is_above(folder: Path, limit: int) -> Callable[[Path], bool]:
    def is_wrong(shadow: Path) -> bool:
        lines = [line for part in Path(f"{shadow}{folder}/balances").glob("part-*.json") for line in part.read_text().splitlines()]
        return any(json.loads(line)["total"] > limit for line in lines)

    return is_wrong


def _blame(trials: Trials, folder: Path, body: str, limit: int, lineages: list[list[int]] | None = None) -> BlameReport:
    trials.take([_invocation(folder, "program.py", body)])
    bookings = f"file:{folder}/bookings.txt"
    records = [RecordSet.of({bookings: rows}) for rows in lineages or ()]
    return find_blamed_records(trials, _is_above(folder, limit), records, [bookings])


@pytest.mark.slow
def test_two_records_of_an_rdd_program_are_named_together(trials: Trials, folder: Path) -> None:
    report = _blame(trials, folder, SUMS, 1_799)
    assert (report.problem, report.is_minimal, report.notes) == (None, True, [])
    assert set(report.records) == {(f"file:{folder}/bookings.txt", row) for row in PAIR}
    assert sorted(values["value"] for values in report.values.values()) == ["a,900", "a,900"]
    assert not (folder / "balances").exists()  # a trial writes to its shadow only


def test_a_witness_that_suffices_is_narrowed_first(trials: Trials, folder: Path) -> None:
    report = _blame(trials, folder, SUMS, 800, [[3], [1, 3, 5, 7, 9, 11, 13]])
    assert list(report.records) == [(f"file:{folder}/bookings.txt", 3)]
    assert (report.is_minimal, report.trials) == (True, 2)  # the witness, and no record


def test_lineage_that_lacks_a_record_is_not_believed(trials: Trials, folder: Path) -> None:
    report = _blame(trials, folder, SUMS, 1_799, [[3], [3, 5]])
    assert set(report.records) == {(f"file:{folder}/bookings.txt", row) for row in PAIR}
    assert report.notes == ["the records of the lineage alone make no such row, so all inputs were searched"]


def test_a_record_of_each_side_of_a_join_is_named(trials: Trials, folder: Path) -> None:
    report = _blame(trials, folder, JOINED, 2_000)
    assert report.is_minimal
    names = [(Path(file).name, row) for file, row in report.records]
    assert names in ([("accounts.csv", 0), ("bookings.txt", row)] for row in PAIR)


def test_a_result_that_is_wrong_without_any_record_has_no_culprit(trials: Trials, folder: Path) -> None:
    report = _blame(trials, folder, CONSTANT, 1_000, [[3]])
    assert report.problem == "such a row is also there without any record of the inputs that were chosen"
    assert not report.records


def test_a_result_that_is_right_now_has_no_culprit(trials: Trials, folder: Path) -> None:
    report = _blame(trials, folder, SUMS, 10_000, [[3]])
    assert report.problem == "no such row was there when the program ran again with the records that are there now"


def test_a_program_that_fails_now_has_no_result(trials: Trials, folder: Path) -> None:
    report = _blame(trials, folder, "raise ValueError('gone')\n", 1)
    assert report.problem == "the program failed when it ran again: ValueError: gone"


def test_the_time_limit_ends_the_search(folder: Path, tmp_path: Path) -> None:
    with Trials(tmp_path / "search", [_invocation(folder, "sums.py", SUMS)], 0.1) as trials:
        report = find_blamed_records(trials, _is_above(folder, 800), [], [])
    assert report.problem == "the time limit ended the search before a trial made such a row"
