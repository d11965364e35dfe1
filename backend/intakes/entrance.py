"""Accepts documents of an intake, with the same rules as for requests to the service.

A refused document becomes a dead letter, and the next document follows. If the log cannot be written, the intake waits here.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from threading import Event

from headwater.backend.ingest.intake.receive import EventIntake
from headwater.backend.process.metrics import Metrics
from headwater.errors import HeadwaterError, InvalidJsonError

_PAUSE = 1.0  # seconds between a failed write and the next attempt
_log = logging.getLogger("headwater.intakes")


class Door:
    """Accepts the documents of one intake for one tenant. `longest` limits the bytes of a document."""

    def __init__(self, events: EventIntake, metrics: Metrics, stopping: Event, *, name: str, tenant: str, longest: int) -> None:
        self._events = events
        self._metrics = metrics
        self._stopping = stopping
        self._name = name
        self._tenant = tenant
        self.longest = longest

    def take(self, bodies: Sequence[bytes]) -> bool:
        """Make documents durable, in the log or as dead letters. Returns False if the service stops before all are stored."""
        while True:
            try:
                self._take(bodies)
            except HeadwaterError as error:
                if not error.transient:
                    raise
                _log.warning("intake %s waits: %s", self._name, error)
            else:
                return True
            if self._stopping.wait(_PAUSE):
                return False

    def refuse(self, body: bytes, why: str) -> bool:
        """Store a document as a dead letter that cannot even be parsed. Returns False as `take` does."""
        error = InvalidJsonError(why, field="$")
        while True:
            try:
                self._events.refuse(self._tenant, body, error).result()
            except HeadwaterError as fault:
                _log.warning("intake %s waits: %s", self._name, fault)
            else:
                self._count("rejected", 1)
                return True
            if self._stopping.wait(_PAUSE):
                return False

    def _take(self, bodies: Sequence[bytes]) -> None:
        handed = [self._events.submit(self._tenant, body) for body in bodies if len(body) <= self.longest]
        reports = [submission.result() for submission in handed]
        too_long = [body for body in bodies if len(body) > self.longest]
        for body in too_long:
            fault = InvalidJsonError(f"The document has {len(body):,} bytes; {self.longest:,} are the most.", field="$")
            self._events.refuse(self._tenant, body, fault).result()
        self._count("accepted", sum(report.accepted - report.duplicates for report in reports))
        self._count("duplicate", sum(report.duplicates for report in reports))
        self._count("rejected", len(too_long) + sum(len(report.rejected) + report.more_rejected for report in reports))

    def _count(self, outcome: str, number: int) -> None:
        self._metrics.events.labels(outcome).inc(number)
        self._metrics.intake_documents.labels(self._name, outcome).inc(number)
