"""Commits of local tables of Iceberg in Hadoop catalogs: one new snapshot of the real table has the rows of the shadow table.

The new data files and manifests are copied next to the table's files, where no reader sees them. Then one metadata file, which must not
exist yet, makes the new version, as Iceberg's own commits do. So a reader finds the old snapshot or the new one, and if another program
committed meanwhile, nothing is replaced. An undo is another metadata file, whose current snapshot is the one before.

A property of the table names the replay and the version of its own metadata file, so a later version of another program is noticed. A
commit and an undo remove no file that a snapshot names: the expiry of snapshots does.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headwater.backend.rerun.replay.kinds.kind import place_of
from headwater.backend.rerun.replay.model import CommittedFolder, FileStates
from headwater.backend.rerun.replay.output_places.iceberg_files import NewFiles
from headwater.backend.rerun.replay.output_places.protocol import OutputPlace, refuse
from headwater.backend.rerun.replay.output_places.writable_folder import open_folder
from headwater.backend.rerun.replay.shadow_tables.iceberg import MARK, Metadata, read_newest, set_current
from headwater.backend.rerun.replay.table_files import find_table_kind
from headwater.errors import SourceChangedError, UnsupportedError
from headwater.graph.files.allowance import Allowance
from headwater.graph.files.avro_blocks import load_avro
from headwater.graph.files.iceberg_log import find_log_folder, find_newest_metadata, list_metadata_files, read_metadata
from headwater.graph.records import DataRoots, FileBlock, uri_of
from headwater.graph.storage.addresses import is_remote

_SCHEMA = (
    "schemas", "current-schema-id", "last-column-id", "partition-specs", "default-spec-id", "last-partition-id", "sort-orders",
    "default-sort-order-id",
)  # fmt: skip
_CURRENT = ("current-schema-id", "default-spec-id", "default-sort-order-id")
_HINT = "version-hint.text"


class IcebergTables(OutputPlace):
    """Tables of Iceberg below the warehouse of a Hadoop catalog, on a local file system."""

    def __init__(self, sources: DataRoots) -> None:
        self._sources = sources

    def find_state(self, dataset: str) -> FileStates | None:
        place = place_of(dataset)
        if is_remote(place) or find_table_kind(place, self._sources.look()) != "Iceberg":
            return None
        version, block = self._newest(place)
        return {f"metadata of version {version}": (block.length, block.modified)}

    def check(self, dataset: str) -> None:
        place = place_of(dataset)
        load_avro()
        version, block = self._newest(place)
        if not block.path.endswith(f"/v{version}.metadata.json"):
            raise refuse(dataset, "another catalog than a Hadoop catalog keeps its current metadata", "Commit in that catalog's engine.")
        if int(self._read(place)["format-version"]) not in (2, 3):
            raise refuse(dataset, "it has the format version 1", "Upgrade the table to version 2.")

    def prepare(self, dataset: str, shadow: Path, replay: str, before: FileStates) -> CommittedFolder:
        place = place_of(dataset)
        look = DataRoots.of([shadow]).look()
        old, new = self._read(place), read_newest(look, str(shadow))
        _check_compatible(dataset, old, new)
        location = str(old["location"]).rstrip("/")
        snapshot = _current(new)
        files = NewFiles(dataset, shadow, location, open_folder(place, dataset, self._sources), shadow.parent / f".{shadow.name}.draft")
        if snapshot is not None:
            snapshot["manifest-list"] = files.copy(snapshot["manifest-list"])
        return CommittedFolder(
            dataset=dataset, place=place, old=f"snapshot {old.get('current-snapshot-id')}", kind="iceberg", before=before, files={},
            detail={
                "replay": replay, "snapshot": snapshot, "files": files.names, "old": old.get("current-snapshot-id"),
                "old-schema": {name: old.get(name) for name in _CURRENT}, "schema": {name: new.get(name) for name in _SCHEMA},
                "last-sequence-number": new.get("last-sequence-number", 0), "next-row-id": new.get("next-row-id"),
            },
        )  # fmt: skip

    def shows_new(self, output: CommittedFolder) -> bool:
        metadata = self._read(output.place)
        if _new_id(output) is None:  # the replay left an empty table
            return str((metadata.get("properties") or {}).get(MARK)).startswith(f"{output.detail['replay']}: new")
        parents = {int(entry["snapshot-id"]): entry.get("parent-snapshot-id") for entry in metadata.get("snapshots") or ()}
        at, new = metadata.get("current-snapshot-id"), _new_id(output)
        while at is not None and at in parents and at != new:
            at = parents[at]
        return at == new

    def is_unchanged(self, output: CommittedFolder, *, new: bool) -> bool:
        return self._unchanged(output, new=new) is not None

    def exchange(self, output: CommittedFolder, *, new: bool) -> None:
        unchanged = self._unchanged(output, new=not new)
        if unchanged is None:
            raise SourceChangedError(f"{output.dataset} was written meanwhile.", hint="Look at what wrote it.")
        version, block, metadata = unchanged  # a later version of another program must make `create` fail
        log = [*(metadata.get("metadata-log") or ())]
        log.append({"timestamp-ms": metadata["last-updated-ms"], "metadata-file": f"{metadata['location']}/metadata/{_name(block)}"})
        instant = max(int(time.time() * 1000), int(metadata["last-updated-ms"]) + 1)
        if new:
            _add_snapshot(metadata, output.detail, instant)
        else:
            self._restore(metadata, output, instant)
        metadata |= {"last-updated-ms": instant, "metadata-log": log}
        metadata["properties"] = {**(metadata.get("properties") or {}), MARK: _mark(output, version + 1, new=new)}
        folder = open_folder(output.place, output.dataset, self._sources)
        if not folder.create(f"metadata/v{version + 1}.metadata.json", json.dumps(metadata).encode()):
            raise SourceChangedError(f"{output.dataset} was written meanwhile.", hint="Look at what wrote it.")
        folder.delete([f"metadata/.{_HINT}.crc", f"metadata/{_HINT}"])  # Iceberg looks for later versions than the hint; others do not
        folder.create(f"metadata/{_HINT}", str(version + 1).encode())

    def drop(self, output: CommittedFolder) -> None:
        if _new_id(output) not in {int(entry["snapshot-id"]) for entry in self._read(output.place).get("snapshots") or ()}:
            open_folder(output.place, output.dataset, self._sources).delete(list(output.detail["files"]))

    def finish(self, output: CommittedFolder) -> None:
        del output

    def remove_old(self, output: CommittedFolder) -> None:
        del output  # the expiry of snapshots does it

    def notes(self, output: CommittedFolder) -> list[str]:
        text = (
            f"{output.dataset} gets the rows of the replay as a new snapshot. The snapshot before stays until the table's snapshots are "
            "expired (5 days by default); an undo is refused then."
        )
        return [text]

    def _restore(self, metadata: Metadata, output: CommittedFolder, instant: int) -> None:
        old = output.detail["old"]
        known = {int(entry["snapshot-id"]): entry for entry in metadata.get("snapshots") or ()}
        if old not in (None, -1):
            if old not in known:
                raise UnsupportedError(f"The snapshot {old} of {output.dataset} has expired.", hint="Nothing was replaced.")
            try:
                self._sources.look().block(str(known[old]["manifest-list"]))
            except FileNotFoundError:
                raise UnsupportedError(
                    f"The files of the snapshot {old} of {output.dataset} are gone.", hint="Nothing was replaced."
                ) from None
        history = [*(metadata.get("snapshot-log") or ())]
        set_current(metadata, old)
        metadata |= {name: value for name, value in output.detail["old-schema"].items() if value is not None}
        metadata["snapshot-log"] = [*history, {"timestamp-ms": instant, "snapshot-id": old}] if old not in (None, -1) else []

    def _newest(self, place: str) -> tuple[int, FileBlock]:
        blocks = {block.path: block for block in self._sources.look().listed(find_log_folder(place)) or ()}
        path = find_newest_metadata(list(blocks.values()), place)
        if path is None:
            raise UnsupportedError(f"{place} is no table of Iceberg any more.")
        return max(list_metadata_files(list(blocks.values()))), blocks[path]

    def _unchanged(self, output: CommittedFolder, *, new: bool) -> tuple[int, FileBlock, Metadata] | None:
        """Return the newest metadata if they show the new data (or the old data). None if another program wrote since."""
        version, block = self._newest(output.place)
        metadata = dict(read_metadata(self._sources.look(), block.path, Allowance(output.place)))
        state = {f"metadata of version {version}": (block.length, block.modified)}
        is_ours = (metadata.get("properties") or {}).get(MARK) == _mark(output, version, new=new)
        is_old = not new and state == {name: tuple(then) for name, then in output.before.items()}
        return (version, block, metadata) if is_ours or is_old else None

    def _read(self, place: str) -> Mapping[str, Any]:
        return read_newest(self._sources.look(), place)


def _check_compatible(dataset: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Check that the schemas and partitions of the replay's table are also those of the real table, or follow them."""
    if old["format-version"] != new["format-version"]:
        raise refuse(dataset, f"the replay wrote format version {new['format-version']}, and the table has {old['format-version']}")
    for kind, key in (("schemas", "schema-id"), ("partition-specs", "spec-id")):
        known = {entry[key]: entry for entry in new.get(kind) or ()}
        if lacking := [entry[key] for entry in old.get(kind) or () if _fields(known.get(entry[key])) != _fields(entry)]:
            raise refuse(dataset, f"the replay created the table anew, without its {kind.rstrip('s')} {lacking[0]}")


def _fields(entry: Mapping[str, Any] | None) -> Any:
    return None if entry is None else entry.get("fields")


def _add_snapshot(metadata: Metadata, detail: Mapping[str, Any], instant: int) -> None:
    metadata |= {name: value for name, value in detail["schema"].items() if value is not None}
    number = max(int(metadata.get("last-sequence-number") or 0) + 1, int(detail["last-sequence-number"]))
    metadata["last-sequence-number"] = number
    if detail.get("next-row-id") is not None:
        metadata["next-row-id"] = max(int(metadata.get("next-row-id") or 0), int(detail["next-row-id"]))
    history = [*(metadata.get("snapshot-log") or ())]
    snapshot = detail["snapshot"]
    if snapshot is None:
        set_current(metadata, None)
        return
    summary = {**(snapshot.get("summary") or {}), "operation": "overwrite", MARK: detail["replay"]}
    made = {**snapshot, "sequence-number": number, "timestamp-ms": instant, "summary": summary}
    parent = metadata.get("current-snapshot-id")
    made.pop("parent-snapshot-id", None)
    if parent not in (None, -1):
        made["parent-snapshot-id"] = parent
    others = [entry for entry in metadata.get("snapshots") or () if entry["snapshot-id"] != made["snapshot-id"]]
    metadata["snapshots"] = [*others, made]
    set_current(metadata, int(made["snapshot-id"]))
    metadata["snapshot-log"] = [*history, {"timestamp-ms": instant, "snapshot-id": made["snapshot-id"]}]


def _current(metadata: Mapping[str, Any]) -> dict[str, Any] | None:
    current = metadata.get("current-snapshot-id")
    return next((dict(entry) for entry in metadata.get("snapshots") or () if entry["snapshot-id"] == current), None)


def _new_id(output: CommittedFolder) -> int | None:
    snapshot = output.detail["snapshot"]
    return None if snapshot is None else int(snapshot["snapshot-id"])


def _mark(output: CommittedFolder, version: int, *, new: bool) -> str:
    return f"{output.detail['replay']}: {'new' if new else 'old'} data in version {version}"


def _name(block: FileBlock) -> str:
    return uri_of(block.path).rpartition("/")[2]
