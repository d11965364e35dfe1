"""The interface of a place that a commit can write: one kind of storage or table format.

A place exchanges the real data of an output with the data that a replay wrote for it. It must never show half of either, or name what a
reader may see. It must refuse what it cannot replace before anything runs. It must never write over data of another program that it
can see, nor remove files that it did not write.

A copy next to the real data has a name that no other program uses: a hidden folder with the id of the replay, or the name of a table's
file, which its writer made unique. So a copy may replace the copy of an earlier call, which a crash may have left in part.

A crash may come between any two calls. The journal of the commit (`commit.json`) then holds the output as `prepare` returned it, and the
place must find out from the storage alone which data is there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from headwater.backend.rerun.replay.model import CommittedFolder, FileStates
from headwater.errors import UnsupportedError


class OutputPlace(Protocol):
    """One kind of storage. Datasets are given by id. All methods may raise `SourceUnavailableError` if a store does not answer."""

    def find_state(self, dataset: str) -> FileStates | None:
        """Return the state of the real data now. None if the dataset is not stored in this way."""
        ...

    def check(self, dataset: str) -> None:
        """Check that a commit can replace the real data.

        Raises:
            UnsupportedError: it cannot.
        """
        ...

    def prepare(self, dataset: str, shadow: Path, replay: str, before: FileStates) -> CommittedFolder:
        """Copy the data of a shadow folder next to the real data, where no reader sees it. `replay` is the id of the replay.

        The copy survives a crash of the machine. A partial copy is removed, also the one of an earlier call.

        Raises:
            UnsupportedError: the copy cannot be written.
        """
        ...

    def shows_new(self, output: CommittedFolder) -> bool:
        """Whether readers find the new data, or data that was written after it."""
        ...

    def is_unchanged(self, output: CommittedFolder, *, new: bool) -> bool:
        """Whether readers find the new data (or the old data), and nobody wrote since."""
        ...

    def finish(self, output: CommittedFolder) -> None:
        """Revert an exchange that a crash interrupted, if an exchange has several steps. Readers then find the old data.

        Raises:
            SourceChangedError: another program wrote since. Nothing is changed.
        """

    def exchange(self, output: CommittedFolder, *, new: bool) -> None:
        """Show the new data (or the old data again).

        Raises:
            SourceChangedError: another program wrote to the other data, which stays as it is.
            UnsupportedError: the storage cannot do it. The data stays as it is.
        """
        ...

    def drop(self, output: CommittedFolder) -> None:
        """Remove the new data, which no reader finds."""
        ...

    def remove_old(self, output: CommittedFolder) -> None:
        """Remove the old data, which no reader finds, when its time is over."""
        ...

    def notes(self, output: CommittedFolder) -> list[str]:
        """Return sentences about what is not atomic, and how long the old data is there."""
        ...


def refuse(dataset: str, reason: str, hint: str | None = None) -> UnsupportedError:
    return UnsupportedError(f"A replay cannot take the place of {dataset}: {reason}.", hint=hint)
