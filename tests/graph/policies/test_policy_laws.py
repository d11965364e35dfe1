"""Random graphs and rules: the deviations are those that a brute force finds, which shares no code with the check."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.graph.model import Edge, EdgeKind, Node, NodeKind
from headwater.graph.policies import check_policy, parse_policy
from headwater.graph.policies.flow_graph import FlowGraph, FlowGraphBuilder

NOW = "2026-03-01T00:00:00Z"
TAGS = ("red", "blue", "green")
DATASETS, JOBS, COLUMNS = range(4), range(3), range(2)
WAYS = ("direct", "masked", "indirect")


@dataclass(frozen=True)
class Made:
    """A random graph. `derivations` are (job, source column, output column, way); a column is (dataset, number)."""

    reads: frozenset[tuple[int, int]]  # dataset, job
    writes: frozenset[tuple[int, int]]  # job, dataset
    derivations: frozenset[tuple[int, tuple[int, int], tuple[int, int], int]]
    tags: dict[str, str]


def dataset(number: int) -> str:
    return f"dataset:n:d{number}"


def column(place: tuple[int, int]) -> str:
    return f"column:n:d{place[0]}:c{place[1]}"


def job(number: int) -> str:
    return f"job:n:j{number}"


@st.composite
def graphs(draw: st.DrawFn) -> Made:
    reads = draw(st.frozensets(st.tuples(st.sampled_from(DATASETS), st.sampled_from(JOBS)), min_size=3, max_size=6))
    writes = draw(st.frozensets(st.tuples(st.sampled_from(JOBS), st.sampled_from(DATASETS)), min_size=3, max_size=5))
    possible = [
        (number, (source, one), (output, other), way)
        for (source, number), (writer, output) in product(sorted(reads), sorted(writes))
        if number == writer
        for one, other, way in product(COLUMNS, COLUMNS, range(3))
    ]
    chosen = draw(st.lists(st.sampled_from(possible), min_size=2, max_size=8)) if possible else []
    derivations = {(number, source, output): way for number, source, output, way in chosen}
    nodes = [*map(dataset, DATASETS), *map(job, JOBS), *(column(place) for place in product(DATASETS, COLUMNS))]
    drawn = draw(st.lists(st.sampled_from([None, None, *TAGS]), min_size=len(nodes), max_size=len(nodes)))
    tags = {node: tag for node, tag in zip(nodes, drawn, strict=True) if tag}
    return Made(reads, writes, frozenset((*key, way) for key, way in derivations.items()), tags)


def build(made: Made) -> FlowGraph:
    builder = FlowGraphBuilder()
    for identifier in [*map(dataset, DATASETS), *map(job, JOBS), *(column(place) for place in product(DATASETS, COLUMNS))]:
        stated = {f"curated:tag:{made.tags[identifier]}": {"by": "x"}} if identifier in made.tags else {}
        builder.add_node(Node(identifier, NodeKind(identifier.partition(":")[0]), identifier.rpartition(":")[2], stated))
    for source, number in made.reads:
        builder.add_edge(Edge(dataset(source), job(number), EdgeKind.READS))
    for number, output in made.writes:
        builder.add_edge(Edge(job(number), dataset(output), EdgeKind.WRITES))
    steps = [{"type": "DIRECT"}, {"type": "DIRECT", "masking": True}, {"type": "INDIRECT"}]
    edges: dict[tuple[str, str], dict[str, object]] = {}
    for number, source, output, way in made.derivations:
        edges.setdefault((column(source), column(output)), {})[f"by:{job(number)}"] = [steps[way]]
        builder.add_edge(Edge(column(source), job(number), EdgeKind.ACCESSES))
    for (src, dst), properties in edges.items():
        builder.add_edge(Edge(src, dst, EdgeKind.DERIVES, properties))
    return builder.build()


class BruteForce:
    """The reachable nodes by repeated application of the definition, until nothing changes. Nodes are ids; each has a certainty."""

    def __init__(self, made: Made, ways: int) -> None:
        self.made, self.ways = made, ways
        self.explained = {(number, output[0]) for number, _, output, _ in made.derivations}
        self.stated = {(number, source[0]) for number, source, _, _ in made.derivations}
        self.users = {(number, source) for number, source, _, _ in made.derivations}

    def fits(self, tag: str, identifier: str) -> bool:
        return self.made.tags.get(identifier) == tag

    def match(self, tag: str, identifier: str) -> str | None:
        if self.fits(tag, identifier):
            return identifier
        if identifier.startswith("column:"):
            whole = f"dataset:{identifier.removeprefix('column:').rpartition(':')[0]}"
            return whole if self.fits(tag, whole) else None
        return None

    def arrows(self, start: str) -> set[tuple[str, str, str | None, bool]]:
        """All arrows (from, to, over which job, certain) of a walk that begins at a node."""
        made, found = self.made, set()
        for number in JOBS:
            outputs = [output for writer, output in made.writes if writer == number]
            if job(number) == start:
                found |= {(start, dataset(output), None, True) for output in outputs}
            for source in (source for source, reader in made.reads if reader == number):
                found.add((dataset(source), job(number), None, True))
                whole = [output for output in outputs if (number, output) not in self.explained]
                found |= {(dataset(source), dataset(output), job(number), True) for output in whole}
                for place in ((source, each) for each in COLUMNS):
                    if (number, place) in self.users:
                        found.add((column(place), job(number), None, True))
                    elif whole or (number, source) not in self.stated:
                        found.add((column(place), job(number), None, False))
                    found |= {(column(place), dataset(output), job(number), False) for output in whole}
        for number, source, output, way in made.derivations:
            if way <= self.ways:
                found.add((column(source), column(output), job(number), True))
                found.add((column(source), job(number), None, True))
        for place in product(DATASETS, COLUMNS):
            found.add((dataset(place[0]), column(place), None, start == dataset(place[0])))
        return found

    def reached(self, start: str, through: str | None) -> dict[str, bool]:
        """Every node that the start reaches, and whether surely."""
        known = {start: True}
        arrows = self.arrows(start)
        while True:
            before = dict(known)
            for src, dst, over, certain in arrows:
                if src not in known or (src.startswith("job:") and src != start):
                    continue
                is_own = src == start or (start.startswith("dataset:") and src.startswith(f"column:{start.removeprefix('dataset:')}:"))
                if through and ((over and self.match(through, over)) or (not is_own and self.match(through, src))):
                    continue
                known[dst] = known.get(dst, False) or (known[src] and certain)
            if known == before:
                return known

    def flows(self, source_tag: str, target_tag: str, through: str | None) -> set[tuple[str, str, bool]]:
        found: dict[tuple[str, str], bool] = {}
        for start in sorted(self.made.tags):
            if not self.fits(source_tag, start):
                continue
            for node, certain in self.reached(start, through).items():
                own = start.startswith("dataset:") and node.startswith(f"column:{start.removeprefix('dataset:')}:")
                target = self.match(target_tag, node)
                if node != start and target is not None and target != start and not own:
                    found[start, target] = found.get((start, target), False) or certain
        return {(*key, certain) for key, certain in found.items()}


def _check(made: Made, source: str, target: str, through: str | None, ways: str) -> None:
    through = None if through == source else through
    kind = "must_pass_through" if through else "must_not_flow"
    parts = {"from": {"tag": source}, "to": {"tag": target}, "ways": ways} | ({"through": {"tag": through}} if through else {})
    policy = parse_policy({"policy": "p", "rules": [{"name": "r", kind: parts}]})
    found = check_policy(policy, build(made), now=NOW).deviations
    assert {(each.source, each.target, each.certain) for each in found} == BruteForce(made, WAYS.index(ways)).flows(source, target, through)
    assert all(each.path[0] == each.source for each in found)


ARGUMENTS = (graphs(), st.sampled_from(TAGS), st.sampled_from(TAGS), st.sampled_from([None, *TAGS]), st.sampled_from(WAYS))


@given(*ARGUMENTS)
@settings(max_examples=300, deadline=None)
def test_forbidden_flows_are_those_that_a_brute_force_finds(made: Made, source: str, target: str, through: str | None, ways: str) -> None:
    _check(made, source, target, through, ways)


@pytest.mark.torture
@given(*ARGUMENTS)
@settings(max_examples=10_000, deadline=None)
def test_forbidden_flows_of_many_graphs(made: Made, source: str, target: str, through: str | None, ways: str) -> None:
    _check(made, source, target, through, ways)
