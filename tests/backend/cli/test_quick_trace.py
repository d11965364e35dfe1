"""`headwater trace` without typer, and without pandas, answers what it answers with them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer

from headwater.backend.cli import trace
from headwater.backend.cli.quick_trace import FLAGS, VALUES, quick_trace
from headwater.backend.home.default_settings import DefaultSettings
from headwater.backend.home.quick_settings import settings_of
from headwater.backend.home.settings import Settings, load_settings
from tests.captured import capture_pipeline

_LOADED = """
import atexit, sys
atexit.register(lambda: print([name for name in ('typer', 'pydantic', 'pandas') if name in sys.modules], file=sys.stderr))
sys.argv = ['headwater', *sys.argv[1:]]
from headwater.backend.cli import main
main()
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with captured jobs. Their data is in its folder `data`."""
    folder = tmp_path_factory.mktemp("traced") / "home"
    asyncio.run(capture_pipeline(folder, folder.parent / "data"))
    return folder


def _trace(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _LOADED, "trace", *arguments, "--home", str(home)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HEADWATER_")}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)


def test_it_knows_the_options_of_the_command() -> None:
    options: list[Any] = [option for option in typer.main.get_command(trace.app).params if option.param_type_name == "option"]
    names = {"row": "rows"}
    assert {name: names.get(option.name, option.name) for option in options for name in option.opts if not option.is_flag} == VALUES
    assert {name: option.name for option in options for name in option.opts if option.is_flag} == FLAGS


def test_a_home_of_which_nothing_is_set_has_the_default_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("HEADWATER_")]:
        monkeypatch.delenv(name)
    usual, full = settings_of(tmp_path), load_settings(home=tmp_path)
    assert isinstance(usual, DefaultSettings)
    names = [*(item.name for item in fields(DefaultSettings)), "store_url"]
    assert {name: getattr(usual, name) for name in names} == {name: getattr(full, name) for name in names}


@pytest.mark.parametrize("name", ["HEADWATER_STORE", "headwater_data_roots", "HEADWATER_HOME"])
def test_what_the_environment_sets_is_read(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, {"headwater_data_roots": "[]"}.get(name, ""))
    assert isinstance(settings_of(None), Settings)


def test_it_answers_as_the_command_line_does(home: Path) -> None:
    report = str(home.parent / "data" / "report")
    quick = _trace(home, report, "--where", "true", "--limit=5", "--semantics", "witness", "-f", "json")
    slow = _trace(home, report, "--where", "true", "--limit=5", "--semantics", "witness", "-fjson")
    assert (quick.returncode, quick.stderr) == (0, "[]\n")
    assert slow.returncode == 0, slow.stderr  # written so, the command line reads the options
    assert json.loads(quick.stdout) == json.loads(slow.stdout)
    assert len(json.loads(quick.stdout)["records"]) == 5


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (["report", "--where", "nothing = 1"], "nothing", 2),
        (["no such dataset", "--where", "true"], "no such dataset", 3),
        (["report"], "No record is chosen", 2),
        (["report", "--row", "x"], "'x' names no record", 2),
        (["report", "--where", "true", "--limit", "-1"], "--limit", 2),
        (["report", "--where", "true", "--semantics", "vague"], "vague", 2),
        (["report", "again", "--where", "true"], "again", 2),
    ],
)
def test_mistakes_are_told_as_ever(home: Path, arguments: list[str], said: str, code: int) -> None:
    report = str(home.parent / "data" / "report")
    done = _trace(home, *(report if argument == "report" else argument for argument in arguments))
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr


@pytest.mark.parametrize("arguments", [[], ["lineage", "x"], ["trace"], ["trace", "--help"], ["trace", "x", "--limit", "²"]])
def test_what_is_not_for_here_is_left_to_the_command_line(arguments: list[str]) -> None:
    assert not quick_trace(arguments)


def test_where_a_library_is_missing_the_extra_is_named(home: Path) -> None:
    without = "import sys; sys.modules['duckdb'] = None; " + _LOADED
    done = subprocess.run(
        [sys.executable, "-c", without, "trace", "report", "--where", "true", "--home", str(home)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert 'pip install "headwater[server]"' in " ".join(done.stderr.split())
