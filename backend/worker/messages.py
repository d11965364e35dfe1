"""The messages between a service and its worker's process, in the format of `backend.process.messages`.

The service never waits for the worker. A message to the worker is therefore so small (`MOST_BYTES`) that a pipe accepts it wholly or not at
all.
"""

from __future__ import annotations

import select
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.backend.home.quick_settings import HomeSettings
from headwater.backend.home.settings import Settings

if TYPE_CHECKING:
    from opentelemetry.trace import SpanContext

MOST_BYTES = select.PIPE_BUF
LINKED = 16  # entries per message about spans


@dataclass(frozen=True, slots=True)
class Begin:
    """The first message. `logs` are level and format of the log lines, if the service has set them.

    `ended` describes the end of the previous worker, if there was one.
    """

    settings: Settings
    logs: tuple[str, str] | None
    ended: str = ""


@dataclass(frozen=True, slots=True)
class Wake:
    """Reports that entries were appended to the log."""


@dataclass(frozen=True, slots=True)
class Linked:
    """The tracing span that appended entries of a tenant, if tracing is on. Projection links to it."""

    tenant: str
    offsets: Sequence[int]
    span: SpanContext


@dataclass(frozen=True, slots=True)
class End:
    """Asks the worker to stop after the current work."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The request to a trial, which projects the entries of a tenant from `first` to `last`.

    `note` is the file for the note of the current entry. With `again`, entries that were set aside are projected again.
    """

    settings: HomeSettings
    logs: tuple[str, str] | None
    note: Path
    tenant: str
    first: int
    last: int
    again: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """The worker's report: the state for `/readyz`, and the number of entries projected since the last report.

    `differences` are the differences from the settings of the replicas that share its log.
    """

    state: str
    projected: int = 0
    differences: Sequence[str] = ()
