"""Watches the spool of this process's application for captures and ends of runs."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

_POLL_SECONDS = 0.005


class SpoolWatch:
    """The spool of the one application under a home. `headwater.spark_listener.spool.log` describes the form of the log."""

    def __init__(self, home: Path) -> None:
        self._spool = home / "spool"
        self._read = 0
        self._waiting: list[dict[str, Any]] = []
        self._ended = ""

    def until_application_starts(self, timeout: float = 60.0) -> None:
        """Wait until the start of the application is spooled.

        Raises:
            TimeoutError: capture did not start.
        """
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            self._waiting += self._new()
            if self._waiting:
                return
            time.sleep(_POLL_SECONDS)
        raise TimeoutError(f"no application started in {self._spool} within {timeout:.0f} s")

    def until_run_ends(self, timeout: float = 60.0) -> list[Mapping[str, Any]]:
        """Wait until the end of a run is spooled. Returns the manifests that arrived since the last call.

        Raises:
            TimeoutError: no run ended, so nothing is captured.
        """
        manifests: list[Mapping[str, Any]] = []
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            self._waiting += self._new()
            while self._waiting:
                item = self._waiting.pop(0)
                if item["kind"] == "capture":
                    manifests.append(item["body"])
                elif item["body"].get("eventType") in {"COMPLETE", "FAIL", "ABORT"}:
                    self._ended = str(item["body"].get("eventTime", ""))
                    return manifests
            time.sleep(_POLL_SECONDS)
        raise TimeoutError(f"no run ended in {self._spool} within {timeout:.0f} s: is capture on?")

    def milliseconds_to_disk(self) -> float:
        """Return the time from the end of the last awaited query, by Spark's clock, to the write of its event."""
        written = (self._application() / "log").stat().st_mtime
        return 1000 * max(0.0, written - datetime.fromisoformat(self._ended).timestamp())

    def segments(self, capture: str) -> Path:
        return self._application() / "segments" / capture

    def _new(self) -> list[dict[str, Any]]:
        log = self._application() / "log"
        if not log.exists():
            return []
        with log.open("rb") as file:
            file.seek(self._read)
            lines = file.read()
        whole = lines[: lines.rfind(b"\n") + 1]
        self._read += len(whole)
        return [json.loads(line[9:]) for line in whole.splitlines()]

    def _application(self) -> Path:
        (folder,) = [path for path in self._spool.iterdir() if path.is_dir()]
        return folder
