"""The blocks of a source: a folder into which other programs put files.

Each check of the folder makes one block of the files that arrived since the last check. If a file that a task has read changed or
was removed, the block is a base of all files. Names that begin with `_` or `.` are ignored, as in Spark.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from headwater.backend.workflows.channel_folders import refuse_link, refuse_unreadable_name
from headwater.backend.workflows.model import Production
from headwater.errors import InvalidInputError, SourceUnavailableError

FileState = tuple[int, int]  # length in bytes, modification time in ns
FileStates = Mapping[str, FileState]
_PATTERN = re.compile(r"[\x00-\x1f\x7f*?\[\]{}\\]")  # Spark's readers treat these characters as a pattern


@dataclass(frozen=True, slots=True)
class NewBlock:
    """A block to add to a channel. `files` maps the path of each file in the channel's folder to its length and time."""

    mode: Production
    files: FileStates


def find_new_block(folder: Path, known: FileStates, read: FileStates | None = None) -> tuple[NewBlock | None, bool]:
    """Return the block for new files of a source, or None, and whether it replaces the blocks that no task has read.

    `known` are the files of the current version. `read` are the files among them in blocks that a task has read. If `read` is None, the
    whole version is one base that no task has read.

    Raises:
        SourceUnavailableError: the folder is gone.
        InvalidInputError: the path of a file cannot be passed to a program.
    """
    if not folder.is_dir():
        if not known:
            return None, False
        raise SourceUnavailableError(f"The folder {folder} of a source is gone.", hint="Put it back, or mount it.")
    refuse_link(folder)
    now = dict(list_files(folder))
    if known.items() <= now.items():
        arrived = dict(now.items() - known.items())
        return (NewBlock(Production.DELTA, arrived) if arrived else None), False
    if read is not None and read.items() <= now.items():
        arrived = dict(now.items() - read.items())
        return (NewBlock(Production.DELTA, arrived) if arrived else None), True
    return NewBlock(Production.BASE, now), read is None


def list_files(folder: Path) -> Iterator[tuple[str, FileState]]:
    """Yield the data files below a folder with their paths in it.

    Raises:
        InvalidInputError: an entry is a link or not a regular file, its name is not UTF-8, or Spark would treat it as a pattern.
    """
    for here, folders, files in os.walk(folder, onerror=_fail):
        folders[:] = sorted(name for name in folders if not is_hidden(name))
        for name in sorted([*folders, *files]):
            path = Path(here) / name
            if is_hidden(name):
                continue
            refuse_unreadable_name(str(path))
            if _PATTERN.search(name):
                raise InvalidInputError(f"{str(path)!r} has a character in its name that makes it a pattern.", hint="Rename it.")
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                yield str(path.relative_to(folder)), (status.st_size, status.st_mtime_ns)
            elif not stat.S_ISDIR(status.st_mode):
                raise InvalidInputError(f"{path} is a link or no file, so it cannot be part of a block.", hint="Copy the file there.")


def is_hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _fail(error: OSError) -> None:
    raise SourceUnavailableError(f"{error.filename} cannot be read: {error.strerror}.", hint="Check its mode.")
