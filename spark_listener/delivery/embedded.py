"""Delivery into the home folder itself, where no service runs: a short process of its own takes the spool in.

At the end of a program. A process apart, because the program's own may be ending (no more threads), may have modules of its own under our
names, and is not ours to fill; it lives on if the program does not wait. The server's parts are never imported here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile

_PROGRAM = """
import json, sys
from dataclasses import asdict
from headwater.backend.workspace import deliver_spool
print(json.dumps(asdict(deliver_spool(sys.argv[1]))))
"""
_NEEDED = ("duckdb", "fastapi", "pydantic_settings", "structlog", "tenacity")


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of the spool. `finished` False: it is still being taken in. `problem` says why it was not."""

    finished: bool
    arrived: int = 0
    refused: tuple[str, ...] = ()
    pending: int = 0
    problem: str | None = None


def can_store() -> bool:
    """Whether the `server` extra is installed."""
    return all(find_spec(name) is not None for name in _NEEDED)


def store(home: Path, timeout: float) -> Stored:
    """Take the home's spool in, waiting `timeout` seconds at most for it to be done.

    Raises:
        OSError: the process cannot be started.
    """
    environment = {**os.environ, "HEADWATER_HOME": str(home)}
    with TemporaryFile() as output, TemporaryFile() as errors:
        child = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM, str(home)],
            stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=environment, start_new_session=True,
        )  # fmt: skip
        try:
            code = child.wait(timeout)
        except subprocess.TimeoutExpired:
            child.returncode = 0  # it goes on by itself: no complaint about an unreaped child
            return Stored(finished=False)
        output.seek(0)
        errors.seek(0)
        if code:
            lines = errors.read().decode("utf-8", "replace").strip().splitlines()
            return Stored(finished=True, problem=lines[-1] if lines else f"exit code {code}")
        answer = json.loads(output.read().splitlines()[-1])
    return Stored(finished=True, arrived=answer["arrived"], refused=tuple(answer["refused"]), pending=answer["pending"])
