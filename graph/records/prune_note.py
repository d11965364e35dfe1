"""The note in the folder of a pruned capture: the person, the time and the policy.

The rest of the folder stays, with the lists of its files, so a trace that reaches the capture can report what is missing.
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
        return json.dumps(asdict(self), ensure_ascii=False).encode()

    @classmethod
    def of(cls, text: bytes) -> Self:
        """Parse the note. Raises `KeyError`, `TypeError` or `ValueError` if the text is invalid."""
        values = json.loads(text)
        return cls(str(values["by"]), str(values["at"]), str(values["policy"]))

    def __str__(self) -> str:
        return f"its record lineage was pruned by {self.by} at {self.at}, by the policy “{self.policy}”"


def is_pruned(folder: Path) -> bool:
    """Return whether the folder of a capture has a note: its tables are deleted, or will be soon."""
    return (folder / PRUNED).exists()


def read_pruned(folder: Path) -> Pruned:
    """Return the note in the folder of a capture. If there is none yet, return a note that the prune has not ended.

    Raises:
        DamagedError: the note is damaged.
    """
    try:
        with reading(folder / PRUNED, absent=False):
            return Pruned.of(read_checked(folder / PRUNED))
    except FileNotFoundError:
        return Pruned("a prune that has not ended", "a time not noted yet", "not noted yet")


def table_bytes(folder: Path) -> int:
    return sum(table.stat().st_size for table in folder.glob("b*.parquet"))
