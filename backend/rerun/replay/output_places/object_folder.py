"""Commits of folders of files on S3, which has neither folders nor a rename.

The new objects are uploaded to a hidden prefix next to the real one, and the old objects are copied there. An exchange copies objects to
their places, and deletes those that belong to the other data. **It is not atomic**: a reader that lists the folder meanwhile may find old
and new objects together, without `_SUCCESS`. Both copies are complete before the first object changes, so an exchange that a crash
interrupted can always be reverted, and the next commit, undo or removal of a replay, or the next start of the service, does it.

Objects are compared by length and ETag. A copy has the MD5 of its content as ETag. A store that gives each copy another one (encryption
with KMS) would hide what others wrote, so it is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from headwater.backend.rerun.replay.kinds.kind import place_of
from headwater.backend.rerun.replay.model import CommittedFolder, FileStates
from headwater.backend.rerun.replay.output_places.protocol import OutputPlace, refuse
from headwater.errors import ConfigurationError, SourceChangedError
from headwater.graph.records import DataRoots
from headwater.graph.storage.addresses import address_of, is_remote
from headwater.graph.storage.object_folder import Place
from headwater.graph.storage.protocol import Stat

_SUCCESS = "_SUCCESS"
_LONGEST = 5 << 30  # bytes of an object that the store copies in one request
Objects = Mapping[str, tuple[int, ...]]  # length and number of the ETag, by name


class ObjectFolders(OutputPlace):
    """Folders of files on S3."""

    def __init__(self, sources: DataRoots) -> None:
        self._sources = sources

    def find_state(self, dataset: str) -> FileStates | None:
        place = place_of(dataset)
        if not is_remote(place) or address_of(place).scheme != "s3":
            return None
        above, name = self._open(dataset)
        return {inner: (stat.length, _number(stat)) for inner, stat in _below(above, name)} or None

    def check(self, dataset: str) -> None:
        above, name = self._open(dataset)
        if large := [inner for inner, stat in _below(above, name) if stat.length > _LONGEST]:
            raise refuse(dataset, f"{large[0]} has more than 5 GiB, and S3 copies no such object in one request")

    def prepare(self, dataset: str, shadow: Path, replay: str, before: FileStates) -> CommittedFolder:
        above, name = self._open(dataset)
        hidden = f".{name}.headwater-{replay}"
        _delete_below(above, hidden)
        files: FileStates = {}
        for path in list_data_files(shadow):
            inner = str(path.relative_to(shadow))
            above.put(f"{hidden}/upload/{inner}", path)
            above.copy(f"{hidden}/upload/{inner}", f"{hidden}/new/{inner}")  # an upload in parts has another ETag than a copy of it
            above.delete(f"{hidden}/upload/{inner}")
            stat = above.stat(f"{hidden}/new/{inner}")
            if stat is None or (stat.tag or "").strip('"') != _md5(path):
                _delete_below(above, hidden)
                raise refuse(dataset, "its store gives objects ETags that are not their MD5 (encryption with KMS?), so writes stay unseen")
            files[inner] = (stat.length, _number(stat))
        if _are(self._states(above, name), before):
            for inner in before:
                above.copy(f"{name}/{inner}", f"{hidden}/old/{inner}")
        if not _are(self._states(above, name), before):  # the copies may be of other objects
            _delete_below(above, hidden)
            raise SourceChangedError(f"{dataset} was written while it was copied, so nothing was replaced.", hint="Start the replay again.")
        old = {inner: [stat.length, _number(stat)] for inner, stat in _below(above, f"{hidden}/old")}
        return CommittedFolder(
            dataset=dataset, place=place_of(dataset), old=f"{above.url}/{hidden}/old", kind="objects", before=before, files=files,
            detail={"hidden": hidden, "old": old},
        )  # fmt: skip

    def shows_new(self, output: CommittedFolder) -> bool:
        now = self._now(output)
        return all(now.get(name) == tuple(state) for name, state in output.files.items())

    def is_unchanged(self, output: CommittedFolder, *, new: bool) -> bool:
        now = self._now(output)
        if new:
            return _are(now, output.files)
        return now.keys() == output.before.keys() and all(_is_old(output, name, state) for name, state in now.items())

    def finish(self, output: CommittedFolder) -> None:
        if self._mixture(output):
            if foreign := self._foreign(output):
                raise SourceChangedError(
                    f"The exchange of {output.dataset} was interrupted, and {foreign[0]} was written since.",
                    hint=f"The old objects are in {output.old}. Put the folder in order by hand, and remove the replay.",
                )
            self._move(output, new=False)

    def exchange(self, output: CommittedFolder, *, new: bool) -> None:
        if not self.is_unchanged(output, new=not new):
            raise SourceChangedError(f"{output.dataset} was written meanwhile.", hint="Look at what wrote it.")
        self._move(output, new=new)
        if not self.is_unchanged(output, new=new):
            self._move(output, new=not new)
            raise SourceChangedError(f"{output.dataset} was written meanwhile.", hint="Look at what wrote it.")

    def drop(self, output: CommittedFolder) -> None:
        """Remove both copies. Objects that another program wrote below the hidden prefix stay."""
        above, hidden = self._open(output.dataset)[0], output.detail["hidden"]
        copies = {f"new/{name}": tuple(state) for name, state in output.files.items()}
        copies |= {f"old/{name}": tuple(state) for name, state in output.detail["old"].items()}
        ours = [name for name, stat in _below(above, hidden) if copies.get(name) == (stat.length, _number(stat))]
        if ours:
            above.delete_all([f"{hidden}/{name}" for name in ours])

    def remove_old(self, output: CommittedFolder) -> None:
        if not self._mixture(output):  # otherwise the copies are the only whole data
            self.drop(output)

    def notes(self, output: CommittedFolder) -> list[str]:
        text = (
            f"S3 has no rename, so the exchange of {output.dataset} is not atomic: a reader that lists it meanwhile may find old and new "
            f"objects together. The prefix {output.old.removesuffix('/old')} has copies of both until the end of --keep."
        )
        return [text]

    def _move(self, output: CommittedFolder, *, new: bool) -> None:
        """Copy the wanted objects to their places, then delete the objects of the other data. `_SUCCESS` goes first and comes last.

        An object that another program wrote meanwhile stays. The store copies without a condition, so each object is looked at right before
        it is replaced or deleted, and only a write in the instant between is lost.
        """
        above, name = self._open(output.dataset)
        hidden, now = output.detail["hidden"], self._now(output)
        wanted = set(output.files if new else output.before)
        ours = set(output.files) | set(output.before)
        if _SUCCESS in now:
            above.delete(f"{name}/{_SUCCESS}")
        for inner in sorted(wanted - {_SUCCESS}):
            if not (now.get(inner) == tuple(output.files.get(inner, ())) if new else inner in now and _is_old(output, inner, now[inner])):
                there = above.stat(f"{name}/{inner}")
                if there is None or _is_ours(output, inner, (there.length, _number(there))):
                    above.copy(f"{hidden}/{'new' if new else 'old'}/{inner}", f"{name}/{inner}")
        now = self._now(output) if (surplus := sorted(ours - wanted - {_SUCCESS})) else {}
        if surplus := [inner for inner in surplus if inner in now and _is_ours(output, inner, now[inner])]:
            above.delete_all([f"{name}/{inner}" for inner in surplus])
        if _SUCCESS in wanted:
            above.copy(f"{hidden}/{'new' if new else 'old'}/{_SUCCESS}", f"{name}/{_SUCCESS}")

    def _mixture(self, output: CommittedFolder) -> bool:
        """Whether an exchange stopped between its objects. Objects of other programs do not count."""
        now = self._now(output)
        new = {name for name, state in now.items() if state == tuple(output.files.get(name, ()))}
        old = {name for name, state in now.items() if _is_old(output, name, state)}
        is_whole = (new == output.files.keys() and not old - new) or (old == output.before.keys() and not new - old)
        is_replaced = new == old and bool(now.keys() - new)  # by another program: only objects that both data share may be left
        return not is_whole and not is_replaced

    def _foreign(self, output: CommittedFolder) -> list[str]:
        now = self._now(output)
        return sorted(name for name, state in now.items() if not _is_ours(output, name, state))

    def _now(self, output: CommittedFolder) -> Objects:
        return self._states(*self._open(output.dataset))

    @staticmethod
    def _states(above: Place, name: str) -> Objects:
        return {inner: (stat.length, _number(stat)) for inner, stat in _below(above, name)}

    def _open(self, dataset: str) -> tuple[Place, str]:
        """Return the folder above a dataset, and the name of the dataset in it."""
        above, _, name = place_of(dataset).rstrip("/").rpartition("/")
        try:
            return self._sources.remote.folder(above), name
        except ConfigurationError as error:
            raise refuse(dataset, f"a commit writes next to it, and {error.message.rstrip('.')}", error.hint) from None


def _below(above: Place, name: str) -> Iterator[tuple[str, Stat]]:
    for path, stat in above.files(name):
        inner = path.removeprefix(f"{name}/")
        if inner and not inner.endswith("/") and path != name:
            yield inner, stat


def _delete_below(above: Place, name: str) -> None:
    if names := [path for path, _ in above.files(name)]:
        above.delete_all(names)


def list_data_files(shadow: Path) -> Sequence[Path]:
    """Return the files of a shadow folder without the checksums of Hadoop's local file system."""
    files = sorted(path for path in shadow.rglob("*") if path.is_file())
    return [path for path in files if not (path.name.startswith(".") and path.name.endswith(".crc"))]


def _is_old(output: CommittedFolder, name: str, state: tuple[int, ...]) -> bool:
    """Whether an object is the old one, as its writer or as an exchange put it. A copy may have another ETag than an upload."""
    old: Mapping[str, Sequence[int]] = output.detail["old"]
    return state in (tuple(output.before.get(name, ())), tuple(old.get(name, ())))


def _is_ours(output: CommittedFolder, name: str, state: tuple[int, ...]) -> bool:
    """Whether an object is of the old or of the new data."""
    return state == tuple(output.files.get(name, ())) or _is_old(output, name, state)


def _are(now: Objects, states: FileStates) -> bool:
    return now.keys() == states.keys() and all(now[name] == tuple(state) for name, state in states.items())


def _number(stat: Stat) -> int:
    """Return a number for an ETag, because states are numbers."""
    return int.from_bytes(hashlib.sha256((stat.tag or "").encode()).digest()[:6])


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
