"""The row numbers of a Delta table: its files in all versions that the log still contains.

A trace uses them for files that no captured run wrote. With row tracking, each file has the number of its first row. The metadata name the
columns with the numbers and versions of copied rows.
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

from headwater.graph.files.allowance import Allowance, translate_faults
from headwater.graph.files.delta_log import find_checkpoint, list_commits, locate_file
from headwater.graph.files.delta_protocol import check_protocol
from headwater.graph.files.row_ids import TableFile, TableRows, index_numbered_files
from headwater.graph.records import FileBlock, Look

_NUMBER = "delta.rowTracking.materializedRowIdColumnName"
_VERSION = "delta.rowTracking.materializedRowCommitVersionColumnName"
_ANEW = frozenset({"OPTIMIZE", "MERGE", "UPDATE", "DELETE", "REORG"})  # operations that copy rows of other files into new files
# Operations that remove files and add new rows. Only their program knows the sources of these rows.
_REPLACING = frozenset({"WRITE", "CREATE OR REPLACE TABLE AS SELECT", "REPLACE TABLE AS SELECT", "STREAMING UPDATE", "RESTORE", "CLONE"})
_READ = [
    "add.path", "add.size", "add.stats", "add.stats_parsed.numRecords", "add.baseRowId", "add.defaultRowCommitVersion",
    "metaData.configuration", "protocol", "domainMetadata", "sidecar.path",
]  # fmt: skip
_NUMBERING = "delta.rowTracking"  # the metadata domain with the row numbers that were given
_AT_ONCE = 500  # rows of a checkpoint that are read together


def find_log_folder(table: str) -> str:
    return f"{table}/_delta_log"


def read_table_rows(look: Look, table: str, log: Sequence[FileBlock]) -> TableRows | None:
    """Return the data files of a Delta table. `log` are the files in its log folder. None if the folder is empty.

    Raises:
        UnsupportedError: the log has unknown features, is too large, or may not be read.
        SourceUnavailableError: the storage does not return the log.
        OSError: the log cannot be read.
    """
    if not log:
        return None
    names = [block.path for block in log]
    commits = list_commits(names)
    with translate_faults(table):
        reading = _LogReading(table, Allowance(table))
        for version in sorted(commits):
            reading.add_commit(version, look, commits[version])
        checkpoint, parts = find_checkpoint(names, max(commits, default=-1))
        for part in parts:
            reading.add_checkpoint(checkpoint or 0, look, part)
        check_protocol(table, reading.protocols)
        names_of = reading.configuration
        files = index_numbered_files(reading.files, reading.removals, reading.greatest_number)
        for path in reading.find_impossible_files(commits):
            files.pop(path, None)
        return TableRows(files, names_of.get(_NUMBER, _NUMBER), names_of.get(_VERSION, _VERSION))


@dataclass
class _LogReading:
    """The state while a log is read: first the commits, in their order, then the checkpoint."""

    table: str
    allowance: Allowance
    files: list[TableFile] = field(default_factory=list)
    removals: dict[str, int] = field(default_factory=dict)
    configuration: dict[str, str] = field(default_factory=dict)
    protocols: list[Mapping[str, Any]] = field(default_factory=list)
    first_versions: dict[str, int] = field(default_factory=dict)  # path → the first known version that has the file with its number
    greatest_number: int | None = None  # the greatest row number of the table, if it is stated

    def find_impossible_files(self, commits: Collection[int]) -> Iterator[str]:
        """Yield files whose stated row version belongs to a commit that did not add them."""
        for file in self.files:
            first_version = self.first_versions.get(file.path)
            if (
                file.first is not None
                and first_version is not None
                and (file.added > first_version or (file.added < first_version and file.added in commits))
            ):
                yield file.path

    def add_commit(self, version: int, look: Look, path: str) -> None:
        operation, changed = None, list[tuple[TableFile, bool]]()
        removes = False
        for action in self._read_lines(look, path):
            if entry := action.get("add"):
                changed.append((self._make_file(entry, version), entry.get("dataChange") is False))
            elif entry := action.get("remove"):
                self.removals[locate_file(self.table, entry["path"])] = version
                removes = True
            elif metadata := action.get("metaData"):
                self.configuration = dict(metadata.get("configuration") or {})
            elif commit_info := action.get("commitInfo"):
                operation = commit_info.get("operation")
            else:
                self._add_demands(action)
        rewrites_rows = operation in _ANEW or (removes and operation not in _REPLACING)
        self.files += [
            replace(file, is_rewrite=(rewrites_rows or has_same_path) if file.added == version else None) for file, has_same_path in changed
        ]

    def add_checkpoint(self, version: int, look: Look, path: str) -> None:
        """Add the files of a checkpoint, including its sidecar files (version 2)."""
        sidecars = []
        for action in self._read_lines(look, path) if path.endswith(".json") else self._read_rows(look, path):
            if sidecar := action.get("sidecar"):
                sidecars.append(unquote(str(sidecar["path"])).rpartition("/")[2])
            self._add_checkpoint_actions(version, action)
        for name in sidecars:
            for action in self._read_rows(look, f"{find_log_folder(self.table)}/_sidecars/{name}"):
                self._add_checkpoint_actions(version, action)

    def _add_checkpoint_actions(self, version: int, action: Mapping[str, Any]) -> None:
        if (entry := action.get("add")) is not None and entry.get("path") is not None:
            self.files.append(self._make_file(entry, version))
        if (metadata := action.get("metaData")) is not None:
            self.configuration = {**dict(metadata.get("configuration") or ()), **self.configuration}
        self._add_demands(action)

    def _add_demands(self, action: Mapping[str, Any]) -> None:
        """Add the requirements for readers, and the greatest row number of the table."""
        if (protocol := action.get("protocol")) is not None:
            self.protocols.append(protocol)
        if (domain := action.get("domainMetadata")) is not None and domain.get("domain") == _NUMBERING:
            high_water_mark = int(json.loads(domain.get("configuration") or "{}").get("rowIdHighWaterMark", -1))
            self.greatest_number = max(high_water_mark, -1 if self.greatest_number is None else self.greatest_number)

    def _read_lines(self, look: Look, path: str) -> Iterator[Mapping[str, Any]]:
        for line in io.BytesIO(self.allowance.read_text(look, path)):
            if line.strip():
                self.allowance.count_entry()
                yield json.loads(line)

    def _read_rows(self, look: Look, path: str) -> Iterator[Mapping[str, Any]]:
        with pq.ParquetFile(io.BytesIO(self.allowance.read_content(look, path))) as parquet:
            groups = range(parquet.metadata.num_row_groups)
            self.allowance.count_unpacked(sum(parquet.metadata.row_group(group).total_byte_size for group in groups))
            for batch in parquet.iter_batches(_AT_ONCE, columns=_READ):
                for action in batch.to_pylist():
                    self.allowance.count_entry()
                    yield action

    def _make_file(self, entry: Mapping[str, Any], version: int) -> TableFile:
        """Return a file. A file whose deletion vector changes is added again, with its former number and version."""
        stats = json.loads(entry.get("stats") or "{}") or entry.get("stats_parsed") or {}
        first, row_version, rows = entry.get("baseRowId"), entry.get("defaultRowCommitVersion"), stats.get("numRecords")
        added = version if row_version is None else int(row_version)
        path = locate_file(self.table, entry["path"])
        if first is not None:
            self.first_versions[path] = min(version, self.first_versions.get(path, version))
        return TableFile(
            path, int(entry["size"]), None if rows is None else int(rows),
            None if row_version is None or first is None else int(first), added, added, None,
        )  # fmt: skip
