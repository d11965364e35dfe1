"""`headwater trace --rank` ranks the inputs of an aggregated value."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner, Result

from headwater.backend.cli.trace import app
from headwater.errors import InvalidQueryError
from tests.captured import capture_pipeline


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with captured jobs. Their data is in the folder `data` next to it."""
    folder = tmp_path_factory.mktemp("rank") / "home"
    asyncio.run(capture_pipeline(folder, folder.parent / "data"))
    return folder


def _run(home: Path, *options: str) -> Result:
    return CliRunner().invoke(app, [*options, "--rank", "--home", str(home)])


def test_the_inputs_of_a_maximum_are_ranked_as_duckdb_computes_it(home: Path) -> None:
    data = home.parent / "data"
    result = _run(home, str(data / "report"), "--where", "origin = 'A'", "--column", "max_wind", "--format", "json")
    assert result.exit_code == 0, result.output
    ranking = json.loads(result.stdout)
    files = str(data / "hourly" / "*.parquet")
    query = "SELECT max(wind) FROM read_parquet(?, filename = true, file_row_number = true) WHERE origin = 'A'"
    [(value,)] = duckdb.execute(query, [files]).fetchall()
    assert (ranking["value"], ranking["exact"], ranking["function"]) == (value, True, "max(wind)")
    assert ranking["total"] == len(ranking["records"]) > 3
    for ranked in ranking["records"]:
        place = [files, ranked["record"]["file"].removeprefix("file:"), ranked["record"]["row"]]
        [(without,)] = duckdb.execute(f"{query} AND NOT (filename = ? AND file_row_number = ?)", place).fetchall()
        assert ranked["without"] == without


def test_a_table_shows_the_change_of_each_input(home: Path) -> None:
    result = _run(
        home, str(home.parent / "data" / "report"), "--where", "origin = 'A'", "--column", "hours", "--limit", "2", "--format", "csv"
    )
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("without,change,file,row,")
    assert [line.split(",")[1] for line in lines[1:]] == ["-1", "-1"]
    assert "inputs." in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--where", "true"], "Which value to rank is not given"), (["--row", "a:1", "--row", "a:2", "--column", "x"], "2 rows are named"),
        (["--where", "true", "--column", "hours", "--forward"], "A ranking is of the inputs"),
        (["--where", "true", "--column", "hours"], "rows are selected"),
    ],
)  # fmt: skip
def test_what_cannot_be_ranked_is_refused(home: Path, options: list[str], message: str) -> None:
    result = _run(home, str(home.parent / "data" / "report"), *options)
    assert isinstance(result.exception, InvalidQueryError)
    assert message in str(result.exception)
