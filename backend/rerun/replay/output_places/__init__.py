"""The places that a commit can write: one module for each storage and table format, and its line in `KINDS`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

from headwater.backend.rerun.replay.model import CommittedFolder, FileStates
from headwater.backend.rerun.replay.output_places.protocol import OutputPlace
from headwater.errors import HeadwaterError, UnsupportedError
from headwater.graph.records import DataRoots

KINDS = {
    "delta": "delta_table:DeltaTables",
    "iceberg": "iceberg_table:IcebergTables",
    "objects": "object_folder:ObjectFolders",
    "hdfs": "hdfs_folder:HdfsFolders",
    "folder": "local_folder:LocalFolders",
}  # by name, in the order in which they are tried
_HINT = (
    "A commit replaces folders of files on local file systems, s3: and hdfs:, tables of Delta there except on HDFS, and local tables of "
    "Iceberg in Hadoop catalogs. Others can be replayed only."
)


class OutputPlaces:
    """All kinds of places, over the storage that a home may read."""

    def __init__(self, sources: DataRoots) -> None:
        self._sources = sources
        self._places: dict[str, OutputPlace] = {}

    def of(self, kind: str) -> OutputPlace:
        if kind not in self._places:
            module, _, name = KINDS[kind].partition(":")
            self._places[kind] = getattr(import_module(f"{__name__}.{module}"), name)(self._sources)
        return self._places[kind]

    def of_output(self, output: CommittedFolder) -> OutputPlace:
        return self.of(output.kind)

    def find(self, dataset: str) -> tuple[str, FileStates] | None:
        """Return the kind of a dataset's place, and the state of the real data. None if no kind knows it."""
        return next(((kind, state) for kind in KINDS if (state := self.of(kind).find_state(dataset)) is not None), None)

    def states(self, datasets: Sequence[str]) -> tuple[dict[str, str], dict[str, FileStates]]:
        """Return kinds and states by dataset. Datasets whose storage does not answer are left out, and are refused later."""
        kinds: dict[str, str] = {}
        states: dict[str, FileStates] = {}
        for dataset in datasets:
            with suppress(HeadwaterError, OSError):
                if (found := self.find(dataset)) is not None:
                    kinds[dataset], states[dataset] = found
        return kinds, states

    def check(self, dataset: str) -> None:
        """Check that a commit can replace a dataset.

        Raises:
            UnsupportedError: it cannot.
        """
        found = self.find(dataset)
        if found is None:
            raise UnsupportedError(f"A replay cannot take the place of {dataset}.", hint=_HINT)
        self.of(found[0]).check(dataset)
