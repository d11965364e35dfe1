"""Searches by words and facets: hits in order, their number, and the counts of their facets.

At most `_COUNTED` hits are counted, and the best of a few thousand are put in order. The time of a search hardly depends on the size of
the graph. A search without a text reads an index in its order, and counts all nodes that it finds.
"""

from __future__ import annotations

import heapq
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from headwater.graph.model import NodeKind
from headwater.graph.search import SEARCHED, Candidate, Found, Hit, Order, Ranked, Ranking, SearchRequest
from headwater.graph.search.entries import LISTED, RANKED_TOGETHER
from headwater.graph.search.facets import PIPELINE, STATE, FacetCounts
from headwater.graph.search.request import list_cursor, list_place, ranked_cursor, ranked_place
from headwater.graph.stores.paging import fold
from headwater.graph.stores.sqlite.read import read_nodes
from headwater.graph.stores.sqlite.word_matches import Words, chosen_facets, expand

_COUNTED = 3_000
_RANKED = 200  # hits of a group of kinds that are put in order, and as many that have the words literally
_SAME_NAME = 20
# Types of a place in each order.
_PLACES = {Order.FAILED_FIRST: (int, str, int), Order.NAME: (str, int), Order.LATEST: (str, int), Order.WEIGHT: (int, int)}
_GROUP = "e.kind, e.namespace, e.platform, e.state, e.actor, e.pipeline, e.labels"
_CANDIDATE = "n.id, n.kind, n.name, e.own, e.place, e.namespace, e.state, e.actor"
_INSIDE = "e.namespace IN (SELECT value FROM json_each(?))"
_ACTORS_INSIDE = "e.actor IN (SELECT value FROM json_each(?))"


def find(
    connection: sqlite3.Connection, tenant: str, request: SearchRequest, first: int, after: str | None, permitted: Sequence[str] | None
) -> Found:
    """Return a page of what a request finds. `permitted`: the only namespaces of the hits; None: all."""
    search = _Search(connection, tenant, request, permitted)
    if request.text.strip():
        return search.ranked(first, after)
    return search.listed(first, after)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A reading of the text, and the expression of FTS5 for it. `is_partial`: a hit has only some of the words."""

    words: Words
    match: str
    is_partial: bool = False


class _Search:
    """One request over one snapshot of the file."""

    def __init__(self, connection: sqlite3.Connection, tenant: str, request: SearchRequest, permitted: Sequence[str] | None) -> None:
        self._connection, self._tenant, self._request, self._permitted = connection, tenant, request, permitted
        # Nearly all files have one tenant. To read the list of all its nodes would take most of the time.
        self._chosen = chosen_facets(request, tenant if _is_shared(connection, tenant) else None)
        self._bound: list[str] = []
        conditions = []
        if permitted is not None:
            conditions.append(_INSIDE)
            self._bound.append(json.dumps(list(permitted)))
            if request.states or request.pipelines:
                conditions.append(_ACTORS_INSIDE)
                self._bound.append(json.dumps(list(permitted)))
        self._inside = "".join(f" AND {condition}" for condition in conditions)

    def ranked(self, first: int, after: str | None) -> Found:
        skip = ranked_place(after)
        kinds = [kind for kind in SEARCHED if kind in (self._request.kinds or SEARCHED)]
        own = len(kinds) > 1  # all columns of a dataset are found by its name only if nothing else is wanted
        for attempt in self._attempts(kinds, own=own):
            counts, counted = self._count(attempt.match)
            if counts.total:
                there = [kind for kind in kinds if not counted or counts.has(kind)]
                return self._page(counts, self._best(attempt, there, own=own), skip, first, counted=counted)
        return Found([], 0)

    def _page(self, counts: FacetCounts, best: Sequence[Ranked], skip: int, first: int, *, counted: bool) -> Found:
        page = best[skip : skip + first]
        nodes = {node.id: node for node in read_nodes(self._connection, self._tenant, [each.identifier for each in page])}
        hits = [Hit(nodes[each.identifier], each.score, each.matched, each.namespace, each.state) for each in page]
        more = skip + first < len(best)
        cursor = ranked_cursor(skip + first) if more else None
        return Found(hits, counts.total, cursor, counted, more or len(best) >= counts.total, counts.facets())

    def _attempts(self, kinds: Sequence[NodeKind], *, own: bool) -> Iterator[_Attempt]:
        """Yield words and their expression, the strictest first. The last attempt takes nodes with only some of the words."""
        readings = self._request.readings()
        is_restricted = self._permitted is not None
        for forgiving in (False, True):
            for reading in readings:
                words = expand(self._connection, self._tenant, reading, forgiving=forgiving, is_restricted=is_restricted)
                yield _Attempt(words, words.all_of(kinds, self._chosen, own=own))
                if forgiving and reading is readings[-1] and len(reading) > 1:
                    yield _Attempt(words, words.any_of(kinds, self._chosen), is_partial=True)

    def _count(self, match: str) -> tuple[FacetCounts, bool]:
        rows = self._connection.execute(
            f"SELECT {_GROUP}, count(*) FROM (SELECT e.key AS hit FROM entry_word CROSS JOIN entry AS e ON e.key = entry_word.rowid "
            f"WHERE entry_word MATCH ?{self._inside} LIMIT ?) CROSS JOIN entry AS e ON e.key = hit GROUP BY {_GROUP}",
            (match, *self._bound, _COUNTED + 1),
        )
        counts = FacetCounts(self._permitted)
        counts.take(rows)
        return counts, counts.total <= _COUNTED

    def _best(self, attempt: _Attempt, kinds: Sequence[NodeKind], *, own: bool) -> list[Ranked]:
        """Return the best hits in order."""
        words = attempt.words
        found: dict[str, Candidate] = {}
        for group in RANKED_TOGETHER:
            wanted = [kind for kind in group if kind in kinds]
            if not wanted:
                continue
            if attempt.is_partial:
                matches = [words.any_of(wanted, self._chosen)]
            else:
                matches = [words.literally(wanted, self._chosen), words.all_of(wanted, self._chosen, own=own)]
            for match in matches:
                found.update((each.identifier, each) for each in self._candidates(match))
        if not self._request.narrowed:  # otherwise few hits have one name
            found.update((each.identifier, each) for each in self._of_name(kinds))
        ranking = Ranking(words.words, words.forgiven)
        return ranking.order(found.values())

    def _candidates(self, match: str) -> list[Candidate]:
        rows = self._connection.execute(
            f"SELECT {_CANDIDATE} FROM entry_word CROSS JOIN entry AS e ON e.key = entry_word.rowid "
            f"CROSS JOIN node AS n ON n.key = e.key WHERE entry_word MATCH ?{self._inside} LIMIT ?",
            (match, *self._bound, _RANKED),
        )
        return self._of_rows(rows)

    def _of_rows(self, rows: Iterable[tuple[str, ...]]) -> list[Candidate]:
        return [
            Candidate(identifier, NodeKind(kind), name, own, place, namespace, state if self._knows(actor) else "")
            for identifier, kind, name, own, place, namespace, state, actor in rows
        ]

    def _knows(self, actor: str) -> bool:
        """Whether the caller may know the states that the jobs of a namespace bring."""
        return self._permitted is None or actor in self._permitted

    def _of_name(self, kinds: Sequence[NodeKind]) -> list[Candidate]:
        """Return nodes that have the text as their name."""
        rows = self._connection.execute(
            f"SELECT {_CANDIDATE} FROM json_each(?) AS asked CROSS JOIN node AS n ON n.tenant = ? AND "
            "n.kind = asked.value AND n.folded = ? CROSS JOIN entry AS e ON e.key = n.key "
            f"WHERE true{self._inside} LIMIT ?",
            (json.dumps([str(kind) for kind in kinds]), self._tenant, fold(self._request.text.strip()), *self._bound, _SAME_NAME),
        )
        return self._of_rows(rows)

    def listed(self, first: int, after: str | None) -> Found:
        kinds = [kind for kind in SEARCHED if kind in (self._request.kinds or LISTED)]
        place = list_place(after, _PLACES[self._request.order])
        found = list(islice(heapq.merge(*(self._in_order(kind, place, first + 1) for kind in kinds)), first + 1))
        counts = FacetCounts(self._permitted)
        for kind in kinds:
            if any(values for name, values in self._request.chosen() if name != "n"):
                counts.take(self._groups(kind))
            else:
                self._take_counts(kind, counts)
        shown = found[:first]
        cursor = list_cursor(shown[-1][0]) if len(found) > first and shown else None
        nodes = {node.id: node for node in read_nodes(self._connection, self._tenant, [row[1] for row in shown])}
        hits = [
            Hit(nodes[identifier], 0.0, (), namespace, state if self._knows(actor) else "")
            for _, identifier, namespace, state, actor in shown
        ]
        return Found(hits, counts.total, cursor, facets=counts.facets())

    def _in_order(self, kind: NodeKind, place: Sequence[Any] | None, limit: int) -> list[tuple[list[Any], str, str, str, str]]:
        """Return nodes of a kind after a place of the order, each with its own place."""
        order = self._request.order
        where, bound = self._where(kind)
        if order in (Order.LATEST, Order.WEIGHT):
            parts, ascending = ["e.at" if order is Order.LATEST else "e.weight", "e.key"], False
        elif order is Order.NAME:
            parts, ascending = ["e.folded", "e.key"], True
        elif self._permitted is None:
            parts, ascending = ["e.urgency", "e.folded", "e.key"], True
        else:  # the state of a run that the caller may not see has no place in the order
            parts, ascending = [f"CASE WHEN {_ACTORS_INSIDE} THEN e.urgency ELSE 2 END", "e.folded", "e.key"], True
        own = [json.dumps(list(self._permitted or ()))] if "CASE" in parts[0] else []
        sign, way = (">", "") if ascending else ("<", " DESC")
        after = f" AND ({', '.join(parts)}) {sign} ({', '.join('?' * len(parts))})" if place is not None else ""
        rows = self._connection.execute(
            f"SELECT {', '.join(parts)}, n.id, e.namespace, e.state, e.actor "
            f"FROM entry AS e {self._index()} CROSS JOIN node AS n ON n.key = e.key WHERE {where}{after} "
            f"ORDER BY {', '.join(f'{index + 1}{way}' for index in range(len(parts)))} LIMIT ?",
            (*own, *bound, *own[: bool(after)], *(place or ()), limit),
        ).fetchall()
        own_place: type[list[Any]] = list if ascending else _Backwards
        return [(own_place(row[:-4]), *row[-4:]) for row in rows]

    def _groups(self, kind: NodeKind) -> Iterable[Any]:
        where, bound = self._where(kind)
        return self._connection.execute(f"SELECT {_GROUP}, count(*) FROM entry AS e {self._index()} WHERE {where} GROUP BY {_GROUP}", bound)

    def _index(self) -> str:
        """Return the index that reads only nodes with the chosen labels or pipelines. SQLite would read all nodes of the kind."""
        if any(values for _, values in self._request.labels()):
            return "NOT INDEXED"  # by the keys of the index of words
        return "INDEXED BY entry_by_pipeline" if self._request.pipelines and all(self._request.pipelines) else ""

    def _take_counts(self, kind: NodeKind, counts: FacetCounts) -> None:
        """Add the kept counts of a kind."""
        parts, bound = ["e.tenant = ?", "e.kind = ?"], [self._tenant, kind.value]
        if self._request.namespaces:
            parts.append("e.namespace IN (SELECT value FROM json_each(?))")
            bound.append(json.dumps(list(self._request.namespaces)))
        for facet, value, count in self._connection.execute(
            f"SELECT e.facet, e.value, sum(e.count) FROM entry_count AS e WHERE {' AND '.join(parts)}{self._inside} GROUP BY 1, 2",
            (*bound, *self._bound),
        ):
            actor, _, own = value.rpartition("\n") if facet in (STATE, PIPELINE) else ("", "", value)
            counts.add(facet, own, actor, count)

    def _where(self, kind: NodeKind) -> tuple[str, list[Any]]:
        """Return the condition for the nodes of a kind with the chosen facets."""
        asked = self._request
        parts, bound = ["e.tenant = ?", f"e.kind = '{kind}'"], [self._tenant]
        if kind is not NodeKind.COLUMN:
            parts.append("e.kind <> 'column'")  # as the partial indexes state it
        for name, values in (
            ("namespace", asked.namespaces), ("platform", asked.platforms), ("state", asked.states), ("pipeline", asked.pipelines),
        ):  # fmt: skip
            if len(values) == 1:  # an index has the nodes of one value in order
                parts.append(f"e.{name} = ?")
                bound.append(values[0])
            elif values:
                parts.append(f"e.{name} IN (SELECT value FROM json_each(?))")
                bound.append(json.dumps(list(values)))
            if name == "pipeline" and values and all(values):
                parts.append("e.pipeline <> ''")  # as the partial index states it
        if any(values for _, values in asked.labels()):
            parts.append("e.key IN (SELECT rowid FROM entry_word WHERE entry_word MATCH ?)")
            bound.append(self._chosen)
        return " AND ".join(parts) + self._inside, [*bound, *self._bound]


class _Backwards(list[Any]):
    """A place in a descending order."""

    def __lt__(self, other: list[Any]) -> bool:
        return list(self) > list(other)


def _is_shared(connection: sqlite3.Connection, tenant: str) -> bool:
    """Whether the file has entries of other tenants."""
    return any(connection.execute(f"SELECT 1 FROM entry_count WHERE tenant {sign} ? LIMIT 1", (tenant,)).fetchone() for sign in ("<", ">"))
