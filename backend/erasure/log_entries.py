"""Erases a text, such as the name of a person, from the entries of the log. All proofs of the evidence still hold.

Each entry with the text is first appended again with a token in the place of the text. Everything else that the entry states stays known:
lineage, tags and holds. Then the contents of the old entry go, and its salt. The record lineage of a manifest with the text goes, too, and
traces report that it is missing.

The order survives a crash, because the token is the same for the same text: a second call does the rest, also if it finds no entry.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol
from urllib.parse import quote

from headwater.backend.audit.log import append_line
from headwater.backend.evidence.bundle import make_checkpoint
from headwater.backend.evidence.keys import SigningKey
from headwater.backend.evidence.tree import Tree
from headwater.backend.home.folder import Home
from headwater.backend.ingest.intake.documents import document_key
from headwater.backend.ingest.intake.prov import read_provenance
from headwater.backend.ingest.intake.receive import read_events
from headwater.backend.ingest.log.model import REDACTED, Draft, Entry, EntryKind
from headwater.backend.ingest.log.sqlite import SqliteLog
from headwater.backend.projection.rehearsal import rehearse_declaration
from headwater.errors import HeadwaterError, InvalidInputError
from headwater.graph.model.declaration import Declaration
from headwater.graph.prov import ProvFormat
from headwater.graph.records import AssociationStore

_SHORTEST = 3  # bytes of a text: a shorter one is in nearly every entry
_ESCAPES = (b"\\u", b"\\/")  # a body with one of them may spell a text in other ways than usual
_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunFacet"
_MAPS = ("fields", "columnMetrics")  # members of facets that have the names of columns as members


class Site(Protocol):
    """The workspace of a home."""

    home: Home
    records: AssociationStore


@dataclass(frozen=True, slots=True)
class FoundEntry:
    """An entry of the log with the text. `job` and `run` are empty if the entry names none.

    The kind `refused` is that of a refused document, which is no entry.
    """

    entry: int
    kind: str
    received: str
    job: str = ""
    run: str = ""


class TextErasure:
    """The erasure of one text from the log of a tenant."""

    def __init__(self, log: SqliteLog, tenant: str, text: str) -> None:
        """Raises `InvalidInputError` if the text is too short."""
        if len(text.strip().encode("utf-8", "surrogatepass")) < _SHORTEST:
            raise InvalidInputError(f"The text has fewer than {_SHORTEST} letters.", field="text", hint="Write more of it.")
        self._log, self._tenant, self._text = log, tenant, text
        self._spellings = _list_spellings(text)

    def find(self) -> list[FoundEntry]:
        """Return the entries with the text, in the order of the log, then the refused documents with it.

        Raises:
            InvalidInputError: a document would not be valid without the text.
        """
        found = []
        for entry in self._entries():
            self._draft(entry, "erased")
            document = json.loads(entry.body)
            job, run = (_read_name(document, *path) for path in (("job", "name"), ("run", "runId")))
            found.append(FoundEntry(entry.offset, entry.kind.value, entry.received, job, run))
        return found + [FoundEntry(0, "refused", letter.received) for letter in self._letters()]

    def erase(self, site: Site, tree: Tree, key: SigningKey) -> None:
        """Erase the text from the log and from the kept record lineage. The graph must be built again afterwards.

        Raises:
            UnavailableError: another process reads the log, so its old contents cannot be overwritten.
        """
        token = f"erased-{sha256(key.sign(f'erase {self._text}').encode()).hexdigest()[:12]}"
        offsets = [entry.offset for entry in self._entries()]
        line = {"who": "home", "tenant": self._tenant, "what": "evidence.erase", "on": [f"{len(offsets)} entries"], "decision": "allowed"}
        append_line(site.home.audit, {**line, "entries": offsets})
        captures = []
        for entry in self._entries():
            if (draft := self._draft(entry, token)) is not None:
                self._log.append(self._tenant, [draft]).result()
            else:
                captures.append(str(json.loads(entry.body)["capture"]))
        make_checkpoint(tree, self._log, key)  # all leaves are in the tree before a body goes
        for capture in captures:
            site.records.drop(self._tenant, capture)
        if captures:
            site.records.rebuild(self._tenant)  # no name stays in the catalog
        tree.forget(offsets)
        self._log.erase(self._tenant, offsets, [letter.id for letter in self._letters()])

    def _entries(self) -> Iterator[Entry]:
        """Yield the entries with the text."""
        bodies = {json.dumps(each, ensure_ascii=is_ascii)[1:-1] for each in self._spellings for is_ascii in (False, True)}
        texts = [each.encode("utf-8", "surrogatepass") for each in {*bodies, *self._spellings}]
        for offset in sorted(self._log.find_offsets(self._tenant, [*texts, *_ESCAPES])):
            entry = self._log.entry_at(self._tenant, offset)
            if entry is not None and self._replace(entry, "") != json.loads(entry.body):
                yield entry

    def _letters(self) -> Iterator[Any]:
        after = 0
        while letters := self._log.dead_letters(self._tenant, after=after):
            after = letters[-1].id
            for letter in letters:
                text = letter.body.decode("utf-8", "surrogateescape")
                if any(spelling in text for spelling in self._spellings) or self._is_in_document(letter.body):
                    yield letter

    def _is_in_document(self, body: bytes) -> bool:
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            return False
        return bool(_replace(document, self._in_text("")) != document)

    def _draft(self, entry: Entry, token: str) -> Draft | None:
        """Return an entry with a token in the place of the text. None for a manifest, whose record lineage goes as a whole."""
        if entry.kind is EntryKind.CAPTURE:
            return None
        document = self._replace(entry, token)
        try:
            return _DRAFTS[entry.kind](document, entry.offset)
        except HeadwaterError as error:
            raise InvalidInputError(
                f"Entry {entry.offset} would not be valid without the text: {error.message}", field="text", hint="Write more of it."
            ) from error

    def _replace(self, entry: Entry, token: str) -> Any:
        return _replace(json.loads(entry.body), self._in_text(token), has_ids=entry.kind is EntryKind.PROV)

    def _in_text(self, token: str) -> Callable[[str], str]:
        def replace(text: str) -> str:
            for spelling in self._spellings:
                text = text.replace(spelling, token)
            return text

        return replace


def _list_spellings(text: str) -> list[str]:
    """Return the spellings of a text, the longest first: composed or not, in a URL, and within JSON that is a text itself."""
    forms = {text, unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)}
    found = set(forms)
    for form in forms:
        found |= {json.dumps(form, ensure_ascii=is_ascii)[1:-1] for is_ascii in (False, True)}
        found |= {quote(form, safe=safe, errors="surrogatepass") for safe in ("", "/")}
    return sorted(found, key=lambda spelling: (-len(spelling), spelling))


def _replace(value: Any, in_text: Callable[[str], str], member: str = "", *, has_ids: bool = False) -> Any:
    """Replace the text in all texts of a document, and in members that are names of columns or, with `has_ids`, ids."""
    if isinstance(value, str):
        return in_text(value)
    if isinstance(value, list):
        return [_replace(part, in_text, member, has_ids=has_ids) for part in value]
    if isinstance(value, Mapping):
        is_map = has_ids or member in _MAPS
        return {(in_text(name) if is_map else name): _replace(part, in_text, name, has_ids=has_ids) for name, part in value.items()}
    return value


def _draft_event(event: dict[str, Any], offset: int) -> Draft:
    if isinstance(event.get("run"), dict):
        facet = {"_producer": "headwater:/erasure", "_schemaURL": _SCHEMA, "entry": offset}
        event["run"] = {**event["run"], "facets": {**(event["run"].get("facets") or {}), REDACTED: facet}}
    read = read_events(json.dumps(event, ensure_ascii=False).encode())
    if read.rejected:
        raise InvalidInputError(read.rejected[0].message)
    return read.drafts[0]


def _draft_declaration(document: dict[str, Any], offset: int) -> Draft:  # noqa: ARG001  # as for an event
    rehearse_declaration(Declaration.from_json(document))
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    return Draft(EntryKind.DECLARATION, document_key(document), body)


def _draft_provenance(document: dict[str, Any], offset: int) -> Draft:  # noqa: ARG001  # as for an event
    return read_provenance(json.dumps(document, ensure_ascii=False).encode(), ProvFormat.JSON)[0]


_DRAFTS = {EntryKind.EVENT: _draft_event, EntryKind.DECLARATION: _draft_declaration, EntryKind.PROV: _draft_provenance}


def _read_name(document: Any, *path: str) -> str:
    for name in path:
        document = document.get(name) if isinstance(document, Mapping) else None
    return document if isinstance(document, str) else ""
