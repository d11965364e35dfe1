"""Whether the entries of a log are what was accepted: the key of an entry is the hash of its document."""

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
from headwater.errors import HeadwaterError


def is_as_accepted(entry: Entry) -> bool:
    """Return whether an entry has the document that its key was made of.

    The key of a PROV document cannot be checked.
    """
    return entry.kind is EntryKind.PROV or has_key(entry.body, bytes.fromhex(entry.key))


def entry_faults(path: Path) -> Iterator[Fault]:
    """Entries of the log whose bytes are not those that were accepted: their hash is their key."""
    if not path.exists():
        return
    try:
        with closing(open_to_read(path)) as database:
            for offset, kind, key, body in database.execute("SELECT offset, kind, key, body FROM entry ORDER BY offset"):
                if kind != "prov" and not has_key(body, key):
                    yield Fault("log", path, f"entry {offset} is not what was accepted")
    except sqlite3.Error as error:
        yield Fault("log", path, f"it cannot be read: {error}")


def has_key(body: bytes, key: bytes) -> bool:
    """Whether the bytes of an entry are those that its key was made of."""
    try:
        return document_key(json.loads(body)) == key
    except (ValueError, TypeError, RecursionError, HeadwaterError):
        return False
