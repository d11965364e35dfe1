"""Metrics of the service for Prometheus. Labels contain routes and reasons, never names of users' data."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest


class Metrics:
    """The metrics of one service, in a separate registry."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        self._registry = registry
        self.events = Counter("headwater_events", "Events by what became of them.", ["outcome"], registry=registry)
        self._taken = [self.events.labels(outcome) for outcome in ("accepted", "duplicate", "rejected")]
        self.captures = Counter("headwater_captures", "Manifests by what became of them.", ["outcome"], registry=registry)
        self.segments = Counter("headwater_segments", "Segments kept.", registry=registry)
        self.segment_bytes = Counter("headwater_segment_bytes", "Bytes of the segments kept.", registry=registry)
        self.projected = Counter("headwater_projected_entries", "Log entries projected by this service.", registry=registry)
        self.worker_restarts = Counter(
            "headwater_worker_restarts", "Times that the worker's process ended and was started again.", registry=registry
        )
        self.pending = Gauge("headwater_pending_entries", "Log entries that wait for the projector.", registry=registry)
        self.dead_letters = Gauge("headwater_dead_letters", "Documents in the dead-letter area.", registry=registry)
        self.intake_documents = Counter(
            "headwater_intake_documents", "Documents that an intake fetched, by what became of them.", ["intake", "outcome"],
            registry=registry,
        )  # fmt: skip
        self.intake_lag = Gauge(
            "headwater_intake_lag", "What an intake has not read yet: messages, bytes of a file, objects.", ["intake"], registry=registry
        )
        self.body_bytes = Gauge("headwater_body_bytes", "Bytes of request bodies in memory.", registry=registry)
        self.answer_bytes = Gauge("headwater_answer_bytes", "Bytes of disk of exports that wait for slow readers.", registry=registry)
        self.audit_copied = Gauge(
            "headwater_audit_copied_seconds", "Seconds since all of the audit log was copied to where replicas share it; 0: not shared.",
            registry=registry,
        )  # fmt: skip
        self._questions = Histogram(
            "headwater_question_seconds", "Time of a question about records, by how it ended.", ["outcome"], registry=registry,
            buckets=(0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30),
        )  # fmt: skip
        self._requests = Histogram(
            "headwater_request_seconds", "Time to answer a request.", ["method", "route", "status"], registry=registry,
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
        )  # fmt: skip

        self._kinds: dict[tuple[str, str, int], Histogram] = {}  # a cache, because a lookup by labels takes longer than the count

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request by its method, the pattern of its route and its outcome."""
        kind = (method, route, status)
        measured = self._kinds.get(kind)
        if measured is None:
            measured = self._kinds[kind] = self._requests.labels(method, route, str(status))
        measured.observe(seconds)

    def taken(self, accepted: int, duplicate: int, rejected: int) -> None:
        """Count events by their outcome."""
        for counter, events in zip(self._taken, (accepted, duplicate, rejected), strict=True):
            if events:
                counter.inc(events)

    def asked(self, outcome: str, seconds: float) -> None:
        """Count a query about records. `outcome` is answered, refused or ended."""
        self._questions.labels(outcome).observe(seconds)

    def exposition(self) -> bytes:
        return generate_latest(self._registry)
