"""The journal of a compaction, and the exchange of the dataset's folder with the merged one.

The merged files lie in `SHADOW/NAME` next to the dataset, where SHADOW is a hidden folder of this compaction. One system call exchanges
this folder with the dataset, so a reader finds the old files or the merged ones. Afterwards the old files lie in `SHADOW/NAME`. The inode
of that folder shows which of the two it is, whenever the process was killed.
"""

from __future__ import annotations

import logging
import shutil
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel

from headwater.backend.rerun.replay.exchange import exchange_folders, folder_states, is_unchanged
from headwater.backend.rerun.replay.model import FileStates
from headwater.errors import SourceChangedError
from headwater.graph.records import FileBlock
from headwater.graph.records.atomic_files import write_durably
from headwater.graph.versions.compaction import find_folder_reasons

JOURNAL = "compaction.json"
PREFIX = ".headwater-compact-"
_log = logging.getLogger("headwater.versions")


class CompactionState(StrEnum):
    """The state of a compaction: `running` → `prepared` → `exchanged` → `done` or `refused` → `undone`, or `expired` after `done`."""

    RUNNING = "running"  # Spark writes the merged files
    PREPARED = "prepared"  # the merged files are complete and on disk
    EXCHANGED = "exchanged"  # the dataset has the merged files; their lineage is not delivered yet
    DONE = "done"
    REFUSED = "refused"  # the dataset has the merged files, but their lineage is not complete; the old files are kept
    UNDONE = "undone"
    EXPIRED = "expired"  # the old files were deleted


class CompactionJournal(BaseModel):
    """A compaction: the merged blocks (`versions`), their files and captures, and the states of the old and the merged files."""

    id: str
    dataset: str
    folder: str
    shadow: str
    by: str
    at: str
    trash_days: float
    kept_until: str = ""
    versions: list[str]
    files: list[FileBlock]
    writers: list[str]
    before: FileStates
    merged: FileStates = {}
    inode: int = 0
    capture: str = ""
    version: str = ""
    refused: list[str] = []  # the reasons why parts of the lineage were refused
    state: CompactionState = CompactionState.RUNNING

    @property
    def other(self) -> Path:
        """The folder in the shadow: the merged files before the exchange, and the old ones afterwards."""
        return Path(self.shadow, Path(self.folder).name)

    @property
    def is_exchanged(self) -> bool:
        return self.inode != 0 and self.other.is_dir() and self.other.stat().st_ino != self.inode

    @property
    def is_undone_by_exchange(self) -> bool:
        """Whether the merged folder is back in the shadow after the compaction ended."""
        return self.inode != 0 and self.other.is_dir() and self.other.stat().st_ino == self.inode

    @property
    def merged_files(self) -> list[FileBlock]:
        """The merged data files as blocks, with their paths in the dataset."""
        return [
            FileBlock(f"file:{self.folder}/{name}", state[0], state[1] // 1_000_000)
            for name, state in sorted(self.merged.items())
            if not name.rpartition("/")[2].startswith((".", "_"))
        ]


def save(journal: CompactionJournal, folder: Path) -> None:
    """Write the journal, and flush it to disk."""
    write_durably(folder / JOURNAL, journal.model_dump_json().encode())


def load(folder: Path) -> CompactionJournal:
    return CompactionJournal.model_validate_json((folder / JOURNAL).read_text(encoding="utf-8"))


def exchange(journal: CompactionJournal) -> None:
    """Put the merged folder in the place of the dataset. A dataset that changed since the plan keeps its data.

    Raises:
        SourceChangedError: the dataset changed, or a job writes to it.
        UnsupportedError: the file system cannot exchange folders.
    """
    real, other = Path(journal.folder), journal.other
    _check_quiet(real, journal.before)
    exchange_folders(other, real)
    if not is_unchanged(other, journal.before):  # a program wrote between the check and the exchange
        exchange_folders(other, real)
        raise _changed(real)


def exchange_back(journal: CompactionJournal) -> None:
    """Put the old folder back in the place of the dataset. Raises as `exchange`."""
    real, other = Path(journal.folder), journal.other
    _check_quiet(real, journal.merged)
    exchange_folders(other, real)
    if not is_unchanged(other, journal.merged):
        exchange_folders(other, real)
        raise _changed(real)


def has_foreign_file(journal: CompactionJournal, known: FileStates) -> bool:
    """Whether the folder in the shadow has a file that is new or changed since `known`. A warning names it. Missing files do not count."""
    for name, state in folder_states(journal.other).items():
        if name not in known or state[: len(known[name])] != tuple(known[name]):
            _log.warning("%s stays, because another program wrote %s", journal.shadow, journal.other / name)
            return True
    return False


def remove_shadow(journal: CompactionJournal) -> None:
    """Delete the shadow. If it is a link, nothing is deleted."""
    shadow = Path(journal.shadow)
    if shadow.name.startswith(PREFIX) and not shadow.is_symlink():
        shutil.rmtree(shadow, ignore_errors=True)


def _check_quiet(real: Path, states: FileStates) -> None:
    if not is_unchanged(real, states):
        raise _changed(real)
    if reasons := find_folder_reasons(str(real)):
        raise SourceChangedError(f"{real} was not replaced: {reasons[0]}.", hint="Run the command again when no job writes to it.")


def _changed(real: Path) -> SourceChangedError:
    return SourceChangedError(f"{real} changed meanwhile, so it was not replaced.", hint="Run the command again.")
