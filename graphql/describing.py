"""People describe nodes, and read the glossary of business terms."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import Any

import strawberry

from headwater.errors import InvalidQueryError, NotFoundError, UnavailableError
from headwater.graph import glossary
from headwater.graph.access.scopes import Scope
from headwater.graph.model import NodeKind, kind_of
from headwater.graph.model.declaration import Aspect
from headwater.graphql.declarations import Descriptions
from headwater.graphql.root_fields import mutation, query
from headwater.graphql.services import available
from headwater.graphql.types import Info

_MOST_CHANGES = 200
_PATIENCE, _LOOK = 10.0, 0.02  # seconds
_PAGE = 500
_DESCRIBED = frozenset({
    NodeKind.DATASET, NodeKind.COLUMN, NodeKind.JOB, NodeKind.PIPELINE, NodeKind.PLATFORM, NodeKind.SYSTEM, NodeKind.ACTOR, NodeKind.DATA,
    NodeKind.TERM, NodeKind.TAG, NodeKind.OWNER,
})  # fmt: skip


@strawberry.enum(description="What people state of a node: several owners, stewards, tags and terms, and one of each other aspect.")
class DescribedAspect(StrEnum):
    OWNER = Aspect.OWNER.value
    STEWARD = Aspect.STEWARD.value
    TAG = Aspect.TAG.value
    TERM = Aspect.TERM.value
    DESCRIPTION = Aspect.DESCRIPTION.value
    RETENTION = Aspect.RETENTION.value
    LEGAL_HOLD = Aspect.LEGAL_HOLD.value
    BROADER = Aspect.BROADER.value


@strawberry.input(description="A statement about a node, or its removal. The removal of a single text needs no value.")
class DescriptionChange:
    aspect: DescribedAspect
    value: str = ""
    removed: bool = False


@strawberry.type(description="A term of the glossary. `broader` is the term above it; `level` counts the visible terms above it.")
class GlossaryTerm:
    id: strawberry.ID
    name: str
    broader: str | None
    level: int
    description: str | None
    owners: list[str]
    stewards: list[str]


@strawberry.type(description="Terms in the order of the hierarchy. `cut`: there are more terms than are listed.")
class Glossary:
    terms: list[GlossaryTerm]
    cut: bool


@strawberry.type
class GlossaryQuery:
    @query("The business terms, each after the term above it.", scope=Scope.READ, costly=True, in_namespaces=True)
    async def glossary(self, info: Info) -> Glossary:
        """Return the terms. A caller who may read some namespaces only gets the terms of nodes that he sees."""
        graph, tenant = info.context.graph, info.context.tenant
        found: list[glossary.Term] = []
        ids: dict[str, str] = {}
        last: str | None = None
        while (page := await graph.listed_after(tenant, f"{NodeKind.TERM}:", last, first=_PAGE)) and len(found) < glossary.MOST_TERMS:
            found += [glossary.Term.of(node) for node in page]
            ids |= {node.name: node.id for node in page}
            last = page[-1].id
        terms = [
            GlossaryTerm(
                id=strawberry.ID(ids[term.name]), name=term.name, broader=term.broader if term.broader in ids else None, level=level,
                description=term.description, owners=list(term.owners), stewards=list(term.stewards),
            )
            for level, term in glossary.sort_terms(found)
        ]  # fmt: skip
        return Glossary(terms=terms, cut=bool(page))


@strawberry.type
class DescriptionMutation:
    @mutation(
        "State or remove owners, stewards, tags, terms and texts of a node. The answer has what describes it then.",
        scope=Scope.DECLARE,
        costly=True,
        in_namespaces=True,
    )
    async def describe(self, info: Info, node: strawberry.ID, changes: list[DescriptionChange]) -> Descriptions:
        """Describe a node. The answer waits until the graph has the changes. All changes are made, or none."""
        declarations = available(info.context.services.declarations, "Declarations")
        if not 0 < len(changes) <= _MOST_CHANGES:
            raise InvalidQueryError(f"There are {len(changes)} changes.", field="changes", hint=f"State 1 to {_MOST_CHANGES} changes.")
        if kind_of(node) not in _DESCRIBED:
            raise InvalidQueryError(f"People do not describe a {kind_of(node)}.", field="node", hint="Describe the dataset or the job.")
        document: dict[str, Any] = {"descriptions": [_description(node, change) for change in changes]}
        async with info.context.audited("describe", node, changes=True):
            offset = await declarations.declare(info.context.tenant, document)
        await _settle(info, offset)
        found = await info.context.graph.get(info.context.tenant, [node])
        if not found:
            raise NotFoundError(f"Nothing is known of {node}.", hint="Search for its name.")
        return Descriptions.of(found[0])


def _description(node: str, change: DescriptionChange) -> dict[str, Any]:
    value = change.value.strip() if change.aspect is not DescribedAspect.DESCRIPTION else change.value
    stated: dict[str, Any] = {"id": node, "aspect": change.aspect.value, "value": value or "-" if change.removed else value}
    return stated | ({"removed": True} if change.removed else {})


async def _settle(info: Info, offset: int) -> None:
    """Wait until the graph contains an entry of the log.

    Raises:
        UnavailableError: the graph does not contain it in time.
    """
    for _ in range(round(_PATIENCE / _LOOK)):
        if await info.context.graph.offset(info.context.tenant) >= offset:
            return
        await asyncio.sleep(_LOOK)
    raise UnavailableError(
        "The change is durable, and the graph does not have it yet.", hint="Look again later. Sent again, it does no harm."
    )
