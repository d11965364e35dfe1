"""The log of a Delta table: which files hold the table's rows, and which rows of them it does not hold any more.

For traces, which begin with records that a table has now; the folder alone does not tell them, since files that were replaced stay in it
until VACUUM. Reads the commits and the last checkpoint before them, as they are; what it does not understand it refuses by name.
The log's format: https://github.com/delta-io/delta/blob/master/PROTOCOL.md
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
    """A file of a table. `partition` has the values of partition columns, by the names that the log has for them."""

    block: FileBlock
    partition: Mapping[str, str | None] = field(default_factory=dict)
    vector: Mapping[str, Any] | None = None  # names the rows that were deleted


def table_files(look: Look, table: str, version: int | None = None) -> list[DataFile] | None:
    """The files of a table, by path: as it is now, or as of a version. None where there is no table.

    Raises:
        UnsupportedError: the log is not whole, or of a kind that is not understood; or it may not be read.
        SourceUnavailableError: its storage does not say.
    """
    log = look.listed(f"{table}/_delta_log")
    if not log:
        return None
    names = [block.path for block in log]
    commits = commits_of(names)
    last = max(commits, default=-1) if version is None else version
    begin, parts = checkpoint_before(names, last)
    later = range(0 if begin is None else begin + 1, last + 1)
    if missing := [number for number in later if number not in commits]:
        raise UnsupportedError(f"The log of {table} is not whole: the commit of version {missing[0]} is not there.")
    files: dict[tuple[str, str], Mapping[str, Any]] = {}
    protocol: Mapping[str, Any] = {}
    for action in _all(look, table, parts, [commits[number] for number in later]):
        protocol = action.get("protocol") or protocol
        if action.get("add") or action.get("remove"):
            _apply(action, files)
    check_protocol(table, [protocol])
    return sorted((_data_file(table, entry) for entry in files.values()), key=lambda file: file.block)


def version_of(look: Look, table: str, *, name: str | None = None, until: int | None = None) -> tuple[int, int] | None:
    """A version of a table by its number, or the last by an instant (ms), with when it was made; None where there is no table.

    Delta takes a version for as old as the file of its commit, and for younger than the version before it.

    Raises:
        NotFoundError: there is no such version.
        UnsupportedError: the table notes the times of its versions otherwise; or its log may not be read.
    """
    log = look.listed(f"{table}/_delta_log")
    if not log:
        return None
    blocks = {block.path: block for block in log}
    commits = commits_of(blocks)
    times: dict[int, int] = {}
    for version in sorted(commits):
        times[version] = max(blocks[commits[version]].modified, times.get(version - 1, -1) + 1)
    there = f"It has versions {min(times)} to {max(times)}." if times else "Its log has none."
    if name is not None:
        if not name.isdecimal() or int(name) not in times:
            raise NotFoundError(f"{table} has no version {name}.", hint=there)
        return int(name), times[int(name)]
    if times and any("inCommitTimestamp" in (action.get("commitInfo") or {}) for action in _actions(look, commits[max(times)])):
        raise UnsupportedError(
            f"{table} notes the times of its versions in its commits, which are not all read.", hint=f"Name one. {there}"
        )
    found = [version for version, made in times.items() if until is None or made <= until]
    if not found:
        raise NotFoundError(f"Which version {table} had then its log does not tell any more.", hint=there)
    return found[-1], times[found[-1]]


def commits_of(names: Iterable[str]) -> dict[int, str]:
    """The commits of a log, by version."""
    return {int(found[1]): name for name in names if (found := _COMMIT.search(name))}


def checkpoint_before(names: Iterable[str], last: int) -> tuple[int | None, list[str]]:
    """The last whole checkpoint that is not after a version, and its parts."""
    found: dict[tuple[int, int], list[str]] = {}
    for name in names:
        if (match := _CHECKPOINT.search(name)) and int(match[1]) <= last:
            found.setdefault((int(match[1]), int(match[3] or 1)), []).append(name)
        elif (match := _NEWER.search(name)) and int(match[1]) <= last:
            found[int(match[1]), 1] = [name]  # there may be several of one version: each is whole
    whole = {key: parts for key, parts in found.items() if len(parts) == key[1]}
    return (max(whole)[0], sorted(whole[max(whole)])) if whole else (None, [])


def checkpointed(look: Look, table: str, path: str) -> Iterator[Mapping[str, Any]]:
    """The actions `add`, `metaData` and `protocol` of a checkpoint, those among them that it keeps in files of their own (version 2)."""
    sidecars = []
    for action in _actions(look, path) if path.endswith(".json") else _rows(look, path, ("add", "metaData", "protocol", "sidecar")):
        if sidecar := action.get("sidecar"):
            sidecars.append(unquote(str(sidecar["path"])).rpartition("/")[2])
        else:
            yield action
    for name in sidecars:
        yield from _rows(look, f"{table.rstrip('/')}/_delta_log/_sidecars/{name}", ("add",))


def _rows(look: Look, path: str, kinds: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """The actions of some kinds in a file of Parquet, as the log's JSON has them."""
    file = pq.ParquetFile(io.BytesIO(bytes(look.file(path)[1].content())))
    there = [kind for kind in kinds if kind in file.schema_arrow.names]
    if not there:
        return
    for row in file.read(columns=there).to_pylist():
        for kind, entry in row.items():
            if entry is not None:
                maps = {name: dict(entry[name] or ()) for name in ("partitionValues", "configuration") if name in entry}
                yield {kind: {**entry, **maps}}


def _actions(look: Look, path: str) -> list[Mapping[str, Any]]:
    content = bytes(look.file(path)[1].content())
    return [json.loads(line) for line in content.splitlines() if line.strip()]


def _all(look: Look, table: str, parts: Iterable[str], commits: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """The actions that make a version of a table, each after those that it changes."""
    for part in parts:
        for action in checkpointed(look, table, part):
            yield {kind: entry for kind, entry in action.items() if kind != "remove"}  # what is there is added
    for commit in commits:
        yield from sorted(_actions(look, commit), key=lambda action: bool(action.get("add")))  # what a commit adds is there after it


def _apply(action: Mapping[str, Any], files: dict[tuple[str, str], Mapping[str, Any]]) -> None:
    """A file with another deletion vector is another entry of the log: the former is removed in the same commit."""
    entry = action.get("add") or action.get("remove") or {}
    vector = entry.get("deletionVector") or {}
    key = entry["path"], f"{vector.get('storageType', '')}{vector.get('pathOrInlineDv', '')}@{vector.get('offset') or ''}" if vector else ""
    if action.get("add"):
        files[key] = entry
    else:
        files.pop(key, None)


def _data_file(table: str, entry: Mapping[str, Any]) -> DataFile:
    block = block_at(located(table, entry["path"]), int(entry["size"]), int(entry["modificationTime"]))
    return DataFile(block, entry.get("partitionValues") or {}, entry.get("deletionVector"))


def located(table: str, path: str) -> str:
    """Where a file of the log lies, as a URI."""
    absolute = path.startswith("/") or _SCHEME.match(path)  # the log escapes it as URIs are: a colon that it shows is no part of a name
    return uri_of(unquote(path)) if absolute else f"{table.rstrip('/')}/{unquote(path)}"
