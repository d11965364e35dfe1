"""Deviations from rules: forbidden flows, and missing facts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Severity(StrEnum):
    """The severity of a deviation."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Deviation:
    """A deviation from a rule at a node.

    For a flow, `path` leads from `source` to `target`, over the jobs between them. For a missing property, `source` is empty and `path` is
    the node alone. `since` is the time at which the last flow of the path was first stated, or empty. If a job
    on the path does not state its columns, the deviation is not `certain`.
    """

    rule: str
    severity: Severity
    owner: str | None
    source: str
    target: str
    message: str
    path: Sequence[str] = field(default=(), compare=False)
    since: str = field(default="", compare=False)
    certain: bool = True

    @property
    def id(self) -> str:
        """Return the same id for the same rule, source, target and lack, whatever the path is."""
        lack = "" if self.source else self.message
        return hashlib.sha256(json.dumps([self.rule, self.source, self.target, lack]).encode()).hexdigest()[:16]
