"""Shadow tables of Iceberg: a metadata file for another folder, whose snapshots are those of the real table.

A replayed program finds its Hadoop catalogs over the shadow of their warehouses, so each table that it reads or writes needs a shadow
table. Metadata name all files by absolute paths. What the program writes goes to the folder of the shadow table. Settings that lead writes
elsewhere are left out, and no command may delete files of the real table (`gc.enabled`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headwater.backend.rerun.replay.model import TableBase
from headwater.errors import UnsupportedError
from headwater.graph.files.allowance import Allowance
from headwater.graph.files.iceberg_log import find_log_folder, find_newest_metadata, list_metadata_files, read_metadata
from headwater.graph.records import Look, uri_of

MARK = "headwater.replay"  # the key of our snapshots' summaries, and of the table's properties after a commit
_ELSEWHERE = ("write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path")
Metadata = dict[str, Any]


def find_base(dataset: str, place: str, written: Sequence[int], began_ms: float | None, look: Look) -> TableBase:
    """Return the snapshot before the snapshots `written` by one run. It is -1 if the table was empty.

    Raises:
        UnsupportedError: another program wrote between them, or the metadata do not contain them any more.
    """
    metadata = read_newest(look, place)
    snapshots = {int(entry["snapshot-id"]): entry for entry in metadata.get("snapshots") or ()}
    order = [int(entry["snapshot-id"]) for entry in metadata.get("snapshot-log") or ()]
    places = [number for number, identifier in enumerate(order) if identifier in written]
    if not places or not set(written) <= set(order):
        raise UnsupportedError(f"{dataset} has no snapshot of the run that a replay would repeat any more.", hint="Run the program again.")
    first, last = places[0], places[-1]
    if others := [each for each in order[first:last] if each not in written and not _keeps_rows(snapshots.get(each))]:
        raise UnsupportedError(
            f"Another program wrote the snapshot {others[0]} of {dataset} during the run that a replay would repeat.",
            hint="Run the program again, with no other writer.",
        )
    later = [each for each in order[last + 1 :] if each not in written and not _keeps_rows(snapshots.get(each))]
    base = order[first - 1] if first else _before_snapshots(look, place, began_ms)
    if base not in (None, -1) and base not in snapshots:
        raise UnsupportedError(f"The snapshot {base} of {dataset}, before the run that a replay would repeat, has expired.")
    return TableBase(dataset=dataset, kind="Iceberg", version=base, later=f"snapshot {', '.join(map(str, later))}" if later else "")


def find_current(dataset: str, place: str, look: Look) -> TableBase:
    """Return the present snapshot of a table that a program only reads."""
    current = read_newest(look, place).get("current-snapshot-id")
    return TableBase(dataset=dataset, kind="Iceberg", version=-1 if current is None else int(current))


def _keeps_rows(snapshot: Mapping[str, Any] | None) -> bool:
    summary = (snapshot or {}).get("summary") or {}
    return summary.get("operation") == "replace" or MARK in summary


def _before_snapshots(look: Look, place: str, began_ms: float | None) -> int | None:
    """Return -1 if an empty table was there before the run began. None if the run created the table."""
    files = list_metadata_files(look.listed(find_log_folder(place)) or [])
    oldest = read_metadata(look, files[min(files)][0], Allowance(place))
    is_empty = oldest.get("current-snapshot-id") in (None, -1)
    return -1 if is_empty and began_ms is not None and float(oldest["last-updated-ms"]) < began_ms else None


def lay(base: TableBase, place: str, folder: Path, look: Look) -> None:
    """Write the metadata of a shadow table into a folder."""
    metadata: Metadata = dict(read_newest(look, place))
    metadata["location"] = uri_of(folder)
    set_current(metadata, base.version)
    metadata["last-updated-ms"] = int(time.time() * 1000)
    metadata |= {"metadata-log": [], "statistics": [], "partition-statistics": []}
    properties = {name: text for name, text in (metadata.get("properties") or {}).items() if name not in _ELSEWHERE}
    metadata["properties"] = {**properties, "gc.enabled": "false"}
    (folder / "metadata").mkdir(parents=True)
    (folder / "metadata" / "v1.metadata.json").write_text(json.dumps(metadata))
    (folder / "metadata" / "version-hint.text").write_text("1")


def set_current(metadata: Metadata, identifier: int | None) -> None:
    """Make a snapshot the current one of some metadata, with its schema. None or -1: the table is empty."""
    snapshot = next((entry for entry in metadata.get("snapshots") or () if int(entry["snapshot-id"]) == identifier), None)
    refs = {name: ref for name, ref in (metadata.get("refs") or {}).items() if name != "main"}
    if snapshot is None:
        metadata |= {"current-snapshot-id": -1, "refs": refs, "snapshot-log": []}
        return
    metadata |= {"current-snapshot-id": identifier, "refs": {**refs, "main": {"snapshot-id": identifier, "type": "branch"}}}
    log = list(metadata.get("snapshot-log") or ())
    while log and int(log[-1]["snapshot-id"]) != identifier:
        log.pop()
    metadata["snapshot-log"] = log or [{"snapshot-id": identifier, "timestamp-ms": snapshot["timestamp-ms"]}]
    if "schema-id" in snapshot:
        metadata["current-schema-id"] = snapshot["schema-id"]


def read_newest(look: Look, place: str) -> Mapping[str, Any]:
    """Return the newest metadata of a table.

    Raises:
        UnsupportedError: there are none, or they cannot be read.
    """
    path = find_newest_metadata(look.listed(find_log_folder(place)) or [], place)
    if path is None:
        raise UnsupportedError(f"{place} is no table of Iceberg any more.")
    return read_metadata(look, path, Allowance(place))
