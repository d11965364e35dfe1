"""The order of linked actors: generations, each fed only by earlier generations.

Jobs can feed one another in a circle, for example a job that overwrites its own input. Their runs cannot, because a run reads versions
that existed before it. So a circle is one member of the order, and states the order of its runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headwater.graph.dataflow.links import Link


@dataclass(frozen=True, slots=True)
class Cycle:
    """Actors that feed one another, ordered by id. `runs` are their runs in the order of execution, if known."""

    members: tuple[str, ...]
    runs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dataflow:
    """Actors by generation, their links, and their cycles. The actors of a cycle are in one generation."""

    generations: Sequence[Sequence[str]]
    links: Sequence[Link]
    cycles: Sequence[Cycle]


def arrange(actors: Iterable[str], links: Iterable[Link]) -> tuple[list[list[str]], list[tuple[str, ...]]]:
    """Return generations in topological order, and the cycles. An actor that feeds itself is a cycle."""
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
    """Number the strongly connected components (Kosaraju). Lower numbers feed higher ones."""
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
    """Return nodes in the order in which a depth-first walk leaves them. There is no recursion, because chains may be long."""
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
