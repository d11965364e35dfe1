"""Checks that the entries of a log are unchanged. The key of an entry is the hash of its document."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from headwater.backend.home.file_fault import Fault
from headwater.backend.home.sqlite_reader import open_to_read
from headwater.backend.ingest.intake.documents import document_key
from headwater.backend.ingest.log import Entry, EntryKind
from headwater.backend.ingest.log.model import ERASED
from headwater.errors import HeadwaterError


def is_as_accepted(entry: Entry) -> bool:
    """Whether an entry's document still matches its key. The key of a PROV document cannot be checked."""
    return entry.kind is EntryKind.PROV or has_key(entry.body, bytes.fromhex(entry.key))


def entry_faults(path: Path) -> Iterator[Fault]:
    """Yield a fault for entries of the log whose bytes do not match their key."""
    if not path.exists():
        return
    try:
        with closing(open_to_read(path)) as database:
            for offset, kind, key, body in database.execute("SELECT offset, kind, key, body FROM entry ORDER BY offset"):
                if kind not in (EntryKind.PROV, ERASED) and not has_key(body, key):
                    yield Fault("log", path, f"entry {offset} is not what was accepted")
    except sqlite3.Error as error:
        yield Fault("log", path, f"it cannot be read: {error}")


def has_key(body: bytes, key: bytes) -> bool:
    """Whether the hash of an entry's bytes is this key."""
    try:
        return document_key(json.loads(body)) == key
    except (ValueError, TypeError, RecursionError, HeadwaterError):
        return False
