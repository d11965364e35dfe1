"""The types of the graph in the schema, each a view of a domain object.

Fields that need a query (containers, names) run it only if selected.
"""

# mypy: disable-error-code="untyped-decorator"
# The decorators of strawberry return Any, because a decorated resolver also serves as the value of its field.

from __future__ import annotations

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from headwater.graph import model
from headwater.graph.ledger import ledger_of
from headwater.graph.model import EdgeKind, NodeKind
from headwater.graph.stores.protocol import Direction, Page, Subgraph
from headwater.graphql.context import Context
from headwater.graphql.declarations import Descriptions
from headwater.graphql.facts import Facts
from headwater.graphql.ledgers import Ledger
from headwater.graphql.limits import MAX_PAGE, bounded
from headwater.graphql.loaders import ChildrenKey

Info = strawberry.Info[Context, None]

_GIVEN_UP = frozenset({EdgeKind.READS, EdgeKind.WRITES, EdgeKind.ACCESSES})  # flows that each run of a job states again

strawberry.enum(NodeKind, description="A level of one of the two containment hierarchies: data and actors.")
strawberry.enum(EdgeKind, description="CONTAINS joins a container and its child; the others are flows of data.")
strawberry.enum(Direction, description="UPSTREAM is where data came from, DOWNSTREAM where it went.")


@strawberry.type(description="A container of data or of actors, at any level.")
class Node:
    """A node. `name` is for people; `properties` are JSON values."""

    id: strawberry.ID
    kind: NodeKind
    name: str
    node: strawberry.Private[model.Node]

    @classmethod
    def of(cls, node: model.Node) -> Node:
        return cls(id=strawberry.ID(node.id), kind=node.kind, name=node.name, node=node)

    @strawberry.field
    def properties(self, info: Info) -> JSON:
        return JSON(info.context.properties(self.node))

    @strawberry.field(description="Owners, tags, terms and other descriptions that users and producers stated.")
    def descriptions(self) -> Descriptions:
        return Descriptions.of(self.node)

    @strawberry.field(
        description="What standard facets of OpenLineage state: size, query, place of the source code, error with its stack trace, quality."
    )
    def facts(self, info: Info) -> Facts:
        return Facts(node=self.node, stated=info.context.properties(self.node))

    @strawberry.field(description="Of a run: what was captured of it, and what is missing; null of anything else.")
    def ledger(self) -> Ledger | None:
        return Ledger.of(ledger_of(self.node.properties)) if self.kind is NodeKind.RUN else None

    @strawberry.field(
        description="Of a dataset or a version: whether every run failed that was to write it, so that nothing is known to be there."
    )
    async def unwritten(self, info: Info) -> bool:
        return self.kind in (NodeKind.DATASET, NodeKind.VERSION) and await info.context.loaders.unwritten.load(self.id)

    @strawberry.field(description="The containers of this node, innermost first.")
    async def containers(self, info: Info) -> list[Node]:
        return [Node.of(node) for node in await info.context.loaders.containers.load(self.id)]

    @strawberry.field(description="The direct children of this node, by name.")
    async def children(self, info: Info, kinds: list[NodeKind] | None = UNSET, first: int = 100, after: str | None = UNSET) -> NodePage:
        key = ChildrenKey(self.id, tuple(dict.fromkeys(kinds or ())), bounded(first, "first", low=1, high=MAX_PAGE), after or None)
        return NodePage.of(await info.context.loaders.children.load(key))


def _stated(root: Edge, info: Info) -> JSON:
    return JSON(info.context.properties_of_edge(root.edge))


@strawberry.type(description="A link, in the direction in which data flows. `first` and `last` are when it was stated, and by which run.")
class Edge:
    """An edge.

    There is one for each source, destination and kind. `first` and `last` are the times and runs of its first and last statement.
    """

    src: strawberry.ID
    dst: strawberry.ID
    kind: EdgeKind
    properties: JSON = strawberry.field(resolver=_stated)  # read only when asked for
    first: str
    last: str
    edge: strawberry.Private[model.Edge]

    @strawberry.field(
        description="Whether the edge is a former flow: a later run of its job stated flows on the same side (reads or writes) without it."
    )
    async def former(self, info: Info) -> bool:
        return self.kind in _GIVEN_UP and await info.context.loaders.former.load((self.src, self.dst, self.kind))

    @classmethod
    def of(cls, edge: model.Edge) -> Edge:
        return cls(src=strawberry.ID(edge.src), dst=strawberry.ID(edge.dst), kind=edge.kind, edge=edge, first=edge.first, last=edge.last)


@strawberry.type(description="One page of nodes. `cursor` fetches the next one; null: this was the last.")
class NodePage:
    """A page of nodes. `total` counts the nodes of all pages."""

    nodes: list[Node]
    cursor: str | None
    total: int

    @classmethod
    def of(cls, page: Page) -> NodePage:
        return cls(nodes=[Node.of(node) for node in page.nodes], cursor=page.cursor, total=page.total)


@strawberry.type(
    description="Nodes and the links between them. `truncated` counts the nodes that the limit kept out. `hidden`: something next to them"
    " lies in namespaces that the caller may not read."
)
class LineageGraph:
    """A part of the graph. If nodes are left out, `truncated` or `hidden` shows it."""

    nodes: list[Node]
    edges: list[Edge]
    truncated: int
    hidden: bool = False

    @classmethod
    def of(cls, graph: Subgraph) -> LineageGraph:
        return cls(
            nodes=[Node.of(node) for node in graph.nodes], edges=[Edge.of(edge) for edge in graph.edges], truncated=graph.truncated,
            hidden=graph.hidden,
        )  # fmt: skip


@strawberry.type(
    description="The state of the service. `pending` counts accepted entries that are not in the graph yet. For a key that is restricted to"
    " namespaces `pending` is 1 where any wait, `captures` is 0, and `nodes` are those whose ids name one."
)
class Service:
    """The state of the service, with counts of the caller's tenant."""

    version: str
    store: str
    nodes: int
    runs: int
    captures: int
    pending: int
