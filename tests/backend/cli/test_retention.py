"""`headwater retention`, on a home without a service."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headwater.backend.cli.main import app
from headwater.errors import InvalidQueryError

CLEAN, OUT = "/data/out/clean", "/data/out/report"


@pytest.fixture
def home(lived_in: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(lived_in, tmp_path / "home"))


def test_overdue_data_is_listed_with_its_way_and_fails_the_command(home: Path) -> None:
    runner = CliRunner()
    assert "No data is due." in runner.invoke(app, ["retention", "--home", str(home)]).output
    stated = runner.invoke(app, ["describe", CLEAN, "--retention", "1d", "--home", str(home)])
    assert stated.exit_code == 0, stated.output
    listed = runner.invoke(app, ["retention", OUT, "--format", "json", "--home", str(home)])
    assert listed.exit_code == 1, "overdue"
    (found,) = json.loads(listed.stdout)
    assert (found["state"], found["dataset"], found["source"], found["days"]) == ("overdue", OUT, CLEAN, 1)
    table = runner.invoke(app, ["retention", "--format", "csv", "--home", str(home)])
    assert f"{CLEAN} > " in table.stdout
    assert f" > {OUT}" in table.stdout
    assert runner.invoke(app, ["describe", OUT, "--legal-hold", "case 7", "--home", str(home)]).exit_code == 0
    held = runner.invoke(app, ["retention", OUT, "--format", "json", "--home", str(home)])
    assert held.exit_code == 0
    assert [each["state"] for each in json.loads(held.stdout)] == ["held"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["retention", "--within", "soon"], "'soon' is no time"), (["describe", OUT, "--retention", "0d"], "'0d' is no period")],
)
def test_a_text_that_is_no_period_is_refused(home: Path, arguments: list[str], said: str) -> None:
    with pytest.raises(InvalidQueryError, match=said):
        CliRunner().invoke(app, [*arguments, "--home", str(home)], catch_exceptions=False)
