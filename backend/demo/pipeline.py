"""Runs the five example jobs under `headwater run`, each in a process of its own, two at a time where they do not wait for each other."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path

from headwater.errors import HeadwaterError

# Jobs of one row do not read what the others of it write.
ORDER: Sequence[Sequence[str]] = (("clean", "station_counts"), ("enrich", "hourly_weather"), ("report",))

# Jobs that live for seconds: the JVM's second compiler, a parallel collector and Spark's page cost more than they can earn back (a third of
# the processor time). Who sets the variable has it so; replays run with what was recorded.
_SUBMIT = "--driver-java-options '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' --conf spark.ui.enabled=false pyspark-shell"


class JobFailedError(HeadwaterError):
    """An example job ended with an error; the message carries the end of its log."""


def run_pipeline(folder: Path, *, home: Path, started: Callable[[str], None], ended: Callable[[str, str], None]) -> None:
    """Run all jobs over `folder/raw`, writing below `folder/out`. `ended` gets a job's name and what `headwater run` said of it.

    Raises:
        JobFailedError: a job failed.
    """
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)

    def run(name: str) -> None:
        started(name)
        ended(name, _run(name, folder, home, logs / f"{name}.log"))

    with ThreadPoolExecutor(max_workers=2) as workers:
        for jobs in ORDER:
            for result in [workers.submit(run, name) for name in jobs]:
                result.result()


def script(name: str) -> Path:
    """Where an example job lies: in the package, and in a checkout in `examples/flights`."""
    return Path(str(files("headwater.examples") / "flights" / f"{name}.py"))


def _run(name: str, folder: Path, home: Path, log: Path) -> str:
    command = [sys.executable, "-m", "headwater", "run", "--home", str(home), str(script(name)), str(folder / "raw"), str(folder / "out")]
    with log.open("wb") as output:
        code = subprocess.run(
            command,
            cwd=folder,
            env={"PYSPARK_SUBMIT_ARGS": _SUBMIT} | os.environ | {"PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    text = log.read_text(encoding="utf-8", errors="replace").strip()
    if code:
        tail = "\n  ".join(["", *text.splitlines()[-8:]])
        raise JobFailedError(f"The job {name} ended with exit code {code}:{tail}", hint=f"The whole log is {log}.")
    return text
