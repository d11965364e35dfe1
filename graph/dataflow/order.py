"""The order in which linked actors work: generations, each fed by those before it alone.

Jobs may feed one another in a circle (a job that overwrites its own input, two that answer each other); their runs cannot, since a run
reads versions that were there before it. So a circle stays one member of the order, and says in which order its runs went.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headwater.graph.dataflow.links import Link


@dataclass(frozen=True, slots=True)
class Cycle:
    """Actors that feed one another, in order of id. `runs` are their runs in the order in which they went, where that is known."""

    members: tuple[str, ...]
    runs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dataflow:
    """Actors by generation (those of a cycle stand in one), the links between them, and the cycles among them."""

    generations: Sequence[Sequence[str]]
    links: Sequence[Link]
    cycles: Sequence[Cycle]


def arrange(actors: Iterable[str], links: Iterable[Link]) -> tuple[list[list[str]], list[tuple[str, ...]]]:
    """Generations in topological order, and the groups of actors that feed one another (a single one that feeds itself among them)."""
    nodes = sorted(set(actors))
    inside = set(nodes)
    feeds: dict[str, set[str]] = {node: set() for node in nodes}
    for link in links:
        if link.src in inside and link.dst in inside:
            feeds[link.src].add(link.dst)
    group = _components(nodes, feeds)
    generation: dict[int, int] = {}
    members: dict[int, list[str]] = {}
    for node in nodes:
        members.setdefault(group[node], []).append(node)
    for component in sorted(members):
        generation.setdefault(component, 0)
        for node in members[component]:
            for fed in feeds[node]:
                if group[fed] != component:
                    generation[group[fed]] = max(generation.get(group[fed], 0), generation[component] + 1)
    ordered: list[list[str]] = [[] for _ in range(max(generation.values(), default=-1) + 1)]
    for node in nodes:
        ordered[generation[group[node]]].append(node)
    cycles = [tuple(found) for found in members.values() if len(found) > 1 or found[0] in feeds[found[0]]]
    return ordered, sorted(cycles)


def _components(nodes: Sequence[str], feeds: Mapping[str, set[str]]) -> dict[str, int]:
    """Strongly connected components (Kosaraju), numbered with the flow: each is fed by lower numbers alone."""
    fed_by: dict[str, list[str]] = {node: [] for node in nodes}
    for node in nodes:
        for fed in sorted(feeds[node]):
            fed_by[fed].append(node)
    group: dict[str, int] = {}
    components = 0
    for start in reversed(_finished(nodes, feeds)):
        if start in group:
            continue
        waiting = [start]
        group[start] = components
        while waiting:
            for source in fed_by[waiting.pop()]:
                if source not in group:
                    group[source] = components
                    waiting.append(source)
        components += 1
    return group


def _finished(nodes: Sequence[str], feeds: Mapping[str, set[str]]) -> list[str]:
    """Nodes in the order in which a depth-first walk leaves them; without recursion, for chains are long."""
    seen: set[str] = set()
    finished: list[str] = []
    for start in nodes:
        if start in seen:
            continue
        seen.add(start)
        stack = [(start, iter(sorted(feeds[start])))]
        while stack:
            node, ahead = stack[-1]
            fed = next((each for each in ahead if each not in seen), None)
            if fed is None:
                finished.append(node)
                stack.pop()
            else:
                seen.add(fed)
                stack.append((fed, iter(sorted(feeds[fed]))))
    return finished
