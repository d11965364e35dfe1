"""Runs the five example jobs under `headwater run`, each in a separate process as soon as its inputs exist, two at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from importlib.resources import files
from pathlib import Path

from headwater.errors import HeadwaterError

# The jobs that each job reads from. The first job that can start goes first; no job waits for `station_counts`, so it runs last.
READS: Mapping[str, Sequence[str]] = {
    "clean": (), "enrich": ("clean",), "hourly_weather": ("clean",), "report": ("enrich", "hourly_weather"), "station_counts": (),
}  # fmt: skip

# The jobs live for seconds: the JVM's second compiler, a parallel collector and Spark's web UI cost more time than they save (a third of
# the processor time). A value set by the user is kept; replays use the recorded value.
_SUBMIT = "--driver-java-options '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' --conf spark.ui.enabled=false pyspark-shell"


class JobFailedError(HeadwaterError):
    """An example job failed. The message contains the end of its log."""


def run_pipeline(folder: Path, *, home: Path, started: Callable[[str], None], ended: Callable[[str, str], None]) -> None:
    """Run all jobs on the files in `folder/raw`. The jobs write below `folder/out`.

    `ended` is called with a job's name and the output of `headwater run`.

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
    """Return the path of an example job, in the installed package or in `examples/flights` of a checkout."""
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
