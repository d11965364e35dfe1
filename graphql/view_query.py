"""The GraphQL queries for views, lists and columns. Each checks its limits, queries the domain, and converts the answer."""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

import strawberry
from strawberry import UNSET

from headwater.graph import views as domain
from headwater.graph.access.scopes import Scope
from headwater.graph.stores.protocol import Direction
from headwater.graphql.fields import FieldAccess, FieldLineage
from headwater.graphql.impact import ImpactPage, RecordSet, impact_page
from headwater.graphql.limits import MAX_HOPS, MAX_NODES, bounded
from headwater.graphql.names import id_of, with_ids
from headwater.graphql.root_fields import query
from headwater.graphql.types import Info
from headwater.graphql.view_input import MAX_EDGES, ViewInput
from headwater.graphql.view_types import LineageView, LinkMembers, ViewDifference


@strawberry.type
class ViewQuery:
    @query(
        "Lineage around a focus, zoomed to levels and masked; zooming and masking never change which nodes lead to which.",
        scope=Scope.READ,
        costly=True,
        in_namespaces=True,
    )
    async def view(self, info: Info, view: ViewInput, first: int = 2000, edges: int = 20_000, after: str | None = UNSET) -> LineageView:
        size = bounded(first, "first", low=1, high=MAX_NODES)
        links = bounded(edges, "edges", low=1, high=MAX_EDGES)
        return await LineageView.of(info, await with_ids(info, view.request(first=size, edges=links, after=after or None)))

    @query("The members of one link of a view, and the masked nodes between.", scope=Scope.READ, costly=True, in_namespaces=True)
    async def view_link(
        self, info: Info, view: ViewInput, src: strawberry.ID, dst: strawberry.ID, first: int = 100, after: str | None = UNSET
    ) -> LinkMembers:
        made = await domain.view(info.context.graph, info.context.tenant, await with_ids(info, view.request()))
        return await LinkMembers.of(info, made, src, dst, first, after or None)

    @query("What changed in a view between two instants.", scope=Scope.READ, costly=True, in_namespaces=True)
    async def view_difference(self, info: Info, view: ViewInput, before: str, after: str) -> ViewDifference:
        """Compare a view at two times. The view's own time is ignored."""
        return await ViewDifference.of(info, await with_ids(info, view.request()), before, after)

    @query(
        "Everything downstream (impact) or upstream (causes) of nodes, or of a record set; nearest first.",
        scope=Scope.READ,
        costly=True,
        in_namespaces=True,
    )
    async def impact(
        self,
        info: Info,
        focus: list[strawberry.ID] | None = UNSET,
        records: RecordSet | None = UNSET,
        direction: Direction = Direction.DOWNSTREAM,
        depth: int = 100,
        first: int = 100,
        after: str | None = UNSET,
        former: bool = False,
    ) -> ImpactPage:
        """Return the impact of nodes, or of `records` if they are given. `former` also follows links that their jobs have given up."""
        return await impact_page(info, list(focus or ()), records or None, direction, depth, first, after or None, former)

    @query(
        "Which jobs read, wrote, created or dropped a column, in a window; earliest first.",
        scope=Scope.READ,
        costly=True,
        in_namespaces=True,
    )
    async def field_access(
        self, info: Info, column: strawberry.ID, since: str | None = UNSET, until: str | None = UNSET
    ) -> list[FieldAccess]:
        """Return the accesses to a column. Instants are ISO 8601."""
        named = await id_of(info, column)
        found = await domain.field_access(info.context.graph, info.context.tenant, named, since=since or None, until=until or None)
        return [FieldAccess.of(access) for access in found]

    @query(
        "The lineage of a column: simple (its ends, with the operations between) or detailed (each step).",
        scope=Scope.READ,
        costly=True,
        in_namespaces=True,
    )
    async def field_lineage(
        self,
        info: Info,
        column: strawberry.ID,
        direction: Direction = Direction.UPSTREAM,
        detailed: bool = False,
        depth: int = 50,
        former: bool = False,
    ) -> FieldLineage:
        """Return the lineage of a column. Upstream are its sources, downstream the columns that derive from it.

        `former` also follows derivations that their jobs have given up.
        """
        hops = bounded(depth, "depth", low=1, high=MAX_HOPS)
        named = await id_of(info, column)
        found = await domain.field_lineage(
            info.context.graph, info.context.tenant, named, direction=direction, detailed=detailed, depth=hops, former=former
        )
        info.context.loaders.budget.spend(len(found.nodes))
        return FieldLineage.of(found, named)
