"""`headwater suspects` compares a run with the earlier runs of its job, by the events of any producer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.backend.cli.suspects import app
from headwater.backend.home.settings import load_settings
from headwater.backend.workspace import Workspace
from headwater.errors import NotFoundError
from tests.backend.events import body, facet, run_event

_RUNS = 20


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with runs of one job. The last run wrote a third of the usual rows."""
    folder = tmp_path_factory.mktemp("suspects")

    async def fill() -> None:
        async with await Workspace.open(load_settings(home=folder)) as workspace:
            for number in range(_RUNS):
                rows = 1_000 + number % 5 if number < _RUNS - 1 else 333
                statistics = facet(rowCount=rows, size=rows * 40)
                output = {"namespace": "file", "name": "/out/report", "outputFacets": {"outputStatistics": statistics}}
                for kind, second in (("START", 0), ("COMPLETE", 7)):
                    stated = run_event(
                        number, kind, eventTime=f"2026-01-{number + 1:02}T03:00:{second:02}Z", outputs=[output],
                        job={"namespace": "tests", "name": "nightly"},
                    )  # fmt: skip
                    assert not workspace.events.submit("default", body(stated)).result().rejected
            running = run_event(90, "START", eventTime="2026-02-01T03:00:00Z", job={"namespace": "tests", "name": "nightly"})
            workspace.events.submit("default", body(running)).result()
            assert await workspace.settle() == 0

    asyncio.run(fill())
    return folder


def _run(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--home", str(home), "--format", "json"])


def test_a_run_with_fewer_rows_is_named(home: Path) -> None:
    result = _run(home, "nightly")
    assert result.exit_code == 0, result.output
    found = {row["metric"]: row for row in json.loads(result.stdout)}
    assert set(found) == {"rows of /out/report", "bytes of /out/report", "rows of /out/report in each second"}
    rows = found["rows of /out/report"]
    assert (rows["job"], rows["value"], rows["change"], rows["compared"]) == ("nightly", 333, "-67 %", _RUNS - 1)


def test_an_earlier_run_is_compared_with_the_runs_before_it(home: Path) -> None:
    middle = f"run:{run_event(14)['run']['runId']}"
    result = _run(home, middle)
    assert json.loads(result.stdout) == []
    assert "with 14 earlier runs" in result.stderr


def test_a_first_run_has_nothing_to_compare(home: Path) -> None:
    result = _run(home, f"run:{run_event(0)['run']['runId']}")
    assert result.exit_code == 0
    assert "a comparison needs" in result.stderr


def test_unknown_names_are_refused(home: Path) -> None:
    assert isinstance(_run(home, "nobody").exception, NotFoundError)


def test_a_run_that_is_not_complete_is_refused(home: Path) -> None:
    result = _run(home, f"run:{run_event(90)['run']['runId']}")
    assert "is not complete" in str(result.exception)
