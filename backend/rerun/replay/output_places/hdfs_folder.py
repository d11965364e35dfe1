"""Commits of folders of files on HDFS, where the rename of a folder is atomic, and an exchange takes two renames.

The copy of the shadow is a hidden folder next to the real one. An exchange renames the real folder to a second hidden name, and then the
copy to the real name. A reader finds the old folder, for a moment none, and then the new one. The names that exist show what happened.
"""

from __future__ import annotations

from pathlib import Path

from headwater.backend.rerun.replay.kinds.kind import place_of
from headwater.backend.rerun.replay.model import CommittedFolder, FileStates
from headwater.backend.rerun.replay.output_places.object_folder import list_data_files
from headwater.backend.rerun.replay.output_places.protocol import OutputPlace, refuse
from headwater.errors import SourceChangedError, UnsupportedError
from headwater.graph.records import DataRoots
from headwater.graph.storage.addresses import address_of, is_remote
from headwater.graph.storage.hdfs import Hdfs


class HdfsFolders(OutputPlace):
    """Folders of files on HDFS, below a root with the scheme `hdfs:`."""

    def __init__(self, sources: DataRoots) -> None:
        self._sources = sources

    def find_state(self, dataset: str) -> FileStates | None:
        place = place_of(dataset)
        if not is_remote(place) or address_of(place).scheme != "hdfs":
            return None
        path = address_of(place).path
        store = self._sources.remote.hdfs(place)
        return _states(store, path) if path and store.is_folder(path) else None

    def check(self, dataset: str) -> None:
        place = place_of(dataset)
        if not self._sources.remote.covers(place.rpartition("/")[0]):
            raise refuse(dataset, "a commit writes next to it, and no root contains the folder above", "Name that folder as a root.")

    def prepare(self, dataset: str, shadow: Path, replay: str, before: FileStates) -> CommittedFolder:
        place = place_of(dataset)
        store, path = self._sources.remote.hdfs(place), address_of(place).path
        above, _, name = path.rpartition("/")
        new, old = (f"{above}/.{name}.headwater-{replay}{suffix}".lstrip("/") for suffix in ("", ".old"))
        store.delete(new)
        store.make_folder(new, path)
        for file in list_data_files(shadow):
            store.put(f"{new}/{file.relative_to(shadow)}", file)
        return CommittedFolder(
            dataset=dataset, place=place, old=f"{place[: len(place) - len(path)]}{old}", kind="hdfs", before=before,
            files=_states(store, new), detail={"new": new, "old": old, "path": path},
        )  # fmt: skip

    def shows_new(self, output: CommittedFolder) -> bool:
        store, new, old, _ = self._names(output)
        return store.is_folder(old) is not None and store.is_folder(new) is None

    def is_unchanged(self, output: CommittedFolder, *, new: bool) -> bool:
        store, copy, _, path = self._names(output)
        is_there = store.is_folder(copy) is None if new else store.is_folder(copy) is not None
        return is_there and bool(store.is_folder(path)) and _are(_states(store, path), output.files if new else output.before)

    def finish(self, output: CommittedFolder) -> None:
        store, new, old, path = self._names(output)
        if store.is_folder(new) is None or store.is_folder(old) is None:
            return
        if not store.rename(old, path):
            raise SourceChangedError(
                f"{output.dataset} was written while a crash interrupted its exchange.",
                hint=f"The old data is in {output.old}. Put the folders in order by hand, and remove the replay.",
            )

    def exchange(self, output: CommittedFolder, *, new: bool) -> None:
        store, copy, old, path = self._names(output)
        aside, shown, expected = (old, copy, output.before) if new else (copy, old, output.files)
        if not store.rename(path, aside):
            raise SourceChangedError(f"{output.dataset} is gone, or {aside} exists.", hint="Look at what wrote there.")
        if not _are(_states(store, aside), expected) or not store.rename(shown, path):
            if not store.rename(aside, path):
                raise UnsupportedError(f"{output.dataset} was written during the exchange.", hint=f"Its data before that is in /{aside}.")
            raise SourceChangedError(f"{output.dataset} was written meanwhile.", hint="Look at what wrote it.")

    def drop(self, output: CommittedFolder) -> None:
        store, new, _, _ = self._names(output)
        if store.is_folder(new) and _are(_states(store, new), output.files):
            store.delete(new)

    def remove_old(self, output: CommittedFolder) -> None:
        store, _, old, _ = self._names(output)
        if store.is_folder(old) and _are(_states(store, old), output.before):
            store.delete(old)

    def notes(self, output: CommittedFolder) -> list[str]:
        return [f"HDFS renames a folder in one step, and an exchange takes two: for a moment, {output.dataset} does not exist."]

    def _names(self, output: CommittedFolder) -> tuple[Hdfs, str, str, str]:
        return self._sources.remote.hdfs(output.place), output.detail["new"], output.detail["old"], output.detail["path"]


def _states(store: Hdfs, path: str) -> FileStates:
    return {name.removeprefix(f"{path}/"): (stat.length, stat.modified) for page in store.files(path) for name, stat in page}


def _are(now: FileStates, states: FileStates) -> bool:
    return now.keys() == states.keys() and all(tuple(now[name]) == tuple(state) for name, state in states.items())
