"""Finds the datasets on the paths between two datasets. A trace with a target follows only these.

The search uses captures and the graph. It alternates between both ends, and stops when one end has no further datasets. Its cost depends on
the pipeline between the ends, not on the number of datasets in the lake.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from itertools import islice

from headwater.graph.model import EdgeKind
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.trace.file_checks import read_content
from headwater.graph.trace.session import Session

_FLOWS = (EdgeKind.READS, EdgeKind.WRITES)
_LOOKED_AT, _COUNTED = 20, 16  # datasets whose successors are counted, and the first limit of the count
_BATCH = 1_000  # datasets per query to the graph


class _SearchSide:
    """The datasets that are reached from one end of the search: downstream from the start, or upstream from the target."""

    def __init__(self, session: Session, graph: GraphStore | None, starts: Collection[str], *, forward: bool) -> None:
        self._session = session
        self._graph = graph
        self._forward = forward
        self._jobs: dict[str, set[str]] = {}
        self.frontier = set(starts)
        self.visited = set(starts)
        self.predecessors: dict[str, set[str]] = {}  # dataset → its predecessors in the search

    async def weight(self, most_datasets: int) -> int:
        """Return the number of reached datasets and of the datasets that the next step would reach.

        At most `most_datasets` are counted for each dataset.
        """
        catalog, sample = self._session.store.catalog.datasets, list(islice(self.frontier, _LOOKED_AT))
        fan = await asyncio.to_thread(catalog.fan, self._session.tenant, sample, forward=self._forward, most=most_datasets)
        return len(self.visited) + fan

    async def grow(self) -> None:
        """Take one step from all datasets that the last step reached."""
        successors = await self._read_successors(self.frontier)
        for dataset, next_datasets in successors.items():
            for next_dataset in next_datasets:
                self.predecessors.setdefault(next_dataset, set()).add(dataset)
        reached_datasets: set[str] = set().union(*successors.values()) if successors else set()
        self.frontier = reached_datasets - self.visited
        self.visited |= self.frontier

    def list_datasets_to(self, goals: Collection[str]) -> set[str]:
        """Return the reached datasets that lead to a goal, and the goals."""
        leading, queue = set(goals), list(goals)
        while queue:
            unvisited = self.predecessors.get(queue.pop(), set()) - leading
            leading |= unvisited
            queue += unvisited
        return leading

    async def _read_successors(self, datasets: Collection[str]) -> Mapping[str, set[str]]:
        catalog, tenant = self._session.store.catalog, self._session.tenant
        successors = await asyncio.to_thread(catalog.datasets.beyond, tenant, datasets, forward=self._forward)
        if self._graph is None:
            return successors
        ordered_datasets = sorted(datasets)
        for begin in range(0, len(ordered_datasets), _BATCH):
            jobs_by_dataset = await self._read_neighbours(ordered_datasets[begin : begin + _BATCH])
            if unknown_jobs := sorted(set().union(*jobs_by_dataset.values()) - self._jobs.keys()):
                self._jobs |= {job: set() for job in unknown_jobs} | await self._read_neighbours(unknown_jobs)
            for dataset, jobs in jobs_by_dataset.items():
                for job in jobs:
                    successors.setdefault(dataset, set()).update(
                        dataset_id for dataset_id in self._jobs[job] if dataset_id.startswith("dataset:")
                    )
        return successors

    async def _read_neighbours(self, ids: Collection[str]) -> dict[str, set[str]]:
        assert self._graph is not None  # noqa: S101  # the caller looked
        direction = Direction.DOWNSTREAM if self._forward else Direction.UPSTREAM
        neighbours: dict[str, set[str]] = {}
        for edge in await self._graph.neighbours(self._session.tenant, list(ids), direction=direction, kinds=_FLOWS):
            near_end, far_end = (edge.src, edge.dst) if self._forward else (edge.dst, edge.src)
            neighbours.setdefault(near_end, set()).add(far_end)
        return neighbours


async def datasets_towards(
    session: Session, graph: GraphStore | None, start: str, target: str, *, forward: bool, alternates: Collection[str] = ()
) -> set[str]:
    """Return the datasets between `start` and `target` or its alternates, according to captures and the graph.

    The result always contains `target` and its alternates, and may contain datasets that are not reached from `start`.
    """
    datasets = await _search_datasets(session, graph, start, {target, *alternates}, forward=forward)
    holding = await asyncio.to_thread(read_content, session, target) if forward else None
    origins = {session.files[number].dataset for number in holding.moved_files} if holding is not None else set()
    for origin in sorted(origins - datasets):  # its files are now in `target`, and nobody has read them there
        datasets |= await _search_datasets(session, graph, start, {origin}, forward=True)
    return datasets


async def find_successors(session: Session, graph: GraphStore | None, starts: Collection[str], *, most: int) -> dict[str, set[str]] | None:
    """Return the datasets downstream of `starts`, each with the datasets that are made from it. None if there are more than `most`."""
    side = _SearchSide(session, graph, starts, forward=True)
    while side.frontier:
        if len(side.visited) > most:
            return None
        await side.grow()
    successors: dict[str, set[str]] = {dataset: set() for dataset in side.visited}
    for dataset, sources in side.predecessors.items():
        for source in sources:
            successors[source].add(dataset)
    return successors


async def _search_datasets(session: Session, graph: GraphStore | None, start: str, targets: set[str], *, forward: bool) -> set[str]:
    start_side = _SearchSide(session, graph, {start}, forward=forward)
    target_side = _SearchSide(session, graph, targets, forward=not forward)
    while start_side.frontier and target_side.frontier:
        await (await _pick_lighter_side(start_side, target_side)).grow()
    return start_side.list_datasets_to(targets) if not start_side.frontier else target_side.visited


async def _pick_lighter_side(start_side: _SearchSide, target_side: _SearchSide) -> _SearchSide:
    """Return the side whose next step costs less.

    A table with thousands of readers is better reached from its other side. The count stops early, so the readers are not all counted.
    """
    most_datasets = _COUNTED
    while True:
        weights = await start_side.weight(most_datasets), await target_side.weight(most_datasets)
        if min(weights) < most_datasets or most_datasets > _BATCH:
            return start_side if weights[0] <= weights[1] else target_side
        most_datasets *= 4
