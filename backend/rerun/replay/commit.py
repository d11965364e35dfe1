"""Commits replays: replaces the real outputs with the replay's outputs, and can undo this.

A commit must never leave half-written real data, whenever it is killed. The output of the replay is copied next to the real folder first.
Then one system call exchanges the two folders, so a reader finds the old folder or the new one. The old data stays in the hidden folder
until its retention time is over. `commit.json` in the replay's folder records each folder before the exchange. The inode shows afterwards
whether the exchange happened.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from headwater.backend.rerun.replay.kinds.kind import place_of
from headwater.backend.rerun.replay.model import Commit, CommitState, CommittedFolder, FileStates, Replay, ReplayState
from headwater.backend.rerun.replay.replayed_places import places_written
from headwater.errors import NotFoundError, SourceChangedError, UnsupportedError
from headwater.graph.model import parse_id
from headwater.graph.records.atomic_files import sync, write_durably
from headwater.spark_listener.shadow_paths import ShadowPaths

FILE = "commit.json"
KINDS = ("exclusive", "what-if", "refresh")  # kinds whose outputs are whole datasets that differ on purpose
_TABLES = ("_delta_log", ".hoodie", "metadata")
_AT_FDCWD, _EXCHANGE = -100, 2


def folder_states(folder: Path) -> FileStates:
    """Return the length and the modification time (ns) of all files below a folder, by their relative path."""
    found: FileStates = {}
    for here, _, files in os.walk(folder):
        for name in files:
            path = Path(here) / name
            state = path.lstat()
            found[str(path.relative_to(folder))] = (state.st_size, state.st_mtime_ns)
    return found


def output_states(datasets: list[str]) -> dict[str, FileStates]:
    """Return the states of all files of datasets that are local folders."""
    local = {dataset: Path(parse_id(dataset)[1][1]) for dataset in datasets if parse_id(dataset)[1][0] == "file"}
    return {dataset: folder_states(folder) for dataset, folder in local.items() if folder.is_dir() and not folder.is_symlink()}


def commit(replay: Replay, folder: Path, *, keep_days: float) -> Commit:
    """Replace the real outputs with the changed outputs of a replay. A killed commit can be run again.

    `folder` is the replay's folder.

    Raises:
        UnsupportedError: the replay has not ended, its kind cannot be committed, or an output is not a local folder.
        SourceChangedError: an output changed since the replay was planned.
    """
    with _locked(folder.parent):
        now = datetime.now(UTC)
        made = _settle(folder) or Commit(
            replay=replay.id,
            at=now.isoformat(timespec="seconds"),
            kept_until=(now + timedelta(days=keep_days)).isoformat(timespec="seconds"),
        )
        if any(one.state is not CommitState.DONE for one in made.folders):
            raise UnsupportedError(f"The commit of the replay {replay.id} was undone.", hint="Start the replay again.")
        done = {one.dataset for one in made.folders}
        waiting = [dataset for dataset in replay.changed if dataset not in done]
        _check(replay, waiting)
        for dataset in waiting:
            _check_unchanged(dataset, Path(place_of(dataset)), replay.before[dataset])
        for dataset in waiting:
            _exchange_output(replay, dataset, made, folder)
        return made


def undo(identifier: str, folder: Path) -> Commit:
    """Put the old data of a committed replay back.

    Raises:
        NotFoundError: the replay was not committed, or its old data was removed.
        SourceChangedError: the committed data changed since.
    """
    with _locked(folder.parent):
        made = _settle(folder)
        if made is None or not any(one.state is CommitState.DONE for one in made.folders):
            raise NotFoundError(
                f"The replay {identifier} has no commit that could be undone.", hint="`headwater replay --list` names replays."
            )
        done = [one for one in made.folders if one.state is CommitState.DONE]
        for one in done:
            _check_unchanged(one.dataset, Path(one.place), one.files)
        for one in reversed(done):
            exchange_folders(Path(one.old), Path(one.place))
            one.state = CommitState.UNDONE
            _save(made, folder)
            shutil.rmtree(one.old, ignore_errors=True)
        return made


def expire(replays: Path) -> None:
    """Remove expired old data of all committed replays of a home."""
    with _locked(replays):
        for file in replays.glob(f"*/{FILE}"):
            made = _settle(file.parent)
            if made is None or datetime.fromisoformat(made.kept_until) > datetime.now(UTC):
                continue
            for one in made.folders:
                if one.state is CommitState.DONE:
                    one.state = CommitState.EXPIRED
                    _save(made, file.parent)
                    shutil.rmtree(one.old, ignore_errors=True)


def keeps_old_data(folder: Path) -> bool:
    """Whether a replay's folder describes old data that an undo would need."""
    made = load_commit(folder)
    return made is not None and any(one.state in (CommitState.DONE, CommitState.PREPARED) for one in made.folders)


def _check(replay: Replay, datasets: list[str]) -> None:
    if replay.state is not ReplayState.COMPLETE:
        raise UnsupportedError(f"The replay {replay.id} is {replay.state}; only a complete one can be committed.", hint=replay.error)
    if replay.kind not in KINDS:
        raise UnsupportedError(f"A replay of the kind {replay.kind} cannot be committed.", hint=f"These can: {', '.join(KINDS)}.")
    for dataset in datasets:
        place = Path(place_of(dataset))
        if dataset not in replay.before or any((place / name).exists() for name in _TABLES):
            raise UnsupportedError(f"{dataset} is no local folder of files, so a replay cannot take its place.")
        if replay.within or places_written(dataset, ShadowPaths(replay.shadow).folder(str(place)), "") != [""]:
            raise UnsupportedError(f"The replay wrote only a part of {dataset}.", hint="A commit replaces whole folders.")


def _check_unchanged(dataset: str, folder: Path, files: FileStates) -> None:
    if not folder.is_dir() or folder.is_symlink() or folder_states(folder) != files:
        raise SourceChangedError(f"{dataset} has changed since the replay, so nothing was replaced.", hint="Start the replay again.")


def _exchange_output(replay: Replay, dataset: str, made: Commit, folder: Path) -> None:
    place = Path(place_of(dataset))
    old = place.with_name(f".{place.name}.headwater-{replay.id}")
    shutil.rmtree(old, ignore_errors=True)  # a copy of a commit that was killed before it was recorded
    shutil.copytree(ShadowPaths(replay.shadow).folder(str(place)), old, symlinks=True)
    shutil.copymode(place, old)
    _sync_below(old)
    one = CommittedFolder(dataset=dataset, place=str(place), old=str(old), inode=old.stat().st_ino, files=folder_states(old))
    made.folders.append(one)
    _save(made, folder)
    _check_unchanged(dataset, place, replay.before[dataset])
    exchange_folders(old, place)
    if folder_states(old) != replay.before[dataset]:  # somebody wrote while the folders were exchanged
        exchange_folders(old, place)
        raise SourceChangedError(f"{dataset} was written during the commit, so its data was put back.", hint="Start the replay again.")
    one.state = CommitState.DONE
    _save(made, folder)


def _settle(folder: Path) -> Commit | None:
    """Return the commit of a replay. An interrupted exchange is marked as done, or dropped with its copy."""
    made = load_commit(folder)
    if made is None:
        return None
    for one in [one for one in made.folders if one.state is CommitState.PREPARED]:
        if _holds_result(one):
            made.folders.remove(one)
            shutil.rmtree(one.old, ignore_errors=True)
        elif Path(one.old).is_dir():
            one.state = CommitState.DONE
        else:
            made.folders.remove(one)
    for one in [one for one in made.folders if one.state is CommitState.DONE]:
        if _holds_result(one):  # an undo was killed after its exchange
            one.state = CommitState.UNDONE
    for one in made.folders:
        if one.state is CommitState.EXPIRED or (one.state is CommitState.UNDONE and _holds_result(one)):  # killed before it was removed
            shutil.rmtree(one.old, ignore_errors=True)
    _save(made, folder)
    return made


def _holds_result(one: CommittedFolder) -> bool:
    """Whether the hidden folder is the copy of the replay's output. Otherwise it contains old data, which must not be removed."""
    return Path(one.old).is_dir() and Path(one.old).stat().st_ino == one.inode


def load_commit(folder: Path) -> Commit | None:
    """Return the commit that a replay's folder describes, or None if the replay was not committed."""
    try:
        return Commit.model_validate_json((folder / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def _save(made: Commit, folder: Path) -> None:
    write_durably(folder / FILE, made.model_dump_json(indent=1).encode())


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


def _sync_below(folder: Path) -> None:
    for here, _, files in os.walk(folder):
        for name in files:
            sync(Path(here) / name)
        sync(Path(here))


@contextmanager
def _locked(replays: Path) -> Iterator[None]:
    with (replays / ".commit.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
