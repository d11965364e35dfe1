"""Commits replays: replaces the real outputs with the outputs of a replay, and can undo this.

A commit must never leave half-written real data, whenever it is killed. First, each output of the replay (its shadow) is copied next to the
real data, and `commit.json` in the replay's folder records all copies. Then each output is exchanged with its copy. How this is done
depends on the storage (`output_places`).

Several outputs are committed together. If one of them cannot be exchanged, earlier ones are put back. After a crash, `_settle` finishes
the commit or the undo, or puts everything back.

Data that the commit did not write is never removed.
"""

from __future__ import annotations

import fcntl
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path, PurePosixPath

from headwater.backend.rerun.replay.kinds.kind import place_of
from headwater.backend.rerun.replay.model import Commit, CommitState, CommittedFolder, FileStates, Replay, ReplayState
from headwater.backend.rerun.replay.output_places import OutputPlaces
from headwater.backend.rerun.replay.replayed_places import places_written
from headwater.backend.rerun.replay.shadow_tables.bases import refuse_later_writes
from headwater.errors import HeadwaterError, NotFoundError, SourceChangedError, UnsupportedError
from headwater.graph.records import DataRoots
from headwater.graph.records.atomic_files import write_durably
from headwater.graph.records.roots import ANYWHERE
from headwater.spark_listener.shadow_paths import ShadowPaths

FILE = "commit.json"
_log = logging.getLogger("headwater.replay")
KINDS = ("exclusive", "what-if", "refresh")  # kinds whose outputs are whole datasets that differ on purpose


def commit(replay: Replay, folder: Path, *, keep_days: float, sources: DataRoots = ANYWHERE) -> Commit:
    """Replace the real outputs of a replay with the changed ones. `folder` is the replay's folder. A killed commit can be run again.

    Raises:
        UnsupportedError: the replay has not ended, its kind cannot be committed, or an output cannot be replaced.
        SourceChangedError: an output changed since the replay was planned. No output is replaced.
    """
    places = OutputPlaces(sources)
    with _locked(folder.parent):
        now = datetime.now(UTC)
        made = _settle(folder, places)
        if made is None or not made.folders:  # an earlier try that put everything back has an earlier end of its retention time
            until = now + timedelta(days=keep_days)
            made = Commit(replay=replay.id, at=now.isoformat(timespec="milliseconds"), kept_until=until.isoformat(timespec="seconds"))
        _refuse_interrupted(made, places)
        if any(one.state is not CommitState.DONE for one in made.folders):
            raise UnsupportedError(f"The commit of the replay {replay.id} was undone.", hint="Start the replay again.")
        done = {one.dataset for one in made.folders}
        waiting = [dataset for dataset in replay.changed if dataset not in done]
        _check(replay, waiting, places)
        for dataset in waiting:
            found = places.find(dataset)
            if found is None or not _is_same(found[1], replay.before[dataset]):
                raise _changed(dataset)
        copies = _copy_outputs(replay, waiting, places)
        made.folders += copies
        _save(made, folder)
        _exchange_outputs(made, copies, folder, places)
        return made


def undo(identifier: str, folder: Path, *, sources: DataRoots = ANYWHERE) -> Commit:
    """Put the old data of a committed replay back.

    Raises:
        NotFoundError: the replay was not committed, or its old data was removed.
        SourceChangedError: the committed data changed since. Nothing is put back.
    """
    places = OutputPlaces(sources)
    with _locked(folder.parent):
        made = _settle(folder, places)
        if made is None or not any(one.state is CommitState.DONE for one in made.folders):
            raise NotFoundError(
                f"The replay {identifier} has no commit that could be undone.", hint="`headwater replay --list` names replays."
            )
        _refuse_interrupted(made, places)
        done = [one for one in made.folders if one.state is CommitState.DONE]
        for one in done:
            if not places.of_output(one).is_unchanged(one, new=True):
                raise _changed(one.dataset)
        made.is_undone = True
        _save(made, folder)
        _put_back(made, done, folder, places)
        return made


def expire(replays: Path, *, sources: DataRoots = ANYWHERE) -> None:
    """Remove expired old data of all replays of a home. Commits and undos that a crash interrupted are completed or undone."""
    places = OutputPlaces(sources)
    with _locked(replays):
        for file in replays.glob(f"*/{FILE}"):
            try:
                _expire(file.parent, places)
            except (HeadwaterError, OSError, TypeError, ValueError, KeyError) as error:  # a damaged file stops only its own commit
                _log.warning("the commit in %s could not be examined: %s", file, error)


def _expire(folder: Path, places: OutputPlaces) -> None:
    made = _settle(folder, places)
    if made is None or datetime.fromisoformat(made.kept_until) > datetime.now(UTC):
        return
    for one in made.folders:
        if one.state is CommitState.DONE:
            one.state = CommitState.EXPIRED
            _save(made, folder)
            places.of_output(one).remove_old(one)
            one.is_cleared = True
            _save(made, folder)


def keeps_old_data(folder: Path) -> bool:
    """Whether the folder of a replay describes old data that an undo would need."""
    made = load_commit(folder)
    return made is not None and any(one.state in (CommitState.DONE, CommitState.PREPARED) for one in made.folders)


def load_commit(folder: Path) -> Commit | None:
    try:
        return Commit.model_validate_json((folder / FILE).read_bytes())
    except FileNotFoundError:
        return None


def check_places(replay: Replay, sources: DataRoots = ANYWHERE) -> None:
    """Check that all outputs of a planned replay are of a kind that a commit can replace.

    Raises:
        UnsupportedError: an output cannot be replaced, or the replay makes a partition only.
    """
    places = OutputPlaces(sources)
    for dataset in replay.outputs or [replay.output]:
        places.check(dataset)
        _refuse_joint(replay, dataset)
        refuse_later_writes(replay, dataset)
    if replay.within:
        raise UnsupportedError(f"The replay is of {replay.within} of {replay.output} only.", hint="A commit replaces whole datasets.")


def _refuse_joint(replay: Replay, dataset: str) -> None:
    if dataset in replay.joint:
        raise UnsupportedError(
            f"{dataset} also has data of runs that the replay does not repeat, and a commit would remove that data.",
            hint="Run the program once on all of its inputs, so that it replaces the output, and replay that run.",
        )


def _check(replay: Replay, datasets: Sequence[str], places: OutputPlaces) -> None:
    if replay.state is not ReplayState.COMPLETE:
        raise UnsupportedError(f"The replay {replay.id} is {replay.state}; only a complete one can be committed.", hint=replay.error)
    if replay.kind not in KINDS:
        raise UnsupportedError(f"A replay of the kind {replay.kind} cannot be committed.", hint=f"These can: {', '.join(KINDS)}.")
    for dataset in datasets:
        if dataset not in replay.before:
            places.check(dataset)
            raise UnsupportedError(f"The state of {dataset} was not known when the replay began.", hint="Start the replay again.")
        shadow = ShadowPaths(replay.shadow).folder(place_of(dataset))
        if replay.within or places_written(dataset, shadow, "") != [""]:
            raise UnsupportedError(f"The replay wrote only a part of {dataset}.", hint="A commit replaces whole datasets.")
        _refuse_joint(replay, dataset)
        refuse_later_writes(replay, dataset)
    for outer, inner in permutations(datasets, 2):
        if PurePosixPath(place_of(outer)) in PurePosixPath(place_of(inner)).parents:
            raise UnsupportedError(f"{inner} is in the folder of {outer}, so they cannot be replaced together.")


def _is_same(now: FileStates, then: FileStates) -> bool:
    """Whether two states are the same. States from an earlier release have fewer values."""
    return now.keys() == then.keys() and all(tuple(now[name])[: len(state)] == tuple(state) for name, state in then.items())


def _changed(dataset: str) -> SourceChangedError:
    return SourceChangedError(f"{dataset} has changed since the replay, so nothing was replaced.", hint="Start the replay again.")


def _refuse_interrupted(made: Commit, places: OutputPlaces) -> None:
    states = {
        one.dataset: places.of_output(one).shows_new(one) for one in made.folders if one.state in (CommitState.PREPARED, CommitState.DONE)
    }
    if len(set(states.values())) > 1 or any(one.state is CommitState.PREPARED for one in made.folders):
        names = ", ".join(f"{dataset} ({'new' if is_new else 'old'} data)" for dataset, is_new in states.items())
        raise SourceChangedError(
            f"The replay {made.replay} was interrupted between its outputs, which were written since: {names}.",
            hint=f"The other data is in {', '.join(one.old for one in made.folders)}. Exchange it by hand, and remove the replay.",
        )


def _copy_outputs(replay: Replay, datasets: Sequence[str], places: OutputPlaces) -> list[CommittedFolder]:
    copies: list[CommittedFolder] = []
    for dataset in datasets:
        place = places.of(replay.places.get(dataset, "folder"))
        try:
            place.check(dataset)
            shadow = ShadowPaths(replay.shadow).folder(place_of(dataset))
            one = place.prepare(dataset, shadow, replay.id, replay.before[dataset])
        except HeadwaterError:
            for earlier in copies:
                places.of_output(earlier).drop(earlier)
            raise
        one.notes = place.notes(one)
        copies.append(one)
    return copies


def _exchange_outputs(made: Commit, copies: Sequence[CommittedFolder], folder: Path, places: OutputPlaces) -> None:
    """Exchange all outputs with their copies. If one cannot be exchanged, all are put back."""
    try:
        for one in copies:
            place = places.of_output(one)
            if not place.is_unchanged(one, new=False):
                raise _changed(one.dataset)
            try:
                place.exchange(one, new=True)
            except SourceChangedError as error:
                raise SourceChangedError(
                    f"{one.dataset} was written during the commit, so nothing was replaced.", hint="Replay again."
                ) from error
            one.state = CommitState.DONE
            _save(made, folder)
    except HeadwaterError:
        _roll_back(made, places)
        _save(made, folder)
        raise


def _put_back(made: Commit, done: Sequence[CommittedFolder], folder: Path, places: OutputPlaces) -> None:
    """Exchange all outputs with their old data. If one was written meanwhile, all get the committed data again."""
    changed: CommittedFolder | None = None
    for one in reversed(done):
        try:
            places.of_output(one).exchange(one, new=False)
        except SourceChangedError:
            changed = one
            break
        one.state = CommitState.UNDONE
        _save(made, folder)
    if changed is None:
        _clear(made, folder, places)
        return
    for one in done:
        if one.state is CommitState.UNDONE and places.of_output(one).is_unchanged(one, new=False):
            places.of_output(one).exchange(one, new=True)
            one.state = CommitState.DONE
    made.is_undone = False
    _save(made, folder)
    raise SourceChangedError(f"{changed.dataset} was written during the undo, so its committed data stays.", hint="Look at what wrote it.")


def _settle(folder: Path, places: OutputPlaces) -> Commit | None:
    """Return the commit of a replay after repairing a crash: all outputs have the new data, or all have the old data."""
    made = load_commit(folder)
    if made is None:
        return None
    before = made.model_dump_json()
    for one in made.folders:
        if one.state is CommitState.PREPARED or (one.state is CommitState.DONE and made.is_undone):
            places.of_output(one).finish(one)
        if one.state is CommitState.PREPARED and places.of_output(one).shows_new(one):
            one.state = CommitState.DONE
        elif one.state is CommitState.DONE and made.is_undone and not places.of_output(one).shows_new(one):  # killed after its exchange
            one.state = CommitState.UNDONE
    states = {one.state for one in made.folders}
    if states == {CommitState.DONE, CommitState.UNDONE}:
        _exchange_unchanged(made, places, CommitState.DONE, CommitState.UNDONE)
    elif states == {CommitState.PREPARED, CommitState.DONE}:
        _exchange_unchanged(made, places, CommitState.PREPARED, CommitState.DONE)
    if any(one.state is CommitState.PREPARED for one in made.folders):
        _roll_back(made, places)
    if made.model_dump_json() != before:
        _save(made, folder)
    _clear(made, folder, places)
    return made


def _clear(made: Commit, folder: Path, places: OutputPlaces) -> None:
    """Remove data that no reader finds and no undo needs. A crash may have come before the removal."""
    for one in made.folders:
        if not one.is_cleared and one.state in (CommitState.UNDONE, CommitState.EXPIRED):
            place = places.of_output(one)
            (place.drop if one.state is CommitState.UNDONE else place.remove_old)(one)
            one.is_cleared = True
            _save(made, folder)


def _exchange_unchanged(made: Commit, places: OutputPlaces, waiting: CommitState, finished: CommitState) -> None:
    is_commit = finished is CommitState.DONE
    for one in made.folders:
        place = places.of_output(one)
        if one.state is waiting and place.is_unchanged(one, new=not is_commit):
            with suppress(SourceChangedError):
                place.exchange(one, new=is_commit)
                one.state = finished


def _roll_back(made: Commit, places: OutputPlaces) -> None:
    """Give all outputs their old data again, if no committed output was written since. Otherwise nothing is exchanged."""
    done = [one for one in made.folders if one.state is CommitState.DONE]
    if not all(places.of_output(one).is_unchanged(one, new=True) for one in done):
        return
    for one in reversed(done):
        try:
            places.of_output(one).exchange(one, new=False)
        except SourceChangedError:
            return
        one.state = CommitState.PREPARED
    for one in list(made.folders):
        made.folders.remove(one)
        places.of_output(one).drop(one)


def _save(made: Commit, folder: Path) -> None:
    write_durably(folder / FILE, made.model_dump_json(indent=1).encode())


@contextmanager
def _locked(replays: Path) -> Iterator[None]:
    with (replays / ".commit.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
