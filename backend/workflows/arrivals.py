"""Decides whether a workflow has something to read, without a run. The trigger of a rule `on` a source asks each minute.

A look at a source reads the times of its folders only. All files are listed if a folder changed, and every 15 minutes, because a file that
is rewritten in its place changes no folder.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from headwater.backend.workflows.sources import FileStates, is_hidden, list_files

_FULL_LOOK = 900.0  # seconds after which all files are listed again
_SETTLED = 2.0  # seconds by which a change of a folder must lie before the look that saw it: some file systems have coarse times


@dataclass(frozen=True, slots=True)
class _Look:
    at: float
    wall: float
    folders: Mapping[str, int]
    known: int


class SourceWatch:
    """Remembers the last look at each source. Thread-safe."""

    def __init__(self) -> None:
        self._looks: dict[Path, _Look] = {}
        self._lock = Lock()

    def has_changes(self, folder: Path, known: FileStates) -> bool:
        """Whether the files of a source differ from the `known` files.

        Raises:
            HeadwaterError: the folder cannot be read, or a file cannot be part of a block.
            OSError: a folder vanished during the look.
        """
        if not folder.is_dir():
            return bool(known)
        folders = dict(_folder_times(folder))
        with self._lock:
            last = self._looks.get(folder)
        if last is not None and self._is_same(last, folders, len(known)):
            return False
        at, wall = time.monotonic(), time.time()
        changed = dict(list_files(folder)) != dict(known)
        with self._lock:
            if changed:
                self._looks.pop(folder, None)
            else:
                self._looks[folder] = _Look(at, wall, folders, len(known))
        return changed

    def _is_same(self, last: _Look, folders: Mapping[str, int], known: int) -> bool:
        is_fresh = time.monotonic() - last.at < _FULL_LOOK
        newest = max(folders.values(), default=0) / 1e9
        return is_fresh and last.folders == folders and last.known == known and newest < last.wall - _SETTLED


def _folder_times(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the folders of a source with their modification times. A listing that finds only folders needs no status of files."""
    waiting = [str(folder)]
    while waiting:
        here = waiting.pop()
        yield here, Path(here).stat().st_mtime_ns
        with os.scandir(here) as entries:
            waiting += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False) and not is_hidden(entry.name)]
