"""Reads cones from a Neo4j database.

A level is one statement over the server's element ids. Near ends are returned as positions in the list of the level. Node ids are read at
the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString

import numpy as np
from neo4j import AsyncManagedTransaction

from headwater.graph.model import EdgeKind, NodeKind
from headwater.graph.stores.cone import ConeBuilder
from headwater.graph.stores.neo4j.connections import rows
from headwater.graph.stores.neo4j.traverse import BY_PLACE, elements_of, step
from headwater.graph.stores.neo4j.vocabulary import KIND
from headwater.graph.stores.protocol import Cone, Direction

_PARENTS: LiteralString = BY_PLACE + "<-[:CONTAINS]-(m:Container) RETURN collect(place), collect(elementId(m))"
_IDS: LiteralString = BY_PLACE + " WITH n, place ORDER BY place RETURN collect(n.id)"
_NAMES: LiteralString = BY_PLACE + " WITH n, place ORDER BY place RETURN collect(n.name)"
_BY_ID: LiteralString = BY_PLACE + " WITH n ORDER BY n.id RETURN collect(elementId(n))"


async def cone(
    transaction: AsyncManagedTransaction,
    tenant: str,
    focus: Sequence[str],
    direction: Direction,
    kinds: Sequence[EdgeKind],
    depth: int,
    limit: int,
    contained: Sequence[NodeKind],
    facts: bool,
    names: bool,
) -> Cone:
    start = await elements_of(transaction, tenant, list(dict.fromkeys(focus)))
    if len(start) > limit:
        start = await _column(transaction, _BY_ID, start)
    builder = ConeBuilder(start, direction, depth, limit, facts)
    while level := builder.level():
        way, frontier = level
        columns = (await rows(transaction, _step(way, kinds, facts=facts), elements=frontier))[0] if kinds else [[], []]
        near = [frontier[place] for place in columns[0]]
        if facts and kinds:
            columns[2] = [KIND[kind].value for kind in columns[2]]
        found = list(zip(near, *columns[1:], strict=True))
        cut = builder.cut([row[1] for row in found])
        builder.take(found, await _column(transaction, _BY_ID, cut) if cut else [])
    elements = list(builder.keys)
    ids = await _column(transaction, _IDS, elements)
    prefixes = tuple(f"{kind}:" for kind in contained)
    inner = [element for element, identifier in zip(elements, ids, strict=True) if identifier.startswith(prefixes)] if prefixes else []
    contains = await _containers(transaction, inner, elements)
    return Cone(
        ids=ids + await _column(transaction, _IDS, elements[len(ids) :]),
        reached=len(ids),
        pairs=np.array(builder.edges, dtype=np.int64).reshape(-1, 2),
        facts=builder.facts,
        contains=np.array(contains, dtype=np.int64).reshape(-1, 2),
        upstream=builder.distance.get(Direction.UPSTREAM, {}),
        downstream=builder.distance.get(Direction.DOWNSTREAM, {}),
        beyond=len(builder.beyond),
        names=await _column(transaction, _NAMES, elements) if names else (),
    )


async def _column(transaction: AsyncManagedTransaction, statement: LiteralString, elements: Sequence[str]) -> list[str]:
    return list((await rows(transaction, statement, elements=elements))[0][0]) if elements else []


async def _containers(transaction: AsyncManagedTransaction, inner: Sequence[str], elements: list[str]) -> list[tuple[int, int]]:
    """Return the containment edges from `inner` up to the outermost containers. New containers are added to `elements`."""
    numbers = {element: number for number, element in enumerate(elements)}
    contains: list[tuple[int, int]] = []
    frontier, climbed = list(inner), set(inner)
    while frontier:
        children, parents = (await rows(transaction, _PARENTS, elements=frontier))[0]
        above: list[str] = []
        for place, container in zip(children, parents, strict=True):
            if container not in numbers:
                numbers[container] = len(elements)
                elements.append(container)
            if container not in climbed:
                climbed.add(container)
                above.append(container)
            contains.append((numbers[container], numbers[frontier[place]]))
        frontier = above
    return contains


def _step(way: Direction, kinds: Sequence[EdgeKind], *, facts: bool) -> LiteralString:
    """Return the statement for one hop from every node of a level.

    It returns lists, because one record is unpacked faster than one per edge.
    """
    # Cypher drops nulls from a collected list.
    about: LiteralString = ", collect(coalesce(e.first, '')), collect(coalesce(e.last, ''))" if facts else ""
    # The kind distinguishes two edges between the same nodes.
    return BY_PLACE + step(way, kinds) + " RETURN collect(place), collect(elementId(m)), collect(type(e))" + about
