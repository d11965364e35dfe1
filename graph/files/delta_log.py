"""Reads the log of a Delta table: the table's files, and their deleted rows.

A trace needs the present records of a table. The folder alone does not show them, because replaced files stay there until VACUUM. The
module reads the commits and the last checkpoint before them. A log with unknown features is refused. The log's format:
https://github.com/delta-io/delta/blob/master/PROTOCOL.md
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq

from headwater.errors import NotFoundError, UnsupportedError
from headwater.graph.files.delta_protocol import check_protocol
from headwater.graph.records import FileBlock, Look, block_at, uri_of

_COMMIT = re.compile(r"/(\d{20})\.json$")
_CHECKPOINT = re.compile(r"/(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?\.parquet$")
_NEWER = re.compile(r"/(\d{20})\.checkpoint\.[0-9a-f-]{36}\.(?:json|parquet)$")  # of version 2
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file of a Delta table. `partition` has the values of partition columns, under their names in the log."""

    block: FileBlock
    partition: Mapping[str, str | None] = field(default_factory=dict)
    vector: Mapping[str, Any] | None = None  # describes the deleted rows


@dataclass(frozen=True, slots=True)
class TableState:
    """The state of a Delta table at a version. `entries` are the actions `add` of its files."""

    version: int
    protocol: Mapping[str, Any]
    metadata: Mapping[str, Any]
    entries: list[Mapping[str, Any]]


def list_table_files(look: Look, table: str, version: int | None = None) -> list[DataFile] | None:
    """Return the files of a Delta table, by path, now or at a version. None if there is no table. Raises like `read_table_state`."""
    state = read_table_state(look, table, version)
    if state is None:
        return None
    return sorted((_make_data_file(table, entry) for entry in state.entries), key=lambda file: file.block)


def read_table_state(look: Look, table: str, version: int | None = None) -> TableState | None:
    """Return the state of a Delta table, now or at a version. None if there is no table.

    Raises:
        UnsupportedError: the log is incomplete or of an unknown kind, or may not be read.
        SourceUnavailableError: the storage does not answer.
    """
    log = look.listed(f"{table}/_delta_log")
    if not log:
        return None
    names = [block.path for block in log]
    commits = list_commits(names)
    last_version = max(commits, default=-1) if version is None else version
    begin, parts = find_checkpoint(names, last_version)
    later_versions = range(0 if begin is None else begin + 1, last_version + 1)
    if missing_versions := [number for number in later_versions if number not in commits]:
        raise UnsupportedError(f"The log of {table} is not whole: the commit of version {missing_versions[0]} is not there.")
    files: dict[tuple[str, str], Mapping[str, Any]] = {}
    protocol: Mapping[str, Any] = {}
    metadata: Mapping[str, Any] = {}
    for action in _read_all_actions(look, table, parts, [commits[number] for number in later_versions]):
        protocol = action.get("protocol") or protocol
        metadata = action.get("metaData") or metadata
        if action.get("add") or action.get("remove"):
            _apply_action(action, files)
    check_protocol(table, [protocol])
    return TableState(last_version, protocol, metadata, list(files.values()))


def read_commit(look: Look, table: str, version: int) -> list[Mapping[str, Any]]:
    """Return the actions of a version's commit."""
    return _read_actions(look, f"{table}/_delta_log/{version:020}.json")


def find_version(look: Look, table: str, *, name: str | None = None, latest_instant: int | None = None) -> tuple[int, int] | None:
    """Return a named version of a Delta table, or the last at an instant (ms), with its time in ms. None if there is no table.

    The time of a version is the time of its commit's file, or later than the version before it.

    Raises:
        NotFoundError: there is no such version.
        UnsupportedError: the table stores the times of its versions elsewhere, or its log may not be read.
    """
    log = look.listed(f"{table}/_delta_log")
    if not log:
        return None
    blocks = {block.path: block for block in log}
    commits = list_commits(blocks)
    times: dict[int, int] = {}
    for version in sorted(commits):
        times[version] = max(blocks[commits[version]].modified, times.get(version - 1, -1) + 1)
    known_versions = f"It has versions {min(times)} to {max(times)}." if times else "Its log has none."
    if name is not None:
        if not name.isdecimal() or int(name) not in times:
            raise NotFoundError(f"{table} has no version {name}.", hint=known_versions)
        return int(name), times[int(name)]
    if times and any("inCommitTimestamp" in (action.get("commitInfo") or {}) for action in _read_actions(look, commits[max(times)])):
        raise UnsupportedError(
            f"{table} notes the times of its versions in its commits, which are not all read.", hint=f"Name one. {known_versions}"
        )
    versions = [version for version, commit_time in times.items() if latest_instant is None or commit_time <= latest_instant]
    if not versions:
        raise NotFoundError(f"Which version {table} had then its log does not tell any more.", hint=known_versions)
    return versions[-1], times[versions[-1]]


def list_commits(names: Iterable[str]) -> dict[int, str]:
    return {int(match[1]): name for name in names if (match := _COMMIT.search(name))}


def find_checkpoint(names: Iterable[str], last_version: int) -> tuple[int | None, list[str]]:
    """Return the last complete checkpoint up to a version, and its files."""
    parts_by_checkpoint: dict[tuple[int, int], list[str]] = {}
    for name in names:
        if (match := _CHECKPOINT.search(name)) and int(match[1]) <= last_version:
            parts_by_checkpoint.setdefault((int(match[1]), int(match[3] or 1)), []).append(name)
        elif (match := _NEWER.search(name)) and int(match[1]) <= last_version:
            parts_by_checkpoint[int(match[1]), 1] = [name]  # each of several checkpoints of one version is complete
    whole_checkpoints = {key: parts for key, parts in parts_by_checkpoint.items() if len(parts) == key[1]}
    return (max(whole_checkpoints)[0], sorted(whole_checkpoints[max(whole_checkpoints)])) if whole_checkpoints else (None, [])


def read_checkpoint(look: Look, table: str, path: str) -> Iterator[Mapping[str, Any]]:
    """Yield the actions `add`, `metaData` and `protocol` of a checkpoint, including its sidecar files (version 2)."""
    sidecars = []
    for action in (
        _read_actions(look, path) if path.endswith(".json") else _read_rows(look, path, ("add", "metaData", "protocol", "sidecar"))
    ):
        if sidecar := action.get("sidecar"):
            sidecars.append(unquote(str(sidecar["path"])).rpartition("/")[2])
        else:
            yield action
    for name in sidecars:
        yield from _read_rows(look, f"{table.rstrip('/')}/_delta_log/_sidecars/{name}", ("add",))


def _read_rows(look: Look, path: str, kinds: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    file = pq.ParquetFile(io.BytesIO(bytes(look.file(path)[1].content())))
    present_kinds = [kind for kind in kinds if kind in file.schema_arrow.names]
    if not present_kinds:
        return
    for row in file.read(columns=present_kinds).to_pylist():
        for kind, entry in row.items():
            if entry is not None:
                maps = {name: dict(entry[name] or ()) for name in ("partitionValues", "configuration") if name in entry}
                yield {kind: {**entry, **maps}}


def _read_actions(look: Look, path: str) -> list[Mapping[str, Any]]:
    content = bytes(look.file(path)[1].content())
    return [json.loads(line) for line in content.splitlines() if line.strip()]


def _read_all_actions(look: Look, table: str, parts: Iterable[str], commits: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the actions of a version of a table. An action comes after the actions that it changes."""
    for part in parts:
        for action in read_checkpoint(look, table, part):
            yield {kind: entry for kind, entry in action.items() if kind != "remove"}  # entries of a checkpoint are additions
    for commit in commits:
        yield from sorted(
            _read_actions(look, commit), key=lambda action: bool(action.get("add"))
        )  # additions of a commit come after its removals


def _apply_action(action: Mapping[str, Any], files: dict[tuple[str, str], Mapping[str, Any]]) -> None:
    """Apply an action to `files`. A file with another deletion vector is another entry; the same commit removes the former entry."""
    entry = action.get("add") or action.get("remove") or {}
    vector = entry.get("deletionVector") or {}
    key = entry["path"], f"{vector.get('storageType', '')}{vector.get('pathOrInlineDv', '')}@{vector.get('offset') or ''}" if vector else ""
    if action.get("add"):
        files[key] = entry
    else:
        files.pop(key, None)


def _make_data_file(table: str, entry: Mapping[str, Any]) -> DataFile:
    block = block_at(locate_file(table, entry["path"]), int(entry["size"]), int(entry["modificationTime"]))
    return DataFile(block, entry.get("partitionValues") or {}, entry.get("deletionVector"))


def locate_file(table: str, path: str) -> str:
    absolute = path.startswith("/") or _SCHEME.match(path)  # paths are escaped like URIs, so a visible colon ends a scheme
    return uri_of(unquote(path)) if absolute else f"{table.rstrip('/')}/{unquote(path)}"
