"""The interface of an intake, which reads documents from one source while the service runs.

An intake must never lose a document, never stop because of a bad one, and never record progress before documents are durable. An intake may
raise any error that stops it: it is started again, from the recorded progress.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Protocol

from headwater.backend.ingest.log import IngestLog

if TYPE_CHECKING:
    from headwater.backend.intakes.entrance import Door
    from headwater.graph.storage import Remote


@dataclass(frozen=True, slots=True)
class IntakeSettings:
    """A table of `intakes.toml`. `options` may contain secrets, and are never shown."""

    kind: str
    name: str
    tenant: str
    options: Mapping[str, object] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The environment of an intake. `remote` has the roots of remote storage. The intake must stop soon after `stopping` is set."""

    log: IngestLog
    door: Door
    remote: Remote
    stopping: Event


class Intake(Protocol):
    """A source of events. `name` identifies it in logs and metrics."""

    name: str
    tenant: str

    def run(self, around: Surroundings) -> None:
        """Read until `around.stopping` is set.

        Raises:
            HeadwaterError: the intake cannot continue now. Documents without recorded progress are read again.
        """

    def lag(self) -> int | None:
        """Return the amount of unread input (messages, bytes, objects), or None if it is unknown."""
