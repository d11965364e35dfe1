"""Tab completes commands, options and values: asked by a real bash, and in the forms that zsh and fish ask in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_BIN = Path(sys.executable).parent


def _run(command: list[str], **variables: str) -> str:
    environment = {**os.environ, "PATH": f"{_BIN}{os.pathsep}{os.environ['PATH']}", **variables}
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, env=environment).stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_commands_options_and_values() -> None:
    words = {"headwater rec": 1, "headwater admin keys r": 3, "headwater trace --semantics w": 3, "headwater run ''": 2}
    ask = 'COMPREPLY=(); _headwater_completion headwater; echo "${COMPREPLY[*]}"'
    asked = "".join(f"COMP_WORDS=({line}); COMP_CWORD={place}; {ask}\n" for line, place in words.items())
    told = _run(["bash", "--norc", "-c", f'eval "$(headwater completion bash)"\n{asked}'])
    assert told.splitlines() == ["recapture", "rotate revoke", "witness", ""], "files are bash's own to complete"


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_are_answered_in_their_own_form(shell: str) -> None:
    assert f"_HEADWATER_COMPLETE=complete_{shell}" in _run(["headwater", "completion", shell])
    asked = {"_HEADWATER_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": "headwater admin keys r"}
    told = _run(["headwater"], _TYPER_COMPLETE_FISH_ACTION="get-args", **asked)
    assert "rotate" in told
    assert "revoke" in told
    assert "create" not in told
