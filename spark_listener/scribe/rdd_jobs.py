"""Spark's jobs outside of SQL: the actions of RDD programs (`collect`, `count`, `reduce`, `foreach`), and RDD jobs of libraries.

Each job is a run with the datasets of its RDD, if its name or its inputs are new: of a thousand actions in a loop on the same inputs, the
first ones are reported and the rest counted. A job that reads only the program's own data is counted. A failed job is always reported. The
JVM finds the inputs of an RDD (`jvm/listen/RddInputs.java`).
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headwater.spark_listener.capture.session import OURS
from headwater.spark_listener.lineage.parents import new_run_id
from headwater.spark_listener.rdd import RddSources
from headwater.spark_listener.redact import redact
from headwater.spark_listener.scribe.running import TELL_AFTER, is_reader
from headwater.spark_listener.settings import LeaveOut

MOST_TOLD = 10  # runs of one operation on the same inputs
_MOST = 10_000
_LONGEST = 80
_CALL = re.compile(r"^(\w+) at .*:\d+$")


@dataclass(slots=True)
class RddJob:
    """A started job. `name` is Spark's (`collect at wordcount.py:38`); `number` counts jobs of the same kind."""

    job: Any
    started: float  # milliseconds since the epoch
    name: str
    call: str
    found: RddSources
    run_id: str
    due: float
    number: int
    looks: bool = False  # looks at an RDD's schema, to make a DataFrame
    batch: bool = False  # a batch of a stream, which reports it
    start_spooled: bool = False  # its START is in the spool

    @property
    def operation(self) -> str:
        known = _CALL.match(self.name)
        return redact(known.group(1) if known else self.name)[:_LONGEST] or "job"

    def left_out(self, *, failed: bool) -> LeaveOut | None:
        """Return the reason why the job is not a separate run. None if it is. A job with a START event always is."""
        if self.start_spooled:
            return None
        if self.looks or is_reader(self.call):
            return LeaveOut.SCHEMA
        if self.batch:
            return LeaveOut.BATCHES
        if failed:
            return None
        if not self.found.paths and not self.found.problems:
            return LeaveOut.LOCAL
        return LeaveOut.REPEATED if self.number > MOST_TOLD else None


class RddJobs:
    """The running RDD jobs."""

    def __init__(self) -> None:
        self._jobs: dict[Any, RddJob] = {}
        self._alike: Counter[tuple[str, tuple[str, ...]]] = Counter()

    def __len__(self) -> int:
        return len(self._jobs)

    def begin(self, event: Mapping[str, Any], found: RddSources) -> None:
        if len(self._jobs) >= _MOST or event.get("description") == OURS:
            return
        name = str(event.get("name") or "")
        if "SparkHadoopWriter" in name:
            found.problems.append("a library of Spark wrote an RDD; where to is not known")
        job = RddJob(
            event["job"],
            float(event["time"]),
            name,
            str(event.get("call") or ""),
            found,
            new_run_id(),
            time.monotonic() + TELL_AFTER,
            1,
            looks=bool(event.get("looks")),
            batch=bool(event.get("batch")),
        )
        self._jobs[job.job] = job
        alike = (job.operation, (*found.paths, *found.problems))
        if alike in self._alike or len(self._alike) < _MOST:
            self._alike[alike] += 1
            job.number = self._alike[alike]

    def end(self, job: Any) -> RddJob | None:
        """Remove and return a job that ended. None if its start is unknown."""
        return self._jobs.pop(job, None)

    def waiting(self) -> bool:
        return any(not job.start_spooled and job.due != float("inf") for job in self._jobs.values())

    def due(self) -> Iterator[RddJob]:
        """Yield the long jobs to report now, each once."""
        now = time.monotonic()
        for job in list(self._jobs.values()):
            if job.due <= now:
                job.due = float("inf")
                yield job
