"""What an intake is: something that reads documents from one place for as long as the service runs.

It must never lose a document, never stop for one that is bad, and never note that it has read what is not durable yet. It may raise
whatever keeps it from going on: it is started again, from what was noted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Protocol

from headwater.backend.ingest_log import IngestLog

if TYPE_CHECKING:
    from headwater.backend.intakes.door import Door
    from headwater.graph.storage import Remote


@dataclass(frozen=True, slots=True)
class IntakeSettings:
    """One table of `intakes.toml`. `options` may hold secrets: they are never shown."""

    kind: str
    name: str
    tenant: str
    options: Mapping[str, object] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an intake works with. `remote` are the roots of remote storage; whoever reads stops soon after `stopping` is set."""

    log: IngestLog
    door: Door
    remote: Remote
    stopping: Event


class Intake(Protocol):
    """One intake. `name` tells it apart in logs and measures."""

    name: str
    tenant: str

    def run(self, around: Surroundings) -> None:
        """Read until `around.stopping` is set.

        Raises:
            HeadwaterError: it cannot go on now; what was not noted is read again.
        """

    def lag(self) -> int | None:
        """How much is there that was not read yet (messages, bytes, objects); None where nobody knows."""
