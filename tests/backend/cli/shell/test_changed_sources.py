"""Sources that changed since the run read them: a LineageRDD or a frame of lineage never gives their records as if they were the run's."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from operator import add
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import headwater
from headwater.backend.cli.shell.lineage_warning import LineageWarning
from headwater.errors import SourceChangedError, UnsupportedError
from tests.jvm import start_with

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]
LINES = [f"k{number % 7} {number:04d}" for number in range(420)]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    start_with()
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    headwater.attach(session, mode="active", home=str(tmp_path_factory.mktemp("home")), quiet=True)
    yield session
    headwater.detach(session)
    session.stop()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "log").mkdir()
    return _put(tmp_path / "log" / "a.txt", LINES)


def _put(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def _in_place(path: Path) -> None:
    """One line is another, of the same length."""
    with path.open("r+b") as file:
        file.seek(3)
        file.write(b"9999")


def _replaced(path: Path) -> None:
    other = _put(path.with_name("_other"), ["k0 9999", *LINES[1:]])
    other.replace(path)


CHANGES: dict[str, Callable[[Path], Any]] = {
    "in place": _in_place,
    "shorter": lambda path: _put(path, LINES[:3]),
    "longer": lambda path: _put(path, [*LINES, "k0 9999"]),
    "replaced": _replaced,
    "gone": Path.unlink,
}


def _counts(spark: SparkSession, log: Path) -> Any:
    return spark.sparkContext.textFile(str(log.parent), 3).map(lambda line: (line.split()[0], 1)).reduceByKey(add)


@pytest.mark.filterwarnings("ignore::headwater.backend.cli.shell.lineage_warning.LineageWarning")  # of groups, which Spark still keeps
@pytest.mark.parametrize("change", CHANGES)
def test_lines_of_a_changed_file_are_no_lineage(spark: SparkSession, log: Path, change: str) -> None:
    counts = _counts(spark, log)
    assert len(counts.collect()) == 7
    lineage = headwater.lineage(counts)
    before = lineage.goBackAll()
    assert sorted(before.collect()) == sorted(LINES)
    derived = before.filter(lambda line: "k1" in line).map(str.upper)  # a plain RDD of the user's
    collect = before.collect
    CHANGES[change](log)
    for ask in (collect, lambda: before.take(3), lambda: lineage.goBackAll().collect(), lambda: lineage.goBack().take(2)):
        with pytest.raises(SourceChangedError, match=r"log/a\.txt has changed since the run read it"):
            ask()
    with pytest.raises(Py4JJavaError, match=r"log/a\.txt has changed since the run read it"):
        derived.collect()


def test_groups_that_spark_keeps_come_with_a_warning(spark: SparkSession, log: Path) -> None:
    counts = _counts(spark, log)
    counts.collect()
    _put(log, LINES[:3])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", LineageWarning)
        assert len(headwater.lineage(counts).collect()) == 7
    assert any("log/a.txt has changed since the run read it" in str(one.message) for one in said)


def test_a_file_that_changes_while_it_is_read_is_an_error(spark: SparkSession, log: Path) -> None:
    counts = _counts(spark, log)
    counts.collect()
    path = str(log)

    def change(line: str) -> None:
        if line.endswith("0007"):
            Path(path).write_text("more")

    lines = headwater.lineage(counts).goBackAll()
    with pytest.raises(SourceChangedError, match="has changed"):
        lines.foreach(change)


@pytest.mark.parametrize("method", ["wholeTextFiles", "binaryFiles", "binaryRecords"])
def test_every_kind_of_file_is_compared(spark: SparkSession, log: Path, method: str) -> None:
    read: Any = getattr(spark.sparkContext, method)
    records = read(str(log.parent), 8) if method == "binaryRecords" else read(str(log.parent))
    counts = records.map(lambda record: (len(record), 1)).reduceByKey(add)
    counts.collect()
    lines = headwater.lineage(counts).goBackAll()
    expected = lines.count()
    assert expected == (len(LINES) if method == "binaryRecords" else 1)
    _in_place(log)
    with pytest.raises(SourceChangedError, match="has changed"):
        lines.collect()


def test_of_several_files_those_alone_are_compared_that_hold_the_records(spark: SparkSession, log: Path) -> None:
    _put(log.with_name("b.txt"), ["k9 0000"])
    counts = _counts(spark, log)
    counts.collect()
    _in_place(log)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LineageWarning)
        nine = headwater.lineage(counts).filter(lambda pair: pair[0] == "k9").goBackAll()
        assert nine.collect() == ["k9 0000"]


@pytest.mark.slow
@pytest.mark.parametrize("change", ["rewritten", "replaced", "gone"])
def test_rows_of_a_changed_file_are_no_lineage_of_a_frame(spark: SparkSession, tmp_path: Path, change: str) -> None:
    spark.range(100).selectExpr("id", "id % 3 AS g").coalesce(1).write.parquet(str(tmp_path / "t"))
    lineage = headwater.lineage(spark.read.parquet(str(tmp_path / "t")).groupBy("g").count())
    made_before = lineage.backward("g = 1")
    assert made_before.count() == 33
    (file,) = (tmp_path / "t").glob("*.parquet")
    if change == "rewritten":
        file.write_bytes(file.read_bytes())
        os.utime(file, ns=(1, 1))
    elif change == "replaced":
        spark.range(100).selectExpr("id + 1 AS id", "id % 3 AS g").coalesce(1).write.parquet(str(tmp_path / "other"))
        next((tmp_path / "other").glob("*.parquet")).replace(file)
    else:
        file.unlink()
    with pytest.raises(SourceChangedError, match="has changed since the run read it"):
        lineage.backward("g = 1")
    with pytest.raises((PySparkException, Py4JJavaError), match="has changed since the run read it"):
        made_before.collect()
    with pytest.raises(SourceChangedError, match="has changed since the run read it"):
        lineage.forward("id = 5")
    lineage.close()


@pytest.mark.parametrize("name", ["two words", "a#b", "100%", "a%20b", "ü+&;"])
def test_files_of_any_name_are_compared(spark: SparkSession, tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    file = _put(tmp_path / name / "a.txt", LINES)
    counts = _counts(spark, file)
    counts.collect()
    lines = headwater.lineage(counts).goBackAll()
    assert lines.count() == len(LINES)
    spark.range(9).coalesce(1).write.parquet(str(tmp_path / name / "t"))
    frame = headwater.lineage(spark.read.parquet(str(tmp_path / name / "t")).where("id > 3"))
    assert frame.backward("id = 5").count() == 1
    _in_place(file)
    (part,) = (tmp_path / name / "t").glob("*.parquet")
    os.utime(part, (1, 1))
    with pytest.raises(SourceChangedError, match=r"a\.txt has changed"):
        lines.collect()
    with pytest.raises(SourceChangedError, match="has changed"):
        frame.backward("id = 5")
    frame.close()


@pytest.mark.filterwarnings("ignore::headwater.backend.cli.shell.lineage_warning.LineageWarning")
def test_a_cache_that_was_dropped_is_not_filled_from_a_changed_file_in_silence(spark: SparkSession, log: Path) -> None:
    kept = spark.sparkContext.textFile(str(log), 3).map(lambda line: (line.split()[0], line)).persist()
    counts = kept.groupByKey().mapValues(len)
    counts.collect()
    point = headwater.lineage(counts).goBack().goBack()
    assert point.count() == len(LINES)
    kept.unpersist(blocking=True)
    _in_place(log)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", LineageWarning)
        point.count()
    assert any("log/a.txt has changed since the run read it" in str(one.message) for one in said)
    with pytest.raises(SourceChangedError):
        headwater.lineage(counts).goBackAll().collect()


def test_a_file_that_is_gone_stops_only_the_questions_about_its_records(spark: SparkSession, tmp_path: Path) -> None:
    files = _numbered(spark, tmp_path / "numbers")
    with closing(headwater.lineage(spark.read.parquet(str(tmp_path / "numbers")).where("id % 2 = 0"))) as found:
        gone = files["id = 4"].rename(tmp_path / "elsewhere.parquet")
        assert [row.id for row in found.backward("id = 14").collect()] == [14]
        assert found.backward("id = 99").count() == 0
        with pytest.raises(SourceChangedError, match="it is gone"):
            found.backward("id = 4")
        gone.rename(files["id = 4"])
        assert [row.id for row in found.backward("id = 4").collect()] == [4]
    with pytest.raises(UnsupportedError, match="closed"):
        found.backward("id = 14")


def test_a_session_that_skips_damaged_files_gives_no_part_of_an_answer(spark: SparkSession, tmp_path: Path) -> None:
    files = _numbered(spark, tmp_path / "numbers")
    with closing(headwater.lineage(spark.read.parquet(str(tmp_path / "numbers")).where("id % 2 = 0"))) as found:
        answer = found.backward("id IN (4, 14)")
        assert answer.count() == 2
        for setting in ("ignoreCorruptFiles", "ignoreMissingFiles"):
            spark.conf.set(f"spark.sql.files.{setting}", "true")
        try:
            files["id = 4"].unlink()
            with pytest.raises((Py4JJavaError, PySparkException)):
                answer.count()
        finally:
            for setting in ("ignoreCorruptFiles", "ignoreMissingFiles"):
                spark.conf.unset(f"spark.sql.files.{setting}")


def _numbered(spark: SparkSession, folder: Path) -> dict[str, Path]:
    """Write twenty numbers into two files. Returns the files of two of the numbers, by condition."""
    spark.range(0, 20, 1, 2).write.parquet(str(folder))
    one, two = sorted(folder.glob("*.parquet"))
    return {"id = 4": one, "id = 14": two}
