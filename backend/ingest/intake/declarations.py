"""Accepts declarations of types, containment, links and descriptions: checks them against the graph, then logs them.

For the API. A declaration that breaks a rule is refused before it is in the log, with the path of the fault. The
projection handles an entry of the log like an event. A refused declaration is no dead letter: the person who made it
reads the refusal.
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
from headwater.graph.stores import GraphStore

# The members of a declaration. Any other is refused here, where a person reads it: a slip like `remove` for `removed` would turn a removal
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
    """Takes declarations of one home."""

    def __init__(self, log: IngestLog, graph: GraphStore) -> None:
        self._log = log
        self._graph = graph

    async def declare(self, tenant: str, document: Mapping[str, Any], checked: CheckedDeclaration | None = None) -> int:
        """Take a declaration, which may be checked already. Its offset in the log, once it is durable.

        Raises:
            InvalidInputError: it has not the form, or breaks a rule.
            NotFoundError: it speaks of a node that nobody knows.
            UnavailableError: the graph store, which is asked, does not answer.
        """
        checked = checked or check_form(document)
        await check_declaration(self._graph, tenant, checked.declaration)
        future = self._log.append(tenant, [checked.draft])
        return (await asyncio.wrap_future(future))[0].offset


@dataclass(frozen=True, slots=True)
class CheckedDeclaration:
    """A declaration that has the form, and what the log keeps of it."""

    declaration: Declaration
    draft: Draft


def check_form(document: Mapping[str, Any]) -> CheckedDeclaration:
    """Check a declaration, as far as the document alone says; when it was made is set here.

    Raises:
        InvalidInputError: it has not the form.
    """
    _require_known(document)
    declared = {**_without_secrets(document), "declared": datetime.now(UTC).isoformat(timespec="microseconds")}
    key = document_key(declared)
    declaration = Declaration.from_json(declared)
    rehearse_declaration(declaration)
    body = json.dumps(declared, ensure_ascii=False, separators=(",", ":")).encode()
    return CheckedDeclaration(declaration, Draft(EntryKind.DECLARATION, key, body))


@dataclass(frozen=True, slots=True)
class ReadDeclaration:
    """A declaration as it was sent, and what its check came to.

    Whoever takes it first notes what it speaks of, for the audit.
    """

    document: dict[str, Any]
    outcome: CheckedDeclaration | InvalidInputError

    def checked(self) -> CheckedDeclaration:
        """The declaration, checked.

        Raises:
            InvalidInputError: it has not the form.
        """
        if isinstance(self.outcome, InvalidInputError):
            raise self.outcome
        return self.outcome


def read_packed_declaration(body: bytes, encoding: str | None, limit: int) -> ReadDeclaration:
    """The declaration of a body in an encoding.

    Raises:
        InvalidInputError: it is no JSON object.
    """
    document = read_packed_object(body, encoding, limit)
    try:
        return ReadDeclaration(document, check_form(document))
    except InvalidInputError as error:
        return ReadDeclaration(document, error)


def read_packed_object(body: bytes, encoding: str | None, limit: int) -> dict[str, Any]:
    """The JSON object of a body in an encoding.

    Raises:
        InvalidInputError: it is none, or is beyond the bounds of a declaration.
    """
    document = read_document(unpack(body, encoding=encoding, limit=limit), DECLARATION)
    if not isinstance(document, dict):
        raise InvalidInputError("The body is no object.", field="$", hint='Send {"descriptions": […]}.')
    return document


def _without_secrets(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document without secrets.

    Ids stay as they are: `column:file:lake/tokens:name` names a column and reveals nothing.
    """
    from headwater.backend.ingest.intake.redaction import redact  # its expressions take long to compile

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
