"""The present data files of a table of Delta or Iceberg, for comparisons: their deleted rows, and the table's names of their columns.

The folder of a table has more files than the table: replaced files stay there, and a shadow table reads most of its files from the folder
of the real table. Only the table's log says which files count.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import pyarrow.parquet as pq

from headwater.backend.rerun.replay.output_files import NULL, Content, OutputFile
from headwater.errors import UnsupportedError
from headwater.graph.files.allowance import Allowance
from headwater.graph.files.deletions import read_deleted_rows
from headwater.graph.files.delta_log import locate_file, read_table_state
from headwater.graph.files.iceberg_log import find_log_folder, find_newest_metadata, read_metadata
from headwater.graph.files.iceberg_snapshot import read_snapshot
from headwater.graph.files.table_folders import table_kind
from headwater.graph.records import Look, uri_of
from headwater.graph.storage.addresses import is_remote

_ICEBERG_ID = b"PARQUET:field_id"


def list_table_files(table: str, look: Look) -> list[OutputFile] | None:
    """Return the data files of a table, by path. None if there is no table.

    Raises:
        UnsupportedError: the table cannot be read here.
        SourceUnavailableError: the storage does not answer.
    """
    match find_table_kind(table, look):
        case None:
            return None
        case "Delta":
            return _list_delta(uri_of(table).rstrip("/"), look)
        case "Iceberg":
            return _list_iceberg(uri_of(table).rstrip("/"), look)
        case kind:
            raise UnsupportedError(f"{table} is a table of {kind}, which a replay cannot compare.")


def find_table_kind(place: str, look: Look) -> str | None:
    """Return the format of the table at a place. None if there is no table."""
    if not is_remote(place):
        return table_kind(look.path(place))
    if look.listed(f"{place}/_delta_log"):
        return "Delta"
    return "Iceberg" if any(block.path.endswith(".metadata.json") for block in look.listed(find_log_folder(place)) or ()) else None


def _list_delta(table: str, look: Look) -> list[OutputFile]:
    state = read_table_state(look, table)
    if state is None:
        raise UnsupportedError(f"The log of the table {table} is empty.")
    names = _delta_names(state.metadata)
    files = []
    for entry in state.entries:
        vector = entry.get("deletionVector")
        deleted = () if not vector else tuple(map(int, read_deleted_rows(look, table, vector)))
        partitions = [
            (names.get(name, name), NULL if text is None else text) for name, text in (entry.get("partitionValues") or {}).items()
        ]
        files.append(_file(locate_file(table, entry["path"]), table, tuple(partitions), deleted, names))
    return sorted(files, key=lambda file: file.path)


def _delta_names(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the table's names of columns by their names in the files, where both differ."""
    fields = json.loads(metadata.get("schemaString") or "{}").get("fields") or ()
    stored = {(field.get("metadata") or {}).get("delta.columnMapping.physicalName"): field["name"] for field in fields}
    return {physical: name for physical, name in stored.items() if physical is not None and physical != name}


def _list_iceberg(table: str, look: Look) -> list[OutputFile]:
    log = look.listed(find_log_folder(table)) or []
    newest = find_newest_metadata(log, table)
    if newest is None:
        raise UnsupportedError(f"The table {table} has no metadata.")
    metadata = read_metadata(look, newest, Allowance(table))
    if metadata.get("current-snapshot-id") in (None, -1):
        return []
    version = read_snapshot(look, table, name=str(metadata["current-snapshot-id"]))
    schema: Mapping[str, Any] = next(
        (one for one in metadata.get("schemas") or () if one.get("schema-id") == metadata.get("current-schema-id")), {}
    )
    by_id = {str(field["id"]): str(field["name"]) for field in schema.get("fields") or ()}
    files = []
    for listed in version.files if version is not None else ():
        stored = pq.ParquetFile(io.BytesIO(bytes(look.file(listed.block.path)[1].content()))).schema_arrow
        ids = {field.name: ((field.metadata or {}).get(_ICEBERG_ID) or b"").decode() for field in stored}
        names = {name: by_id[number] for name, number in ids.items() if by_id.get(number, name) != name}
        deleted = () if listed.deleted_rows is None else tuple(map(int, listed.deleted_rows))
        files.append(_file(listed.block.path, table, (), deleted, names))
    return sorted(files, key=lambda file: file.path)


def _file(path: str, table: str, partitions: tuple[tuple[str, str], ...], deleted: tuple[int, ...], names: Mapping[str, str]) -> OutputFile:
    inner = path.removeprefix(f"{table}/")
    return OutputFile(path, inner, Content.PARQUET, partitions, deleted, tuple(sorted(names.items())))
