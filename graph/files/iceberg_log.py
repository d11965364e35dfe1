"""The row numbers of an Iceberg table: its data files in all snapshots that have not expired.

A trace uses them for files that no captured run wrote. The module reads the newest metadata file of the table's folder, the manifest lists
of its snapshots, and the manifests. It reads only below the data roots, and only up to a limit. The format:
https://iceberg.apache.org/spec/ (row lineage, manifests, manifest lists)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headwater.errors import UnsupportedError
from headwater.graph.files.allowance import Allowance, translate_faults
from headwater.graph.files.row_ids import TableFile, TableRows, index_numbered_files
from headwater.graph.records import FileBlock, Look, uri_of

_METADATA = re.compile(r"/(?:v(\d{1,18})|(\d{1,18})-[^/]*?)(\.gz)?\.metadata\.json(\.gz)?$")
_NUMBER, _VERSION = 2**31 - 108, 2**31 - 109  # field ids of these columns in data files
DELETED = 2  # the status of a deleted entry
_ANEW = frozenset({"replace", "overwrite"})  # commits that copy rows of other files into new files


def find_log_folder(table: str) -> str:
    return f"{table.rstrip('/')}/metadata"


def read_table_rows(look: Look, table: str, log: Sequence[FileBlock]) -> TableRows | None:
    """Return the data files of an Iceberg table. `log` are the files in its metadata folder. None if there are no metadata.

    Raises:
        UnsupportedError: the current metadata are not certain, are too large, may not be read, or need a missing library.
        SourceUnavailableError: the storage does not return the metadata.
        OSError: the metadata cannot be read.
    """
    newest_path = find_newest_metadata(log, table)
    if newest_path is None:
        return None
    with translate_faults(table):
        removals: dict[str, int] = {}
        allowance = Allowance(table)
        metadata = read_metadata(look, newest_path, allowance)
        files = list(_read_files(look, table, metadata, removals, allowance))
        removing_commits = set(removals.values()) - {0}  # commits that removed files, even if their operation says otherwise
        files = [replace(file, is_rewrite=True) if file.is_rewrite is False and file.added in removing_commits else file for file in files]
        next_row_id = metadata.get("next-row-id")
        greatest_number = None if next_row_id is None else int(next_row_id) - 1
        return TableRows(index_numbered_files(files, removals, greatest_number), _NUMBER, _VERSION)


def find_newest_metadata(log: Sequence[FileBlock], table: str) -> str | None:
    """Return the metadata file of the highest version. Raise an error if a failed commit left a second file of this version."""
    files_by_version = list_metadata_files(log)
    if not files_by_version:
        return None
    newest_files = files_by_version[max(files_by_version)]
    if len(newest_files) > 1:
        raise UnsupportedError(f"Which metadata of {table} counts is not certain: {newest_files[0]} or {newest_files[1]}.")
    return newest_files[0]


def list_metadata_files(log: Sequence[FileBlock]) -> dict[int, list[str]]:
    files_by_version: dict[int, list[str]] = {}
    for block in log:
        if (match := _METADATA.search(block.path)) is not None:
            files_by_version.setdefault(int(match[1] or match[2]), []).append(block.path)
    return files_by_version


def read_metadata(look: Look, path: str, allowance: Allowance) -> Mapping[str, Any]:
    metadata = json.loads(allowance.read_text(look, path, is_packed=".gz" in path.rpartition("/")[2]))
    if not isinstance(metadata, dict):
        raise ValueError("it is no object")  # noqa: TRY004 - of the file, which is damaged
    return metadata


def _read_files(look: Look, table: str, metadata: Mapping[str, Any], removals: dict[str, int], allowance: Allowance) -> Iterator[TableFile]:
    snapshots = {int(snapshot["snapshot-id"]): snapshot for snapshot in metadata.get("snapshots") or ()}
    newest_first = sorted(snapshots.values(), key=lambda snapshot: int(snapshot.get("sequence-number") or 0), reverse=True)
    rewrites = {number: _is_rewrite(snapshot) for number, snapshot in snapshots.items()}
    visited: set[tuple[str, int | None]] = set()
    for snapshot in newest_first:
        if "manifest-list" not in snapshot:
            raise UnsupportedError(f"The table {table} is of a version of the format that is not read here.")
        for manifest in allowance.read_records(look, qualify_location(snapshot["manifest-list"], table)):
            key = str(manifest["manifest_path"]), manifest.get("first_row_id")
            if manifest.get("content") in (None, 0) and key not in visited:
                visited.add(key)
                yield from _read_manifest(look, table, manifest, rewrites, removals, allowance)


def _read_manifest(
    look: Look, table: str, manifest: Mapping[str, Any], rewrites: Mapping[int, bool], removals: dict[str, int], allowance: Allowance
) -> Iterator[TableFile]:
    """Yield the data files of a manifest. An entry inherits missing values from the manifest."""
    next_row_id = manifest.get("first_row_id")
    sequence = int(manifest.get("sequence_number") or 0)
    for entry in allowance.read_records(look, qualify_location(manifest["manifest_path"], table)):
        file = entry["data_file"]
        path = uri_of(qualify_location(file["file_path"], table))
        if entry["status"] == DELETED:
            removals[path] = max(sequence, removals.get(path, 0))
            continue
        first, rows = file.get("first_row_id"), int(file["record_count"])
        if first is None and next_row_id is not None:
            first, next_row_id = next_row_id, next_row_id + rows
        snapshot = entry.get("snapshot_id")
        version, added = entry.get("sequence_number"), entry.get("file_sequence_number")
        yield TableFile(
            path, int(file["file_size_in_bytes"]), rows, first,
            sequence if version is None else int(version), sequence if added is None else int(added),
            rewrites.get(int(manifest["added_snapshot_id"]) if snapshot is None else snapshot),
        )  # fmt: skip


def _is_rewrite(snapshot: Mapping[str, Any]) -> bool:
    return (snapshot.get("summary") or {}).get("operation", "overwrite") in _ANEW


def qualify_location(path: str, table: str) -> str:
    """Return a location with a scheme. A location without one is in the table's file system."""
    if not path.startswith("/") or table.startswith(("/", "file:")):
        return path
    scheme, _, location_path = table.partition("://")
    return f"{scheme}://{location_path.partition('/')[0]}{path}"
