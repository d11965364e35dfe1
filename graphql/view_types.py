"""The answers of views and of their differences, in the schema.

The logic is in `graph/views`; expensive parts are computed only if selected.
"""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

import strawberry
from strawberry import UNSET

from headwater.graph import views as domain
from headwater.graph.model import NodeKind
from headwater.graphql.limits import MAX_PAGE, bounded
from headwater.graphql.types import Info, Node


@strawberry.type(description="A visible node. `members` are the nodes below it that take part; `distance` is that of the nearest, in hops.")
class ViewNode:
    """A node in a view. `upstream` is true only if a path leads from a member to the focus, `downstream` only for a path back."""

    node: Node
    distance: int
    members: int
    focus: bool
    upstream: bool
    downstream: bool
    made: strawberry.Private[domain.View]

    @strawberry.field(
        description="Whether all data that enters the node leaves it by every link. A path through such nodes is a path of data."
    )
    async def wholly(self) -> bool:
        return self.made.wholly(self.node.id)

    @strawberry.field(description="Whether the lineage goes on from here, beyond the depth or the limit. Such a node is no end.")
    async def cut(self) -> bool:
        return self.node.id in await self.made.cut()


@strawberry.type(description="Two members that a link joins.")
class MemberPair:
    """A flow between two members. A node without members is its own member."""

    src: strawberry.ID
    dst: strawberry.ID


@strawberry.type(description="The members of a link. `withheld` counts the masked nodes that the asker may not know.")
class LinkMembers:
    """A page of the flows behind a link, and a page of its masked nodes. `maskedTotal` counts all masked nodes of the link."""

    pairs: list[MemberPair]
    total: int
    cursor: str | None
    masked: list[Node]
    masked_total: int
    withheld: int

    @classmethod
    async def of(cls, info: Info, made: domain.View, src: str, dst: str, first: int, after: str | None) -> LinkMembers:
        found = await made.members(src, dst, first=bounded(first, "first", low=1, high=MAX_PAGE), after=after)
        info.context.loaders.budget.spend(len(found.pairs) + len(found.masked))
        return cls(
            pairs=[MemberPair(src=strawberry.ID(one), dst=strawberry.ID(other)) for one, other in found.pairs],
            total=found.total,
            cursor=found.cursor,
            masked=[Node.of(node) for node in found.masked],
            masked_total=found.masked_total,
            withheld=found.withheld,
        )


@strawberry.type(description="A link: `weight` flows out of `src` arrive at `dst`, directly or via masked nodes. `via` null: not counted.")
class ViewEdge:
    """A link in a view. `direct` is true if a flow of the link passes no masked node."""

    src: strawberry.ID
    dst: strawberry.ID
    weight: int
    direct: bool
    via: int | None
    made: strawberry.Private[domain.View]

    @strawberry.field(
        description="Whether the link is former: on each of its paths, a job has given up a flow, because a later run stated flows on the"
        " same side without it. False in a view as of an instant."
    )
    async def former(self) -> bool:
        return (self.src, self.dst) in await self.made.former()

    @strawberry.field(description="The members that the link joins, and the masked nodes between.")
    async def members(self, info: Info, first: int = 100, after: str | None = UNSET) -> LinkMembers:
        return await LinkMembers.of(info, self.made, self.src, self.dst, first, after or None)


@strawberry.type(description="Counts of the whole view, not of the page. `beyond`: nodes one hop further than depth or limit allowed.")
class ViewTotals:
    """Totals of a view. `reached` counts the nodes from which the view was computed."""

    nodes: int
    edges: int
    reached: int
    masked: int
    beyond: int


@strawberry.type(description="The levels that a lineage has, outermost first.")
class ViewLevels:
    """The levels of a view. Any other level is refused."""

    data: list[NodeKind]
    actors: list[NodeKind]


@strawberry.type(
    description="Lineage around a focus, at levels, masked. Pages follow by `cursor`, nearest nodes first, with links to those before."
)
class LineageView:
    """A view. Totals cover the whole view, and `notes` name overstated or missing parts."""

    nodes: list[ViewNode]
    edges: list[ViewEdge]
    totals: ViewTotals
    cursor: str | None
    notes: list[str]
    made: strawberry.Private[domain.View]

    @strawberry.field(description="The levels that can be chosen.")
    async def levels(self) -> ViewLevels:
        found = await self.made.levels()
        return ViewLevels(data=list(found.data), actors=list(found.actors))

    @classmethod
    async def of(cls, info: Info, request: domain.ViewRequest) -> LineageView:
        made = await domain.view(info.context.graph, info.context.tenant, request)
        nodes, edges = await made.nodes(), made.edges()
        info.context.loaders.budget.spend(len(nodes))
        totals = made.totals
        return cls(
            nodes=[
                ViewNode(
                    node=Node.of(shown.node),
                    distance=shown.distance,
                    members=shown.members,
                    focus=shown.focus,
                    upstream=shown.upstream,
                    downstream=shown.downstream,
                    made=made,
                )
                for shown in nodes
            ],
            edges=[
                ViewEdge(
                    src=strawberry.ID(edge.src),
                    dst=strawberry.ID(edge.dst),
                    weight=edge.weight,
                    direct=edge.direct,
                    via=edge.via,
                    made=made,
                )
                for edge in edges
            ],
            totals=ViewTotals(nodes=totals.nodes, edges=totals.edges, reached=totals.reached, masked=totals.masked, beyond=totals.beyond),
            cursor=made.cursor,
            notes=list(made.notes),
            made=made,
        )


@strawberry.type(
    description="The difference of a view between two instants: added and removed nodes and links. `kept` counts the links in both."
)
class ViewDifference:
    """The difference of a view between two instants (ISO 8601, UTC)."""

    before: str
    after: str
    nodes_added: list[Node]
    nodes_removed: list[Node]
    edges_added: list[MemberPair]
    edges_removed: list[MemberPair]
    kept: int
    notes: list[str]

    @classmethod
    async def of(cls, info: Info, request: domain.ViewRequest, before: str, after: str) -> ViewDifference:
        found = await domain.difference(info.context.graph, info.context.tenant, request, before=before, after=after)
        info.context.loaders.budget.spend(len(found.nodes_added) + len(found.nodes_removed))
        return cls(
            before=found.before,
            after=found.after,
            nodes_added=[Node.of(node) for node in found.nodes_added],
            nodes_removed=[Node.of(node) for node in found.nodes_removed],
            edges_added=[MemberPair(src=strawberry.ID(src), dst=strawberry.ID(dst)) for src, dst in found.edges_added],
            edges_removed=[MemberPair(src=strawberry.ID(src), dst=strawberry.ID(dst)) for src, dst in found.edges_removed],
            kept=found.kept,
            notes=list(found.notes),
        )
