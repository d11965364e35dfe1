"""Erases the contents of log entries, such as events with the name of a person. Their leaves stay, so all proofs still hold.

Each event is first appended again in a reduced form: its time, run, job and datasets, without facets. Lineage by dataset therefore stays
known. This is not possible if the name of a job or dataset has the text.

The order survives a crash: the record lineage of manifests goes first, then the salts, then the bodies. A second call does the rest.
The graph has to be built again afterwards, without what the entries stated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from headwater.backend.evidence.bundle import make_checkpoint
from headwater.backend.evidence.keys import SigningKey
from headwater.backend.evidence.tree import Tree
from headwater.backend.ingest.log.model import Entry, EntryKind
from headwater.backend.ingest.log.sqlite import SqliteLog
from headwater.errors import InvalidInputError, NotFoundError
from headwater.graph.records import AssociationStore

_SHORTEST = 3  # characters of a text: a shorter one is in nearly every entry


def find_entries(log: SqliteLog, tenant: str, numbers: Collection[int], text: str | None) -> list[Entry]:
    """Return the chosen entries without their bodies: those with some numbers, and those with a text in their body.

    Raises:
        InvalidInputError: nothing is chosen, or the text is too short or in every entry.
        NotFoundError: the log has no entry with a number.
    """
    if not numbers and text is None:
        raise InvalidInputError("No entry is chosen.", field="entry", hint="Say --entry N, or --containing TEXT.")
    found = {}
    for number in numbers:
        entry = log.entry_at(tenant, number)
        if entry is None:
            raise NotFoundError(f"The log has no entry {number}, or it is erased.", hint="--containing TEXT finds entries.")
        found[number] = entry
    if text is not None:
        if len(text.strip()) < _SHORTEST:
            raise InvalidInputError(f"The text has fewer than {_SHORTEST} characters.", field="containing", hint="Write more of it.")
        holders = log.containing(tenant, list_spellings(text))
        if len(holders) > 1 and len(holders) == log.pending(tenant, after=0):
            raise InvalidInputError(
                f"All {len(holders):,} entries of the log contain the text.", field="containing", hint="Write more of it."
            )
        found |= {entry.offset: entry for entry in holders}
    return [found[number] for number in sorted(found)]


def list_spellings(text: str) -> list[bytes]:
    """Return the spellings of a text in JSON: with its characters as they are, and with their escapes."""
    escaped = (json.dumps(text, ensure_ascii=is_ascii)[1:-1] for is_ascii in (False, True))
    return list(dict.fromkeys(spelling.encode("utf-8", "surrogatepass") for spelling in (text, *escaped)))


def reduce_events(log: SqliteLog, tenant: str, entries: Sequence[Entry], text: str | None) -> list[bytes]:
    """Return the reduced forms of the events among some entries, without those that still have the text."""
    reduced = []
    for entry in entries:
        if entry.kind is EntryKind.EVENT and (whole := log.entry_at(tenant, entry.offset)) is not None:
            event = json.loads(whole.body)
            body = json.dumps({name: _NAMES.get(name, _whole)(event[name]) for name in _REDUCED if name in event}).encode()
            if text is None or not any(spelling in body for spelling in list_spellings(text)):
                reduced.append(body)
    return reduced


def _whole(value: Any) -> Any:
    return value


def _name(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value[name] for name in ("runId", "namespace", "name") if name in value}


def _names(values: Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    return [_name(value) for value in values or ()]


_NAMES: Mapping[str, Callable[[Any], Any]] = {"run": _name, "job": _name, "dataset": _name, "inputs": _names, "outputs": _names}
_REDUCED = ("eventType", "eventTime", "producer", "schemaURL", *_NAMES)


def erase_entries(
    log: SqliteLog, tree: Tree, records: AssociationStore, key: SigningKey, tenant: str, entries: Sequence[Entry], text: str | None
) -> int:
    """Erase entries, the record lineage of those that are manifests, and refused documents with the text. Return the number of entries."""
    make_checkpoint(tree, log, key)  # all leaves are in the tree before a body goes
    for entry in entries:
        if entry.kind is EntryKind.CAPTURE and (whole := log.entry_at(tenant, entry.offset)) is not None:
            records.drop(tenant, json.loads(whole.body)["capture"])
    for entry in entries:
        tree.forget(entry.offset)
    return log.erase(tenant, [entry.offset for entry in entries], list_spellings(text) if text is not None else ())
