"""Decides whether a trace of kept data may need the values of a block's files.

A trace follows recorded associations and needs no file for them. It reads values of a file if the trace ends there, and if a run that read
the file combined records (a group, a join, a window): the witness of such a row is found by values. Text formats are also read to count
their records. A capture is live if files that it wrote still exist, or if a live capture read them.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.errors import HeadwaterError
from headwater.graph.associations import Manifest
from headwater.graph.associations.behaviours import Behaviour
from headwater.graph.files.formats import get_format
from headwater.graph.records import AssociationStore, FileBlock, Look

_MOST = 2_000  # captures that are read for one plan; beyond this, everything counts as needed
_ROW_BY_ROW = frozenset({
    Behaviour.SOURCE, Behaviour.CONSTANT, Behaviour.PASSES, Behaviour.FILTER, Behaviour.DEFINES, Behaviour.BRANCHES, Behaviour.UNION,
})  # fmt: skip


class NeededValues:
    """Decides for the blocks of one plan. Each capture is read once."""

    def __init__(self, records: AssociationStore, tenant: str, look: Look) -> None:
        self._records = records
        self._tenant = tenant
        self._look = look
        self._live: dict[str, bool] = {}

    def reason(self, files: Sequence[FileBlock], writers: Sequence[str]) -> str | None:
        """Return why a trace of kept data may need the values of these files. None if it does not."""
        readers = {capture for captures in self._records.catalog.readers(self._tenant, files).values() for capture in captures}
        live = sorted(capture for capture in readers - set(writers) if self._is_live(capture))
        if not live:
            return None
        if self._records.pruned(self._tenant, writers):
            return "traces of kept data end at it, because the lineage of its records was pruned"
        for capture in live:
            manifest = self._records.brief(self._tenant, capture)
            if not _is_row_by_row(manifest) or not self._is_numbered(manifest, files):
                return f"a trace of what the run {manifest.run.run_id} of {manifest.run.job} wrote may need its values"
        return None

    def _is_numbered(self, manifest: Manifest, files: Sequence[FileBlock]) -> bool:
        """Return whether a capture can number the records of these files without reading the files."""
        paths = {file.path for file in files}
        read = self._records.source_files(self._tenant, manifest)
        return all(
            get_format(source.format).names_columns
            for source in manifest.sources
            if any(file.path in paths for file in read[source.source])
        )

    def _is_live(self, capture: str) -> bool:
        waiting = [capture]
        seen: set[str] = set()
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            if self._live.get(current) is not False and (self._live.get(current) or self._has_output(current)):
                self._live[capture] = True
                return True
            if len(self._live) + len(seen) > _MOST:
                return True
            written = [file.block for file in self._records.catalog.written_by(self._tenant, current)]
            waiting += [reader for readers in self._records.catalog.readers(self._tenant, written).values() for reader in readers]
        self._live.update(dict.fromkeys(seen, False))
        return False

    def _has_output(self, capture: str) -> bool:
        """Return whether an output of a capture still exists. An output that cannot be checked counts as existing."""
        written = self._records.catalog.written_by(self._tenant, capture)
        if not written:
            manifest = self._records.brief(self._tenant, capture)
            return manifest.status != "complete" or manifest.sink is None or not get_format(manifest.sink.format).in_files
        for file in written:
            try:
                if self._look.block(file.block.path)[1:] == file.block[1:]:
                    return True
            except FileNotFoundError:
                continue
            except (HeadwaterError, OSError):
                return True
        return False


def _is_row_by_row(manifest: Manifest) -> bool:
    return (
        manifest.status == "complete"
        and not manifest.problems
        and all(operator.behaviour in _ROW_BY_ROW for operator in manifest.operators)
        and all(boundary.recomputed is None for boundary in manifest.boundaries)
    )
