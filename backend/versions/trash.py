"""Moves files of a dataset into a trash folder next to the dataset. An interruption at any point loses nothing.

The journal is written before the first move. Afterwards each file is either in the dataset or in the trash, and the next process looks
there. A file moves only if it has the planned device, inode, length and time, and no link in its path. Only `delete` deletes files.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel

from headwater.errors import SourceChangedError, UnsupportedError
from headwater.graph.records.atomic_files import write_durably

JOURNAL = "journal.json"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_REPLACE = 1  # RENAME_NOREPLACE


class MoveState(StrEnum):
    """The state of a collection: `prepared` → `moved` → `restored` or `expired`."""

    PREPARED = "prepared"
    MOVED = "moved"
    RESTORED = "restored"
    EXPIRED = "expired"


class TrashedFile(BaseModel):
    """A file to move, with its path in the dataset and its state at the time of planning. `modified` is in nanoseconds."""

    path: str
    device: int
    inode: int
    length: int
    modified: int


class Journal(BaseModel):
    """The journal of one collection: the removed blocks, their files, and the trash folder. Times are ISO 8601 in UTC."""

    id: str
    dataset: str
    folder: str
    trash: str
    by: str
    at: str
    kept_until: str
    versions: list[str]
    files: list[TrashedFile]
    skipped: list[str] = []
    keep: int = 1
    state: MoveState = MoveState.PREPARED
    is_recorded: bool = False

    @property
    def moved_files(self) -> list[TrashedFile]:
        """Return the files that are in the trash after a finished move."""
        return [file for file in self.files if file.path not in self.skipped]


def save(journal: Journal, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_durably(folder / JOURNAL, journal.model_dump_json(indent=1).encode())


def load(folder: Path) -> Journal:
    return Journal.model_validate_json((folder / JOURNAL).read_text(encoding="utf-8"))


def describe_file(folder: str, path: str) -> TrashedFile:
    """Return the present state of a dataset's file.

    Raises:
        SourceChangedError: the file is not a regular file in the folder, or its path contains a link.
    """
    with _open_parent(folder, path) as (parent, name):
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        raise SourceChangedError(f"{folder}/{path} is no regular file.")
    return TrashedFile(path=path, device=status.st_dev, inode=status.st_ino, length=status.st_size, modified=status.st_mtime_ns)


def move_out(journal: Journal) -> None:
    """Move the files of a journal into its trash. Files that changed since the plan stay, and are recorded. Can be repeated."""
    try:
        Path(journal.trash).mkdir(mode=0o700, exist_ok=True)
    except PermissionError as error:
        raise UnsupportedError(f"{journal.trash} cannot be made ({error.strerror}), so nothing is dropped.") from error
    for file in journal.files:
        if file.path in journal.skipped:
            continue
        try:
            _move(file, journal.folder, journal.trash)
        except SourceChangedError:
            journal.skipped.append(file.path)


def check_places(journal: Journal) -> None:
    """Check that each file of a journal can go back to its place.

    Raises:
        SourceChangedError: a file is gone or changed, or another file has its place. Nothing was moved.
    """
    for file in journal.moved_files:
        try:
            there = describe_file(journal.folder, file.path)
        except FileNotFoundError:
            there = None
        if there == file:
            continue  # the file was moved before an interruption
        if there is not None:
            raise SourceChangedError(
                f"There is another file {journal.folder}/{file.path} now, so nothing was restored.", hint="Move it elsewhere first."
            )
        try:
            kept = describe_file(journal.trash, file.path)
        except FileNotFoundError:
            kept = None
        if kept != file:
            raise SourceChangedError(f"{journal.trash}/{file.path} is gone or has changed, so nothing was restored.")


def move_back(journal: Journal) -> None:
    """Move the files of a journal back to the dataset. Can be repeated.

    Raises:
        SourceChangedError: a file is gone, or a new file has its path.
    """
    for file in journal.moved_files:
        _move(file, journal.trash, journal.folder)


def is_expired(journal: Journal) -> bool:
    return datetime.fromisoformat(journal.kept_until) <= datetime.now(UTC)


def delete(journal: Journal) -> None:
    if Path(journal.trash).is_symlink():
        raise UnsupportedError(f"{journal.trash} is a link now, so nothing is deleted.")
    shutil.rmtree(journal.trash, ignore_errors=True)


def _move(file: TrashedFile, source: str, target: str) -> None:
    try:
        found = describe_file(source, file.path)
    except FileNotFoundError:
        with suppress(FileNotFoundError):
            if describe_file(target, file.path) == file:
                return  # the file was moved before an interruption
        raise SourceChangedError(f"{source}/{file.path} is gone.") from None
    if found != file:
        raise SourceChangedError(f"{source}/{file.path} has changed.")
    with _open_parent(source, file.path) as (here, name), _open_parent(target, file.path, make=True) as (there, _):
        _rename(here, there, name)
        status = os.stat(name, dir_fd=there, follow_symlinks=False)
        if (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns) != (file.device, file.inode, file.length, file.modified):
            _rename(there, here, name)  # a new file got this path between the check and the move
            raise SourceChangedError(f"{source}/{file.path} was replaced.")
        os.fsync(there)
        os.fsync(here)


@contextmanager
def _open_parent(folder: str, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """Open the parent folder of a file by descending from `folder`. Links are not followed.

    Raises:
        SourceChangedError: a part of the path is a link, or leads out of the folder.
        FileNotFoundError: a part of the path is missing.
    """
    *parts, name = _parts(path)
    holding = _open_folder(folder)
    try:
        for part in parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, mode=0o700, dir_fd=holding)
            below = _open_folder(part, holding)
            os.close(holding)
            holding = below
        yield holding, name
    finally:
        os.close(holding)


def _parts(path: str) -> Sequence[str]:
    parts = path.split("/")
    if path.startswith("/") or any(part in ("", ".", "..") for part in parts):
        raise SourceChangedError(f"{path} is no path in a dataset.")
    return parts


def _open_folder(name: str, holding: int | None = None) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=holding)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise SourceChangedError(f"{name} is a link or no folder now.") from error
        raise


def _rename(here: int, there: int, name: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    rename = getattr(libc, "renameat2", None)
    if rename is None or rename(here, os.fsencode(name), there, os.fsencode(name), _NO_REPLACE):
        code = errno.ENOSYS if rename is None else ctypes.get_errno()
        if code == errno.EEXIST:
            raise SourceChangedError(f"There is another file {name} where this one should go.")
        raise OSError(code, os.strerror(code), name)
