"""Declarations at the door: what users state of types, containment, links and descriptions, checked against what is known, then logged.

For the API. What breaks a rule is refused before it is in the log, with the path of what is wrong; what is in the log is projected like
an event. A refused declaration is no dead letter: the person who made it reads the refusal.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from headwater.backend.ingest_log import Draft, EntryKind, IngestLog
from headwater.backend.intake.documents import document_key
from headwater.backend.projection.rehearsal import rehearse_declaration
from headwater.errors import InvalidInputError
from headwater.graph.integrity import check_declaration
from headwater.graph.model.declaration import Declaration
from headwater.graph.stores import GraphStore

# What a declaration may say. Anything else is refused here, where a person reads it: a slip as `remove` for `removed` would turn a removal
# into its opposite.
_PARTS: Mapping[str, frozenset[str]] = {
    "types": frozenset({"name", "axis", "within", "holds", "after"}),
    "instances": frozenset({"id", "properties"}),
    "containment": frozenset({"container", "child"}),
    "links": frozenset({"from", "to"}),
    "descriptions": frozenset({"id", "aspect", "value", "removed"}),
}
_WHOLE = frozenset({"by", "declared", *_PARTS})


class DeclarationIntake:
    """Takes declarations of one home."""

    def __init__(self, log: IngestLog, graph: GraphStore) -> None:
        self._log = log
        self._graph = graph

    async def declare(self, tenant: str, document: Mapping[str, Any]) -> int:
        """Take a declaration; when it was made is set here. Its offset in the log, once it is durable.

        Raises:
            InvalidInputError: it has not the form, or breaks a rule.
            NotFoundError: it speaks of a node that nobody knows.
            UnavailableError: the graph store, which is asked, does not answer.
        """
        from headwater.backend.intake.redaction import redact  # its expressions take long to compile

        _require_known(document)
        declared = {**redact(dict(document)), "declared": datetime.now(UTC).isoformat(timespec="microseconds")}
        key = document_key(declared)
        declaration = Declaration.from_json(declared)
        rehearse_declaration(declaration)
        await check_declaration(self._graph, tenant, declaration)
        body = json.dumps(declared, ensure_ascii=False, separators=(",", ":")).encode()
        future = self._log.append(tenant, [Draft(EntryKind.DECLARATION, key, body)])
        return (await asyncio.wrap_future(future))[0].offset


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
