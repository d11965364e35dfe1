"""What was done about a damaged file, and how it is put out of the way."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Repair:
    """What was done about one file. `lost` says what is gone, or empty; `ok` False: the file is damaged still.

    `graph` True: what the graph was made of is less than it was, so it is made again.
    """

    path: Path
    did: str
    lost: str = ""
    ok: bool = True
    graph: bool = False


def put_aside(path: Path) -> Path:
    """Move a file, and what SQLite keeps beside it, out of the way."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    for suffix in ("-wal", "-shm", ""):
        file = path.with_name(path.name + suffix)
        if file.exists():
            file.rename(path.with_name(f"{path.name}.damaged-{stamp}{suffix}"))
    return path.with_name(f"{path.name}.damaged-{stamp}")
