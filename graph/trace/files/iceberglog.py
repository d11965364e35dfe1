"""The metadata of an Iceberg table: its data files, of all snapshots that have not expired, with the numbers of their rows.

For traces that come to a file which no known run wrote. Reads the newest metadata file of the table's folder, the lists of manifests of its
snapshots, and the manifests. What the metadata of a table names is read below the data roots alone, and no more than a bound of it.
The format: https://iceberg.apache.org/spec/ (row lineage, manifests, manifest lists)
"""

from __future__ import annotations

import gzip
import io
import json
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headwater.errors import UnsupportedError
from headwater.graph.records import Look, uri_of
from headwater.graph.trace.files.avroblocks import avro
from headwater.graph.trace.files.rowids import TableFile, TableRows, numbered_apart

_METADATA = re.compile(r"/(?:v(\d{1,18})|(\d{1,18})-[^/]*?)(\.gz)?\.metadata\.json(\.gz)?$")
_NUMBER, _VERSION = 2**31 - 108, 2**31 - 109  # ids of the fields that hold them in data files
_MOST_FILES = 2_000  # lists and manifests that are read
_MOST_BYTES = 512 << 20  # of them, and of the metadata file once it is unpacked
DAMAGED = (LookupError, ValueError, TypeError, AttributeError, EOFError, ArithmeticError, struct.error, zlib.error, gzip.BadGzipFile)
DELETED = 2  # the status of an entry
_ANEW = frozenset({"replace", "overwrite"})  # commits that put rows of other files into new ones


@dataclass
class Budget:
    """How much of the metadata may still be read."""

    files: int = _MOST_FILES
    bytes: int = _MOST_BYTES


def table_rows(look: Look, table: str) -> TableRows | None:
    """The data files of a table at a path; None where its folder has no metadata.

    Raises:
        UnsupportedError: it is not certain which metadata the table's are, it is too much, may not be read, or needs what is not installed.
        SourceUnavailableError: its storage does not give it.
        OSError: it cannot be read.
    """
    newest = newest_metadata(look, table)
    if newest is None:
        return None
    try:
        removed: dict[str, int] = {}
        return TableRows(numbered_apart(list(_files(look, table, newest, removed)), removed), _NUMBER, _VERSION)
    except DAMAGED as error:
        raise UnsupportedError(f"The metadata of {table} cannot be read: {type(error).__name__}: {error}.") from None


def newest_metadata(look: Look, table: str) -> str | None:
    """The metadata file of the highest version. A commit that failed may have left one of the same: then it is not certain."""
    numbered = metadata_files(look, table)
    if not numbered:
        return None
    newest = numbered[max(numbered)]
    if len(newest) > 1:
        raise UnsupportedError(f"Which metadata of {table} counts is not certain: {newest[0]} or {newest[1]}.")
    return newest[0]


def metadata_files(look: Look, table: str) -> dict[int, list[str]]:
    """The metadata files of a table, by version."""
    numbered: dict[int, list[str]] = {}
    for block in look.listed(f"{table.rstrip('/')}/metadata") or ():
        if (met := _METADATA.search(block.path)) is not None:
            numbered.setdefault(int(met[1] or met[2]), []).append(block.path)
    return numbered


def metadata_in(look: Look, path: str, budget: Budget) -> Mapping[str, Any]:
    """What a metadata file says."""
    content = content_of(look, path, budget)
    known = json.loads(_unpacked(content) if ".gz" in path.rpartition("/")[2] else content)
    if not isinstance(known, dict):
        raise ValueError("it is no object")  # noqa: TRY004 - of the file, which is damaged
    return known


def _files(look: Look, table: str, metadata: str, removed: dict[str, int]) -> Iterator[TableFile]:
    budget = Budget()
    known = metadata_in(look, metadata, budget)
    snapshots = {int(snapshot["snapshot-id"]): snapshot for snapshot in known.get("snapshots") or ()}
    newest_first = sorted(snapshots.values(), key=lambda snapshot: int(snapshot.get("sequence-number") or 0), reverse=True)
    rewrites = {number: _is_rewrite(snapshot) for number, snapshot in snapshots.items()}
    seen: set[tuple[str, int | None]] = set()
    for snapshot in newest_first:
        if "manifest-list" not in snapshot:
            raise UnsupportedError(f"The table {table} is of a version of the format that is not read here.")
        for manifest in entries(look, qualified(snapshot["manifest-list"], table), budget):
            key = str(manifest["manifest_path"]), manifest.get("first_row_id")
            if manifest.get("content") in (None, 0) and key not in seen:
                seen.add(key)
                yield from _listed(look, table, manifest, rewrites, removed, budget)


def _listed(
    look: Look, table: str, manifest: Mapping[str, Any], rewrites: Mapping[int, bool], removed: dict[str, int], budget: Budget
) -> Iterator[TableFile]:
    """The data files of a manifest. An entry inherits what it leaves out from the manifest."""
    following = manifest.get("first_row_id")
    sequence = int(manifest.get("sequence_number") or 0)
    for entry in entries(look, qualified(manifest["manifest_path"], table), budget):
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


def entries(look: Look, path: str, budget: Budget) -> Iterator[Mapping[str, Any]]:
    """The entries of a list of manifests, or of a manifest."""
    yield from avro().reader(io.BytesIO(content_of(look, path, budget)))


def content_of(look: Look, path: str, budget: Budget) -> bytes:
    """All of a file of the metadata."""
    block, stored = look.file(path)
    budget.files -= 1
    budget.bytes -= block.length
    if budget.files < 0 or budget.bytes < 0:
        raise UnsupportedError(f"The metadata of the table are too much to be read for a trace: more than {_MOST_FILES} files or 512 MB.")
    return bytes(stored.content())


def _unpacked(content: bytes) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as packed:
        read = packed.read(_MOST_BYTES + 1)
    if len(read) > _MOST_BYTES:
        raise ValueError("it is too large")
    return read


def qualified(path: str, table: str) -> str:
    """A location without a scheme is one of the table's file system."""
    if not path.startswith("/") or table.startswith(("/", "file:")):
        return path
    scheme, _, rest = table.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}{path}"
