"""The command line: quick, light, and with errors that say what to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.backend.cli.command import headwater

_BLOCKED = (
    "import sys\n"
    "sys.modules.update(dict.fromkeys({blocked!r}))\n"  # None there: not installed, as imports and find_spec see it
    "from headwater.backend.cli import main\n"
    "sys.argv = ['headwater', *{arguments!r}]\n"
    "main()\n"
)
# pydantic itself is not among them: typer brings it.
_SERVER = (
    "fastapi",
    "starlette",
    "strawberry",
    "duckdb",
    "pydantic_settings",
    "structlog",
    "uvicorn",
    "prov",
    "tenacity",
    "rfc8785",
)


def _headwater(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "headwater", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
        timeout=300,
    )


def _light(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line where only the light install is."""
    program = _BLOCKED.format(blocked=_SERVER, arguments=arguments)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=300)


def test_help_names_every_command_and_the_exit_codes() -> None:
    shown = _headwater("--help")
    assert shown.returncode == 0
    for name in ("run", "serve", "demo", "trace", "lineage", "export", "replay", "doctor", "store"):
        assert name in shown.stdout
    assert "3 not found" in shown.stdout


@pytest.mark.parametrize("name", ["run", "serve", "demo", "trace", "lineage", "export", "replay", "doctor", "store"])
def test_every_command_has_help(name: str) -> None:
    assert f"headwater {name}" in headwater(name, "--help").stdout


def test_help_loads_nothing_of_the_server() -> None:
    program = (
        "import sys; sys.argv = ['headwater', '--help']\nfrom headwater.backend.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    )
    program += f"print(sorted(set({_SERVER!r}) & set(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300).stdout
    assert told.splitlines()[-1] == "[]"


@pytest.mark.parametrize("arguments", [("--help",), ("run", "--help"), ("doctor", "--format", "json")])
def test_the_light_install_is_enough_for(arguments: tuple[str, ...]) -> None:
    shown = _light(*arguments)
    assert "Traceback" not in shown.stderr, shown.stderr
    assert shown.stdout


@pytest.mark.parametrize("name", ["serve", "trace", "store"])
def test_what_the_light_install_lacks_is_named_with_the_command_that_adds_it(name: str) -> None:
    shown = _light(name, "x") if name == "trace" else _light(name)
    assert shown.returncode == 2
    assert 'pip install "headwater[server]"' in shown.stderr
    assert "Traceback" not in shown.stderr


def test_a_typo_is_told_what_is_near() -> None:
    assert "'trace'" in headwater("tarce", code=2).stderr


def test_of_a_group_that_has_no_such_command_the_commands_are_named() -> None:
    assert "There are: access, report, lineage, tags." in headwater("column", "nowhere.a", code=2).stderr


@pytest.mark.parametrize("arguments", [("column", "--home", "x"), ("--home", "x", "trace", "y")])
def test_an_option_in_front_of_the_command_is_told_its_place(arguments: tuple[str, ...]) -> None:
    assert "Name a command first, then --home." in headwater(*arguments, code=2).stderr


@pytest.mark.parametrize("arguments", [("trace",), ("admin", "keys", "create"), ("run",)])
def test_a_missing_argument_comes_with_an_example(arguments: tuple[str, ...]) -> None:
    assert f"For example: headwater {' '.join(arguments)} " in headwater(*arguments, code=2).stderr


def test_an_empty_home_is_named_where_something_is_looked_for(tmp_path: Path) -> None:
    for asked in (("trace", "out/report", "--where", "true"), ("lineage", "out/report")):
        shown = headwater(*asked, "--home", str(tmp_path / "new"), code=3, COLUMNS="300").stderr
        assert "captured yet: run a program with `headwater run`." in shown
        assert f"The home that was asked is {tmp_path / 'new'}; --home or HEADWATER_HOME names another." in shown


def test_a_replay_names_what_it_lacks(tmp_path: Path) -> None:
    shown = headwater("replay", "out/report", "--without", "raw", "--home", str(tmp_path), code=2).stderr
    assert "A replay lacks --where or --row, which records those are." in shown


def test_an_error_is_a_message_with_a_hint_and_with_debug_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    home = str(tmp_path / "file" / "home")
    shown = _headwater("store", "rebuild", "--home", home)
    assert shown.returncode == 2
    assert shown.stdout == ""
    assert "error:" in shown.stderr
    assert "hint:" in shown.stderr
    assert "Traceback" not in shown.stderr
    assert "Traceback" in _headwater("--debug", "store", "rebuild", "--home", home).stderr


def test_the_version_is_printed() -> None:
    assert _headwater("--version").stdout.startswith("headwater 0.")


def test_doctor_says_what_it_looked_at(tmp_path: Path) -> None:
    shown = _headwater("doctor", "--home", str(tmp_path / "new"), "--format", "json")
    findings = {item["check"]: item for item in json.loads(shown.stdout)}
    assert set(findings) == {"versions", "java", "pyspark", "server extra", "home", "key", "disk", "service"}
    assert findings["home"]["state"] == "ok"
    assert not (tmp_path / "new").exists()  # it looks and changes nothing


def test_doctor_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("hw_0123456789abcdef")
    (tmp_path / "key").chmod(0o644)
    shown = _headwater(
        "doctor", "--home", str(tmp_path), "--format", "json", PATH="", JAVA_HOME="/nowhere", HEADWATER_URL="http://127.0.0.1:9"
    )
    assert shown.returncode == 1
    bad = {item["check"]: item["advice"] for item in json.loads(shown.stdout) if item["state"] == "bad"}
    assert "JDK 17" in bad["java"]
    assert bad["key"] == f"chmod 600 {tmp_path / 'key'}"
    assert "headwater serve" in bad["service"]
