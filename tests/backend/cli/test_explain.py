"""`headwater explain` compares the records behind wrong rows with the records behind the others."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.backend.cli.explain import app
from headwater.errors import InvalidQueryError
from tests.captured import capture_pipeline


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with captured jobs. Their data is in the folder `data` next to it."""
    folder = tmp_path_factory.mktemp("explain") / "home"
    asyncio.run(capture_pipeline(folder, folder.parent / "data"))
    return folder


def _run(home: Path, *options: str) -> Result:
    data = home.parent / "data"
    return CliRunner().invoke(app, [str(data / "clean" / "flights"), *options, "--home", str(home), "--format", "json"])


def test_a_condition_on_the_source_is_found(home: Path) -> None:
    result = _run(home, "--bad", "carrier = 'Y'", "--most", "1")
    assert result.exit_code == 0, result.output
    [found] = json.loads(result.stdout)
    assert found["dataset"] == str(home.parent / "data" / "raw" / "flights.csv")
    assert found["condition"] == "\"carrier\" = 'Y'"
    assert (found["precision"], found["recall"], found["good"]) == (1.0, 1.0, 0)
    assert found["bad"] > 0


def test_a_column_may_be_left_out(home: Path) -> None:
    result = _run(home, "--bad", "carrier = 'Y'", "--without", "CARRIER")
    assert all("carrier" not in found["condition"] for found in json.loads(result.stdout))


def test_a_cut_comparison_is_not_exact(home: Path) -> None:
    result = _run(home, "--bad", "carrier = 'Y'", "--limit", "2")
    assert "not exact" in result.stderr
    assert "only the first 2 of" in result.stderr


def test_wrong_rows_that_do_not_exist_are_refused(home: Path) -> None:
    result = _run(home, "--bad", "carrier = 'nobody'")
    assert isinstance(result.exception, InvalidQueryError)
    assert "No record was found" in str(result.exception)


def test_if_no_row_is_right_nothing_is_compared(home: Path) -> None:
    result = _run(home, "--bad", "true")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == []
    assert "no record is behind other rows alone" in result.stderr


def test_a_missing_column_is_refused(home: Path) -> None:
    result = _run(home, "--bad", "wind > 3")
    assert "wind, which is no column" in str(result.exception)


def test_a_column_to_leave_out_that_does_not_exist_is_refused(home: Path) -> None:
    result = _run(home, "--bad", "carrier = 'Y'", "--without", "carier")
    assert "No source has a column carier" in str(result.exception)
