"""Finds the datasets on the paths between two datasets, which are all that a trace with a target has to follow.

For `engine`. The search uses captures and the graph, goes from both ends alternately, and stops as soon as one end has nothing further. A
trace of a small pipeline has the cost of that pipeline, in a lake of any size.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from itertools import islice

from headwater.graph.model import EdgeKind
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.trace.file_checks import holding_of
from headwater.graph.trace.session import Session

_FLOWS = (EdgeKind.READS, EdgeKind.WRITES)
_LOOKED_AT, _COUNTED = 20, 16  # datasets whose successors are counted, and the first limit of the count
_BATCH = 1_000  # datasets per query to the graph


class _Side:
    """The datasets that are reached from one end: downstream, or upstream."""

    def __init__(self, session: Session, graph: GraphStore | None, start: str, *, forward: bool) -> None:
        self._session = session
        self._graph = graph
        self._forward = forward
        self._jobs: dict[str, set[str]] = {}
        self.frontier = {start}
        self.seen = {start}
        self.met_from: dict[str, set[str]] = {}  # dataset → its predecessors in the search

    async def weight(self, most: int) -> int:
        """Return the number of datasets reached and to be reached by the next step, counted up to `most` for each dataset."""
        catalog, few = self._session.store.catalog.datasets, list(islice(self.frontier, _LOOKED_AT))
        fan = await asyncio.to_thread(catalog.fan, self._session.tenant, few, forward=self._forward, most=most)
        return len(self.seen) + fan

    async def grow(self) -> None:
        """Take one step from all datasets that the last step reached."""
        found = await self._beyond(self.frontier)
        for dataset, others in found.items():
            for other in others:
                self.met_from.setdefault(other, set()).add(dataset)
        reached: set[str] = set().union(*found.values()) if found else set()
        self.frontier = reached - self.seen
        self.seen |= self.frontier

    def leading_to(self, goal: str) -> set[str]:
        """Return the reached datasets that lead to the goal, with the goal."""
        leading, waiting = {goal}, [goal]
        while waiting:
            others = self.met_from.get(waiting.pop(), set()) - leading
            leading |= others
            waiting += others
        return leading

    async def _beyond(self, datasets: Collection[str]) -> Mapping[str, set[str]]:
        catalog, tenant = self._session.store.catalog, self._session.tenant
        found = await asyncio.to_thread(catalog.datasets.beyond, tenant, datasets, forward=self._forward)
        if self._graph is None:
            return found
        ordered = sorted(datasets)
        for begin in range(0, len(ordered), _BATCH):
            near = await self._near(ordered[begin : begin + _BATCH])
            if asked := sorted(set().union(*near.values()) - self._jobs.keys()):
                self._jobs |= {job: set() for job in asked} | await self._near(asked)
            for dataset, jobs in near.items():
                for job in jobs:
                    found.setdefault(dataset, set()).update(other for other in self._jobs[job] if other.startswith("dataset:"))
        return found

    async def _near(self, ids: Collection[str]) -> dict[str, set[str]]:
        """Return the graph's neighbours of each node, in the direction of this side."""
        assert self._graph is not None  # noqa: S101  # the caller looked
        direction = Direction.DOWNSTREAM if self._forward else Direction.UPSTREAM
        found: dict[str, set[str]] = {}
        for edge in await self._graph.neighbours(self._session.tenant, list(ids), direction=direction, kinds=_FLOWS):
            here, there = (edge.src, edge.dst) if self._forward else (edge.dst, edge.src)
            found.setdefault(here, set()).add(there)
        return found


async def towards_of(session: Session, graph: GraphStore | None, start: str, to: str, *, forward: bool) -> set[str]:
    """Return the datasets between `start` and `to`, according to captures and the graph.

    The result always contains `to`, and may contain datasets that are not reached from `start`.
    """
    found = await _towards(session, graph, start, to, forward=forward)
    holding = await asyncio.to_thread(holding_of, session, to) if forward else None
    origins = {session.files[number].dataset for number in holding.moved} if holding is not None else set()
    for origin in sorted(origins - found):  # its files are now in `to`, and nobody has read them there
        found |= await _towards(session, graph, start, origin, forward=True)
    return found


async def _towards(session: Session, graph: GraphStore | None, start: str, to: str, *, forward: bool) -> set[str]:
    near, far = _Side(session, graph, start, forward=forward), _Side(session, graph, to, forward=not forward)
    while near.frontier and far.frontier:
        await (await _lighter(near, far)).grow()
    return near.leading_to(to) if not near.frontier else far.seen


async def _lighter(near: _Side, far: _Side) -> _Side:
    """Return the side whose next step costs less.

    A table with thousands of readers is better reached from the other side, without counting them all.
    """
    most = _COUNTED
    while True:
        weights = await near.weight(most), await far.weight(most)
        if min(weights) < most or most > _BATCH:
            return near if weights[0] <= weights[1] else far
        most *= 4
