"""Deletes datasets of an erasure: hides them first, so that a failed erasure can put them back, and removes them at the end."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from headwater.backend.erasure.model import DeletedFolder
from headwater.backend.rerun.replay.kinds.kind import place_of
from headwater.errors import SourceChangedError
from headwater.graph.records.atomic_files import sync


def plan_deletion(dataset: str, erasure: str) -> DeletedFolder:
    path = Path(place_of(dataset))
    hidden = path.with_name(f".{path.name}.headwater-erase-{erasure}")
    return DeletedFolder(dataset=dataset, path=str(path), hidden=str(hidden), inode=os.lstat(path).st_ino)


def hide(folder: DeletedFolder) -> None:
    """Move a dataset to its hidden place. Can be repeated.

    Raises:
        SourceChangedError: something else is at its path.
    """
    if _inode(folder.hidden) == folder.inode:
        return
    if _inode(folder.path) != folder.inode or os.path.lexists(folder.hidden):
        raise SourceChangedError(f"{folder.path} was replaced meanwhile.", hint="Plan the erasure again.")
    Path(folder.path).rename(folder.hidden)
    sync(Path(folder.path).parent)


def put_back(folder: DeletedFolder) -> None:
    """Move a dataset back. Can be repeated.

    Raises:
        SourceChangedError: something new is at its path.
    """
    if _inode(folder.hidden) != folder.inode:
        return
    if os.path.lexists(folder.path):
        raise SourceChangedError(f"{folder.path} was written meanwhile.", hint=f"The old data is in {folder.hidden}.")
    Path(folder.hidden).rename(folder.path)
    sync(Path(folder.path).parent)


def remove(folder: DeletedFolder) -> None:
    if _inode(folder.hidden) != folder.inode:
        return
    hidden = Path(folder.hidden)
    if hidden.is_dir():
        shutil.rmtree(hidden)
    else:
        hidden.unlink()
    sync(hidden.parent)


def _inode(path: str) -> int | None:
    try:
        return os.lstat(path).st_ino
    except FileNotFoundError:
        return None
