"""The result of a repair, and the removal of a damaged file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Repair:
    """The repair of one file. `lost` names lost data, or is empty. `ok` is False if the file is still damaged.

    `graph` is True if the graph lost some of its sources and must be rebuilt.
    """

    path: Path
    did: str
    lost: str = ""
    ok: bool = True
    graph: bool = False


def put_aside(path: Path) -> Path:
    """Move a file aside, together with SQLite's files next to it."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    for suffix in ("-wal", "-shm", ""):
        file = path.with_name(path.name + suffix)
        if file.exists():
            file.rename(path.with_name(f"{path.name}.damaged-{stamp}{suffix}"))
    return path.with_name(f"{path.name}.damaged-{stamp}")
