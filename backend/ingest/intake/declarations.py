"""Accepts declarations of types, containment, links and descriptions: checks them against the graph, then appends them to the log.

A declaration that breaks a rule is refused before it is in the log, with the path of the fault. The
projection handles an entry of the log like an event. A refused declaration does not become a dead letter, because the person who sent it
sees the refusal.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from headwater.backend.ingest.intake.bodies import unpack
from headwater.backend.ingest.intake.documents import document_key, read_document
from headwater.backend.ingest.intake.scan import DECLARATION
from headwater.backend.ingest.log import Draft, EntryKind, IngestLog
from headwater.backend.projection.rehearsal import rehearse_declaration
from headwater.errors import InvalidInputError
from headwater.graph.integrity import check_declaration
from headwater.graph.model.declaration import Declaration
from headwater.graph.model.stated_texts import check_texts
from headwater.graph.stores import GraphStore

# The members of a declaration. Unknown members are refused, because a slip like `remove` for `removed` would turn a removal
# into its opposite.
_PARTS: Mapping[str, frozenset[str]] = {
    "types": frozenset({"name", "axis", "within", "holds", "after"}),
    "instances": frozenset({"id", "properties"}),
    "containment": frozenset({"container", "child"}),
    "links": frozenset({"from", "to"}),
    "descriptions": frozenset({"id", "aspect", "value", "removed"}),
}
_IDS: Mapping[str, frozenset[str]] = {
    "types": frozenset({"name", "within", "holds", "after"}),
    "instances": frozenset({"id"}),
    "containment": frozenset({"container", "child"}),
    "links": frozenset({"from", "to"}),
    "descriptions": frozenset({"id"}),
}
_WHOLE = frozenset({"by", "declared", *_PARTS})


class DeclarationIntake:
    """Accepts declarations of one home."""

    def __init__(self, log: IngestLog, graph: GraphStore) -> None:
        self._log = log
        self._graph = graph

    async def declare(self, tenant: str, document: Mapping[str, Any], checked: CheckedDeclaration | None = None) -> int:
        """Accept a declaration, and return its offset in the log once it is durable. `checked` is the result of an earlier check.

        Raises:
            InvalidInputError: the declaration is malformed, or breaks a rule.
            NotFoundError: the declaration names an unknown node.
            UnavailableError: the graph store or the log does not answer.
        """
        checked = checked or check_form(document)
        await check_declaration(self._graph, tenant, checked.declaration)
        future = self._log.append(tenant, [checked.draft])
        return (await asyncio.wrap_future(future))[0].offset


@dataclass(frozen=True, slots=True)
class CheckedDeclaration:
    """A well-formed declaration, and its log entry."""

    declaration: Declaration
    draft: Draft


@dataclass(frozen=True, slots=True)
class Author:
    """The caller who sends a declaration. An empty name is the owner of the home, whose word about the author counts.

    `names_others` is true for a key of a program. Its declarations state the key, and in addition the author that the document names.
    """

    name: str
    names_others: bool = False

    def signature(self, stated: str) -> str:
        """Return the author for the log. `stated` is the author that the document names."""
        if not self.name:
            return stated or "home"
        return f"{stated} ({self.name})" if stated and self.names_others else self.name


OWNER = Author("")


def check_form(document: Mapping[str, Any], author: Author = OWNER) -> CheckedDeclaration:
    """Check the form of a declaration without the graph, and set its time and its author.

    Raises:
        InvalidInputError: the declaration is malformed.
    """
    _require_known(document)
    declared = {
        **_without_secrets(document),
        "by": author.signature(str(document.get("by") or "")),
        "declared": datetime.now(UTC).isoformat(timespec="microseconds"),
    }
    key = document_key(declared)
    declaration = Declaration.from_json(declared)
    check_texts(declaration)
    rehearse_declaration(declaration)
    body = json.dumps(declared, ensure_ascii=False, separators=(",", ":")).encode()
    return CheckedDeclaration(declaration, Draft(EntryKind.DECLARATION, key, body))


@dataclass(frozen=True, slots=True)
class ReadDeclaration:
    """A declaration as it was sent, and the result of its check. The audit log needs its subjects even if the check failed."""

    document: dict[str, Any]
    outcome: CheckedDeclaration | InvalidInputError

    def checked(self) -> CheckedDeclaration:
        """Return the checked declaration.

        Raises:
            InvalidInputError: the declaration is malformed.
        """
        if isinstance(self.outcome, InvalidInputError):
            raise self.outcome
        return self.outcome


def read_packed_declaration(body: bytes, encoding: str | None, limit: int, author: Author = OWNER) -> ReadDeclaration:
    """Decompress and parse a declaration of an author.

    Raises:
        InvalidInputError: the body is not a JSON object.
    """
    document = read_packed_object(body, encoding, limit)
    try:
        return ReadDeclaration(document, check_form(document, author))
    except InvalidInputError as error:
        return ReadDeclaration(document, error)


def read_packed_object(body: bytes, encoding: str | None, limit: int) -> dict[str, Any]:
    """Decompress a body and parse it as a JSON object.

    Raises:
        InvalidInputError: the body is not an object, or exceeds the limits of a declaration.
    """
    document = read_document(unpack(body, encoding=encoding, limit=limit), DECLARATION)
    if not isinstance(document, dict):
        raise InvalidInputError("The body is no object.", field="$", hint='Send {"descriptions": […]}.')
    return document


def _without_secrets(document: Mapping[str, Any]) -> dict[str, Any]:
    """Remove secrets from a document. Ids stay unchanged: `column:file:lake/tokens:name` reveals nothing."""
    from headwater.backend.ingest.intake.redaction import redact  # imported late, because its regular expressions take long to compile

    clean: dict[str, Any] = dict(redact({name: part for name, part in document.items() if name not in _IDS}))
    for part, ids in _IDS.items():
        items = document.get(part)
        if isinstance(items, list):
            clean[part] = [_item(redact, item, ids) if isinstance(item, Mapping) else redact(item) for item in items]
        elif part in document:
            clean[part] = redact(items)
    return clean


def _item(redact: Callable[[Any], Any], item: Mapping[str, Any], ids: frozenset[str]) -> dict[str, Any]:
    others = redact({name: value for name, value in item.items() if name not in ids})
    return {name: item[name] for name in item if name in ids} | dict(others)


def _require_known(document: Mapping[str, Any]) -> None:
    _refuse_unknown("$", document, _WHOLE)
    for name, known in _PARTS.items():
        items = document.get(name)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, Mapping):
                _refuse_unknown(f"$.{name}[{index}]", item, known)


def _refuse_unknown(path: str, item: Mapping[str, Any], known: frozenset[str]) -> None:
    if unknown := sorted(set(item) - known):
        raise InvalidInputError(
            f"{path} has {unknown[0]!r}, which says nothing.",
            field=f"{path}.{unknown[0]}",
            hint=f"It may have: {', '.join(sorted(known))}.",
        )
