"""The bridge for an unsupported version of Spark: it reports queries by their datasets only.

It has the interface of `Bridge` and keeps the same promise: no fault reaches the program.
"""

from __future__ import annotations

import json
from typing import Any

from headwater.errors import CaptureUnavailableError
from headwater.spark_listener.capture.bridge import PLAIN, first_line, java_context, java_object


class PlainBridge:
    """The bridge of a SparkContext without record capture. Made by `listen`."""

    spark_seconds = 0.0

    def __init__(self, java: Any) -> None:
        self._java = java

    @classmethod
    def listen(cls, context: Any) -> PlainBridge:
        """Listen to a context.

        Raises:
            CaptureUnavailableError: listening does not work in this Spark; the message says why.
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
        """Return None: checkpoints are not rewritten."""

    def running(self, execution: int) -> None:
        """Return None: a query is reported only at its end."""

    def table_columns(self, *_read: object) -> dict[str, list[str]]:
        """Return nothing: no database is asked, because JDBC reads are not described here."""
        return {}

    def describing_seconds(self) -> float:
        """Return 0: the time is not measured."""
        return 0.0

    def drain(self, timeout_ms: int) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = json.loads(self._java.drain(timeout_ms))
        return events

    def flush(self, milliseconds: int = 5_000) -> bool:
        delivered: bool = self._java.flush(milliseconds)
        return delivered

    def wake(self) -> None:
        self._java.wake()

    def close(self) -> None:
        self._java.close()
