"""Spark's jobs outside of SQL: the actions of RDD programs (`collect`, `count`, `reduce`, `foreach`), and what libraries do with RDDs.

For the scribe. Each is a run with the datasets that its RDD was made from, as far as the names of the jobs and their inputs are new: a loop
of a thousand actions on the same inputs tells the first of them and counts the rest. What reads nothing but the program's own data is
counted, too. A job that failed is always told. What an RDD reads is found in the JVM (`jvm/listen/RddInputs.java`).
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headwater.spark_listener.lineage.parents import new_run_id
from headwater.spark_listener.rdd import Found
from headwater.spark_listener.redact import redact
from headwater.spark_listener.scribe.running import TELL_AFTER, is_reader
from headwater.spark_listener.settings import LeaveOut

MOST_TOLD = 10  # runs of one operation on the same inputs
_MOST = 10_000
_LONGEST = 80
_CALL = re.compile(r"^(\w+) at .*:\d+$")


@dataclass(slots=True)
class RddJob:
    """A job that has started: `name` is Spark's (`collect at wordcount.py:38`), `number` counts those that are like it."""

    job: Any
    started: float  # milliseconds since the epoch
    name: str
    call: str
    found: Found
    run_id: str
    due: float
    number: int
    looks: bool = False  # for the schema of an RDD that is to become a DataFrame
    batch: bool = False  # of a stream, which tells of it
    start_spooled: bool = False  # its START is in the spool

    @property
    def operation(self) -> str:
        """The method that the program called, as far as Spark knows it."""
        known = _CALL.match(self.name)
        return redact(known.group(1) if known else self.name)[:_LONGEST] or "job"

    def left_out(self, *, failed: bool) -> LeaveOut | None:
        """Why it is no run of its own, if it is none; one that was told already is one."""
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
    """Those that run now."""

    def __init__(self) -> None:
        self._jobs: dict[Any, RddJob] = {}
        self._alike: Counter[tuple[str, tuple[str, ...]]] = Counter()

    def __len__(self) -> int:
        return len(self._jobs)

    def begin(self, event: Mapping[str, Any], found: Found) -> None:
        """A job began, and reads what was found."""
        if len(self._jobs) >= _MOST:
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
        """The job that ended; None where its beginning is not known."""
        return self._jobs.pop(job, None)

    def waiting(self) -> bool:
        """Whether a job is young, and so soon to be told."""
        return any(not job.start_spooled and job.due != float("inf") for job in self._jobs.values())

    def due(self) -> Iterator[RddJob]:
        """Those that last, each once."""
        now = time.monotonic()
        for job in list(self._jobs.values()):
            if job.due <= now:
                job.due = float("inf")
                yield job
