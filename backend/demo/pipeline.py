"""Runs the five example jobs under `headwater run`, each in a process of its own and as soon as what it reads is there, two at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from importlib.resources import files
from pathlib import Path

from headwater.errors import HeadwaterError

# What each job reads of the others. Of those that could start, the first goes first; `station_counts`, which nobody waits for, fills up.
READS: Mapping[str, Sequence[str]] = {
    "clean": (), "enrich": ("clean",), "hourly_weather": ("clean",), "report": ("enrich", "hourly_weather"), "station_counts": (),
}  # fmt: skip

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

    done, running = set[str](), dict[Future[None], str]()
    with ThreadPoolExecutor(max_workers=2) as workers:
        while len(done) < len(READS):
            ready = [name for name, read in READS.items() if done.issuperset(read) and name not in done and name not in running.values()]
            for name in ready[: 2 - len(running)]:
                running[workers.submit(run, name)] = name
            for job in wait(running, return_when=FIRST_COMPLETED).done:
                done.add(running.pop(job))
                job.result()


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
