"""Random lineage graphs, and a brute force that shares nothing with the views: it walks every path."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hypothesis import strategies as st

from headwater.graph.model import Edge, EdgeKind, GraphBatch, NodeKind, Stamp, node_id

Arc = tuple[str, str]


@dataclass(frozen=True)
class World:
    """Datasets on platforms, jobs in pipelines, and the flows between them."""

    arcs: tuple[Arc, ...]
    platform: dict[str, str]
    pipeline: dict[str, str]  # of the jobs that have one

    def batch(self) -> GraphBatch:
        edges = [Edge(src, dst, EdgeKind.READS if src.startswith("dataset") else EdgeKind.WRITES) for src, dst in self.arcs]
        edges += [Edge(platform, dataset, EdgeKind.CONTAINS) for dataset, platform in self.platform.items()]
        for job, pipeline in self.pipeline.items():
            edges += [Edge(pipeline, job, EdgeKind.CONTAINS), Edge("system:s", pipeline, EdgeKind.CONTAINS)]
        jobs = {end for arc in self.arcs for end in arc if end.startswith("job")}
        edges += [Edge("system:s", job, EdgeKind.CONTAINS) for job in sorted(jobs)]
        return GraphBatch(Stamp("2026-01-01T00:00:00.000000Z", "k"), edges=edges)

    def nodes(self) -> set[str]:
        return {end for arc in self.arcs for end in arc}

    def lifted(self, data: NodeKind, actors: NodeKind) -> Callable[[str], str]:
        def lift(node: str) -> str:
            if node.startswith("dataset"):
                return self.platform[node] if data is NodeKind.PLATFORM else node
            if actors is NodeKind.SYSTEM:
                return "system:s"
            return self.pipeline.get(node, node) if actors is NodeKind.PIPELINE else node

        return lift


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Jobs in a row, each mostly reading what came before and writing what comes after: chains, with some arcs across and back."""
    count = draw(st.integers(2, 5))
    datasets = [node_id("dataset", f"p{draw(st.integers(0, 2))}", f"d{index}") for index in range(count + 1)]
    extra = [node_id("dataset", f"p{draw(st.integers(0, 2))}", f"x{index}") for index in range(draw(st.integers(0, 3)))]
    jobs = [node_id("job", "s", f"j{index}") for index in range(count)]
    arcs: dict[Arc, None] = {}
    for index, job in enumerate(jobs):
        if draw(st.integers(0, 5)):
            arcs[datasets[index], job] = None
        if draw(st.integers(0, 5)):
            arcs[job, datasets[index + 1]] = None
    anything = [(end, job) for end in datasets + extra for job in jobs]
    anything += [(job, end) for end, job in anything]
    arcs |= dict.fromkeys(draw(st.lists(st.sampled_from(anything), min_size=1, max_size=5)))
    ends = {end for arc in arcs for end in arc}
    pipeline = {job: node_id("pipeline", "s", f"q{draw(st.integers(0, 1))}") for job in jobs if job in ends and draw(st.booleans())}
    platform = {end: node_id("platform", end.split(":")[1]) for end in datasets + extra if end in ends}
    return World(tuple(arcs), platform, pipeline)


def some(draw: st.DataObject, nodes: Iterable[str]) -> set[str]:
    """Each of the nodes or not, evenly."""
    return {node for node in sorted(nodes) if draw.draw(st.booleans())}


def leads(arcs: Iterable[Arc], through: Callable[[str], bool] = lambda _: True) -> set[Arc]:
    """All (a, b) with a path of at least one arc from a to b on which every inner node is let through. By walking paths."""
    steps = list(arcs)
    found: set[Arc] = set()

    def walk(start: str, at: str, seen: frozenset[str]) -> None:
        for src, dst in steps:
            if src != at:
                continue
            found.add((start, dst))
            if dst not in seen and through(dst):
                walk(start, dst, seen | {dst})

    for start in {src for src, _ in steps}:
        walk(start, start, frozenset())
    return found
