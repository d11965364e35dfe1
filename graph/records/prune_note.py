"""The note that a pruned capture has in place of its tables: the person, the time and the policy.

The rest of the capture's folder stays, with the lists of its files. So a trace that reaches it knows what is missing.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from headwater.graph.records.digests import read_checked
from headwater.graph.records.layout import reading

PRUNED = "pruned.json"


@dataclass(frozen=True, slots=True)
class Pruned:
    """The person (`by`) who pruned the tables of a capture, the time (in UTC), and the policy."""

    by: str
    at: str
    policy: str

    def text(self) -> bytes:
        """The note as it is kept."""
        return json.dumps(asdict(self), ensure_ascii=False).encode()

    @classmethod
    def of(cls, text: bytes) -> Self:
        """Read the note. Raises `KeyError`, `TypeError` or `ValueError` where it is none."""
        values = json.loads(text)
        return cls(str(values["by"]), str(values["at"]), str(values["policy"]))

    def __str__(self) -> str:
        return f"its record lineage was pruned by {self.by} at {self.at}, by the policy “{self.policy}”"


def is_pruned(folder: Path) -> bool:
    """Whether the tables of a kept capture are gone, or about to go."""
    return (folder / PRUNED).exists()


def read_pruned(folder: Path) -> Pruned:
    """Return the note in the folder of a capture. If a prune is running, or was killed before it wrote one, return a note about that.

    Raises:
        DamagedError: the note is not what was written.
    """
    try:
        with reading(folder / PRUNED, absent=False):
            return Pruned.of(read_checked(folder / PRUNED))
    except FileNotFoundError:
        return Pruned("a prune that has not ended", "a time not noted yet", "not noted yet")


def table_bytes(folder: Path) -> int:
    """Bytes of the tables of a kept capture."""
    return sum(table.stat().st_size for table in folder.glob("b*.parquet"))
