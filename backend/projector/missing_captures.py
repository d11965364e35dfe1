"""Finds captures that are in the log but not in the associations, because a removed folder leaves no damaged file.

The checks and the repair of the store use this, and the rebuild of the catalog from stored captures,
which cannot show missing ones. A pruned capture keeps its folder, so it does not count as missing.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from headwater.backend.home.file_fault import Fault
from headwater.backend.home.sqlite_reader import open_to_read
from headwater.backend.ingest.log import EntryKind, IngestLog, Stage
from headwater.graph.records import AssociationStore
from headwater.graph.records.staging import FOLDER as STAGING

_BATCH = 1_000
_CAPTURES = """SELECT offset, body FROM entry e WHERE tenant = ? AND kind = ? AND NOT EXISTS
  (SELECT 1 FROM dead_letter d WHERE d.tenant = e.tenant AND d.offset = e.offset AND d.stage IN (?, ?)) ORDER BY offset"""
_log = logging.getLogger("headwater.soundness")


def absent_captures(rows: Iterable[tuple[int, bytes]], is_there: Callable[[str], bool], projected: int) -> dict[str, int]:
    """Return the captures of some entries (offset, body) that were published and are missing, with the offset of their last entry.

    `projected` is an offset up to which entries were certainly projected. A capture that waits for publication has staged segments.
    """
    stated: dict[str, tuple[int, bool]] = {}
    for offset, body in rows:
        try:
            manifest = json.loads(body)
            stated[str(manifest["capture"])] = offset, bool(manifest.get("segments"))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue  # the check of the log reports this damaged entry
    return {
        capture: offset
        for capture, (offset, has_segments) in stated.items()
        if (has_segments or offset <= projected) and not is_there(capture)
    }


def absent_of(log: IngestLog, records: AssociationStore, tenant: str, projected: int) -> dict[str, int]:
    """Return the missing captures of a tenant's log. Refused or set-aside captures were never published."""
    return absent_captures(_captures(log, tenant), lambda capture: records.is_there(tenant, capture), projected)


def absence_faults(log: Path, associations: Path) -> Iterator[Fault]:
    """Yield the folders of captures that are in a home's log but missing on the disk."""
    if not log.exists():
        return
    absent: dict[Path, dict[str, int]] = {}
    try:
        with closing(open_to_read(log)) as database:
            for (tenant,) in database.execute("SELECT DISTINCT tenant FROM entry").fetchall():
                rows = database.execute(_CAPTURES, [tenant, EntryKind.CAPTURE, Stage.PROJECTION, Stage.QUARANTINE])
                folder = associations / tenant
                absent[folder] = absent_captures(rows, partial(_is_in, folder), 0)
    except sqlite3.Error:
        return  # the check of the log reports this damage
    for folder, captures in absent.items():
        for capture, offset in captures.items():
            yield Fault("associations", folder / capture[-2:] / capture, f"it is missing; entry {offset} of the log states this capture")


def note_absent_captures(log: IngestLog, records: AssociationStore, tenant: str, projected: int) -> None:
    """Let the answers of a tenant report the captures that are in the log but missing on the disk."""
    for capture, offset in absent_of(log, records, tenant, projected).items():
        _log.error("capture %s of entry %d is not kept any more", capture, offset)
        records.catalog.note_lost(tenant, capture, f"entry {offset} of the log states it, and its folder is missing.")


def _is_in(folder: Path, capture: str) -> bool:
    places = (folder / STAGING / capture, folder / capture[-2:] / capture, folder / capture)  # in the order of publishing
    return any(place.is_dir() for place in places)


def _captures(log: IngestLog, tenant: str) -> Iterator[tuple[int, bytes]]:
    refused = {*log.buried_at(tenant, Stage.PROJECTION), *log.buried_at(tenant, Stage.QUARANTINE)}
    after = 0
    while entries := log.read(tenant, after=after, limit=_BATCH):
        after = entries[-1].offset
        yield from ((one.offset, one.body) for one in entries if one.kind is EntryKind.CAPTURE and one.offset not in refused)
