"""Commits of plain local folders of files.

The copy of the shadow is a hidden folder next to the real one. One system call exchanges both folders, so a reader finds the old folder or
the new one. The inode of the copy shows whether the exchange happened.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from headwater.backend.rerun.replay.exchange import copy_folder, exchange_folders, folder_states, is_unchanged
from headwater.backend.rerun.replay.kinds.kind import place_of
from headwater.backend.rerun.replay.model import CommittedFolder, FileStates
from headwater.backend.rerun.replay.output_places.protocol import OutputPlace, refuse
from headwater.errors import SourceChangedError
from headwater.graph.files.table_folders import table_kind
from headwater.graph.records import DataRoots
from headwater.graph.storage.addresses import is_remote


class LocalFolders(OutputPlace):
    """Folders of files on a local file system that can exchange folders."""

    def __init__(self, sources: DataRoots) -> None:
        del sources

    def find_state(self, dataset: str) -> FileStates | None:
        place = place_of(dataset)
        folder = Path(place)
        if is_remote(place) or not folder.is_dir() or folder.is_symlink() or table_kind(folder) is not None:
            return None
        return folder_states(folder)

    def check(self, dataset: str) -> None:
        if self.find_state(dataset) is None:
            raise refuse(dataset, "it is no folder of files any more")

    def prepare(self, dataset: str, shadow: Path, replay: str, before: FileStates) -> CommittedFolder:
        place = Path(place_of(dataset))
        old = place.with_name(f".{place.name}.headwater-{replay}")
        copy_folder(shadow, old, place)
        return CommittedFolder(
            dataset=dataset, place=str(place), old=str(old), inode=old.stat().st_ino, files=folder_states(old), before=before
        )

    def shows_new(self, output: CommittedFolder) -> bool:
        old = Path(output.old)  # the hidden folder exists, and is not the copy of the shadow
        return old.is_dir() and old.stat().st_ino != output.inode

    def is_unchanged(self, output: CommittedFolder, *, new: bool) -> bool:
        return is_unchanged(Path(output.place), output.files if new else output.before)

    def exchange(self, output: CommittedFolder, *, new: bool) -> None:
        hidden, place = Path(output.old), Path(output.place)
        exchange_folders(hidden, place)
        if not is_unchanged(hidden, output.before if new else output.files):  # somebody wrote before or during the exchange
            exchange_folders(hidden, place)
            raise SourceChangedError(f"{output.dataset} was written meanwhile.", hint="Look at what wrote it.")

    def drop(self, output: CommittedFolder) -> None:
        old = Path(output.old)  # files that another program wrote there meanwhile stay
        if old.is_dir() and old.stat().st_ino == output.inode and is_unchanged(old, output.files, may_lack_files=True):
            shutil.rmtree(old, ignore_errors=True)

    def remove_old(self, output: CommittedFolder) -> None:
        if self.shows_new(output) and is_unchanged(Path(output.old), output.before, may_lack_files=True):
            shutil.rmtree(output.old, ignore_errors=True)

    def notes(self, output: CommittedFolder) -> list[str]:
        del output
        return []
