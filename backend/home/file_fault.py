"""A damaged file of a home."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Fault:
    """A damaged file. `part` is the part of the home, in the words of `headwater store`."""

    part: str
    path: Path
    detail: str

    def __str__(self) -> str:
        return f"{self.path}: {self.detail}"
