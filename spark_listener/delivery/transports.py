"""Events to further OpenLineage backends (Marquez, DataHub, Kafka, a file), by openlineage-python's transports, beside our own delivery.

A thread of its own with a bounded queue: a backend that is slow or away costs its events, which are counted and told, and nothing else.
Records never go this way. What a transport says may hold its address and key, and is redacted before it is told.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.spark_listener.redact import redact

if TYPE_CHECKING:
    from openlineage.client.generated.base import RunEvent
    from openlineage.client.transport import Transport

_log = logging.getLogger("headwater.delivery")
_MOST = 10_000  # events that wait
_LONGEST = 300  # characters of a problem
_FAILURES = 5  # in a row, after which the rest is dropped: a backend that hangs must not hold up the end of the program


def transport_config(conf: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, Any] | None:
    """What the user has set: `spark.openlineage.transport.*` (`conf`, without the prefix), else OPENLINEAGE_URL; {} means openlineage.yml.

    None: nothing is set, or OPENLINEAGE_DISABLED is.
    """
    if environ.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        return None
    given = {key.removeprefix("transport."): value for key, value in conf.items() if key.startswith("transport.")}
    if given.get("type"):
        return _from_spark(given)
    if _has_file(environ) or any(name.startswith("OPENLINEAGE__TRANSPORT") for name in environ):
        return {}
    if environ.get("OPENLINEAGE_URL"):
        key = environ.get("OPENLINEAGE_API_KEY")
        config = {"type": "http", "url": environ["OPENLINEAGE_URL"], "endpoint": environ.get("OPENLINEAGE_ENDPOINT", "api/v1/lineage")}
        return {**config, "auth": {"type": "api_key", "apiKey": key}} if key else config
    return None


class Transports:
    """Sends what `put` is given, in order. `finish` once."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.kind = str(config.get("type") or "openlineage.yml")
        self.sent = 0
        self.dropped = 0
        self.problem: str | None = None
        self._config = dict(config)
        self._queue: queue.Queue[Mapping[str, Any] | None] = queue.Queue(_MOST)
        self._until = float("inf")
        self._thread = threading.Thread(target=self._run, name="headwater-openlineage", daemon=True)
        self._thread.start()

    def put(self, event: Mapping[str, Any]) -> None:
        """Send an event soon. Never waits."""
        try:
            self._queue.put_nowait(event)
        except queue.Full:
            self.dropped += 1

    def finish(self, timeout: float) -> None:
        """Send what is left, for `timeout` seconds at most; what has not gone then is dropped, and counted."""
        self._until = time.monotonic() + timeout
        with contextlib.suppress(queue.Full):  # the thread sees the time
            self._queue.put_nowait(None)
        self._thread.join(timeout)
        if self._thread.is_alive():
            self.dropped += max(self._queue.qsize() - 1, 0)
            self.problem = self.problem or f"not all of it was sent within {timeout:.0f} s"

    def summary(self) -> str:
        """A line for the end of the run."""
        text = f"OpenLineage ({self.kind}): {self.sent:,} events sent"
        if self.dropped:
            text += f", {self.dropped:,} dropped"
        return f"{text}: {self.problem}" if self.problem else text

    def _run(self) -> None:
        transport: Transport | None = None
        try:
            transport = _transport(self._config)
        except Exception as error:  # noqa: BLE001  # whatever is wrong with a backend stays there
            self._failed(error)
        failures = 0
        while (event := self._queue.get()) is not None and time.monotonic() < self._until:
            if transport is None or failures >= _FAILURES:
                self.dropped += 1
                continue
            try:
                transport.emit(_as_event(event))
                self.sent += 1
                failures = 0
            except Exception as error:  # noqa: BLE001  # as above
                self.dropped += 1
                failures += 1
                self._failed(error)
        if transport is not None:
            try:
                transport.close(max(0.0, min(self._until - time.monotonic(), 5.0)))
            except Exception as error:  # noqa: BLE001  # as above
                self._failed(error)

    def _failed(self, error: Exception) -> None:
        if self.problem is None:
            self.problem = redact(f"{type(error).__name__}: {error}")[:_LONGEST]
            _log.warning("Events do not reach the OpenLineage backend (%s); the home or service has them. %s", self.kind, self.problem)


def _transport(config: Mapping[str, Any]) -> Transport:
    from openlineage.client import OpenLineageClient
    from openlineage.client.transport import get_default_factory

    return get_default_factory().create(dict(config)) if config else OpenLineageClient().transport


def _as_event(event: Mapping[str, Any]) -> RunEvent:
    """The event as openlineage's own class: a Kafka transport takes its key from it."""
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


# Names of OpenLineage's Java client, which Spark's configuration has, by those of its Python client.
_PYTHON_NAMES = {"headers": "custom_headers", "location": "log_file_path", "topicName": "topic", "timeoutInMillis": "timeout"}


def _from_spark(given: Mapping[str, str]) -> dict[str, Any]:
    """`auth.type`, `properties.bootstrap.servers`, `transports.a.type`: nested as the client has them."""
    config: dict[str, Any] = {}
    for key, text in given.items():
        head, *rest = key.split(".")
        if head == "properties":
            config.setdefault("config", {})[".".join(rest)] = text
        elif head == "transports" and len(rest) > 1:
            config.setdefault("transports", {}).setdefault(rest[0], {})[".".join(rest[1:])] = text
        elif rest:
            config.setdefault(_PYTHON_NAMES.get(head, head), {})[".".join(rest)] = text
        else:
            value: Any = float(text) / 1000 if key == "timeoutInMillis" else text
            config[_PYTHON_NAMES.get(key, key)] = value
    if config.get("type") == "file":
        config["append"] = True  # as the Java client writes it: a line an event
    if "transports" in config:
        config["transports"] = {name: _from_spark(part) for name, part in config["transports"].items()}
    return config


def _has_file(environ: Mapping[str, str]) -> bool:
    named = environ.get("OPENLINEAGE_CONFIG")
    places = [Path(named)] if named else [Path("openlineage.yml"), Path("~/.openlineage/openlineage.yml").expanduser()]
    return any(place.is_file() for place in places)
