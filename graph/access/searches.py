"""Searches for a restricted caller: in the caller's namespaces, and among owners, tags and terms that describe something visible.

The store finds only nodes of permitted namespaces, so hits, their number and their facets count nothing else. Owners, tags and terms have
no namespace. A search of their own finds them, and each is checked. Runs are left out: a run may belong to jobs of several namespaces, and
the index knows only one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headwater.graph.access.visibility import DESCRIBING, Visible
from headwater.graph.model import NodeKind
from headwater.graph.search import SEARCHED, Facet, Facets, Found, Hit, SearchRequest
from headwater.graph.search.facets import KIND, merged_facets
from headwater.graph.search.request import ranked_cursor, ranked_place
from headwater.graph.stores.protocol import GraphStore

_MOST_DESCRIBING = 300  # owners, tags and terms that are checked
_RANKED = 3_000  # hits in namespaces that are put in order with these
_LEFT_OUT = frozenset({NodeKind.TYPE, NodeKind.ACTOR, NodeKind.DATA, NodeKind.RUN})  # nothing says in which namespaces they may be seen


class Searches:
    """Searches of a tenant's graph. The caller of this class removes hidden properties."""

    def __init__(self, store: GraphStore, tenant: str, visible: Visible) -> None:
        self._store = store
        self._tenant = tenant
        self._visible = visible

    async def find(self, request: SearchRequest, first: int, after: str | None) -> Found:
        """Return a page."""
        kinds = [kind for kind in request.kinds or SEARCHED if kind not in _LEFT_OUT]
        describing = tuple(kind for kind in kinds if kind in DESCRIBING)
        inside = tuple(kind for kind in kinds if kind not in DESCRIBING)
        by_words = bool(request.text.strip())
        if not describing or not (by_words or request.kinds):
            return await self._inside(replace(request, kinds=inside), first, after) if inside else Found([], 0)
        described = await self._describing(replace(request, kinds=describing))
        if not inside:
            return _page(described, Found([], 0), first, ranked_place(after))
        found = await self._inside(replace(request, kinds=inside), _RANKED, None)
        return _page(described, found, first, ranked_place(after))

    async def _inside(self, request: SearchRequest, first: int, after: str | None) -> Found:
        permitted = sorted({
            *await self._visible.namespaces(NodeKind.PLATFORM), *await self._visible.namespaces(NodeKind.SYSTEM),
        })  # fmt: skip
        return await self._store.find(self._tenant, request, first=first, after=after, permitted=permitted)

    async def _describing(self, request: SearchRequest) -> Found:
        """Return all visible owners, tags and terms that a request finds."""
        found = await self._store.find(self._tenant, request, first=_MOST_DESCRIBING)
        seen = await self._visible.of(hit.node.id for hit in found.hits)
        hits = [hit for hit in found.hits if hit.node.id in seen]
        counts: dict[str, int] = {}
        for hit in hits:
            counts[hit.node.kind.value] = counts.get(hit.node.kind.value, 0) + 1
        return Found(hits, len(hits), counted=found.cursor is None, ranked=found.cursor is None, facets=_kinds(counts))


def _kinds(counts: dict[str, int]) -> Facets:
    return {KIND: [Facet(kind, count) for kind, count in sorted(counts.items())]} if counts else {}


def _page(one: Found, other: Found, first: int, skip: int) -> Found:
    """Return a page of two answers together, by score."""
    hits: Sequence[Hit] = sorted([*one.hits, *other.hits], key=lambda hit: (-hit.score, hit.node.name, hit.node.id))
    more = skip + first < len(hits)
    return Found(
        hits[skip : skip + first], one.total + other.total, ranked_cursor(skip + first) if more else None, one.counted and other.counted,
        one.ranked and other.ranked and other.cursor is None, merged_facets(one.facets, other.facets),
    )  # fmt: skip
