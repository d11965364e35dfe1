"""Reports errors that openlineage-python hides: events that Kafka did not confirm, and secrets in its log lines.

Its Kafka transport treats an event without a broker's confirmation as sent, and logs the reason. Here the reason becomes an error of the
event. Its transports log addresses, settings and errors; secrets are removed from these first. Its console is a logger, which by default
shows nothing.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from headwater.spark_listener.redact import redact

if TYPE_CHECKING:
    from openlineage.client.transport import Transport

_log = logging.getLogger("headwater.delivery.kafka")
_LOGGERS = "openlineage.client"
_CONSOLE = f"{_LOGGERS}.transport.console"


class Confirmations:
    """The confirmations of all topics of a Kafka transport. Call `check` after each event."""

    def __init__(self, transport: Transport) -> None:
        self._refusals: list[str] = []
        for part in _parts(transport):
            if getattr(part, "producer", None) is not None and part.kind == "kafka":
                part.producer = _Producer(part.producer, self._refusals)

    def check(self) -> None:
        """Check that all messages so far were confirmed.

        Raises:
            ConnectionError: no broker confirmed an event.
        """
        if self._refusals:
            refusals = list(dict.fromkeys(self._refusals))
            self._refusals.clear()
            raise ConnectionError(f"Kafka did not take the event: {'; '.join(refusals)}")


class _Producer:
    """A Kafka producer that remembers messages that were not delivered."""

    def __init__(self, producer: Any, refusals: list[str]) -> None:
        self._producer = producer
        self._refusals = refusals

    def produce(self, **message: Any) -> None:
        """Send a message. The transport's own `on_delivery` would log a refusal and continue, so it is replaced."""
        self._producer.produce(**{**message, "on_delivery": self._delivered})

    def _delivered(self, error: Any, _message: Any) -> None:
        if error is not None:
            self._refusals.append(redact(str(error)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._producer, name)


class _QuietLog:
    """A log for the Kafka library.

    Without it, the library writes to the program's standard error again and again while a broker is away.
    """

    def log(self, _level: int, message: str, *arguments: Any) -> None:
        _log.debug("%s", redact(message % arguments if arguments else message))


def quiet(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration of a transport, with a log for the Kafka library if the user has named none."""
    prepared = dict(config)
    if prepared.get("type") == "kafka" and isinstance(prepared.get("config"), Mapping):
        prepared["config"] = {"logger": _QuietLog(), **prepared["config"]}
    if isinstance(parts := prepared.get("transports"), Mapping):
        prepared["transports"] = {name: quiet(part) for name, part in parts.items()}
    return prepared


def prepare_logs() -> None:
    """Remove secrets from the loggers of openlineage-python, and let the console show events if no log handler is configured."""
    console = logging.getLogger(_CONSOLE)
    if not console.isEnabledFor(logging.INFO):
        console.setLevel(logging.INFO)
        if not logging.getLogger().handlers and not console.hasHandlers():
            console.addHandler(logging.StreamHandler(sys.stderr))
    for name in list(logging.root.manager.loggerDict):
        if name.startswith(_LOGGERS):
            logger = logging.getLogger(name)
            if _without_secrets not in logger.filters and name != _CONSOLE:  # events have no secrets
                logger.addFilter(_without_secrets)


def _without_secrets(record: logging.LogRecord) -> bool:
    record.msg, record.args = redact(record.getMessage()), ()
    record.exc_info, record.exc_text = None, None  # its frames and causes hold the transport's settings
    return True


def _parts(transport: Any) -> Iterator[Any]:
    yield transport
    inner = getattr(transport, "transports", None)
    for part in inner if isinstance(inner, list) else [getattr(transport, "transport", None)]:
        if part is not None:
            yield from _parts(part)
