"""Checks that the catalog of captures is as new as the log.

An older copy of the catalog, for example from a backup, would lack captures without being damaged.

The catalog counts its changes, and the log stores the count whenever captures were published. One small query reads
both, so each start compares them. Associations that replicas share have no count: the captures of the other replicas
bring an older copy up to date.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from headwater.backend.home.file_fault import Fault
from headwater.backend.home.sqlite_reader import open_to_read
from headwater.backend.ingest.log import IngestLog
from headwater.graph.records import AssociationStore

_SOURCE, _ITEM = "associations", "catalog.db"
_log = logging.getLogger("headwater.soundness")


async def note_generation(log: IngestLog, generation: int) -> None:
    """Store the number of changes of the catalog in the log."""
    await asyncio.wrap_future(log.mark(_SOURCE, _ITEM, str(generation)))


def fill_older_copy(log: IngestLog, records: AssociationStore) -> None:
    """Rebuild the catalog from the stored captures if it is older than the log."""
    known, noted = records.generation(), _number(log.marks(_SOURCE).get(_ITEM))
    if known is None or known >= noted:
        return
    if records.was_filled:
        records.catalog.go_on_from(noted)
        return
    _log.warning("the catalog of captures is an older copy (change %d of %d); it is made anew of what is kept", known, noted)
    records.fill_again(noted)


def age_faults(log: Path, catalog: Path) -> Iterator[Fault]:
    """Yield a fault if the file of the catalog is older than the file of the log."""
    try:
        with closing(open_to_read(log)) as database:
            rows = database.execute("SELECT state FROM mark WHERE source = ? AND item = ?", [_SOURCE, _ITEM]).fetchall()
        with closing(open_to_read(catalog)) as database:
            ((known,),) = database.execute("SELECT number FROM generation").fetchall()
    except (sqlite3.Error, ValueError):
        return  # faults of the files themselves are found by their own checks
    if rows and known < (noted := _number(rows[0][0])):
        yield Fault("catalog", catalog, f"it is an older copy: it has change {known}, the log knows of change {noted}")


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 0
