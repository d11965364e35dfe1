"""Decides which nodes a restricted caller sees, by the rules in the package's docstring."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from headwater.errors import InvalidInputError
from headwater.graph.access.patterns import Namespaces
from headwater.graph.model import EdgeKind, NodeKind, parse_id
from headwater.graph.stores.protocol import Direction, GraphStore

NAMED = frozenset({
    NodeKind.PLATFORM, NodeKind.DATASET, NodeKind.COLUMN, NodeKind.VERSION, NodeKind.SYSTEM, NodeKind.PIPELINE, NodeKind.JOB,
    NodeKind.CHECK,
})  # fmt: skip
_CONTAINED = frozenset({NodeKind.RUN, NodeKind.STAGE, NodeKind.TASK, NodeKind.OPERATOR, NodeKind.PARTITION})
DESCRIBING = frozenset({NodeKind.OWNER, NodeKind.TAG, NodeKind.TERM})
_KINDS = {kind.value: kind for kind in NodeKind}
_DEEPEST = 8  # levels of containers up to one with a namespace: an operator's run, its job
_TOGETHER = 2_000
_PORTION = 1_000


def kind_named(identifier: str) -> NodeKind | None:
    """Return the kind with which a text begins, even if the text is not an id."""
    return _KINDS.get(identifier.partition(":")[0])


@lru_cache(1 << 15)
def namespace_of(identifier: str) -> str | None:
    """Return the namespace that an id names, or None."""
    if kind_named(identifier) not in NAMED:
        return None
    try:
        return parse_id(identifier)[1][0]
    except InvalidInputError:
        return None


class Visible:
    """The visible nodes of a tenant's graph, for a caller who may read the namespaces that every member of `permitted` has.

    An object serves one request, because results are cached.
    """

    def __init__(self, store: GraphStore, tenant: str, permitted: Sequence[Namespaces]) -> None:
        self._store = store
        self._tenant = tenant
        self._permitted = permitted
        self._known: dict[str, bool] = {}
        self._namespaces: dict[NodeKind, list[str]] = {}

    def has_namespace(self, namespace: str) -> bool:
        return all(permitted.has(namespace) for permitted in self._permitted)

    def is_named(self, identifier: str) -> bool:
        namespace = namespace_of(identifier)
        return namespace is not None and self.has_namespace(namespace)

    async def of(self, ids: Iterable[str]) -> set[str]:
        """Return the ids that would be visible if their nodes exist."""
        asked = set(ids)
        unknown = [identifier for identifier in asked if identifier not in self._known]
        contained, describing = [], []
        for identifier in unknown:
            kind = kind_named(identifier)
            if kind in _CONTAINED:
                contained.append(identifier)
            elif kind in DESCRIBING:
                describing.append(identifier)
            else:
                self._known[identifier] = kind in NAMED and self.is_named(identifier)
        await self._climb(contained)
        await self._described(describing)
        return {identifier for identifier in asked if self._known[identifier]}

    async def one(self, identifier: str) -> bool:
        return identifier in await self.of([identifier])

    async def namespaces(self, kind: NodeKind) -> list[str]:
        """Return the namespaces of platforms or systems that the caller may read, in the order of their ids."""
        if kind not in self._namespaces:
            found: list[str] = []
            after: str | None = None
            while page := await self._store.listed_after(self._tenant, f"{kind}:", after, first=_PORTION):
                after = page[-1].id
                found += [parse_id(node.id)[1][0] for node in page if self.is_named(node.id)]
            self._namespaces[kind] = found
        return self._namespaces[kind]

    async def _climb(self, ids: Sequence[str]) -> None:
        """Find the nearest containers that have a namespace.

        The caller must be allowed to read all of them, and there must be at least one.
        """
        for begin in range(0, len(ids), _TOGETHER):
            await self._climbed(ids[begin : begin + _TOGETHER])

    async def _climbed(self, ids: Sequence[str]) -> None:
        above: dict[str, set[str]] = {identifier: {identifier} for identifier in ids}  # for each id, the containers to check next
        found: dict[str, list[bool]] = {identifier: [] for identifier in ids}
        parents: dict[str, set[str]] = {}
        for _ in range(_DEEPEST):
            waiting = set().union(*above.values()) - parents.keys()
            if not any(above.values()):
                break
            if waiting:
                edges = await self._store.neighbours(self._tenant, sorted(waiting), direction=Direction.UPSTREAM, kinds=[EdgeKind.CONTAINS])
                parents.update({identifier: set() for identifier in waiting})
                for edge in edges:
                    parents[edge.dst].add(edge.src)
            for identifier, looked_at in above.items():
                containers = set().union(*(parents[one] for one in looked_at)) if looked_at else set()
                found[identifier] += [self.is_named(one) for one in containers if kind_named(one) in NAMED]
                above[identifier] = {one for one in containers if kind_named(one) in _CONTAINED}
        for identifier, seen in found.items():
            self._known[identifier] = bool(seen) and all(seen) and not above[identifier]

    async def _described(self, ids: Collection[str]) -> None:
        if not ids:
            return
        edges = await self._store.neighbours(self._tenant, sorted(ids), direction=Direction.DOWNSTREAM, kinds=[EdgeKind.DESCRIBES])
        bearers = {edge.dst for edge in edges if kind_named(edge.dst) not in DESCRIBING}
        seen = await self.of(bearers)
        self._known.update(dict.fromkeys(ids, False))
        self._known.update({edge.src: True for edge in edges if edge.dst in seen})
