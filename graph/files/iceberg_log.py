"""The metadata of an Iceberg table: its data files, of all snapshots that have not expired, with the numbers of their rows.

For traces that come to a file which no known run wrote. Reads the newest metadata file of the table's folder, the lists of manifests of its
snapshots, and the manifests. What the metadata of a table names is read below the data roots alone, and no more than a bound of it.
The format: https://iceberg.apache.org/spec/ (row lineage, manifests, manifest lists)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headwater.errors import UnsupportedError
from headwater.graph.files.allowance import Allowance, faults_of_metadata
from headwater.graph.files.row_ids import TableFile, TableRows, numbered_apart
from headwater.graph.records import FileBlock, Look, uri_of

_METADATA = re.compile(r"/(?:v(\d{1,18})|(\d{1,18})-[^/]*?)(\.gz)?\.metadata\.json(\.gz)?$")
_NUMBER, _VERSION = 2**31 - 108, 2**31 - 109  # ids of the fields that hold them in data files
DELETED = 2  # the status of an entry
_ANEW = frozenset({"replace", "overwrite"})  # commits that put rows of other files into new ones


def log_of(table: str) -> str:
    """The folder that holds the metadata of a table."""
    return f"{table.rstrip('/')}/metadata"


def table_rows(look: Look, table: str, log: Sequence[FileBlock]) -> TableRows | None:
    """The data files of a table at a path; None where its folder, of which `log` are the files, has no metadata.

    Raises:
        UnsupportedError: it is not certain which metadata the table's are, it is too much, may not be read, or needs what is not installed.
        SourceUnavailableError: its storage does not give it.
        OSError: it cannot be read.
    """
    newest = newest_metadata(log, table)
    if newest is None:
        return None
    with faults_of_metadata(table):
        removed: dict[str, int] = {}
        allowance = Allowance(table)
        known = metadata_in(look, newest, allowance)
        files = list(_files(look, table, known, removed, allowance))
        taking = set(removed.values()) - {0}  # commits that took files out: what they call themselves may be wrong
        files = [replace(file, is_rewrite=True) if file.is_rewrite is False and file.added in taking else file for file in files]
        following = known.get("next-row-id")
        greatest = None if following is None else int(following) - 1
        return TableRows(numbered_apart(files, removed, greatest), _NUMBER, _VERSION)


def newest_metadata(log: Sequence[FileBlock], table: str) -> str | None:
    """The metadata file of the highest version. A commit that failed may have left one of the same: then it is not certain."""
    numbered = metadata_files(log)
    if not numbered:
        return None
    newest = numbered[max(numbered)]
    if len(newest) > 1:
        raise UnsupportedError(f"Which metadata of {table} counts is not certain: {newest[0]} or {newest[1]}.")
    return newest[0]


def metadata_files(log: Sequence[FileBlock]) -> dict[int, list[str]]:
    """The metadata files among those of the folder, by version."""
    numbered: dict[int, list[str]] = {}
    for block in log:
        if (met := _METADATA.search(block.path)) is not None:
            numbered.setdefault(int(met[1] or met[2]), []).append(block.path)
    return numbered


def metadata_in(look: Look, path: str, allowance: Allowance) -> Mapping[str, Any]:
    """What a metadata file says."""
    known = json.loads(allowance.text(look, path, packed=".gz" in path.rpartition("/")[2]))
    if not isinstance(known, dict):
        raise ValueError("it is no object")  # noqa: TRY004 - of the file, which is damaged
    return known


def _files(look: Look, table: str, known: Mapping[str, Any], removed: dict[str, int], allowance: Allowance) -> Iterator[TableFile]:
    snapshots = {int(snapshot["snapshot-id"]): snapshot for snapshot in known.get("snapshots") or ()}
    newest_first = sorted(snapshots.values(), key=lambda snapshot: int(snapshot.get("sequence-number") or 0), reverse=True)
    rewrites = {number: _is_rewrite(snapshot) for number, snapshot in snapshots.items()}
    seen: set[tuple[str, int | None]] = set()
    for snapshot in newest_first:
        if "manifest-list" not in snapshot:
            raise UnsupportedError(f"The table {table} is of a version of the format that is not read here.")
        for manifest in allowance.records(look, qualified(snapshot["manifest-list"], table)):
            key = str(manifest["manifest_path"]), manifest.get("first_row_id")
            if manifest.get("content") in (None, 0) and key not in seen:
                seen.add(key)
                yield from _listed(look, table, manifest, rewrites, removed, allowance)


def _listed(
    look: Look, table: str, manifest: Mapping[str, Any], rewrites: Mapping[int, bool], removed: dict[str, int], allowance: Allowance
) -> Iterator[TableFile]:
    """The data files of a manifest. An entry inherits what it leaves out from the manifest."""
    following = manifest.get("first_row_id")
    sequence = int(manifest.get("sequence_number") or 0)
    for entry in allowance.records(look, qualified(manifest["manifest_path"], table)):
        file = entry["data_file"]
        path = uri_of(qualified(file["file_path"], table))
        if entry["status"] == DELETED:
            removed[path] = max(sequence, removed.get(path, 0))
            continue
        first, rows = file.get("first_row_id"), int(file["record_count"])
        if first is None and following is not None:
            first, following = following, following + rows
        snapshot = entry.get("snapshot_id")
        version, added = entry.get("sequence_number"), entry.get("file_sequence_number")
        yield TableFile(
            path, int(file["file_size_in_bytes"]), rows, first,
            sequence if version is None else int(version), sequence if added is None else int(added),
            rewrites.get(int(manifest["added_snapshot_id"]) if snapshot is None else snapshot),
        )  # fmt: skip


def _is_rewrite(snapshot: Mapping[str, Any]) -> bool:
    return (snapshot.get("summary") or {}).get("operation", "overwrite") in _ANEW


def qualified(path: str, table: str) -> str:
    """A location without a scheme is one of the table's file system."""
    if not path.startswith("/") or table.startswith(("/", "file:")):
        return path
    scheme, _, rest = table.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}{path}"
