"""The rows of a Delta table by number, as its log has them: which files it had in versions that the log still tells of.

For traces that come to a file which no known run wrote. With row tracking each file has the number of its first row, and the metadata names
the columns that hold the numbers and versions of rows that were carried over.
The log's format: https://github.com/delta-io/delta/blob/master/PROTOCOL.md (row tracking)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from headwater.errors import UnsupportedError
from headwater.graph.records import Look
from headwater.graph.trace.files.deltalog import checkpoint_before, checkpointed, commits_of, located
from headwater.graph.trace.files.rowids import TableFile, TableRows, numbered_apart

_NUMBER = "delta.rowTracking.materializedRowIdColumnName"
_VERSION = "delta.rowTracking.materializedRowCommitVersionColumnName"
_ANEW = frozenset({"OPTIMIZE", "MERGE", "UPDATE", "DELETE", "REORG"})  # operations that put rows of other files into new ones
_MOST_COMMITS = 2_000


def table_rows(look: Look, table: str) -> TableRows | None:
    """The data files of a table at a path; None where its folder has no log.

    Raises:
        UnsupportedError: the log is not understood, too long, or may not be read.
        SourceUnavailableError: its storage does not give it.
        OSError: it cannot be read.
    """
    log = look.listed(f"{table}/_delta_log")
    if not log:
        return None
    names = [block.path for block in log]
    commits = commits_of(names)
    if len(commits) > _MOST_COMMITS:
        raise UnsupportedError(f"The log of {table} is too long to be read for a trace: it has {len(commits)} commits.")
    read = _Read(table)
    try:
        for version in sorted(commits):
            read.commit(version, bytes(look.file(commits[version])[1].content()))
        checkpoint, parts = checkpoint_before(names, max(commits, default=-1))
        for part in parts:
            for action in checkpointed(look, table, part):
                read.checkpoint(checkpoint or 0, action)
    except (LookupError, ValueError, TypeError, AttributeError, pa.ArrowInvalid) as error:
        raise UnsupportedError(f"The log of {table} cannot be read: {type(error).__name__}: {error}.") from None
    names_of = read.configuration
    return TableRows(numbered_apart(read.files, read.removed), names_of.get(_NUMBER, _NUMBER), names_of.get(_VERSION, _VERSION))


@dataclass
class _Read:
    """What was read of a log: first the commits, in their order, then the checkpoint."""

    table: str
    files: list[TableFile] = field(default_factory=list)
    removed: dict[str, int] = field(default_factory=dict)
    configuration: dict[str, str] = field(default_factory=dict)

    def commit(self, version: int, content: bytes) -> None:
        actions = [json.loads(line) for line in content.splitlines() if line.strip()]
        operation = next((action["commitInfo"].get("operation") for action in actions if action.get("commitInfo")), None)
        for action in actions:
            if entry := action.get("add"):
                self._add(entry, version, is_rewrite=operation in _ANEW or entry.get("dataChange") is False)
            elif entry := action.get("remove"):
                self.removed[located(self.table, entry["path"])] = version
            elif metadata := action.get("metaData"):
                self.configuration = dict(metadata.get("configuration") or {})

    def checkpoint(self, version: int, action: Mapping[str, Any]) -> None:
        if entry := action.get("add"):
            self._add(entry, version, is_rewrite=None)
        elif entry := action.get("metaData"):
            self.configuration = {**dict(entry.get("configuration") or ()), **self.configuration}

    def _add(self, entry: Mapping[str, Any], version: int, *, is_rewrite: bool | None) -> None:
        """A file. One whose deletion vector changes is added again, with the number and the version that it had."""
        stats = json.loads(entry.get("stats") or "{}")
        first, since, rows = entry.get("baseRowId"), entry.get("defaultRowCommitVersion"), stats.get("numRecords")
        added = version if since is None else int(since)
        self.files.append(TableFile(
            located(self.table, entry["path"]), int(entry["size"]), None if rows is None else int(rows),
            None if since is None or first is None else int(first), added, added, is_rewrite if added == version else None,
        ))  # fmt: skip
