"""Folders that take each other's place: their states, copies that survive a crash, and the exchange in one system call."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
from pathlib import Path

from headwater.backend.rerun.replay.model import FileStates
from headwater.errors import UnsupportedError
from headwater.graph.records.atomic_files import sync

_AT_FDCWD, _EXCHANGE = -100, 2


def folder_states(folder: Path) -> FileStates:
    """Return the length, modification time (ns), change time (ns) and inode of all files below a folder, by relative path.

    No program can set the change time, so it shows new content under an old modification time.
    """
    found: FileStates = {}
    for here, _, files in os.walk(folder):
        for name in files:
            path = Path(here) / name
            state = path.lstat()
            found[str(path.relative_to(folder))] = (state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino)
    return found


def is_unchanged(folder: Path, states: FileStates, *, may_lack_files: bool = False) -> bool:
    """Whether the files of a folder have the given states. States from an earlier release lack change time and inode.

    With `may_lack_files`, files may be missing, because a crash may have interrupted the removal of the folder.
    """
    if not folder.is_dir() or folder.is_symlink():
        return False
    now = folder_states(folder)
    if not (now.keys() <= states.keys() if may_lack_files else now.keys() == states.keys()):
        return False
    return all(state[: len(states[name])] == tuple(states[name]) for name, state in now.items())


def copy_folder(source: Path, target: Path, like: Path) -> None:
    """Copy a folder to the disk, with the permissions of the folder `like`.

    Raises:
        UnsupportedError: the copy cannot be written. The partial copy is removed.
    """
    shutil.rmtree(target, ignore_errors=True)  # a copy of a commit that was killed before it was recorded
    try:
        shutil.copytree(source, target, symlinks=True)
        shutil.copymode(like, target)
        sync_below(target)
    except OSError as error:
        shutil.rmtree(target, ignore_errors=True)
        raise UnsupportedError(f"{source} cannot be copied to {target}: {error}.", hint="Nothing was replaced.") from error


def exchange_folders(one: Path, other: Path) -> None:
    """Exchange two folders in one step.

    Raises:
        UnsupportedError: the operating system or the file system cannot do that.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    rename = getattr(libc, "renameat2", None)
    failed = -1 if rename is None else rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _EXCHANGE)
    if failed:
        code = errno.ENOSYS if rename is None else ctypes.get_errno()
        raise UnsupportedError(
            f"{one} and {other} cannot be exchanged: {os.strerror(code)}.",
            hint="A commit needs Linux and a file system with RENAME_EXCHANGE.",
        )
    sync(other.parent)


def sync_below(folder: Path) -> None:
    """Flush all files and folders below a folder to disk."""
    for here, _, files in os.walk(folder):
        for name in files:
            sync(Path(here) / name)
        sync(Path(here))
