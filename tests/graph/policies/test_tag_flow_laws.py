"""Random graphs of columns: the tags that travel are those that a brute force finds, which shares no code with the walk."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.graph.model import Edge, EdgeKind, Node, NodeKind
from headwater.graph.policies import TagRules, TagState, carry_tags, parse_tag_rules
from headwater.graph.policies.flow_graph import FlowGraph, FlowGraphBuilder

NAMES = ("a", "A", "b", "b.x", "b.y")
COLUMNS = [f"column:n:d{dataset}:{name}" for dataset in range(3) for name in NAMES]
DATASETS = [f"dataset:n:d{dataset}" for dataset in range(3)]
TAGS = ("red", "blue")
RULES = {
    "rules": [{"tag": "red", "masked": "pink", "indirect": "near-red"}, {"tag": "pink", "masked": "pale"}, {"tag": "pale", "masked": "red"}]
}
TABLE = {  # what becomes of a tag by way: masked, indirect
    "red": ("pink", "near-red"), "pink": ("pale", None), "pale": ("red", None), "blue": (None, "indirect:blue"),
    "near-red": (None, "indirect:near-red"),
}  # fmt: skip
PLAIN = {tag: (None, f"indirect:{tag}") for tag in TABLE}


@dataclass(frozen=True)
class Made:
    """`steps` are (source column, end, way): 0 direct, 1 masked, 2 indirect. An end is a column or, with way 2, a dataset."""

    steps: frozenset[tuple[str, str, int]]
    tags: frozenset[tuple[str, str]]
    refused: frozenset[tuple[str, str]]


@st.composite
def graphs(draw: st.DrawFn) -> Made:
    columns = st.tuples(st.sampled_from(COLUMNS), st.sampled_from(COLUMNS), st.integers(0, 2))
    whole = st.tuples(st.sampled_from(COLUMNS), st.sampled_from(DATASETS), st.just(2))
    drawn = draw(st.lists(st.one_of(columns, columns, whole), min_size=2, max_size=14))
    steps = frozenset({(source, end): (source, end, way) for source, end, way in drawn}.values())
    tags = draw(st.frozensets(st.tuples(st.sampled_from(COLUMNS), st.sampled_from(TAGS)), min_size=1, max_size=4))
    names = (*TABLE, "indirect:blue")
    refused = draw(st.frozensets(st.tuples(st.sampled_from([*COLUMNS, *DATASETS]), st.sampled_from(names)), max_size=4))
    return Made(steps, tags, refused - tags)


def build(made: Made) -> FlowGraph:
    builder = FlowGraphBuilder()
    for identifier in [*COLUMNS, *DATASETS]:
        stated = {f"curated:tag:{tag}": {"by": "x"} for node, tag in made.tags if node == identifier}
        stated |= {f"curated:tag:{tag}": {"by": "x", "removed": True} for node, tag in made.refused if node == identifier}
        builder.add_node(Node(identifier, NodeKind(identifier.partition(":")[0]), identifier.rpartition(":")[2], stated))
    ways = [{"type": "DIRECT"}, {"type": "DIRECT", "masking": True}, {"type": "INDIRECT"}]
    for source, end, way in made.steps:
        builder.add_edge(Edge(source, end, EdgeKind.DERIVES, {"by:job:n:j": [ways[way]]}))
    return builder.build()


def _dataset(node: str) -> str:
    return f"dataset:{node.removeprefix('column:').rpartition(':')[0]}" if node.startswith("column:") else node


def _related(one: str, other: str) -> bool:
    left, right = (each.rpartition(":")[2].lower() for each in (one, other))
    return _dataset(one) == _dataset(other) and (left == right or left.startswith(f"{right}.") or right.startswith(f"{left}."))


def brute_force(made: Made, table: dict[str, tuple[str | None, str | None]], *, with_related: bool) -> set[tuple[str, str]]:
    """The (node, tag) that any step brings, by repeated application of the definition until nothing changes."""
    brought: set[tuple[str, str]] = set()
    while True:
        before = len(brought)
        for node, tag in (made.tags | brought) - made.refused:
            for source, end, way in made.steps:
                if node.startswith("dataset:"):
                    if _dataset(source) == node:
                        brought = brought | {(_dataset(end), tag)}
                elif source == node or (with_related and _related(source, node)):
                    kept = tag if way == 0 or tag.startswith("indirect:") else table[tag][way - 1]
                    if kept is not None:
                        brought = brought | {(end, kept)}
        if len(brought) == before:
            return brought


def _check(made: Made, *, with_rules: bool) -> None:
    rules, table = (parse_tag_rules(RULES), TABLE) if with_rules else (TagRules(), PLAIN)
    found = {(each.node, each.tag): each for each in carry_tags(build(made), rules).reached}
    expected = brute_force(made, table, with_related=True)
    assert found.keys() - made.tags == expected - made.tags
    assert found.keys() <= expected
    certain = brute_force(made, table, with_related=False)
    for key, each in found.items():
        state = TagState.REFUSED if key in made.refused else TagState.BORNE if key in made.tags else TagState.PROPOSED
        assert each.state is state
        assert (each.path[0], each.path[-1]) == (each.origin, each.node)
        assert (each.origin, each.origin_tag) in made.tags
        if key not in made.tags:
            assert each.certain == (key in certain)


@given(graphs(), st.booleans())
@settings(max_examples=400, deadline=None)
def test_tags_reach_what_a_brute_force_finds(made: Made, with_rules: bool) -> None:
    _check(made, with_rules=with_rules)


@pytest.mark.torture
@given(graphs(), st.booleans())
@settings(max_examples=20_000, deadline=None)
def test_tags_of_many_graphs_reach_what_a_brute_force_finds(made: Made, with_rules: bool) -> None:
    _check(made, with_rules=with_rules)
