"""A file of a home that is not what it should be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Fault:
    """A file that is not what it should be. `part` is one of those that `store` names."""

    part: str
    path: Path
    detail: str

    def __str__(self) -> str:
        return f"{self.path}: {self.detail}"
