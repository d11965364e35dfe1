"""The graph store for a restricted caller: every reading verb, over another store, limited to visible nodes and edges.

A store is made for one request. Writing is refused, and so are verbs about the whole graph (its fingerprint, its dump).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

from headwater.errors import UnsupportedError
from headwater.graph.access import visible_walks
from headwater.graph.access.node_lists import Lists
from headwater.graph.access.patterns import Namespaces
from headwater.graph.access.searches import Searches
from headwater.graph.access.visibility import NAMED, Visible, kind_named
from headwater.graph.access.visible_properties import jobs_of, named_by, runs_of, shown_edge, shown_node
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, node_id
from headwater.graph.model.changes import Changes
from headwater.graph.search import Found, Order, SearchRequest
from headwater.graph.stores.columns import by_columns, cone_columns, reach_columns
from headwater.graph.stores.paging import decode_cursor, encode_cursor, fold
from headwater.graph.stores.protocol import Cone, Direction, GraphStore, IdRange, Listing, Moment, Page, Portion, Subgraph
from headwater.graph.stores.rollups import LakeMap, Lens, MemberFlows

_PORTION = 1_000
_OF_NO_NAMESPACE = (NodeKind.TYPE, NodeKind.ACTOR, NodeKind.DATA)
_MIXING = frozenset({NodeKind.PLATFORM, NodeKind.SYSTEM, NodeKind.PIPELINE})


class RestrictedStore:
    """A view of `store` for a caller who may read the namespaces that every member of `permitted` has. Other tenants are refused."""

    def __init__(self, store: GraphStore, tenant: str, permitted: Sequence[Namespaces]) -> None:
        self._store = store
        self._tenant = tenant
        self._visible = Visible(store, tenant, permitted)
        self._lists = Lists(store, tenant, self._visible)
        self._searches = Searches(store, tenant, self._visible)

    @property
    def visible(self) -> Visible:
        return self._visible

    async def get(self, tenant: str, ids: Sequence[str]) -> list[Node]:
        self._check(tenant)
        seen = await self._visible.of(ids)
        return await self._shown(await self._store.get(tenant, [identifier for identifier in ids if identifier in seen]))

    async def search(
        self, tenant: str, text: str, *, kinds: Sequence[NodeKind] = (), first: int = 20, after: str | None = None,
        ranges: Sequence[IdRange] | None = None,
    ) -> Page:  # fmt: skip
        """Search as the store does, but only kinds whose ids name a namespace: runs and files are found through their containers."""
        self._check(tenant)
        wanted = [kind for kind in (kinds or NodeKind) if kind in NAMED]
        if ranges is not None:
            raise UnsupportedError("Ranges of ids are for whoever reads the whole graph.")
        inside = await self._lists.ranges(wanted)
        if not inside:
            return Page([], None, 0)
        page = await self._store.search(tenant, text, kinds=wanted, first=first, after=after, ranges=inside)
        return Page(await self._shown(page.nodes), page.cursor, page.total)

    async def find(
        self, tenant: str, request: SearchRequest, *, first: int = 20, after: str | None = None, permitted: Sequence[str] | None = None
    ) -> Found:
        """Find as the store does, in the caller's namespaces, and owners, tags and terms that describe something visible."""
        self._check(tenant)
        if permitted is not None:
            raise UnsupportedError("Namespaces of a search are for whoever reads the whole graph.")
        if request.order is Order.WEIGHT:  # counts hidden flows
            request = replace(request, order=Order.NAME)
        found = await self._searches.find(request, first, after)
        shown = {node.id: node for node in await self._shown([hit.node for hit in found.hits])}
        return replace(found, hits=[replace(hit, node=shown[hit.node.id]) for hit in found.hits])

    async def lake_map(
        self, tenant: str, lens: Lens, *, first: int = 200, include: Sequence[str] = (), permitted: Sequence[str] | None = None
    ) -> LakeMap:
        """Return the map of the caller's namespaces. The groups of other lenses have members in several namespaces."""
        inside = await self._groups(tenant, lens, permitted)
        found = await self._store.lake_map(tenant, lens, first=first, include=include, permitted=inside)
        nodes = {node.id: node for node in await self._shown([group.node for group in found.groups])}
        return replace(found, groups=[replace(group, node=nodes[group.id]) for group in found.groups])

    async def member_flows(self, tenant: str, lens: Lens, members: Sequence[str], *, permitted: Sequence[str] | None = None) -> MemberFlows:
        inside = await self._groups(tenant, lens, permitted)
        seen = await self._visible.of(members)
        return await self._store.member_flows(tenant, lens, [member for member in members if member in seen], permitted=inside)

    async def _groups(self, tenant: str, lens: Lens, permitted: Sequence[str] | None) -> list[str]:
        """Return the groups of the caller's namespaces of datasets and jobs."""
        self._check(tenant)
        if lens is not Lens.NAMESPACE or permitted is not None:
            raise UnsupportedError(f"The map by {lens} is not open to keys restricted to namespaces.", hint="Ask for the map by namespace.")
        kinds = (NodeKind.PLATFORM, NodeKind.SYSTEM)
        return [node_id(kind, namespace) for kind in kinds for namespace in await self._visible.namespaces(kind)]

    async def neighbours(self, tenant: str, ids: Sequence[str], *, direction: Direction, kinds: Sequence[EdgeKind]) -> list[Edge]:
        self._check(tenant)
        seen = await self._visible.of(ids)
        if not seen:
            return []
        asked = [identifier for identifier in ids if identifier in seen]
        edges = await self._store.neighbours(tenant, asked, direction=direction, kinds=kinds)
        return await self._edges(edges)

    async def reach(
        self, tenant: str, focus: Sequence[str], *, direction: Direction, kinds: Sequence[EdgeKind], depth: int, limit: int
    ) -> Subgraph:
        self._check(tenant)
        seen_focus = await self._visible.of(focus)
        start = [identifier for identifier in focus if identifier in seen_focus]
        if by_columns(focus, kinds):
            found = await reach_columns(self, tenant, start, direction=direction, depth=depth, limit=limit)
            return replace(found, hidden=await self._hides([node.id for node in found.nodes], direction, kinds))
        whole = await self._store.reach(tenant, start, direction=direction, kinds=kinds, depth=depth, limit=visible_walks.WALKED)
        seen = await self._visible.of(node.id for node in whole.nodes)
        shown = replace(whole, edges=await self._edges(whole.edges))
        reached = visible_walks.walked([(edge.src, edge.dst) for edge in shown.edges], start, direction, depth, seen)
        nodes = {node.id: node for node in whole.nodes}
        order = visible_walks.ordered(reached)
        kept = await self._shown([nodes[identifier] for identifier in order[:limit]])
        found = visible_walks.subgraph(shown, reached, [*kept, *(nodes[identifier] for identifier in order[limit:])], limit)
        return replace(found, hidden=await self._hides([node.id for node in found.nodes], direction, kinds))

    async def cone(
        self,
        tenant: str,
        focus: Sequence[str],
        *,
        direction: Direction,
        kinds: Sequence[EdgeKind],
        depth: int,
        limit: int,
        contained: Sequence[NodeKind] = (),
        facts: bool = False,
        names: bool = False,
    ) -> Cone:
        self._check(tenant)
        seen_focus = await self._visible.of(focus)
        start = [identifier for identifier in focus if identifier in seen_focus]
        if by_columns(focus, kinds):
            found = await cone_columns(self, tenant, start, direction=direction, depth=depth, limit=limit, facts=facts, names=names)
            return replace(found, hidden=await self._hides(found.ids, direction, kinds))
        if EdgeKind.DERIVES in kinds:
            raise UnsupportedError("Derivations of columns are followed from columns, and with nothing else.")
        whole = await self._store.cone(
            tenant, start, direction=direction, kinds=kinds, depth=depth + 1, limit=visible_walks.WALKED, contained=contained, facts=facts,
            names=names,
        )  # fmt: skip
        seen = await self._visible.of(whole.ids)
        pairs = [(whole.ids[src], whole.ids[dst]) for src, dst in whole.pairs.tolist()]
        reached = visible_walks.walked(pairs, start, direction, depth, seen)
        stated = {f"run:{run}" for _, first, last in whole.facts for each in (first, last) if (run := each.partition(" ")[2])}
        found = visible_walks.cone(whole, reached, limit, seen, await self._visible.of(stated))
        return replace(found, hidden=await self._hides(found.ids[: found.reached], direction, kinds))

    async def children(
        self, tenant: str, parent: str, *, kinds: Sequence[NodeKind] = (), first: int = 100, after: str | None = None
    ) -> Page:
        """Return children as the store does. If some children are hidden, all children are read."""
        self._check(tenant)
        if not await self._visible.one(parent):
            return Page([], None, 0)
        if not await self._mixes(parent):
            page = await self._store.children(tenant, parent, kinds=kinds, first=first, after=after)
            if len(await self._visible.of(node.id for node in page.nodes)) == len(page.nodes):
                return Page(await self._shown(page.nodes), page.cursor, page.total)
        return await self._chosen_children(tenant, parent, kinds, first, after)

    async def listed(self, tenant: str, prefix: str, *, first: int = 100, skip: int = 0) -> Listing:
        self._check(tenant)
        found = await self._lists.listed(prefix, first, skip)
        return Listing(await self._shown(found.nodes), found.total)

    async def listed_after(self, tenant: str, prefix: str, after: str | None, *, first: int) -> Sequence[Node]:
        self._check(tenant)
        return await self._shown(await self._lists.listed_after(prefix, after, first))

    async def latest(
        self, tenant: str, parent: str, kind: NodeKind, *, until: str | None = None, first: int = 100, skip: int = 0
    ) -> Listing:
        self._check(tenant)
        if not await self._visible.one(parent):
            return Listing([], 0)
        if not await self._mixes(parent):
            found = await self._store.latest(tenant, parent, kind, until=until, first=first, skip=skip)
            if len(await self._visible.of(node.id for node in found.nodes)) == len(found.nodes):
                return Listing(await self._shown(found.nodes), found.total)
        everything: list[Node] = []
        while True:
            page = await self._store.latest(tenant, parent, kind, until=until, first=_PORTION, skip=len(everything))
            everything += page.nodes
            if not page.nodes or len(everything) >= page.total:
                break
        seen = await self._visible.of(node.id for node in everything)
        kept = [node for node in everything if node.id in seen]
        return Listing(await self._shown(kept[skip : skip + first]), len(kept))

    async def latest_at(self, tenant: str, asked: Sequence[Moment], kind: NodeKind, *, first: int) -> Mapping[Moment, Sequence[Node]]:
        self._check(tenant)
        seen = await self._visible.of(parent for parent, _ in asked)
        found = await self._store.latest_at(tenant, [moment for moment in asked if moment[0] in seen], kind, first=first)
        inside = await self._visible.of(node.id for nodes in found.values() for node in nodes)
        result: dict[Moment, Sequence[Node]] = {moment: [] for moment in asked}
        for moment, nodes in found.items():
            result[moment] = await self._shown([node for node in nodes if node.id in inside])
        return result

    async def shared(self, tenant: str, parent: str) -> list[str]:  # noqa: ARG002 - the protocol's
        self._refuse()

    async def ancestors(self, tenant: str, ids: Sequence[str]) -> dict[str, list[Node]]:
        self._check(tenant)
        seen = await self._visible.of(ids)
        found = await self._store.ancestors(tenant, [identifier for identifier in ids if identifier in seen])
        above = await self._visible.of(node.id for nodes in found.values() for node in nodes)
        return {identifier: await self._shown([node for node in nodes if node.id in above]) for identifier, nodes in found.items()}

    async def counts(self, tenant: str, *, ranges: Sequence[IdRange] | None = None) -> dict[str, int]:
        """Count nodes of kinds whose ids name a namespace, and runs."""
        self._check(tenant)
        if ranges is not None:
            raise UnsupportedError("Ranges of ids are for whoever reads the whole graph.")
        inside = await self._lists.ranges(sorted(NAMED))
        return await self._store.counts(tenant, ranges=inside) if inside else {}

    async def offset(self, tenant: str) -> int:
        self._check(tenant)
        return await self._store.offset(tenant)

    async def open(self) -> list[int]:
        return []

    async def close(self) -> None:
        """Do nothing: the owner of the store closes it."""

    async def apply(self, tenant: str, batches: Sequence[GraphBatch], *, offset: int | None = None) -> None:  # noqa: ARG002 - the protocol's
        self._refuse()

    async def absorb(self, tenant: str, changes: Changes, *, offset: int | None = None) -> None:  # noqa: ARG002 - the protocol's
        self._refuse()

    async def drop(self, tenant: str) -> None:  # noqa: ARG002 - the protocol's
        self._refuse()

    async def fingerprint(self, tenant: str) -> str:  # noqa: ARG002 - the protocol's
        self._refuse()

    def dump(self, tenant: str, *, kinds: Collection[NodeKind] | None = None) -> AsyncIterator[Portion]:  # noqa: ARG002 - the protocol's
        self._refuse()

    def _check(self, tenant: str) -> None:
        if tenant != self._tenant:
            self._refuse()

    @staticmethod
    def _refuse() -> NoReturn:
        raise UnsupportedError("This is not open to keys restricted to namespaces.", hint="Ask with a key that may read all of them.")

    async def _shown(self, nodes: Sequence[Node]) -> list[Node]:
        named: set[str] = set().union(*(named_by(node.properties) for node in nodes))
        seen = await self._visible.of(named)
        return [shown_node(node, seen.__contains__) for node in nodes]

    async def _mixes(self, parent: str) -> bool:
        """Return whether a node contains hidden nodes: nodes that also belong to other namespaces, or to none."""
        if kind_named(parent) in _MIXING:
            edges = await self._store.neighbours(self._tenant, [parent], direction=Direction.DOWNSTREAM, kinds=[EdgeKind.CONTAINS])
            inside = {edge.dst for edge in edges}
        else:  # its own contents are as visible as the node, except declared ones
            inside = set(await self._store.shared(self._tenant, parent))
            if (await self._store.children(self._tenant, parent, kinds=_OF_NO_NAMESPACE, first=1)).total:
                return True
        return await self._visible.of(inside) != inside

    async def _edges(self, edges: Sequence[Edge]) -> list[Edge]:
        between = await self._between(edges)
        jobs = {job for edge in between if edge.kind is EdgeKind.DERIVES for job in jobs_of(edge)}
        seen = await self._visible.of(jobs | runs_of(between))
        return [shown for edge in between if (shown := shown_edge(edge, seen)) is not None]

    async def _between(self, edges: Sequence[Edge]) -> list[Edge]:
        ends = await self._visible.of({end for edge in edges for end in (edge.src, edge.dst)})
        return [edge for edge in edges if edge.src in ends and edge.dst in ends]

    async def _hides(self, ids: Sequence[str], direction: Direction, kinds: Sequence[EdgeKind]) -> bool:
        """Return whether a hidden node is next to some visible nodes."""
        if not kinds:
            return False
        for begin in range(0, len(ids), _PORTION):
            some = ids[begin : begin + _PORTION]
            edges = await self._store.neighbours(self._tenant, some, direction=direction, kinds=kinds)
            if len(await self._between(edges)) < len(edges):
                return True
            stated = [edge for edge in edges if edge.kind is EdgeKind.DERIVES]
            if len(await self._edges(stated)) < len(stated):
                return True
        return False

    async def _chosen_children(self, tenant: str, parent: str, kinds: Sequence[NodeKind], first: int, after: str | None) -> Page:
        found: list[Node] = []
        cursor: str | None = None
        while True:
            page = await self._store.children(tenant, parent, kinds=kinds, first=_PORTION, after=cursor)
            seen = await self._visible.of(node.id for node in page.nodes)
            found += [node for node in page.nodes if node.id in seen]
            cursor = page.cursor
            if cursor is None:
                break
        place = decode_cursor(after)
        rest = [node for node in found if (fold(node.name), node.id) > place] if after is not None else found
        shown = rest[:first]
        following = encode_cursor(fold(shown[-1].name), shown[-1].id) if len(rest) > first and shown else None
        return Page(await self._shown(shown), following, len(found))
