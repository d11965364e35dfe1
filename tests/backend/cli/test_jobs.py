"""`headwater jobs`: programs are registered, listed and forgotten by whoever owns the home."""

import json
from pathlib import Path

import pytest

from tests.backend.cli.command import headwater


@pytest.fixture
def script(tmp_path: Path) -> Path:
    target = tmp_path / "job.py"
    target.write_text("print('a job')\n")
    return target


def listed(home: Path) -> list[dict]:
    return json.loads(headwater("jobs", "list", "--home", str(home), "-f", "json").stdout)


def test_a_registered_program_is_listed_with_its_command_and_forgotten(script: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert listed(home) == []
    headwater("jobs", "register", "--home", str(home), "--folder", str(tmp_path), "report", str(script), "--month", "2 and 3")
    (row,) = listed(home)
    assert (row["namespace"], row["job"], row["by"], row["folder"]) == ("default", "report", "operator", str(tmp_path))
    assert row["command"] == f"{script} --month '2 and 3'"
    headwater("jobs", "remove", row["id"], "--home", str(home))
    assert listed(home) == []
    assert "No program" in headwater("jobs", "remove", row["id"], "--home", str(home), code=3).stderr


def test_what_was_registered_for_a_job_before_is_replaced(script: Path, tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    for argument in ("1", "2"):
        headwater("jobs", "register", "--home", home, "report", str(script), argument)
    assert [row["command"] for row in listed(tmp_path / "home")] == [f"{script} 2"]


def test_what_cannot_be_registered_is_said(script: Path, tmp_path: Path) -> None:
    home = ["--home", str(tmp_path / "home")]
    assert "no script" in headwater("jobs", "register", *home, "report", str(tmp_path / "none.py"), code=2).stderr
    assert "is not set" in headwater("jobs", "register", *home, "--env", "NOT_SET", "report", str(script), code=2).stderr
    assert "no folder" in headwater("jobs", "register", *home, "--folder", str(tmp_path / "x"), "report", str(script), code=2).stderr
