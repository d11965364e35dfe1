"""A version of a table, as the table's own metadata tell it: its files, and the rows of them that it does not hold.

For traces that begin with records of a table of Delta or Iceberg at a snapshot. What the metadata do not tell for certain is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.graph.files.formats.base import Listed


@dataclass(frozen=True, slots=True)
class TableVersion:
    """`label` is what the format calls it: a number, or the id of a snapshot; `made` when it was made, in milliseconds since the epoch."""

    label: str
    made: int
    files: Sequence[Listed]
