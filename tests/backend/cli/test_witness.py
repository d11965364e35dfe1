"""`headwater witness` finds the smallest input that still gives a row, for functions that hide which records a row needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.backend.cli.witness import app
from headwater.errors import InvalidQueryError

pytestmark = pytest.mark.spark

PROGRAM = """\
from datetime import date, datetime
from decimal import Decimal
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").getOrCreate()
COLUMNS = "user string, sum int, price decimal(9,2), day date, moment timestamp, share double, is_large boolean, tags array<int>"

def sessions(lines):
    amounts = {}
    for line in lines:
        user, amount = line.split(",")
        amounts.setdefault(user, []).append(int(amount))
    for user, each in sorted(amounts.items()):
        top = sum(sorted(each)[-2:])  # two records of the user decide
        moment = datetime(2026, 3, 4, 5, 6, 7, 890)
        yield user, top, Decimal(top) / 4, date(2026, 3, 4), moment, top / 3, top > 100, [1, 2]

lines = spark.sparkContext.textFile("events", 1)
spark.createDataFrame(lines.mapPartitions(sessions), COLUMNS).write.mode("overwrite").parquet("sessions")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("witness")
    (folder / "events").mkdir()
    rows = [f"u'{number % 5},{number * 7 % 83}" for number in range(300)]
    (folder / "events" / "events.csv").write_text("\n".join(rows) + "\n")
    (folder / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "headwater", "run", "--quiet", "--home", str(folder / "home"), "program.py"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


def _run(folder: Path, *arguments: str, shown_as: str = "json") -> Result:
    return CliRunner().invoke(
        app, [str(folder / "sessions"), *arguments, "--home", str(folder / "home"), "--format", shown_as, "--seconds", "3000"]
    )


def _amounts(user: int) -> list[int]:
    return sorted((number * 7 % 83 for number in range(300) if number % 5 == user), reverse=True)


def test_two_records_of_hundreds_give_the_row(folder: Path) -> None:
    columns = ["user", "sum", "price", "day", "moment", "share", "is_large"]
    result = _run(folder, "--where", "\"user\" = 'u''2'", *(part for column in columns for part in ("--column", column)))
    assert result.exit_code == 0, (result.output, result.exception)
    answer = json.loads(result.stdout)
    assert (answer["problem"], answer["minimal"], answer["count"]) == (None, True, 2)
    expected = sorted(f"u'2,{amount}" for amount in _amounts(2)[:2])
    assert sorted(record["values"]["value"] for record in answer["records"]) == expected


@pytest.mark.slow
def test_fewer_columns_need_fewer_records(folder: Path) -> None:
    result = _run(folder, "--where", "\"user\" = 'u''2'", "--column", "user", shown_as="table")
    assert "The record that gives the row:" in result.stdout, (result.output, result.exception)
    assert "With this record only, the programs make such a row." in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--where", "sum > 5000"], "No row of"),
        (["--where", "sum > 5"], "are of the type"),
        (["--where", "sum > 5", "--column", "total"], "no column total"),
    ],
)
def test_a_row_that_cannot_be_sought_is_refused(folder: Path, arguments: list[str], message: str) -> None:
    assert message in str(_run(folder, *arguments).exception)
    assert isinstance(_run(folder, "--where", "nothing > 5").exception, InvalidQueryError)
