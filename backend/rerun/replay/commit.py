"""Commits replays: replaces the real outputs with the outputs of a replay, and can undo this.

A commit must never leave half-written real data, whenever it is killed. First, each output of the replay (its shadow) is copied next to the
real folder, and `commit.json` in the replay's folder records all copies. Then one system call for each folder exchanges it with its copy,
and a reader finds the old folder or the new one. The old data stays in the hidden folder until its retention time is over.

Several outputs are committed together. If one of them cannot be exchanged, earlier ones are put back. After a crash, `_settle` finishes
the commit or the undo, or puts everything back. The inode of a folder shows whether its exchange happened.

A folder with files that the commit did not write is never removed.
"""

from __future__ import annotations

import fcntl
import logging
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path

from headwater.backend.rerun.replay.exchange import copy_folder, exchange_folders, folder_states, is_unchanged
from headwater.backend.rerun.replay.kinds.kind import place_of
from headwater.backend.rerun.replay.model import Commit, CommitState, CommittedFolder, FileStates, Replay, ReplayState
from headwater.backend.rerun.replay.replayed_places import places_written
from headwater.errors import HeadwaterError, NotFoundError, SourceChangedError, UnsupportedError
from headwater.graph.files.table_folders import table_kind
from headwater.graph.model import parse_id
from headwater.graph.records.atomic_files import write_durably
from headwater.spark_listener.shadow_paths import ShadowPaths

FILE = "commit.json"
_log = logging.getLogger("headwater.replay")
KINDS = ("exclusive", "what-if", "refresh")  # kinds whose outputs are whole datasets that differ on purpose


def output_states(datasets: list[str]) -> dict[str, FileStates]:
    local = {dataset: Path(parse_id(dataset)[1][1]) for dataset in datasets if parse_id(dataset)[1][0] == "file"}
    return {dataset: folder_states(folder) for dataset, folder in local.items() if folder.is_dir() and not folder.is_symlink()}


def commit(replay: Replay, folder: Path, *, keep_days: float) -> Commit:
    """Replace the real outputs of a replay with the changed ones. `folder` is the replay's folder. A killed commit can be run again.

    Raises:
        UnsupportedError: the replay has not ended, its kind cannot be committed, or an output is not a local folder.
        SourceChangedError: an output changed since the replay was planned. No output is replaced.
    """
    with _locked(folder.parent):
        now = datetime.now(UTC)
        made = _settle(folder)
        if made is None or not made.folders:  # an earlier try that put everything back has an earlier end of its retention time
            until = now + timedelta(days=keep_days)
            made = Commit(replay=replay.id, at=now.isoformat(timespec="seconds"), kept_until=until.isoformat(timespec="seconds"))
        _refuse_interrupted(made)
        if any(one.state is not CommitState.DONE for one in made.folders):
            raise UnsupportedError(f"The commit of the replay {replay.id} was undone.", hint="Start the replay again.")
        done = {one.dataset for one in made.folders}
        waiting = [dataset for dataset in replay.changed if dataset not in done]
        _check(replay, waiting)
        for dataset in waiting:
            _check_unchanged(dataset, Path(place_of(dataset)), replay.before[dataset])
        copies = _copy_outputs(replay, waiting)
        made.folders += copies
        _save(made, folder)
        _exchange_outputs(made, copies, folder)
        return made


def undo(identifier: str, folder: Path) -> Commit:
    """Put the old data of a committed replay back.

    Raises:
        NotFoundError: the replay was not committed, or its old data was removed.
        SourceChangedError: the committed data changed since. Nothing is put back.
    """
    with _locked(folder.parent):
        made = _settle(folder)
        if made is None or not any(one.state is CommitState.DONE for one in made.folders):
            raise NotFoundError(
                f"The replay {identifier} has no commit that could be undone.", hint="`headwater replay --list` names replays."
            )
        _refuse_interrupted(made)
        done = [one for one in made.folders if one.state is CommitState.DONE]
        for one in done:
            _check_unchanged(one.dataset, Path(one.place), one.files)
        _put_back(made, done, folder)
        return made


def expire(replays: Path) -> None:
    """Remove expired old data of all replays of a home. Commits and undos that a crash interrupted are completed or undone."""
    with _locked(replays):
        for file in replays.glob(f"*/{FILE}"):
            try:
                _expire(file.parent)
            except (HeadwaterError, OSError, TypeError, ValueError) as error:  # a damaged file must not stop the commits of other replays
                _log.warning("the commit in %s could not be examined: %s", file, error)


def _expire(folder: Path) -> None:
    made = _settle(folder)
    if made is None or datetime.fromisoformat(made.kept_until) > datetime.now(UTC):
        return
    for one in made.folders:
        if one.state is CommitState.DONE:
            one.state = CommitState.EXPIRED
            _save(made, folder)
            _remove_old(one)


def keeps_old_data(folder: Path) -> bool:
    """Whether the folder of a replay describes old data that an undo would need."""
    made = load_commit(folder)
    return made is not None and any(one.state in (CommitState.DONE, CommitState.PREPARED) for one in made.folders)


def load_commit(folder: Path) -> Commit | None:
    try:
        return Commit.model_validate_json((folder / FILE).read_bytes())
    except FileNotFoundError:
        return None


def check_places(replay: Replay) -> None:
    """Check that all outputs of a planned replay are of a kind that a commit can replace.

    Raises:
        UnsupportedError: an output is no local folder of files, or the replay makes a partition only.
    """
    for dataset in replay.outputs or [replay.output]:
        _refuse_other_place(replay, dataset)
    if replay.within:
        raise UnsupportedError(f"The replay is of {replay.within} of {replay.output} only.", hint="A commit replaces whole folders.")


def _refuse_other_place(replay: Replay, dataset: str) -> None:
    if dataset not in replay.before or table_kind(Path(place_of(dataset))) is not None:
        raise UnsupportedError(
            f"{dataset} is no local folder of files, so a replay cannot take its place.",
            hint="Tables of Delta and Iceberg, object stores and HDFS can be replayed, and not committed.",
        )


def _check(replay: Replay, datasets: Sequence[str]) -> None:
    if replay.state is not ReplayState.COMPLETE:
        raise UnsupportedError(f"The replay {replay.id} is {replay.state}; only a complete one can be committed.", hint=replay.error)
    if replay.kind not in KINDS:
        raise UnsupportedError(f"A replay of the kind {replay.kind} cannot be committed.", hint=f"These can: {', '.join(KINDS)}.")
    for dataset in datasets:
        place = Path(place_of(dataset))
        _refuse_other_place(replay, dataset)
        if replay.within or places_written(dataset, ShadowPaths(replay.shadow).folder(str(place)), "") != [""]:
            raise UnsupportedError(f"The replay wrote only a part of {dataset}.", hint="A commit replaces whole folders.")
    for outer, inner in permutations(datasets, 2):
        if Path(place_of(outer)) in Path(place_of(inner)).parents:
            raise UnsupportedError(f"{inner} is in the folder of {outer}, so they cannot be replaced together.")


def _check_unchanged(dataset: str, folder: Path, files: FileStates) -> None:
    if not is_unchanged(folder, files):
        raise SourceChangedError(f"{dataset} has changed since the replay, so nothing was replaced.", hint="Start the replay again.")


def _refuse_interrupted(made: Commit) -> None:
    states = {_is_exchanged(one) for one in made.folders if one.state in (CommitState.PREPARED, CommitState.DONE)}
    if len(states) > 1 or any(one.state is CommitState.PREPARED for one in made.folders):
        names = ", ".join(f"{one.dataset} ({'new' if _is_exchanged(one) else 'old'} data)" for one in made.folders)
        raise SourceChangedError(
            f"The replay {made.replay} was interrupted between its outputs, which were written since: {names}.",
            hint="The other data of each is in the hidden folder next to it. Exchange them by hand, and remove the replay.",
        )


def _copy_outputs(replay: Replay, datasets: Sequence[str]) -> list[CommittedFolder]:
    copies: list[CommittedFolder] = []
    for dataset in datasets:
        try:
            one = _copy_output(replay, dataset)
        except HeadwaterError:
            for earlier in copies:
                _drop(earlier)
            raise
        copies.append(one)
    return copies


def _copy_output(replay: Replay, dataset: str) -> CommittedFolder:
    place = Path(place_of(dataset))
    old = place.with_name(f".{place.name}.headwater-{replay.id}")
    copy_folder(ShadowPaths(replay.shadow).folder(str(place)), old, place)
    return CommittedFolder(
        dataset=dataset, place=str(place), old=str(old), inode=old.stat().st_ino, files=folder_states(old), before=replay.before[dataset]
    )


def _exchange_outputs(made: Commit, copies: Sequence[CommittedFolder], folder: Path) -> None:
    """Exchange all outputs with their copies. If one cannot be exchanged, all are put back."""
    try:
        for one in copies:
            _check_unchanged(one.dataset, Path(one.place), one.before)
            exchange_folders(Path(one.old), Path(one.place))
            if not is_unchanged(Path(one.old), one.before):  # somebody wrote while the folders were exchanged
                exchange_folders(Path(one.old), Path(one.place))
                raise SourceChangedError(f"{one.dataset} was written during the commit, so nothing was replaced.", hint="Replay again.")
            one.state = CommitState.DONE
            _save(made, folder)
    except HeadwaterError:
        _roll_back(made)
        _save(made, folder)
        raise


def _put_back(made: Commit, done: Sequence[CommittedFolder], folder: Path) -> None:
    """Exchange all outputs with their old data. If one was written meanwhile, all get the committed data again."""
    changed: CommittedFolder | None = None
    for one in reversed(done):
        exchange_folders(Path(one.old), Path(one.place))
        if not is_unchanged(Path(one.old), one.files):
            exchange_folders(Path(one.old), Path(one.place))
            changed = one
            break
        one.state = CommitState.UNDONE
        _save(made, folder)
    if changed is None:
        for one in done:
            _drop(one)
        return
    for one in done:
        if one.state is CommitState.UNDONE and is_unchanged(Path(one.old), one.files):
            exchange_folders(Path(one.old), Path(one.place))
            one.state = CommitState.DONE
    _save(made, folder)
    raise SourceChangedError(f"{changed.dataset} was written during the undo, so its committed data stays.", hint="Look at what wrote it.")


def _settle(folder: Path) -> Commit | None:
    """Return the commit of a replay after repairing a crash: all outputs have the new data, or all have the old data."""
    made = load_commit(folder)
    if made is None:
        return None
    before = made.model_dump_json()
    for one in made.folders:
        if one.state is CommitState.PREPARED and _is_exchanged(one):
            one.state = CommitState.DONE
        elif one.state is CommitState.DONE and not _is_exchanged(one):  # an undo was killed after its exchange
            one.state = CommitState.UNDONE
    states = {one.state for one in made.folders}
    if states == {CommitState.DONE, CommitState.UNDONE}:
        _exchange_unchanged(made, CommitState.DONE, CommitState.UNDONE)
    elif states == {CommitState.PREPARED, CommitState.DONE}:
        _exchange_unchanged(made, CommitState.PREPARED, CommitState.DONE)
    if any(one.state is CommitState.PREPARED for one in made.folders):
        _roll_back(made)
    for one in made.folders:  # a crash may have come before the removal
        {CommitState.EXPIRED: _remove_old, CommitState.UNDONE: _drop}.get(one.state, lambda _: None)(one)
    if made.model_dump_json() != before:
        _save(made, folder)
    return made


def _exchange_unchanged(made: Commit, waiting: CommitState, finished: CommitState) -> None:
    for one in made.folders:
        expected = one.before if finished is CommitState.DONE else one.files
        if one.state is waiting and is_unchanged(Path(one.place), expected):
            exchange_folders(Path(one.old), Path(one.place))
            one.state = finished


def _roll_back(made: Commit) -> None:
    """Give all outputs their old data again, if no committed output was written since. Otherwise nothing is exchanged."""
    done = [one for one in made.folders if one.state is CommitState.DONE]
    if not all(is_unchanged(Path(one.place), one.files) for one in done):
        return
    for one in reversed(done):
        exchange_folders(Path(one.old), Path(one.place))
    for one in list(made.folders):
        made.folders.remove(one)
        _drop(one)


def _is_exchanged(one: CommittedFolder) -> bool:
    """Whether the hidden folder contains the old data. It then exists, and differs from the copy of the shadow."""
    return Path(one.old).is_dir() and Path(one.old).stat().st_ino != one.inode


def _drop(one: CommittedFolder) -> None:
    """Remove the hidden folder if it is the copy of the shadow. Files that another program wrote there meanwhile stay."""
    old = Path(one.old)
    if old.is_dir() and old.stat().st_ino == one.inode and is_unchanged(old, one.files, may_lack_files=True):
        shutil.rmtree(old, ignore_errors=True)


def _remove_old(one: CommittedFolder) -> None:
    """Remove the old data. Files that another program wrote there meanwhile stay."""
    if _is_exchanged(one) and is_unchanged(Path(one.old), one.before, may_lack_files=True):
        shutil.rmtree(one.old, ignore_errors=True)


def _save(made: Commit, folder: Path) -> None:
    write_durably(folder / FILE, made.model_dump_json(indent=1).encode())


@contextmanager
def _locked(replays: Path) -> Iterator[None]:
    with (replays / ".commit.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
