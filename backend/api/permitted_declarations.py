"""Declarations of a caller: the author, and what the caller may declare or remove."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.backend.access.masks import EVERYTHING
from headwater.backend.api.authorization import author_of
from headwater.backend.api.context import Service
from headwater.backend.api.credentials import Principal
from headwater.backend.api.errors import ForbiddenError
from headwater.backend.ingest.intake.declarations import CheckedDeclaration, DeclarationIntake, check_form
from headwater.backend.policies import Policies
from headwater.graph.access.scopes import Scope
from headwater.graph.access.visibility import NAMED, kind_named, namespace_of
from headwater.graph.model.declaration import Aspect

_SELECTED_BY = {Aspect.TAG: "tag", Aspect.OWNER: "owner", Aspect.STEWARD: "owner", Aspect.TERM: "term"}  # parts of selectors
_ASPECTS = set(Aspect)


class PermittedDeclarations:
    """The `DeclarationService` of one caller. Only callers who may see a masked column may remove the tag that masks it.

    Only callers who may declare everywhere may remove what a policy selects by.
    """

    def __init__(self, declarations: DeclarationIntake, parts: Service, who: Principal) -> None:
        self._declarations = declarations
        self._masks = parts.masks
        self._parts = parts
        self._who = who

    async def declare(self, tenant: str, document: Mapping[str, Any], checked: CheckedDeclaration | None = None) -> int:
        """Accept a declaration (see `DeclarationIntake`). `checked` was made with `author_of`.

        A caller restricted to namespaces may only declare facts about them, because the intake does not know the caller.
        """
        if self._who.is_restricted(Scope.DECLARE) and (where := _of_no_namespace(document)):
            raise ForbiddenError(f"{where} is of no namespace, and this key declares in some alone.", hint="Leave it out.")
        removed = _removed(document)
        if self._who.is_restricted(Scope.DECLARE) and removed:
            await self._require_unselected(tenant, removed)
        rules = self._masks.of(tenant)
        for identifier, tag in ((identifier, value) for identifier, aspect, value in removed if aspect is Aspect.TAG):
            if EVERYTHING in rules or any(rule.tag is not None and _withdraws(tag, rule.tag) for rule in rules):
                self._require_unmasked(identifier)
        return await self._declarations.declare(tenant, document, checked or check_form(document, author_of(self._who)))

    async def _require_unselected(self, tenant: str, removed: Sequence[tuple[str, Aspect, str]]) -> None:
        """Check that no policy selects nodes by what a caller removes."""
        policies = Policies(self._parts.settings, self._parts.workspace.graph)
        try:
            for _, aspect, value in removed:
                part = _SELECTED_BY.get(aspect)
                if part is not None and await policies.selects_by(tenant, part, value):
                    raise ForbiddenError(
                        f"A policy selects by the {part} {value}, and {self._who.name} declares in some namespaces only.",
                        hint="Ask for a key that may declare everywhere: headwater admin keys.",
                    )
        finally:
            await policies.close()

    def _require_unmasked(self, identifier: str) -> None:
        """Check that the caller may see masked columns in the namespace of a node."""
        self._who.require(Scope.UNMASKED)
        namespaces = [self._who.within[scope] for scope in (Scope.UNMASKED, Scope.RECORDS, Scope.READ) if scope in self._who.within]
        if not all(permitted.has(namespace_of(identifier) or "") for permitted in namespaces):
            raise ForbiddenError(
                f"{self._who.name} may see masked columns in other namespaces only, so it may not remove a tag that masks here.",
                hint="Ask who runs the service for a key that may: headwater admin keys.",
            )


def _of_no_namespace(document: Mapping[str, Any]) -> str | None:
    """Return the path of the first statement about something without a namespace."""
    for part in ("types", "instances"):
        if document.get(part):
            return f"$.{part}"
    stated = document.get("descriptions")
    for index, entry in enumerate(stated if isinstance(stated, list) else ()):
        if isinstance(entry, Mapping) and kind_named(str(entry.get("id"))) not in NAMED:
            return f"$.descriptions[{index}]"
    return None


def _removed(document: Mapping[str, Any]) -> list[tuple[str, Aspect, str]]:
    """Return what a document removes of descriptions, each with the node and the aspect."""
    stated = document.get("descriptions")
    entries = [entry for entry in stated if isinstance(entry, Mapping)] if isinstance(stated, list) else []
    removed = [entry for entry in entries if entry.get("removed") is True and entry.get("aspect") in _ASPECTS]
    return [(str(entry.get("id")), Aspect(entry["aspect"]), str(entry.get("value"))) for entry in removed]


def _withdraws(removed: str, tag: str) -> bool:
    """Return whether the removal of a tag also removes the tag of a mask. The removal of `level` removes `level=high`."""
    return removed.casefold() in (tag.casefold(), tag.partition("=")[0].casefold())
