"""Erases the contents of log entries, such as events with the name of a person. All proofs of the evidence still hold.

Each event is first appended again in a short form: its time, run, job and datasets, without facets. Lineage by dataset therefore stays
known. This is not possible if the name of a job or dataset has the text.

The order survives a crash: short forms come first. Then record lineage, salts and bodies go, and the graph is built again. A second call
does the rest, also if it finds no entry.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from headwater.backend.audit.log import append_line
from headwater.backend.evidence.bundle import make_checkpoint
from headwater.backend.evidence.keys import SigningKey
from headwater.backend.evidence.tree import Tree
from headwater.backend.home.folder import Home
from headwater.backend.ingest.intake.receive import EventIntake
from headwater.backend.ingest.log.model import REDUCED, Entry, EntryKind
from headwater.backend.ingest.log.sqlite import SqliteLog
from headwater.errors import InvalidInputError, NotFoundError
from headwater.graph.records import AssociationStore

_SHORTEST = 3  # characters of a text: a shorter one is in nearly every entry
_ESCAPES = (b"\\u", b"\\/")  # a body with one of them may spell a text in other ways than usual
_PARTS = ("runId", "namespace", "name")


class Site(Protocol):
    """The workspace of a home."""

    home: Home
    records: AssociationStore

    @property
    def events(self) -> EventIntake: ...


@dataclass(frozen=True, slots=True)
class FoundEntry:
    """An entry of the log for a person to judge. `job` and `run` are empty if the entry names none."""

    entry: int
    kind: str
    received: str
    job: str
    run: str


def find_entries(log: SqliteLog, tenant: str, numbers: Collection[int], text: str | None) -> list[FoundEntry]:
    """Return the entries with some numbers, and those with a text, in the order of the log.

    Raises:
        InvalidInputError: neither is given, or the text is too short or in every entry.
        NotFoundError: the log has no entry with a number.
    """
    if not numbers and text is None:
        raise InvalidInputError("No entry is chosen.", field="entry", hint="Say --entry N, or --containing TEXT.")
    found = set(numbers)
    if text is not None:
        if len(text.strip()) < _SHORTEST:
            raise InvalidInputError(f"The text has fewer than {_SHORTEST} characters.", field="containing", hint="Write more of it.")
        offsets = _find_offsets(log, tenant, text)
        if len(offsets) > 1 and len(offsets) == log.pending(tenant, after=0):
            message = f"All {len(offsets):,} entries of the log contain the text."
            raise InvalidInputError(message, field="containing", hint="Write more of it, or choose entries with --entry.")
        found |= offsets
    return [_describe(_read(log, tenant, number)) for number in sorted(found)]


def erase_entries(site: Site, log: SqliteLog, tree: Tree, key: SigningKey, tenant: str, numbers: Sequence[int], text: str | None) -> None:
    """Erase entries, the record lineage of those that are manifests, and refused documents with the text.

    The graph must be built again afterwards.

    Raises:
        UnavailableError: another process reads the log, so its old contents cannot be overwritten.
    """
    line = {"who": "home", "tenant": tenant, "what": "evidence.erase", "on": [f"{len(numbers)} entries of the log"], "decision": "allowed"}
    append_line(site.home.audit, {**line, "entries": [*numbers]})
    for number in numbers:
        if (short := _shorten(_read(log, tenant, number), text)) is not None:
            site.events.submit(tenant, short).result()
    make_checkpoint(tree, log, key)  # all leaves are in the tree before a body goes
    for number in numbers:
        entry = _read(log, tenant, number)
        if entry.kind is EntryKind.CAPTURE:
            site.records.drop(tenant, json.loads(entry.body)["capture"])
    tree.forget(numbers)
    letters = [] if text is None else list(_find_letters(log, tenant, text))
    log.erase(tenant, numbers, letters)


def _read(log: SqliteLog, tenant: str, number: int) -> Entry:
    entry = log.entry_at(tenant, number)
    if entry is None:
        raise NotFoundError(f"The log has no entry {number}, or it is erased.", hint="--containing TEXT finds entries.")
    return entry


def _describe(entry: Entry) -> FoundEntry:
    job = run = ""
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        document = json.loads(entry.body)
        job, run = str(document.get("job", {}).get("name", "")), str(document.get("run", {}).get("runId", ""))
    return FoundEntry(entry.offset, entry.kind.value, entry.received, job, run)


def _find_offsets(log: SqliteLog, tenant: str, text: str) -> set[int]:
    """Return the entries whose body has a text, in any spelling of JSON."""
    usual = {json.dumps(text, ensure_ascii=is_ascii)[1:-1].encode("utf-8", "surrogatepass") for is_ascii in (False, True)}
    found = set(log.find_offsets(tenant, [text.encode("utf-8", "surrogatepass"), *usual]))
    odd = (_read(log, tenant, offset) for offset in log.find_offsets(tenant, _ESCAPES) if offset not in found)
    return found | {entry.offset for entry in odd if _has_text(entry.body, text)}


def _find_letters(log: SqliteLog, tenant: str, text: str) -> Iterator[int]:
    after = 0
    while letters := log.dead_letters(tenant, after=after):
        after = letters[-1].id
        yield from (letter.id for letter in letters if text.encode("utf-8", "surrogatepass") in letter.body or _has_text(letter.body, text))


def _has_text(body: bytes, text: str) -> bool:
    with suppress(ValueError, RecursionError):
        return any(text in part for part in _list_texts(json.loads(body)))
    return False


def _list_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield name
            yield from _list_texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _list_texts(part)


def _shorten(entry: Entry, text: str | None) -> bytes | None:
    """Return the short form of an event. None for other entries, and if the short form has the text."""
    if entry.kind is not EntryKind.EVENT:
        return None
    event = json.loads(entry.body)
    short = {name: event[name] for name in ("eventType", "eventTime", "schemaURL") if name in event} | {"producer": REDUCED}
    short |= {name: _shorten_names(event[name]) for name in ("run", "job", "dataset") if name in event}
    short |= {name: [_shorten_names(dataset) for dataset in event[name] or ()] for name in ("inputs", "outputs") if name in event}
    return None if text is not None and any(text in part for part in _list_texts(short)) else json.dumps(short).encode()


def _shorten_names(node: Mapping[str, Any]) -> dict[str, Any]:
    return {name: node[name] for name in _PARTS if name in node}
