"""A snapshot of an Iceberg table: its data files, and the rows of them that its delete files take away.

For traces that begin with records of a table at a snapshot. A snapshot never changes, so any metadata file that has it tells it; which one
a branch or a tag means only the newest does. Rows are taken away by position (delete files in Parquet, deletion vectors); tables of which
rows are deleted by value are refused, as are data files that are no Parquet.
The format: https://iceberg.apache.org/spec/ (snapshots, position delete files, deletion vectors)
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
from headwater.graph.files.allowance import Allowance, faults_of_metadata
from headwater.graph.files.deletions import numbers, vector_at
from headwater.graph.files.formats.base import Listed
from headwater.graph.files.iceberg_log import DELETED, log_of, metadata_files, metadata_in, newest_metadata, qualified
from headwater.graph.files.versions import TableVersion
from headwater.graph.records import FileBlock, Look, uri_of
from headwater.graph.records.decode import Longs

_MOST_METADATA = 20  # files in which a snapshot is looked for
_DATA, _POSITIONS, _VALUES = 0, 1, 2  # what a file of a manifest holds

Entry = tuple[int, Mapping[str, Any]]  # the sequence number of its data, and the file


@dataclass
class _Files:
    """The live files of a snapshot."""

    data: list[Entry] = field(default_factory=list)
    vectors: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # by data file
    positions: list[Entry] = field(default_factory=list)


def snapshot(look: Look, table: str, *, name: str | None = None, until: int | None = None) -> TableVersion | None:
    """A table at a snapshot: by its id, or the name of a branch or a tag; or as it was at an instant (ms). None where there is no table.

    Raises:
        NotFoundError: the metadata know no such snapshot any more, or one of its files is gone.
        UnsupportedError: they are damaged, too much, or may not be read; or rows of the snapshot cannot be told.
        SourceUnavailableError: its storage does not give them.
        OSError: they cannot be read.
    """
    budget = Allowance(table)
    with faults_of_metadata(table):
        by_id = name is not None and name.isdecimal()
        found = _by_id(look, table, int(name or 0), budget) if by_id else _newest(look, table, budget, name, until)
        if found is None:
            return None
        files = _live(look, table, found, budget)
        return TableVersion(str(found["snapshot-id"]), int(found["timestamp-ms"]), _listed(look, table, files, budget))


def newest_snapshot(look: Look, table: str) -> str | None:
    """The id of the snapshot that the newest metadata call the current one; None where they do not tell."""
    try:
        with faults_of_metadata(table):
            newest = newest_metadata(_log(look, table), table)
            current = metadata_in(look, newest, Allowance(table)).get("current-snapshot-id") if newest is not None else None
    except (UnsupportedError, OSError):
        return None
    return str(current) if isinstance(current, int) and current >= 0 else None


def _log(look: Look, table: str) -> list[FileBlock]:
    return look.listed(log_of(table)) or []


def _by_id(look: Look, table: str, number: int, budget: Allowance) -> Mapping[str, Any] | None:
    numbered = metadata_files(_log(look, table))
    for path in [path for version in sorted(numbered, reverse=True) for path in numbered[version]][:_MOST_METADATA]:
        for found in metadata_in(look, path, budget).get("snapshots") or ():
            if int(found["snapshot-id"]) == number:
                return dict(found)
    if not numbered:
        return None
    raise NotFoundError(f"{table} has no snapshot {number}, or it has expired.", hint=_HINT)


def _newest(look: Look, table: str, budget: Allowance, name: str | None, until: int | None) -> Mapping[str, Any] | None:
    """The snapshot of a branch or a tag, or the one that was current at an instant."""
    newest = newest_metadata(_log(look, table), table)
    if newest is None:
        return None
    known = metadata_in(look, newest, budget)
    if name is not None:
        refs = known.get("refs") or {}
        if name not in refs:
            there = ", ".join(sorted(refs)) or "none"
            raise NotFoundError(f"{table} has no branch or tag {name}. It has {there}.", hint=_HINT)
        number = int(refs[name]["snapshot-id"])
    else:
        log = [entry for entry in known.get("snapshot-log") or () if until is None or int(entry["timestamp-ms"]) <= until]
        if not log:
            raise NotFoundError(f"Which snapshot {table} had then its metadata do not tell.", hint=_HINT)
        number = int(log[-1]["snapshot-id"])
    return next((found for found in known.get("snapshots") or () if int(found["snapshot-id"]) == number), None) or _by_id(
        look, table, number, budget
    )


def _live(look: Look, table: str, snapshot: Mapping[str, Any], budget: Allowance) -> _Files:
    files = _Files()
    if "manifest-list" not in snapshot:
        raise UnsupportedError(f"The table {table} is of a version of the format that is not read here.")
    for manifest in budget.records(look, qualified(snapshot["manifest-list"], table)):
        for sequence, file in _of_manifest(look, table, manifest, budget):
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


def _of_manifest(look: Look, table: str, manifest: Mapping[str, Any], budget: Allowance) -> Iterator[Entry]:
    """The live files of a manifest. An entry inherits the sequence number that it leaves out."""
    inherited = int(manifest.get("sequence_number") or 0)
    for entry in budget.records(look, qualified(manifest["manifest_path"], table)):
        if entry["status"] != DELETED:
            own = entry.get("sequence_number")
            yield inherited if own is None else int(own), entry["data_file"]


def _listed(look: Look, table: str, files: _Files, budget: Allowance) -> list[Listed]:
    paths = {str(file["file_path"]): uri_of(qualified(file["file_path"], table)) for _, file in files.data}
    look.expect(paths.values())
    deleted = _deleted(look, table, files, budget)
    puffins: dict[str, bytes] = {}
    found = []
    for sequence, file in files.data:
        path = str(file["file_path"])
        block = _block(look, table, paths[path], int(file["file_size_in_bytes"]))
        vector = files.vectors.get(path)
        rows: Longs | None
        if vector is not None:  # it holds what position deletes of the file said before
            rows = _vector(look, qualified(vector["file_path"], table), vector, puffins, budget)
        else:
            parts = [rows for at, rows in deleted.get(path, ()) if at >= sequence]
            rows = np.unique(np.concatenate(parts)) if parts else None
        found.append(Listed(block, {}, rows))
    return sorted(found, key=lambda file: file.block)


def _block(look: Look, table: str, path: str, length: int) -> FileBlock:
    try:
        block = look.block(path)
    except FileNotFoundError:
        raise NotFoundError(f"{path}, a file of that snapshot of {table}, is not there any more.", hint=_BY_PLACE) from None
    if block.length != length:
        raise UnsupportedError(f"{path} is damaged: it has {block.length} bytes; the metadata of {table} say {length}.")
    return block


def _vector(look: Look, path: str, vector: Mapping[str, Any], puffins: dict[str, bytes], budget: Allowance) -> Longs:
    if path not in puffins:
        puffins[path] = budget.content(look, path)
    rows = numbers(vector_at(puffins[path], int(vector["content_offset"])))
    if len(rows) != int(vector["record_count"]):
        raise ValueError(f"a deletion vector names {len(rows)} rows, and should name {vector['record_count']}")
    return rows


def _deleted(look: Look, table: str, files: _Files, budget: Allowance) -> Mapping[str, list[tuple[int, Longs]]]:
    """The rows that position deletes take away, by data file; each with its sequence number: it takes none of a file that came later."""
    found: dict[str, list[tuple[int, Longs]]] = defaultdict(list)
    for sequence, file in files.positions:
        content = budget.content(look, qualified(file["file_path"], table))
        read = pq.read_table(io.BytesIO(content), columns=["file_path", "pos"])
        named = pc.unique(read["file_path"]).to_pylist()
        for path in named:
            rows = read.filter(pc.equal(read["file_path"], path))["pos"] if len(named) > 1 else read["pos"]
            found[path].append((sequence, rows.to_numpy().astype(np.int64)))
    return found


_HINT = "Its table `snapshots` lists those that it has."
_BY_PLACE = "Name records by file and row."
