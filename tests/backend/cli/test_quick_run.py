"""`headwater run` without typer does what it does with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer

from headwater.backend.cli import run
from headwater.backend.cli.quick_run import FLAGS, VALUES, quick_run

_SAYS = "import sys; print(sys.argv[1:], 'typer' in sys.modules, __name__)"


def _run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "headwater", "run", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_it_knows_the_options_of_the_command() -> None:
    options = [option for option in typer.main.get_command(run.app).params if option.param_type_name == "option"]
    assert {name: option.name for option in options for name in option.opts if not option.is_flag} == VALUES
    assert {name: option.name for option in options for name in option.opts if option.is_flag} == FLAGS


@pytest.mark.parametrize("options", [["--mode", "off"], ["--mode=off", "-q"], ["-q", "--mode", "off", "--home", "h"]])
def test_a_program_starts_without_the_command_line_s_machinery(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "says.py").write_text(_SAYS)
    done = _run(*options, "says.py", "--mode", "x", "-q", folder=tmp_path)
    assert (done.stdout, done.stderr) == ("['--mode', 'x', '-q'] False __main__\n", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--help"], "Run a PySpark program"),
        (["--mode", "lots", "x.py"], "lots"),
        (["--wings", "x.py"], "--wings"),
        (["absent.py"], "There is no script"),
        (["--mode"], "mode"),
    ],
)
def test_what_is_not_plain_is_left_to_the_command(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = _run(*arguments, folder=tmp_path)
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_other_commands_are_none_of_its() -> None:
    quick_run(["trace", "x"])
    quick_run([])
