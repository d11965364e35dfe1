"""What lies in the folder of a kept capture, and under which names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headwater.graph.associations import Manifest
from headwater.graph.records.names import FileBlock

MANIFEST = "manifest.json"
FILES = "files.json"


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file that a capture wrote, with the number of its records, and the task attempt that wrote it (None: kept before that was)."""

    block: FileBlock
    rows: int
    attempt: int | None = None


def boundary_name(boundary: int) -> str:
    """The name of a boundary's Parquet file."""
    return f"b{boundary}.parquet"


def manifest_text(manifest: Manifest) -> bytes:
    """A manifest as it is kept."""
    return json.dumps(manifest.to_json(), ensure_ascii=False).encode()


def files_text(files: Sequence[KeptFile]) -> bytes:
    """The files that a capture wrote, as they are kept."""
    return json.dumps([[*file.block, file.rows, file.attempt] for file in files], ensure_ascii=False).encode()


def read_files(folder: Path) -> list[KeptFile]:
    """The files that a kept capture wrote."""
    entries = json.loads((folder / FILES).read_bytes())
    return [KeptFile(FileBlock(*entry[:3]), *entry[3:]) for entry in entries]
