"""`headwater why` names the record at which a program failed, whatever failed: a function, an expression, a reader."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.backend.rerun.culprits.crash import CrashReport, find_crash_culprit
from headwater.backend.rerun.culprits.trials import Trials
from headwater.backend.rerun.replay.model import Invocation
from tests.backend.rerun.culprits import failing_programs
from tests.backend.rerun.culprits.people import BAD, write_people

pytestmark = pytest.mark.spark
SCRIPT = Path(failing_programs.__file__)
SELECTION = ("cast", "udf_int", "pandas_series", "rdd_map", "json_file", "udf_after_filter", "divide_of_group")
PLACES = (0, 299, 34, 151)  # numbers of the bad record, in addition to the usual one
PAIRS = {"cast_after_join": 2, "cast_in_window": 2}  # one row of the result comes from two records
UNREADABLE = ("json_file", "csv_file")  # the reader itself fails
FAILS = "def fail(rows):\n    raise ValueError('always')\n"
UNREAD = "spark.read.parquet(f'{folder}/people.parquet').where('id > 1000').count()"  # the statistics of the file exclude all records
NEEDS_NO_RECORD = {
    "in the driver": "spark.read.csv(f'{folder}/people.csv', header=True).count()\nraise ValueError('always')",
    "in the driver, with an unread file": f"{UNREAD}\nraise ValueError('always')",
    "in the driver, with a file and an unread file": f"{UNREAD}\nspark.read.text(f'{{folder}}/people.txt').count()\nraise ValueError",
    "in each task of a frame": f"{FAILS}spark.read.csv(f'{{folder}}/people.csv').rdd.mapPartitions(fail).count()",
    "in each task of lines": f"{FAILS}spark.sparkContext.textFile(f'{{folder}}/people.csv').mapPartitions(fail).count()",
    "in each task of the program's rows": f"{FAILS}spark.sparkContext.parallelize(range(9), 3).mapPartitions(fail).count()",
    "in each task after it has read a record": (
        "def fail(rows):\n    next(rows, None)\n    raise ValueError('always')\n"
        "spark.read.parquet(f'{folder}/people.parquet').rdd.mapPartitions(fail).count()"
    ),
    "in each task of mapInPandas": f"{FAILS}spark.read.csv(f'{{folder}}/people.csv').mapInPandas(fail, 'a long').collect()",
    "in each task, with the number of records": (
        "def fail(rows):\n    raise ValueError(f'{len(list(rows))} rows')\n"
        "spark.read.parquet(f'{folder}/people.parquet').rdd.mapPartitions(fail).count()"
    ),
}
SELECTED_BODIES = ("in the driver", "in the driver, with an unread file", "in each task of a frame", "in each task of lines")
OTHERS = [name for name in failing_programs.KINDS if name not in SELECTION]


def _invocation(kind: str, data: Path, bad: int = BAD) -> Invocation:
    return Invocation(
        run="run", namespace="default", job="job", argv=[SCRIPT.name, kind, str(data), str(bad)],
        working_directory=str(data), script=str(SCRIPT),
        script_sha256=hashlib.sha256(SCRIPT.read_bytes()).hexdigest(),
        environment={"PYSPARK_PYTHON": sys.executable, "SPARK_SUBMIT_OPTS": os.environ.get("SPARK_SUBMIT_OPTS", "")},
    )  # fmt: skip


def _program(data: Path, folder: Path, body: str) -> Invocation:
    """Return the start of a script with `body`, which has a session `spark` and the `folder` of the data."""
    script = folder / "program.py"
    script.write_text(f"from pyspark.sql import SparkSession\nspark, folder = SparkSession.builder.getOrCreate(), {str(data)!r}\n{body}\n")
    digest = hashlib.sha256(script.read_bytes()).hexdigest()
    return _invocation("cast", data).model_copy(update={"script": str(script), "script_sha256": digest})


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    write_people(folder)
    return folder


@pytest.fixture(scope="module", params=PLACES)
def placed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """People of whom another record is bad, and the number of this record."""
    folder = tmp_path_factory.mktemp("placed")
    write_people(folder, bad=request.param, seed=request.param)
    return folder, request.param


@pytest.fixture(scope="module")
def trials(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trials]:
    """One process for all programs, because the start of Spark takes seconds."""
    with Trials(tmp_path_factory.mktemp("trials") / "search", [_invocation("cast", data)], 3_000) as trials:
        yield trials


def _search(trials: Trials, data: Path, kind: str, bad: int = BAD) -> CrashReport:
    trials.take([_invocation(kind, data, bad)])
    return find_crash_culprit(trials, None)


def _check(report: CrashReport, data: Path, kind: str, number: int = BAD) -> None:
    assert report.problem is None
    assert report.is_minimal
    found = dict.fromkeys(report.records)
    assert len(found) == PAIRS.get(kind, 1)
    if kind.endswith("_of_the_program"):
        [(place, row)] = found
        assert place.startswith("program:")
        assert row == number
        return
    is_text_with_header = kind.startswith("rdd_") and kind not in ("rdd_json", "rdd_of_frame")
    bad = [(file, row) for file, row in found if "/cities." not in file]
    assert (bad[0][0].rpartition("/")[0], number + is_text_with_header in [row for _, row in bad]) == (f"file:{data}", True)
    if kind in UNREADABLE:
        assert (report.values, len(report.notes)) == ({}, 1)
        return
    assert any("x17" in str(value) or str(number) in str(value) or '{"id": 2' in str(value) for value in report.values.values())


@pytest.mark.parametrize("kind", SELECTION)
def test_the_failing_record_is_named(trials: Trials, data: Path, kind: str) -> None:
    report = _search(trials, data, kind)
    _check(report, data, kind)
    assert not (data / "out").exists()  # a trial writes to its shadow only


@pytest.mark.torture
@pytest.mark.parametrize("kind", OTHERS)
def test_the_failing_record_is_named_for_each_kind_of_failure(trials: Trials, data: Path, kind: str) -> None:
    _check(_search(trials, data, kind), data, kind)


@pytest.mark.torture
@pytest.mark.parametrize("kind", failing_programs.KINDS)
def test_the_failing_record_is_named_wherever_it_is(trials: Trials, placed: tuple[Path, int], kind: str) -> None:
    """With the 49 kinds above, 245 runs that fail: the record is the first, the last, or another one of the file."""
    folder, number = placed
    _check(_search(trials, folder, kind, number), folder, kind, number)


@pytest.mark.parametrize(
    "body",
    [pytest.param(body, id=name, marks=() if name in SELECTED_BODIES else pytest.mark.torture) for name, body in NEEDS_NO_RECORD.items()],
)
def test_a_failure_that_needs_no_record_has_no_culprit(trials: Trials, data: Path, tmp_path: Path, body: str) -> None:
    trials.take([_program(data, tmp_path, body)])
    report = find_crash_culprit(trials, None)
    assert (len(report.records), report.is_minimal) == (0, False)
    assert report.problem is not None
    assert report.problem.startswith("the failure does not depend on the records that were chosen")


@pytest.mark.slow
def test_a_file_without_effect_is_not_blamed_for_the_record_of_another(trials: Trials, data: Path, tmp_path: Path) -> None:
    """No task reads a record of the Parquet file, so its first record is tried. The program fails with it, and also without it."""
    body = f"{UNREAD}\nspark.read.csv(f'{{folder}}/people.csv', header=True).repartition(3).selectExpr('CAST(age AS INT)').collect()"
    trials.take([_program(data, tmp_path, body)])
    report = find_crash_culprit(trials, None)
    assert (report.problem, report.is_minimal) == (None, True)
    assert list(report.records) == [(f"file:{data}/people.csv", BAD)]


def test_a_program_that_succeeds_now_is_not_blamed(trials: Trials, data: Path, tmp_path: Path) -> None:
    trials.take([_program(data, tmp_path, "spark.read.text(folder).count()")])
    report = find_crash_culprit(trials, None)
    assert report.problem is not None
    assert report.problem.startswith("the program did not fail when it ran again")
