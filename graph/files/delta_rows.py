"""The rows of a Delta table by number, as its log has them: which files it had in versions that the log still tells of.

For traces that come to a file which no known run wrote. With row tracking each file has the number of its first row, and the metadata names
the columns that hold the numbers and versions of rows that were carried over.
The log's format: https://github.com/delta-io/delta/blob/master/PROTOCOL.md (row tracking)
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq

from headwater.graph.files.allowance import Allowance, faults_of_metadata
from headwater.graph.files.delta_log import checkpoint_before, commits_of, located
from headwater.graph.files.delta_protocol import check_protocol
from headwater.graph.files.row_ids import TableFile, TableRows, numbered_apart
from headwater.graph.records import FileBlock, Look

_NUMBER = "delta.rowTracking.materializedRowIdColumnName"
_VERSION = "delta.rowTracking.materializedRowCommitVersionColumnName"
_ANEW = frozenset({"OPTIMIZE", "MERGE", "UPDATE", "DELETE", "REORG"})  # operations that put rows of other files into new ones
# Operations that take files out and put new rows in: what these are made of their program alone knows, as of any file that it wrote.
_REPLACING = frozenset({"WRITE", "CREATE OR REPLACE TABLE AS SELECT", "REPLACE TABLE AS SELECT", "STREAMING UPDATE", "RESTORE", "CLONE"})
_READ = [
    "add.path", "add.size", "add.stats", "add.stats_parsed.numRecords", "add.baseRowId", "add.defaultRowCommitVersion",
    "metaData.configuration", "protocol", "domainMetadata", "sidecar.path",
]  # fmt: skip
_NUMBERING = "delta.rowTracking"  # the domain whose metadata say which numbers of rows were given
_AT_ONCE = 500  # rows of a checkpoint


def log_of(table: str) -> str:
    """The folder that holds the log of a table."""
    return f"{table}/_delta_log"


def table_rows(look: Look, table: str, log: Sequence[FileBlock]) -> TableRows | None:
    """The data files of a table at a path; None where its folder has no log, of which `log` are the files.

    Raises:
        UnsupportedError: the log is not understood, too much, or may not be read.
        SourceUnavailableError: its storage does not give it.
        OSError: it cannot be read.
    """
    if not log:
        return None
    names = [block.path for block in log]
    commits = commits_of(names)
    with faults_of_metadata(table):
        read = _Read(table, Allowance(table))
        for version in sorted(commits):
            read.commit(version, look, commits[version])
        checkpoint, parts = checkpoint_before(names, max(commits, default=-1))
        for part in parts:
            read.checkpoint(checkpoint or 0, look, part)
        check_protocol(table, read.protocols)
        names_of = read.configuration
        files = numbered_apart(read.files, read.removed, read.greatest)
        for path in read.impossible(commits):
            files.pop(path, None)
        return TableRows(files, names_of.get(_NUMBER, _NUMBER), names_of.get(_VERSION, _VERSION))


@dataclass
class _Read:
    """What was read of a log: first the commits, in their order, then the checkpoint."""

    table: str
    allowance: Allowance
    files: list[TableFile] = field(default_factory=list)
    removed: dict[str, int] = field(default_factory=dict)
    configuration: dict[str, str] = field(default_factory=dict)
    protocols: list[Mapping[str, Any]] = field(default_factory=list)
    met: dict[str, int] = field(default_factory=dict)  # the first version that is known to have a file with its number, by path
    greatest: int | None = None  # the greatest number that the table gave a row, where it says so

    def impossible(self, commits: Collection[int]) -> Iterator[str]:
        """The files that say of their rows that they came with a version which did not bring them."""
        for file in self.files:
            met = self.met.get(file.path)
            if file.first is not None and met is not None and (file.added > met or (file.added < met and file.added in commits)):
                yield file.path

    def commit(self, version: int, look: Look, path: str) -> None:
        operation, changed = None, list[tuple[TableFile, bool]]()
        removes = False
        for action in self._lines(look, path):
            if entry := action.get("add"):
                changed.append((self._file(entry, version), entry.get("dataChange") is False))
            elif entry := action.get("remove"):
                self.removed[located(self.table, entry["path"])] = version
                removes = True
            elif metadata := action.get("metaData"):
                self.configuration = dict(metadata.get("configuration") or {})
            elif about := action.get("commitInfo"):
                operation = about.get("operation")
            else:
                self._demanded(action)
        anew = operation in _ANEW or (removes and operation not in _REPLACING)
        self.files += [replace(file, is_rewrite=(anew or same) if file.added == version else None) for file, same in changed]

    def checkpoint(self, version: int, look: Look, path: str) -> None:
        """A checkpoint, with what one of version 2 keeps in files of its own."""
        sidecars = []
        for action in self._lines(look, path) if path.endswith(".json") else self._rows(look, path):
            if sidecar := action.get("sidecar"):
                sidecars.append(unquote(str(sidecar["path"])).rpartition("/")[2])
            self._checkpointed(version, action)
        for name in sidecars:
            for action in self._rows(look, f"{log_of(self.table)}/_sidecars/{name}"):
                self._checkpointed(version, action)

    def _checkpointed(self, version: int, action: Mapping[str, Any]) -> None:
        if (entry := action.get("add")) is not None and entry.get("path") is not None:
            self.files.append(self._file(entry, version))
        if (metadata := action.get("metaData")) is not None:
            self.configuration = {**dict(metadata.get("configuration") or ()), **self.configuration}
        self._demanded(action)

    def _demanded(self, action: Mapping[str, Any]) -> None:
        """What readers must know, and which numbers were given to rows."""
        if (protocol := action.get("protocol")) is not None:
            self.protocols.append(protocol)
        if (domain := action.get("domainMetadata")) is not None and domain.get("domain") == _NUMBERING:
            greatest = int(json.loads(domain.get("configuration") or "{}").get("rowIdHighWaterMark", -1))
            self.greatest = max(greatest, -1 if self.greatest is None else self.greatest)

    def _lines(self, look: Look, path: str) -> Iterator[Mapping[str, Any]]:
        for line in io.BytesIO(self.allowance.text(look, path)):
            if line.strip():
                self.allowance.entry()
                yield json.loads(line)

    def _rows(self, look: Look, path: str) -> Iterator[Mapping[str, Any]]:
        with pq.ParquetFile(io.BytesIO(self.allowance.content(look, path))) as opened:
            groups = range(opened.metadata.num_row_groups)
            self.allowance.unpacked(sum(opened.metadata.row_group(group).total_byte_size for group in groups))
            for batch in opened.iter_batches(_AT_ONCE, columns=_READ):
                for action in batch.to_pylist():
                    self.allowance.entry()
                    yield action

    def _file(self, entry: Mapping[str, Any], version: int) -> TableFile:
        """A file. One whose deletion vector changes is added again, with the number and the version that it had."""
        stats = json.loads(entry.get("stats") or "{}") or entry.get("stats_parsed") or {}
        first, since, rows = entry.get("baseRowId"), entry.get("defaultRowCommitVersion"), stats.get("numRecords")
        added = version if since is None else int(since)
        path = located(self.table, entry["path"])
        if first is not None:
            self.met[path] = min(version, self.met.get(path, version))
        return TableFile(
            path, int(entry["size"]), None if rows is None else int(rows),
            None if since is None or first is None else int(first), added, added, None,
        )  # fmt: skip
