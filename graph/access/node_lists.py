"""Lists visible nodes for a restricted caller: namespace by namespace, in the order of ids, so that hidden nodes are not read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headwater.errors import InvalidQueryError
from headwater.graph.access.visibility import DESCRIBING, NAMED, Visible, kind_named
from headwater.graph.model import Node, NodeKind, node_id
from headwater.graph.stores.paging import bounds_of
from headwater.graph.stores.protocol import GraphStore, IdRange, Listing

_PORTION = 1_000
_DESCRIBED = 20_000  # most owners, tags or terms to check
_SIDES = {
    NodeKind.DATASET: NodeKind.PLATFORM, NodeKind.COLUMN: NodeKind.PLATFORM, NodeKind.VERSION: NodeKind.PLATFORM,
    NodeKind.CHECK: NodeKind.PLATFORM, NodeKind.PIPELINE: NodeKind.SYSTEM, NodeKind.JOB: NodeKind.SYSTEM,
}  # fmt: skip
_OUTERMOST = (NodeKind.PLATFORM, NodeKind.SYSTEM)


class Lists:
    """Lists of the visible nodes of a tenant's graph, as the store has them. The caller of this class removes hidden properties."""

    def __init__(self, store: GraphStore, tenant: str, visible: Visible) -> None:
        self._store = store
        self._tenant = tenant
        self._visible = visible

    async def listed(self, prefix: str, first: int, skip: int) -> Listing:
        bounds_of(prefix)
        kind, is_kind_alone = kind_named(prefix), prefix.count(":") == 1
        if kind in DESCRIBING and is_kind_alone:
            found = await self._described(prefix)
            return Listing(found[skip : skip + first], len(found))
        if kind is None or kind not in NAMED:
            return Listing([], 0)
        if kind in _OUTERMOST:
            ids = await self._outermost(kind) if is_kind_alone else []
            return Listing(await self._store.get(self._tenant, ids[skip : skip + first]), len(ids))
        prefixes = await self._prefixes(kind) if is_kind_alone else [prefix] if self._visible.is_named(prefix) else []
        nodes: list[Node] = []
        total = 0
        for inside in prefixes:
            listing = await self._store.listed(self._tenant, inside, first=first - len(nodes), skip=max(0, skip - total))
            total += listing.total
            nodes += listing.nodes
        return Listing(nodes, total)

    async def listed_after(self, prefix: str, after: str | None, first: int) -> Sequence[Node]:
        bounds_of(prefix)
        kind, is_kind_alone = kind_named(prefix), prefix.count(":") == 1
        if kind in DESCRIBING and is_kind_alone:
            return [node for node in await self._described(prefix) if after is None or node.id > after][:first]
        if kind is None or kind not in NAMED:
            return []
        if kind in _OUTERMOST:
            ids = await self._outermost(kind) if is_kind_alone else []
            return await self._store.get(self._tenant, [identifier for identifier in ids if after is None or identifier > after][:first])
        prefixes = await self._prefixes(kind) if is_kind_alone else [prefix] if self._visible.is_named(prefix) else []
        nodes: list[Node] = []
        for inside in prefixes:
            if len(nodes) < first and (after is None or bounds_of(inside)[1] > after):
                nodes += await self._store.listed_after(self._tenant, inside, after, first=first - len(nodes))
        return nodes

    async def ranges(self, kinds: Iterable[NodeKind]) -> list[IdRange]:
        """Return the ranges of ids that contain the visible nodes of some kinds. Only kinds whose ids name a namespace have ranges."""
        found: list[IdRange] = []
        for kind in kinds:
            if kind in _OUTERMOST:
                found += [(identifier, f"{identifier} ") for identifier in await self._outermost(kind)]  # no id has a space
            else:
                found += [bounds_of(prefix) for prefix in await self._prefixes(kind)]
        return found

    async def _outermost(self, kind: NodeKind) -> list[str]:
        return [node_id(kind, namespace) for namespace in await self._visible.namespaces(kind)]

    async def _prefixes(self, kind: NodeKind) -> list[str]:
        """Return the prefixes of the ids of a kind, one for each namespace that the caller may read, in the order of ids."""
        return sorted(node_id(kind, namespace, "") for namespace in await self._visible.namespaces(_SIDES[kind]))

    async def _described(self, prefix: str) -> list[Node]:
        """Return owners, tags or terms that describe something visible, in the order of their ids."""
        found: list[Node] = []
        after: str | None = None
        looked_at = 0
        while page := await self._store.listed_after(self._tenant, prefix, after, first=_PORTION):
            after = page[-1].id
            looked_at += len(page)
            if looked_at > _DESCRIBED:
                raise InvalidQueryError("There are too many to look through for what a restricted key may see.", field="first")
            seen = await self._visible.of(node.id for node in page)
            found += [node for node in page if node.id in seen]
        return found
