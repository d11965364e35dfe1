"""Puts copies without the chosen records in the place of files of the source, and takes them back.

The copy of a file is a hidden file next to it. One system call exchanges both, so a reader finds the old file or the new one. Afterwards
the states of both files say which is which, so a stopped exchange can be finished or reverted. The old data is deleted at the end.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from headwater.backend.erasure.model import SourceFile, State
from headwater.backend.rerun.replay.exchange import exchange_folders
from headwater.errors import SourceChangedError, UnsupportedError
from headwater.graph.records.atomic_files import sync


def file_state(path: str | Path) -> State | None:
    """Return the state of a regular file, or None if there is none. Links are not followed."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def plan_file(path: str, rows: Iterable[int], records: int) -> SourceFile:
    """Return the present state of a file of the source.

    Raises:
        UnsupportedError: a link leads to the file, or another name of it would keep the records.
        SourceChangedError: the file is gone.
    """
    state = file_state(path)
    if state is None:
        raise SourceChangedError(f"{path} is gone.", hint="Plan the erasure again.")
    if os.path.realpath(path) != path:
        raise UnsupportedError(f"A link leads to {path}.", hint=f"The data lies in {os.path.realpath(path)}.")
    if os.lstat(path).st_nlink > 1:
        raise UnsupportedError(f"{path} has other names (hard links), which would keep the records.", hint="Remove them first.")
    checksum = Path(path).with_name(f".{Path(path).name}.crc")
    return SourceFile(path=path, rows=list(rows), records=records, old=state, checksum=str(checksum) if checksum.is_file() else "")


def copy_of(path: str, erasure: str) -> str:
    """Return the path of the copy of a file. Spark and other readers of folders leave out hidden files."""
    return str(Path(path).with_name(f".{Path(path).name}.headwater-erase-{erasure}"))


def settle_copy(file: SourceFile) -> None:
    """Give a written copy the owner and the permissions of the file, bring it to the disk, and note its state."""
    status = os.lstat(file.path)
    Path(file.copy_path).chmod(stat.S_IMODE(status.st_mode))
    with suppress(PermissionError):
        os.chown(file.copy_path, status.st_uid, status.st_gid)
    sync(Path(file.copy_path))
    sync(Path(file.copy_path).parent)
    file.new = file_state(file.copy_path)


def is_exchanged(file: SourceFile) -> bool:
    """Whether the copy is in the place of the file.

    Raises:
        SourceChangedError: another program wrote to the file, so it is neither the old file nor the copy.
    """
    now = file_state(file.path)
    if now is not None and now == file.new:
        return True
    if now == file.old:
        return False
    raise SourceChangedError(
        f"{file.path} was written during the erasure.", hint=f"Its earlier data is in {file.copy_path}. Look at what wrote it."
    )


def put_in_place(file: SourceFile) -> None:
    """Exchange a file with its copy. Can be repeated.

    Raises:
        SourceChangedError: the file changed since the plan. It stays as it is.
    """
    if is_exchanged(file):
        _move(file.checksum, _old_checksum(file))
        return
    _move(file.checksum, _old_checksum(file))  # a reader would compare the new data with the old checksums
    exchange_folders(Path(file.path), Path(file.copy_path))
    if file_state(file.copy_path) != file.old or file_state(file.path) != file.new:  # somebody wrote before or during the exchange
        exchange_folders(Path(file.path), Path(file.copy_path))
        _move(_old_checksum(file), file.checksum)
        raise SourceChangedError(f"{file.path} was written meanwhile.", hint="Plan the erasure again.")


def take_back(file: SourceFile) -> None:
    """Give a file its old data again, and remove the copy. Can be repeated. If somebody removed the hidden file, nothing is done.

    Raises:
        SourceChangedError: another program wrote to the file since.
    """
    if file_state(file.copy_path or file.path) is None:
        return
    if file.new is not None and file.copy_path and is_exchanged(file):
        exchange_folders(Path(file.path), Path(file.copy_path))
    _move(_old_checksum(file), file.checksum)
    if file.copy_path and file_state(file.copy_path) not in (None, file.old):
        Path(file.copy_path).unlink(missing_ok=True)


def delete_old(file: SourceFile) -> None:
    """Delete the old data of a file after its copy is in place. Can be repeated.

    Raises:
        SourceChangedError: the hidden file is not the old data.
    """
    state = file_state(file.copy_path)
    if state is not None and state != file.old:
        raise SourceChangedError(f"{file.copy_path} is not the old data of {file.path}.", hint="Look at what wrote it, and remove it.")
    Path(file.copy_path).unlink(missing_ok=True)
    if file.checksum:
        Path(_old_checksum(file)).unlink(missing_ok=True)
    sync(Path(file.path).parent)


def _old_checksum(file: SourceFile) -> str:
    return f"{file.copy_path}.crc" if file.checksum else ""


def _move(source: str, target: str) -> None:
    if source and target:
        with suppress(FileNotFoundError):
            os.replace(source, target)
