"""Searches by words and facets: hits in order, their number, and the counts of their facets.

Texts for the full-text index consist of codes of words (letters and digits) and of the operators in this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

from neo4j import AsyncManagedTransaction

from headwater.graph.model import NodeKind
from headwater.graph.search import SEARCHED, Candidate, Found, Hit, Order, Ranked, Ranking, SearchRequest
from headwater.graph.search.entries import LISTED, RANKED_TOGETHER
from headwater.graph.search.facets import FacetCounts
from headwater.graph.search.request import list_cursor, list_place, ranked_cursor, ranked_place
from headwater.graph.search.words import allowed_edits, code, facet_code
from headwater.graph.stores.neo4j.connections import rows
from headwater.graph.stores.neo4j.list_counts import count_kind
from headwater.graph.stores.neo4j.read import read_nodes
from headwater.graph.stores.paging import fold

_COUNTED = 5_000
_RANKED = 300  # hits of a group of kinds that are put in order, and as many that have the words literally
_LEAST_INSIDE = 3  # letters of a word that may be in the middle of another
_MATCH: LiteralString = "CALL db.index.fulltext.queryNodes('headwater_container_words', $match) YIELD node AS n "
_INSIDE: LiteralString = "WHERE ($permitted IS NULL OR n.namespace IN $permitted AND ($hidden OR n.actor IN $permitted)) "
_GROUP: LiteralString = "RETURN n.kind, n.namespace, n.platform, n.state, n.actor, n.pipeline, n.labels, count(*)"
# Nodes with an owner, tag or term come from the full-text index, all others from an index of their kind.
_WITH_LABELS: LiteralString = _MATCH + "WITH n WHERE n.tenant = $tenant AND n.kind = $kind "
_OF_KIND: LiteralString = "MATCH (n:Container) WHERE n.tenant = $tenant AND n.kind = $kind "
# The planner would read all nodes of the kind in the order of another index.
_IN_NAMESPACE: LiteralString = (
    "MATCH (n:Container) USING INDEX n:Container(tenant, kind, namespace) WHERE n.tenant = $tenant AND n.kind = $kind "
)
_IN_PIPELINE: LiteralString = (
    "MATCH (n:Container) USING INDEX n:Container(tenant, kind, pipeline) WHERE n.tenant = $tenant AND n.kind = $kind "
)
_LISTED: LiteralString = (
    "AND n.urgency IS NOT NULL AND n.folded IS NOT NULL AND n.id IS NOT NULL "
    "AND ($permitted IS NULL OR n.namespace IN $permitted AND ($hidden OR n.actor IN $permitted)) "
)
_CHOSEN: tuple[tuple[str, LiteralString], ...] = (
    ("namespaces", "AND n.namespace IN $namespaces "), ("platforms", "AND n.platform IN $platforms "),
    ("states", "AND n.state IN $states "), ("pipelines", "AND n.pipeline IN $pipelines "),
)  # fmt: skip
_STATE: LiteralString = "CASE WHEN $permitted IS NULL OR n.actor IN $permitted THEN n.state ELSE '' END"
_URGENCY: LiteralString = "CASE WHEN $permitted IS NULL OR n.actor IN $permitted THEN n.urgency ELSE 2 END"
_ORDERS: dict[Order, tuple[LiteralString, tuple[type, ...]]] = {
    Order.FAILED_FIRST: (
        "WITH n, " + _URGENCY + " AS urgency WHERE $place IS NULL OR urgency > $place[0] OR urgency = $place[0] AND (n.folded > $place[1] "
        "OR n.folded = $place[1] AND n.id > $place[2]) RETURN urgency, n.folded, n.id, n.namespace, "
        + _STATE
        + " ORDER BY urgency, n.folded, n.id LIMIT $limit",
        (int, str, str),
    ),
    Order.NAME: (
        (
            "WITH n WHERE $place IS NULL OR n.folded > $place[0] OR n.folded = $place[0] AND n.id > $place[1] "
            "RETURN n.folded, n.id, n.namespace, " + _STATE + " ORDER BY n.folded, n.id LIMIT $limit"
        ),
        (str, str),
    ),
    Order.LATEST: (
        (
            "WITH n WHERE $place IS NULL OR n.at < $place[0] OR n.at = $place[0] AND n.id < $place[1] "
            "RETURN n.at, n.id, n.namespace, " + _STATE + " ORDER BY n.at DESC, n.id DESC LIMIT $limit"
        ),
        (str, str),
    ),
    Order.WEIGHT: (
        (
            "WITH n, coalesce(n.weight, 0) AS weight WHERE $place IS NULL OR weight < $place[0] OR weight = $place[0] AND n.id < $place[1] "
            "RETURN weight, n.id, n.namespace, " + _STATE + " ORDER BY weight DESC, n.id DESC LIMIT $limit"
        ),
        (int, str),
    ),
}


async def find(
    transaction: AsyncManagedTransaction, tenant: str, request: SearchRequest, first: int, after: str | None,
    permitted: Sequence[str] | None,
) -> Found:  # fmt: skip
    """Return a page of what a request finds. `permitted`: the only namespaces of the hits; None: all."""
    search = _Search(transaction, tenant, request, permitted)
    return await (search.ranked(first, after) if request.text.strip() else search.listed(first, after))


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A reading of the text. `forgiving`: typing errors are forgiven. `is_partial`: a hit has only some of the words."""

    words: Sequence[str]
    forgiving: bool
    is_partial: bool = False

    def match(self, kinds: Sequence[NodeKind], chosen: str, *, own: bool) -> str:
        """Return the text for the full-text index."""
        spelt = [self._spellings(word) for word in self.words]
        parts = [] if self.is_partial else [f"+(own:({one}) place:({one}))" for one in spelt]
        if own or self.is_partial:
            parts.append(f"+own:({' '.join(spelt)})")
        return " ".join([*parts, _any(f"k{kind.value}" for kind in kinds), chosen])

    def literally(self, kinds: Sequence[NodeKind], chosen: str) -> str:
        """Return the text for nodes that have each word literally."""
        return " ".join([*(f"+own:{code(word)}" for word in self.words), _any(f"k{kind.value}" for kind in kinds), chosen])

    def _spellings(self, word: str) -> str:
        found = [f"{code(word)}*"]
        if len(word) >= _LEAST_INSIDE:
            found.append(f"*{code(word)}*")
        if self.forgiving and word.isascii() and (most := allowed_edits(word)):
            found.append(f"{word}~{most}")
        return " ".join(found)


class _Search:
    """One request in one transaction."""

    def __init__(self, transaction: AsyncManagedTransaction, tenant: str, request: SearchRequest, permitted: Sequence[str] | None) -> None:
        self._transaction, self._tenant, self._request = transaction, tenant, request
        self._permitted = None if permitted is None else list(permitted)
        self._chosen = _chosen_facets(request, tenant)
        # `hidden`: hits may have states and pipelines that the caller may not know, because he does not choose them.
        self._bound: dict[str, Any] = {"permitted": self._permitted, "hidden": not (request.states or request.pipelines)}

    async def ranked(self, first: int, after: str | None) -> Found:
        skip = ranked_place(after)
        kinds = [kind for kind in SEARCHED if kind in (self._request.kinds or SEARCHED)]
        own = len(kinds) > 1  # all columns of a dataset are found by its name only if nothing else is wanted
        for attempt in self._attempts():
            counts, counted = await self._count(attempt.match(kinds, self._chosen, own=own))
            if counts.total:
                best = await self._best(attempt, kinds, own=own)
                return await self._page(counts, best, skip, first, counted=counted)
        return Found([], 0)

    def _attempts(self) -> Iterator[_Attempt]:
        """Yield readings of the text, the strictest first."""
        readings = self._request.readings()
        for forgiving in (False, True):
            yield from (_Attempt(words, forgiving) for words in readings)
        if readings and len(readings[-1]) > 1:
            yield _Attempt(readings[-1], forgiving=True, is_partial=True)

    async def _count(self, match: str) -> tuple[FacetCounts, bool]:
        statement: LiteralString = _MATCH + _INSIDE + "WITH n LIMIT $limit " + _GROUP
        counts = FacetCounts(self._permitted)
        found = await rows(self._transaction, statement, match=match, limit=_COUNTED + 1, **self._bound)
        counts.take((row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]) for row in found)
        return counts, counts.total <= _COUNTED

    async def _best(self, attempt: _Attempt, kinds: Sequence[NodeKind], *, own: bool) -> list[Ranked]:
        """Return the best hits in order."""
        found: dict[str, Candidate] = {}
        for group in RANKED_TOGETHER:
            wanted = [kind for kind in group if kind in kinds]
            if wanted:
                matches = [attempt.match(wanted, self._chosen, own=own)]
                if not attempt.is_partial:
                    matches.append(attempt.literally(wanted, self._chosen))
                statement: LiteralString = (
                    _MATCH + _INSIDE + "RETURN n.id, n.kind, n.name, n.own, n.place, n.namespace, " + _STATE + " LIMIT $limit"
                )
                for match in matches:
                    for row in await rows(self._transaction, statement, match=match, limit=_RANKED, **self._bound):
                        found[row[0]] = Candidate(row[0], NodeKind(row[1]), *row[2:])
        if not self._request.narrowed:  # otherwise few hits have one name
            statement = (
                "MATCH (n:Container) "
                + _INSIDE
                + (
                    "AND n.tenant = $tenant AND n.kind IN $kinds AND n.folded = $folded AND n.own IS NOT NULL "
                    "RETURN n.id, n.kind, n.name, n.own, n.place, n.namespace, " + _STATE + " LIMIT $limit"
                )
            )
            asked = {"kinds": [kind.value for kind in kinds], "folded": fold(self._request.text.strip()), "tenant": self._tenant}
            for row in await rows(self._transaction, statement, limit=_RANKED, **asked, **self._bound):
                found[row[0]] = Candidate(row[0], NodeKind(row[1]), *row[2:])
        return Ranking(attempt.words, attempt.forgiving).order(found.values())

    async def _page(self, counts: FacetCounts, best: Sequence[Ranked], skip: int, first: int, *, counted: bool) -> Found:
        page = best[skip : skip + first]
        known = await read_nodes(self._transaction, self._tenant, [each.identifier for each in page])
        nodes = {node.id: node for node in known}
        hits = [Hit(nodes[each.identifier], each.score, each.matched, each.namespace, each.state) for each in page]
        more = skip + first < len(best)
        cursor = ranked_cursor(skip + first) if more else None
        return Found(hits, counts.total, cursor, counted, more or len(best) >= counts.total, counts.facets())

    async def listed(self, first: int, after: str | None) -> Found:
        kinds = [kind for kind in SEARCHED if kind in (self._request.kinds or LISTED)]
        order, types = _ORDERS[self._request.order]
        place = list_place(after, types)
        counts = FacetCounts(self._permitted)
        found: list[list[Any]] = []
        counted = True
        for kind in kinds:
            start, bound = self._of_kind(kind)
            found += await rows(self._transaction, start + order, place=place, limit=first + 1, **bound)
            by_map = kind is NodeKind.DATASET and self._permitted is None and not self._request.narrowed
            counted = await count_kind(self._transaction, start, bound, counts, by_map=by_map) and counted
        found.sort(reverse=self._request.order in (Order.LATEST, Order.WEIGHT))
        shown = found[:first]
        cursor = list_cursor(shown[-1][:-2]) if len(found) > first and shown else None
        nodes = {node.id: node for node in await read_nodes(self._transaction, self._tenant, [row[-3] for row in shown])}
        hits = [Hit(nodes[row[-3]], 0.0, (), row[-2], row[-1]) for row in shown]
        return Found(hits, counts.total, cursor, counted, facets=counts.facets())

    def _of_kind(self, kind: NodeKind) -> tuple[LiteralString, dict[str, Any]]:
        """Return the beginning of a statement for the nodes of a kind with the chosen facets, and its parameters."""
        bound = {**self._bound, "tenant": self._tenant, "kind": kind.value}
        start = _OF_KIND
        if any(values for _, values in self._request.labels()):
            start = _WITH_LABELS
            bound["match"] = f"+facet:k{kind.value} {self._chosen}"
        elif self._request.pipelines and all(self._request.pipelines):
            start = _IN_PIPELINE
        elif self._request.namespaces:
            start = _IN_NAMESPACE
        start += _LISTED
        for name, condition in _CHOSEN:
            if values := list(getattr(self._request, name)):
                start += condition
                bound[name] = values
        return start, bound


def _chosen_facets(request: SearchRequest, tenant: str) -> str:
    """Return the text for the tenant's nodes with the chosen facets."""
    chosen = [_any(facet_code(name, value) for value in values) for name, values in request.chosen() if values]
    return " ".join([f"+facet:{facet_code('x', tenant)}", *chosen])


def _any(tokens: Iterable[str]) -> str:
    return f"+facet:({' '.join(tokens)})"
