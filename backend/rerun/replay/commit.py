"""Commits replays: replaces the real outputs with the outputs of a replay, and can undo this.

A commit must never leave half-written real data, whenever it is killed. First, each output of the replay (its shadow) is copied next to the
real data, and `commit.json` in the replay's folder records all copies. Then each output is exchanged with its copy. How this is done
depends on the storage (`output_places`).

Several outputs are committed together. If one of them cannot be exchanged, earlier ones are put back. After a crash, or after a request
that failed, `_settle` finishes the commit or the undo, or puts everything back. For this, `commit.json` names an output until its data is
whole. An output that is `prepared`, or that has the new data when an undo has begun, is examined again.

Data that the commit did not write is never removed.
"""

from __future__ import annotations

import fcntl
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path, PurePosixPath

from headwater.backend.rerun.replay.kinds.kind import place_of
from headwater.backend.rerun.replay.model import Commit, CommitState, CommittedFolder, FileStates, Replay, ReplayState
from headwater.backend.rerun.replay.output_places import OutputPlaces
from headwater.backend.rerun.replay.replayed_places import places_written
from headwater.backend.rerun.replay.shadow_tables.bases import refuse_later_writes
from headwater.errors import (
    HeadwaterError,
    NotFoundError,
    SourceChangedError,
    SourceUnavailableError,
    UnavailableError,
    UnsupportedError,
)  # fmt: skip
from headwater.graph.records import DataRoots
from headwater.graph.records.atomic_files import write_durably
from headwater.graph.records.roots import ANYWHERE
from headwater.spark_listener.shadow_paths import ShadowPaths

FILE = "commit.json"
_OUTAGES = (SourceUnavailableError, UnavailableError)  # a storage does not answer, which says nothing about its data
_LATER = "The next commit, undo or removal of a replay, or the next start of the service, gives all outputs the same data, old or new."
_log = logging.getLogger("headwater.replay")
KINDS = ("exclusive", "what-if", "refresh")  # kinds whose outputs are whole datasets that differ on purpose


def commit(replay: Replay, folder: Path, *, keep_days: float, sources: DataRoots = ANYWHERE) -> Commit:
    """Replace the real outputs of a replay with the changed ones. `folder` is the replay's folder. A killed commit can be run again.

    Raises:
        UnsupportedError: the replay has not ended, its kind cannot be committed, or an output cannot be replaced.
        SourceChangedError: an output changed since the replay was planned. No output is replaced.
        UnavailableError: a storage did not answer. The commit is reverted, or it is finished or reverted later, as the error says.
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
        UnavailableError: a storage did not answer. The undo is finished or reverted later.
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
        try:
            _put_back(made, done, folder, places)
        except _OUTAGES as error:
            raise UnavailableError(f"The undo of the replay {identifier} was interrupted: {error.message}", hint=_LATER) from error
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


def end_retention(folder: Path) -> None:
    """Let the old data of a committed replay expire now, so that the next `expire` removes it. An undo is then impossible."""
    with _locked(folder.parent):
        made = load_commit(folder)
        if made is not None:
            made.kept_until = datetime.now(UTC).isoformat(timespec="seconds")
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
    """Exchange all outputs with their copies. If one cannot be exchanged, all are put back, now or by the next `_settle`."""
    half: CommittedFolder | None = None
    try:
        for one in copies:
            place = places.of_output(one)
            if not place.is_unchanged(one, new=False):
                raise _changed(one.dataset)
            half = one
            try:
                place.exchange(one, new=True)
            except _OUTAGES:
                raise
            except SourceChangedError as error:
                half = None
                raise SourceChangedError(
                    f"{one.dataset} was written during the commit, so nothing was replaced.", hint="Replay again."
                ) from error
            half = None
            one.state = CommitState.DONE
            _save(made, folder)
    except HeadwaterError as error:
        try:
            if half is not None and isinstance(error, _OUTAGES):
                _revert(half, places)
            _roll_back(made, folder, places)
        except _OUTAGES as fault:
            raise UnavailableError(
                f"The commit of the replay {made.replay} failed ({error.message}), and its outputs cannot be put back now: {fault}",
                hint=_LATER,
            ) from error
        if made.folders:
            _refuse_interrupted(made, places)
        raise


def _revert(one: CommittedFolder, places: OutputPlaces) -> None:
    """Give an output its old data again, whatever the exchange did before its storage did not answer."""
    place = places.of_output(one)
    place.finish(one)
    if place.shows_new(one) and not place.is_unchanged(one, new=False):
        place.exchange(one, new=False)


def _put_back(made: Commit, done: Sequence[CommittedFolder], folder: Path, places: OutputPlaces) -> None:
    """Exchange all outputs with their old data. If one was written meanwhile, all get the committed data again."""
    changed: CommittedFolder | None = None
    for one in reversed(done):
        try:
            places.of_output(one).exchange(one, new=False)
        except _OUTAGES:
            raise
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
            one.state = CommitState.DONE  # in an undo, data in this state is examined again
            _save(made, folder)
            places.of_output(one).exchange(one, new=True)
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
        _examine(one, places, is_undone=made.is_undone)
    states = {one.state for one in made.folders}
    if states == {CommitState.DONE, CommitState.UNDONE}:
        _exchange_unchanged(made, places, CommitState.DONE, CommitState.UNDONE)
    elif states == {CommitState.PREPARED, CommitState.DONE}:
        _exchange_unchanged(made, places, CommitState.PREPARED, CommitState.DONE)
    if any(one.state is CommitState.PREPARED for one in made.folders):
        _roll_back(made, folder, places)
    if made.is_undone and {one.state for one in made.folders} == {CommitState.DONE}:  # the undo had changed nothing
        made.is_undone = False
    if made.model_dump_json() != before:
        _save(made, folder)
    _clear(made, folder, places)
    return made


def _examine(one: CommittedFolder, places: OutputPlaces, *, is_undone: bool) -> None:
    """Revert an exchange that stopped between its steps, and find out which data an output has."""
    place = places.of_output(one)
    if one.state is CommitState.PREPARED:
        place.finish(one)
        one.state = CommitState.DONE if place.shows_new(one) else CommitState.PREPARED
    elif one.state is CommitState.DONE and is_undone:
        place.finish(one)
        one.state = CommitState.DONE if place.shows_new(one) else CommitState.UNDONE


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
            try:
                place.exchange(one, new=is_commit)
            except _OUTAGES:
                raise
            except SourceChangedError:
                continue
            one.state = finished


def _roll_back(made: Commit, folder: Path, places: OutputPlaces) -> None:
    """Give all outputs their old data again, if no committed output was written since. Otherwise nothing is exchanged.

    If a storage does not answer, the outputs stay in `commit.json`.
    """
    done = [one for one in made.folders if one.state is CommitState.DONE]
    if not all(places.of_output(one).is_unchanged(one, new=True) for one in done):
        return
    for one in reversed(done):
        one.state = CommitState.PREPARED
        _save(made, folder)
        try:
            places.of_output(one).exchange(one, new=False)
        except _OUTAGES:
            raise
        except SourceChangedError:
            one.state = CommitState.DONE
            _save(made, folder)
            return
    for one in made.folders:
        places.of_output(one).drop(one)
    made.folders = []
    _save(made, folder)


def _save(made: Commit, folder: Path) -> None:
    write_durably(folder / FILE, made.model_dump_json(indent=1).encode())


@contextmanager
def _locked(replays: Path) -> Iterator[None]:
    with (replays / ".commit.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
