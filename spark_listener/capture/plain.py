"""The bridge in a Spark that capture is not made for: it tells queries by their datasets alone.

For the same callers as `Bridge`, and with the same promise: nothing of it reaches the program.
"""

from __future__ import annotations

import json
from typing import Any

from headwater.errors import CaptureUnavailableError
from headwater.spark_listener.capture.bridge import PLAIN, first_line, java_context, java_object


class PlainBridge:
    """One of a SparkContext. Made by `listen`."""

    spark_seconds = 0.0

    def __init__(self, java: Any) -> None:
        self._java = java

    @classmethod
    def listen(cls, context: Any) -> PlainBridge:
        """Listen to a context.

        Raises:
            CaptureUnavailableError: this Spark is too different even for that; the message says why.
        """
        try:
            return cls(java_object(context, f"{PLAIN}PlainBridge", java_context(context).sc(), in_executors=False))
        except CaptureUnavailableError:
            raise
        except Exception as error:
            raise CaptureUnavailableError(f"Queries of this Spark cannot be followed: {first_line(error)}.") from error

    def adopt(self, spark: Any) -> None:
        """The queries of all sessions are told already."""

    def checkpoint(self, frame: Any) -> None:
        """What is checkpointed is not rewritten."""

    def running(self, execution: int) -> None:
        """What runs is told when it has ended."""

    def table_columns(self, *_read: object) -> dict[str, list[str]]:
        """No database is asked: its reads are not described here."""
        return {}

    def describing_seconds(self) -> float:
        """It is not counted."""
        return 0.0

    def drain(self, timeout_ms: int) -> list[dict[str, Any]]:
        """Events in their order; waits for the first one at most `timeout_ms`."""
        events: list[dict[str, Any]] = json.loads(self._java.drain(timeout_ms))
        return events

    def flush(self, milliseconds: int = 5_000) -> bool:
        """Wait, within bounds, until Spark has delivered all events that it posted; False if it has not."""
        delivered: bool = self._java.flush(milliseconds)
        return delivered

    def wake(self) -> None:
        """End a `drain` that waits."""
        self._java.wake()

    def close(self) -> None:
        """Stop listening."""
        self._java.close()
