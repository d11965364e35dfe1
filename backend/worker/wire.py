"""What a service and its worker's process say to each other, as messages of `backend.messages`.

The service never waits for the worker, so a message to it is so small (`MOST_BYTES`) that a pipe takes it whole or not at all.
"""

from __future__ import annotations

import select
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.backend.home_settings import HomeSettings
from headwater.backend.settings import Settings

if TYPE_CHECKING:
    from opentelemetry.trace import SpanContext

MOST_BYTES = select.PIPE_BUF
LINKED = 16  # entries of one message about spans


@dataclass(frozen=True, slots=True)
class Begin:
    """The first message. `logs` are level and form of the log lines, where the service has set them up.

    `ended` says how the worker before this one ended, where there was one.
    """

    settings: Settings
    logs: tuple[str, str] | None
    ended: str = ""


@dataclass(frozen=True, slots=True)
class Wake:
    """Something was appended to the log."""


@dataclass(frozen=True, slots=True)
class Linked:
    """The span that appended entries of a tenant, where traces of the service are on: projection links to it."""

    tenant: str
    offsets: Sequence[int]
    span: SpanContext


@dataclass(frozen=True, slots=True)
class End:
    """End after what is at work."""


@dataclass(frozen=True, slots=True)
class Trial:
    """To a trial: what is to be tried, entries of a tenant from `first` to `last`.

    `note` is where it notes what it is at; `again`: entries that were set aside are projected once more.
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
    """From the worker: what `/readyz` tells of it, how many entries it has projected since the last report, and how it differs from others.

    `differences` is what this replica has otherwise than those that share its log.
    """

    state: str
    projected: int = 0
    differences: Sequence[str] = ()
