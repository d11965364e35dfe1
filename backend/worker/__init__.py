"""Projects the log while the service runs.

A thread (`thread`) drives the projector, while it holds a role or leases (`projector.role`, `projector.leases`). A service runs the thread
in a separate process: `process` is the service's end, `child` the worker's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headwater.graph.records import Wanted


class WantsTables(Protocol):
    """Collects requests for tables that traces had to compute slowly."""

    def add(self, wanted: Wanted) -> None:
        """Request a table."""


class ServiceWorker(Protocol):
    """A worker, in this or another process."""

    @property
    def state(self) -> str:
        """Return the current activity, or the current problem."""

    @property
    def differences(self) -> Sequence[str]:
        """Return the differences between this replica's settings and those of the replicas that share its log."""

    @property
    def wanted(self) -> WantsTables:
        """Return the collection of requested tables."""

    def start(self) -> None:
        """Start working."""

    def stop(self) -> None:
        """Stop after the current work."""
