"""Delivery into the home folder itself, if no service runs: the next question to the home imports the spool.

That costs a question some tenths of a second, and a program nothing. Only if much is waiting, the end of a program starts a process that
imports it. The program does not wait for that process, because the program may be ending (no new threads), may have modules with the same
names, and its memory is not ours. The server's modules are never imported here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile

from headwater.spark_listener.spool import SpoolFolder, applications

# A few small programs cost little more than one, because most of the time is for loading the server's modules.
_MANY_FOLDERS = 16
_MANY_BYTES = 1 << 20

_PROGRAM = """
import json, os, sys
os.nice(int(sys.argv[2]))
from dataclasses import asdict
from headwater.backend.workspace import deliver_spool
print(json.dumps(asdict(deliver_spool(sys.argv[1]))))
"""
_NEEDED = ("duckdb", "fastapi", "pydantic_settings", "structlog", "tenacity")


@dataclass(frozen=True, slots=True)
class Stored:
    """The result of importing the spool. If `finished` is false, the import is still running. `problem` is the reason of a failure."""

    finished: bool
    arrived: int = 0
    refused: tuple[str, ...] = ()
    pending: int = 0
    problem: str | None = None


def can_store() -> bool:
    """Return whether the `server` extra is installed."""
    return all(find_spec(name) is not None for name in _NEEDED)


def much_waits(spool: Path, folders: Iterable[SpoolFolder]) -> bool:
    """Return whether a spool, and these folders of it, are too large to be imported by the first question."""
    return sum(folder.waiting_bytes() for folder in folders) > _MANY_BYTES or len(applications(spool)) > _MANY_FOLDERS


def store(home: Path, timeout: float) -> Stored:
    """Import the home's spool in a process, and wait at most `timeout` seconds. Without a wait, the process has the lowest priority.

    Raises:
        OSError: the process cannot be started.
    """
    environment = {**os.environ, "HEADWATER_HOME": str(home)}
    with TemporaryFile() as output, TemporaryFile() as errors:
        child = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM, str(home), "0" if timeout else "10"],
            stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=environment, start_new_session=True,
        )  # fmt: skip
        try:
            code = child.wait(timeout)
        except subprocess.TimeoutExpired:
            child.returncode = 0  # the process continues alone, without a warning about an unreaped child
            return Stored(finished=False)
        output.seek(0)
        errors.seek(0)
        if code:
            lines = errors.read().decode("utf-8", "replace").strip().splitlines()
            return Stored(finished=True, problem=lines[-1] if lines else f"exit code {code}")
        answer = json.loads(output.read().splitlines()[-1])
    return Stored(finished=True, arrived=answer["arrived"], refused=tuple(answer["refused"]), pending=answer["pending"])
