"""Writes files so that a crash leaves the old content or the new, never a part."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from uuid import uuid4


def write_durably(path: Path, data: bytes | Path) -> None:
    """Write bytes, or the content of another file, to `path` atomically, and flush them to the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    try:
        if isinstance(data, Path):
            shutil.copyfile(data, draft)
        else:
            draft.write_bytes(data)
        sync(draft)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync(path.parent)


def sync(path: Path) -> None:
    """Flush a file or folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
