"""A snapshot of an Iceberg table: its data files, and the rows that its delete files remove.

A trace uses it to begin with records of a table at a snapshot. A snapshot never changes, so any metadata file that contains it is valid.
Only the newest metadata file determines the snapshot of a branch or a tag. Rows are removed by position (delete files in Parquet, deletion
vectors). Tables with rows that are deleted by value, or with data files in other formats than Parquet, are refused. The format:
https://iceberg.apache.org/spec/ (snapshots, position delete files, deletion vectors)
"""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headwater.errors import NotFoundError, UnsupportedError
from headwater.graph.files.allowance import Allowance, translate_faults
from headwater.graph.files.deletions import decode_numbers, read_vector
from headwater.graph.files.formats.base import ListedFile, TableVersion
from headwater.graph.files.iceberg_log import (
    DELETED,
    find_log_folder,
    find_newest_metadata,
    list_metadata_files,
    qualify_location,
    read_metadata,
)
from headwater.graph.records import FileBlock, Look, uri_of
from headwater.graph.records.decode import Longs

_MOST_METADATA = 20  # files that are searched for a snapshot
_DATA, _POSITIONS, _VALUES = 0, 1, 2  # the content of a file in a manifest

Entry = tuple[int, Mapping[str, Any]]  # the sequence number of its data, and the file


@dataclass
class _LiveFiles:
    """The live files of a snapshot."""

    data: list[Entry] = field(default_factory=list)
    vectors: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # deletion vectors by data file
    positions: list[Entry] = field(default_factory=list)


def read_snapshot(look: Look, table: str, *, name: str | None = None, latest_instant: int | None = None) -> TableVersion | None:
    """Return an Iceberg table at a snapshot: by its id, a branch, a tag, or an instant (ms). None if there is no table.

    Raises:
        NotFoundError: the metadata do not contain the snapshot any more, or one of its files was deleted.
        UnsupportedError: the metadata are damaged, too large or may not be read, or the snapshot's rows are not certain.
        SourceUnavailableError: the storage does not return the metadata.
        OSError: the metadata cannot be read.
    """
    budget = Allowance(table)
    with translate_faults(table):
        by_id = name is not None and name.isdecimal()
        entry = _find_by_id(look, table, int(name or 0), budget) if by_id else _find_newest(look, table, budget, name, latest_instant)
        if entry is None:
            return None
        files = _list_live_files(look, table, entry, budget)
        return TableVersion(str(entry["snapshot-id"]), int(entry["timestamp-ms"]), _list_files(look, table, files, budget))


def find_newest_snapshot(look: Look, table: str) -> str | None:
    """Return the id of the current snapshot in the newest metadata. None if the metadata state none."""
    try:
        with translate_faults(table):
            newest_path = find_newest_metadata(_list_log(look, table), table)
            current = read_metadata(look, newest_path, Allowance(table)).get("current-snapshot-id") if newest_path is not None else None
    except (UnsupportedError, OSError):
        return None
    return str(current) if isinstance(current, int) and current >= 0 else None


def _list_log(look: Look, table: str) -> list[FileBlock]:
    return look.listed(find_log_folder(table)) or []


def _find_by_id(look: Look, table: str, number: int, budget: Allowance) -> Mapping[str, Any] | None:
    files_by_version = list_metadata_files(_list_log(look, table))
    for path in [path for version in sorted(files_by_version, reverse=True) for path in files_by_version[version]][:_MOST_METADATA]:
        for entry in read_metadata(look, path, budget).get("snapshots") or ():
            if int(entry["snapshot-id"]) == number:
                return dict(entry)
    if not files_by_version:
        return None
    raise NotFoundError(f"{table} has no snapshot {number}, or it has expired.", hint=_HINT)


def _find_newest(look: Look, table: str, budget: Allowance, name: str | None, latest_instant: int | None) -> Mapping[str, Any] | None:
    newest_path = find_newest_metadata(_list_log(look, table), table)
    if newest_path is None:
        return None
    metadata = read_metadata(look, newest_path, budget)
    if name is not None:
        refs = metadata.get("refs") or {}
        if name not in refs:
            ref_names = ", ".join(sorted(refs)) or "none"
            raise NotFoundError(f"{table} has no branch or tag {name}. It has {ref_names}.", hint=_HINT)
        number = int(refs[name]["snapshot-id"])
    else:
        log = [
            entry for entry in metadata.get("snapshot-log") or () if latest_instant is None or int(entry["timestamp-ms"]) <= latest_instant
        ]
        if not log:
            raise NotFoundError(f"Which snapshot {table} had then its metadata do not tell.", hint=_HINT)
        number = int(log[-1]["snapshot-id"])
    return next(
        (snapshot_entry for snapshot_entry in metadata.get("snapshots") or () if int(snapshot_entry["snapshot-id"]) == number), None
    ) or _find_by_id(look, table, number, budget)


def _list_live_files(look: Look, table: str, snapshot: Mapping[str, Any], budget: Allowance) -> _LiveFiles:
    files = _LiveFiles()
    if "manifest-list" not in snapshot:
        raise UnsupportedError(f"The table {table} is of a version of the format that is not read here.")
    for manifest in budget.read_records(look, qualify_location(snapshot["manifest-list"], table)):
        for sequence, file in _read_manifest(look, table, manifest, budget):
            kind, form = int(file.get("content") or _DATA), str(file["file_format"]).upper()
            if kind == _VALUES:
                raise UnsupportedError(f"Rows of {table} were deleted by their values, which a trace does not compare.", hint=_BY_PLACE)
            if kind == _POSITIONS and form == "PUFFIN":
                files.vectors[str(file["referenced_data_file"])] = file
                continue
            if form != "PARQUET":
                raise UnsupportedError(f"{table} has files of the format {form}, which are not read here.", hint=_BY_PLACE)
            (files.positions if kind == _POSITIONS else files.data).append((sequence, file))
    return files


def _read_manifest(look: Look, table: str, manifest: Mapping[str, Any], budget: Allowance) -> Iterator[Entry]:
    inherited_number = int(manifest.get("sequence_number") or 0)
    for entry in budget.read_records(look, qualify_location(manifest["manifest_path"], table)):
        if entry["status"] != DELETED:
            own_number = entry.get("sequence_number")
            yield inherited_number if own_number is None else int(own_number), entry["data_file"]


def _list_files(look: Look, table: str, files: _LiveFiles, budget: Allowance) -> list[ListedFile]:
    paths = {str(file["file_path"]): uri_of(qualify_location(file["file_path"], table)) for _, file in files.data}
    look.expect(paths.values())
    deleted = _read_deletions(look, table, files, budget)
    puffins: dict[str, bytes] = {}
    listed_files = []
    for sequence, file in files.data:
        path = str(file["file_path"])
        block = _make_block(look, table, paths[path], int(file["file_size_in_bytes"]))
        vector = files.vectors.get(path)
        rows: Longs | None
        if vector is not None:  # the vector includes earlier position deletes of the file
            rows = _read_vector(look, qualify_location(vector["file_path"], table), vector, puffins, budget)
        else:
            parts = [rows for deletion_number, rows in deleted.get(path, ()) if deletion_number >= sequence]
            rows = np.unique(np.concatenate(parts)) if parts else None
        listed_files.append(ListedFile(block, {}, rows))
    return sorted(listed_files, key=lambda file: file.block)


def _make_block(look: Look, table: str, path: str, length: int) -> FileBlock:
    try:
        block = look.block(path)
    except FileNotFoundError:
        raise NotFoundError(f"{path}, a file of that snapshot of {table}, is not there any more.", hint=_BY_PLACE) from None
    if block.length != length:
        raise UnsupportedError(f"{path} is damaged: it has {block.length} bytes; the metadata of {table} say {length}.")
    return block


def _read_vector(look: Look, path: str, vector: Mapping[str, Any], puffins: dict[str, bytes], budget: Allowance) -> Longs:
    if path not in puffins:
        puffins[path] = budget.read_content(look, path)
    rows = decode_numbers(read_vector(puffins[path], int(vector["content_offset"])))
    if len(rows) != int(vector["record_count"]):
        raise ValueError(f"a deletion vector names {len(rows)} rows, and should name {vector['record_count']}")
    return rows


def _read_deletions(look: Look, table: str, files: _LiveFiles, budget: Allowance) -> Mapping[str, list[tuple[int, Longs]]]:
    """Return the rows that position deletes remove, by data file, with sequence numbers. Data files added later are not affected."""
    deletions: dict[str, list[tuple[int, Longs]]] = defaultdict(list)
    for sequence, file in files.positions:
        content = budget.read_content(look, qualify_location(file["file_path"], table))
        positions = pq.read_table(io.BytesIO(content), columns=["file_path", "pos"])
        paths = pc.unique(positions["file_path"]).to_pylist()
        for path in paths:
            rows = positions.filter(pc.equal(positions["file_path"], path))["pos"] if len(paths) > 1 else positions["pos"]
            deletions[path].append((sequence, rows.to_numpy().astype(np.int64)))
    return deletions


_HINT = "Its table `snapshots` lists those that it has."
_BY_PLACE = "Name records by file and row."
