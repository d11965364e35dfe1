"""The command line in the process of the tests, which starts in no time. A few tests need a process of their own."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

import pytest

from headwater.backend.cli.main import main


def headwater(*arguments: str, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """Return the output of `headwater …`, which must end with `code`."""
    out, err, ended = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["headwater", *arguments])
        for name, value in environment.items():
            patch.setenv(name, value)
        try:
            main()
        except SystemExit as end:
            ended = end.code if isinstance(end.code, int) else int(bool(end.code))
    assert ended == code, err.getvalue()
    return subprocess.CompletedProcess(["headwater", *arguments], ended, out.getvalue(), err.getvalue())
