"""What projects the log while the service runs.

A thread (`thread`) drives the projector, by right of a role or leases (`role`, `leases`). A service has it in a process of its own:
`process` is the service's end of that, `child` the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headwater.graph.records import Wanted


class WantsTables(Protocol):
    """Takes what traces had to find again at length."""

    def add(self, wanted: Wanted) -> None:
        """Ask for a table."""


class ServiceWorker(Protocol):
    """A worker, wherever it is at work."""

    @property
    def state(self) -> str:
        """What it does, or what is wrong."""

    @property
    def differences(self) -> Sequence[str]:
        """What this replica has otherwise than those that share its log."""

    @property
    def wanted(self) -> WantsTables:
        """Where what is asked for in vain is kept for the next time."""

    def start(self) -> None:
        """Begin."""

    def stop(self) -> None:
        """End after what is at work."""
