"""A version of a table in the table's own metadata: its files, and their deleted rows.

A trace uses it to begin with records of a Delta or Iceberg table at a snapshot. Uncertain metadata are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.graph.files.formats.base import ListedFile


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A version. `label` is the format's name: a number, or the id of a snapshot. `made_at` is in milliseconds since the epoch."""

    label: str
    made_at: int
    files: Sequence[ListedFile]
