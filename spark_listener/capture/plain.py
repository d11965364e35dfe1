"""The bridge for an unsupported Spark: it reports queries by their datasets only.

For the same callers as `Bridge`, and with the same promise: no fault reaches the program.
"""

from __future__ import annotations

import json
from typing import Any

from headwater.errors import CaptureUnavailableError
from headwater.spark_listener.capture.bridge import PLAIN, first_line, java_context, java_object


class PlainBridge:
    """The bridge of a SparkContext. Made by `listen`."""

    spark_seconds = 0.0

    def __init__(self, java: Any) -> None:
        self._java = java

    @classmethod
    def listen(cls, context: Any) -> PlainBridge:
        """Listen to a context.

        Raises:
            CaptureUnavailableError: even that does not work in this Spark; the message says why.
        """
        try:
            return cls(java_object(context, f"{PLAIN}PlainBridge", java_context(context).sc(), in_executors=False))
        except CaptureUnavailableError:
            raise
        except Exception as error:
            raise CaptureUnavailableError(f"Queries of this Spark cannot be followed: {first_line(error)}.") from error

    def adopt(self, spark: Any) -> None:
        """Do nothing: the queries of all sessions are reported already."""

    def checkpoint(self, frame: Any) -> None:
        """Checkpoints are not rewritten."""

    def running(self, execution: int) -> None:
        """A query is reported at its end."""

    def table_columns(self, *_read: object) -> dict[str, list[str]]:
        """No database is asked, because its reads are not described here."""
        return {}

    def describing_seconds(self) -> float:
        """Not counted."""
        return 0.0

    def drain(self, timeout_ms: int) -> list[dict[str, Any]]:
        """Events in order; waits at most `timeout_ms` for the first one."""
        events: list[dict[str, Any]] = json.loads(self._java.drain(timeout_ms))
        return events

    def flush(self, milliseconds: int = 5_000) -> bool:
        """Wait, within limits, until Spark has delivered all its events. Return False if it has not."""
        delivered: bool = self._java.flush(milliseconds)
        return delivered

    def wake(self) -> None:
        """End a waiting `drain`."""
        self._java.wake()

    def close(self) -> None:
        self._java.close()
