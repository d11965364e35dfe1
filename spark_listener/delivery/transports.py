"""Sends events to further OpenLineage backends (Marquez, DataHub, Kafka, a file) with openlineage-python's transports.

Each backend has a separate thread with a bounded queue. A slow or unreachable backend loses only its own events, which are counted and
reported. Records never go this way. A transport's messages may contain its address and key, and are redacted first.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headwater.spark_listener.redact import redact

if TYPE_CHECKING:
    from openlineage.client.generated.base import RunEvent
    from openlineage.client.transport import Transport

_log = logging.getLogger("headwater.delivery")
_MOST = 10_000  # waiting events
_LONGEST = 300  # characters of a problem
_FAILURES = 5  # failures in a row before events are dropped for a while: a hanging backend must not delay the end of the program
_FIRST_PAUSE, _LONGEST_PAUSE = 30.0, 3600.0


class Transports:
    """Sends events in order. Call `finish` once. A composite that sends to all its parts is one backend for each part."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._parts: list[_Backend] = []
        self._whole = _Backend(str(config.get("type") or "openlineage.yml"), lambda: _transport(config), self._divide)

    @property
    def sent(self) -> int:
        """Return the number of delivered events; with several backends, the lowest."""
        return min(backend.sent for backend in self._backends)

    @property
    def dropped(self) -> int:
        """Return the number of dropped events; with several backends, the highest."""
        return max(backend.dropped for backend in self._backends)

    @property
    def problem(self) -> str | None:
        return next((backend.problem for backend in self._backends if backend.problem), None)

    def put(self, event: Mapping[str, Any]) -> None:
        self._whole.put(event)

    def finish(self, timeout: float) -> None:
        """Send the remaining events within `timeout` seconds. Later events are dropped and counted."""
        until = time.monotonic() + timeout
        self._whole.end(until)
        self._whole.join()  # the composite has passed all events on
        for part in self._parts:
            part.end(until)
        for part in self._parts:
            part.join()

    def summary(self) -> str:
        return "; ".join(backend.summary() for backend in self._backends)

    @property
    def _backends(self) -> Sequence[_Backend]:
        return self._parts or [self._whole]

    def _divide(self, transport: Transport) -> Sequence[_Backend]:
        """Return the backends of a composite transport. Empty for a transport that sends itself, or to only one of several."""
        from openlineage.client.transport.composite import CompositeTransport

        if not isinstance(transport, CompositeTransport):
            return ()
        if not (transport.config.continue_on_failure and transport.config.continue_on_success):
            return ()
        for part in transport.transports:
            name = " ".join(dict.fromkeys(filter(None, (part.name, part.kind))))
            self._parts.append(_Backend(name, lambda part=part: part, lambda _: ()))  # type: ignore[misc]  # mypy does not support defaults of a lambda
        return self._parts


class _Backend:
    """One backend. `make` makes its transport, in its thread. `divide` returns the backends of a composite transport."""

    def __init__(self, kind: str, make: Callable[[], Transport], divide: Callable[[Transport], Sequence[_Backend]]) -> None:
        self.kind = kind
        self.sent = 0
        self.dropped = 0
        self.problem: str | None = None
        self._given = 0
        self._make = make
        self._divide = divide
        self._queue: queue.SimpleQueue[Mapping[str, Any] | None] = queue.SimpleQueue()
        self._until = float("inf")
        self._failures, self._again, self._pause = 0, 0.0, _FIRST_PAUSE
        self._thread = threading.Thread(target=self._run, name="headwater-openlineage", daemon=True)
        self._thread.start()

    def put(self, event: Mapping[str, Any]) -> None:
        """Queue an event. Never waits."""
        self._given += 1
        if self._queue.qsize() < _MOST:  # otherwise it is counted at the end as not sent
            self._queue.put(event)

    def end(self, until: float) -> None:
        """State that no more events follow. Events still in the queue after the time limit are dropped."""
        self._until = until
        self._queue.put(None)  # even with a full queue: otherwise the thread would wait for more events

    def join(self) -> None:
        self._thread.join(max(0.0, self._until - time.monotonic()))
        self.dropped = self._given - self.sent
        if self._thread.is_alive():
            self.problem = self.problem or "not all of it was sent before the program's end"

    def summary(self) -> str:
        text = f"OpenLineage ({self.kind}): {self.sent:,} events sent"
        if self.dropped:
            text += f", {self.dropped:,} dropped"
        return f"{text}: {self.problem}" if self.problem else text

    def _run(self) -> None:
        try:
            transport = self._make()
            parts = self._divide(transport)
        except Exception as error:  # noqa: BLE001  # whatever is wrong with a backend stays there
            self._failed(error)
            return
        if parts:
            while (event := self._queue.get()) is not None:
                for part in parts:
                    part.put(event)
        else:
            self._send(transport)

    def _send(self, transport: Transport) -> None:
        from headwater.spark_listener.delivery.confirmed import Confirmations

        confirmations = Confirmations(transport)
        while (event := self._queue.get()) is not None and time.monotonic() < self._until:
            if self._failures >= _FAILURES and time.monotonic() < self._again:
                continue
            try:
                transport.emit(_as_event(event))
                confirmations.check()
                self.sent += 1
                self._failures, self._pause = 0, _FIRST_PAUSE
            except Exception as error:  # noqa: BLE001  # as above
                self._failed(error)
        try:
            transport.close(max(0.0, min(self._until - time.monotonic(), 5.0)))
        except Exception as error:  # noqa: BLE001  # as above
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        if self._failures >= _FAILURES:
            self._again = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        if self.problem is None:
            self.problem = redact(f"{type(error).__name__}: {error}")[:_LONGEST]
            _log.warning("Events do not reach the OpenLineage backend (%s); the home or service has them. %s", self.kind, self.problem)


def _transport(config: Mapping[str, Any]) -> Transport:
    from openlineage.client import OpenLineageClient
    from openlineage.client.transport import get_default_factory

    from headwater.spark_listener.delivery.confirmed import prepare_logs, quiet

    transport = get_default_factory().create(quiet(config)) if config else OpenLineageClient().transport
    prepare_logs()
    return transport


def _as_event(event: Mapping[str, Any]) -> RunEvent:
    """Return the event as openlineage's own class, because a Kafka transport reads its key from it."""
    from openlineage.client.generated import base, parent_run

    facets = dict(event["run"]["facets"])
    if above := facets.pop("parent", None):
        root = above.get("root")
        facets["parent"] = parent_run.ParentRunFacet(
            run=parent_run.Run(**above["run"]), job=parent_run.Job(**above["job"]), producer=above["_producer"],
            root=parent_run.Root(run=parent_run.RootRun(**root["run"]), job=parent_run.RootJob(**root["job"])) if root else None,
        )  # fmt: skip
    return base.RunEvent(
        eventType=base.EventType(event["eventType"]), eventTime=event["eventTime"], producer=event["producer"],
        run=base.Run(runId=event["run"]["runId"], facets=facets), job=base.Job(**event["job"]),
        inputs=[base.InputDataset(**dataset) for dataset in event["inputs"]],
        outputs=[base.OutputDataset(**dataset) for dataset in event["outputs"]],
    )  # fmt: skip
