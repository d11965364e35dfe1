"""The state of a store after a batch."""

from __future__ import annotations

import pytest

from headwater.errors import InvalidInputError
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp
from headwater.graph.stores import Direction, GraphStore
from tests.graph.stores.samples import PIPELINE, contains, dataset, job, node, reads, stamp, writes


async def test_a_stated_node_comes_back(store: GraphStore, tenant: str) -> None:
    stated = node(
        dataset("weather"), "Weather of 2013", rows=26_115, schema={"fields": [{"name": "wind", "type": "double"}]}, note="Bö ☂ \x00"
    )
    await store.apply(tenant, [GraphBatch(stamp(1), [stated])])
    assert await store.get(tenant, [stated.id]) == [stated]


async def test_a_node_that_only_an_edge_names_exists_bare(store: GraphStore, tenant: str) -> None:
    partition = "partition:file%3A/data/a.parquet:100:17"
    await store.apply(tenant, [GraphBatch(stamp(1), edges=[reads("a:b/c", "clean"), contains(dataset("a:b/c"), partition)])])
    found = await store.get(tenant, [dataset("a:b/c"), job("clean"), partition])
    assert found == [
        Node("dataset:file:a%3Ab/c", NodeKind.DATASET, "a:b/c"),
        Node("job:flights:clean", NodeKind.JOB, "clean"),
        Node(partition, NodeKind.PARTITION, "file:/data/a.parquet"),
    ]


async def test_a_name_replaces_the_bare_one_and_the_later_statement_wins(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [GraphBatch(stamp(1), edges=[reads("a", "clean")])])
    await store.apply(tenant, [GraphBatch(stamp(3), [node(dataset("a"), "newer")])])
    await store.apply(tenant, [GraphBatch(stamp(2), [node(dataset("a"), "older")])])
    assert [found.name for found in await store.get(tenant, [dataset("a")])] == ["newer"]
    assert (await store.search(tenant, "NEWER")).total == 1


async def test_each_property_keeps_its_latest_statement(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [GraphBatch(stamp(2), [node(dataset("a"), owner="new", rows=1)])])
    await store.apply(tenant, [GraphBatch(stamp(1), [node(dataset("a"), owner="old", tags=["pii"])])])
    assert (await store.get(tenant, [dataset("a")]))[0].properties == {"owner": "new", "rows": 1, "tags": ["pii"]}


async def test_a_value_stated_again_is_not_undone_by_one_between(store: GraphStore, tenant: str) -> None:
    for second, owner in ((1, "a"), (3, "a"), (2, "b")):
        await store.apply(tenant, [GraphBatch(stamp(second), [node(dataset("a"), owner=owner)])])
    assert (await store.get(tenant, [dataset("a")]))[0].properties == {"owner": "a"}


async def test_none_retracts_and_only_what_was_stated_before(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [GraphBatch(stamp(2), [node(dataset("a"), owner=None, tags=None)])])
    await store.apply(
        tenant, [GraphBatch(stamp(1), [node(dataset("a"), owner="x")]), GraphBatch(stamp(3), [node(dataset("a"), tags=["t"])])]
    )
    assert (await store.get(tenant, [dataset("a")]))[0].properties == {"tags": ["t"]}


async def test_a_higher_rank_beats_a_later_stamp(store: GraphStore, tenant: str) -> None:
    run = "run:1"
    for second, state, rank in ((2, "COMPLETE", 3), (5, "START", 1)):
        await store.apply(tenant, [GraphBatch(stamp(second), [Node(run, NodeKind.RUN, "1", {"state": state}, {"state": rank})])])
    assert (await store.get(tenant, [run]))[0].properties == {"state": "COMPLETE"}


async def test_properties_of_an_edge_merge_as_those_of_a_node(store: GraphStore, tenant: str) -> None:
    for second, properties in ((1, {}), (3, {"how": "join", "by": "x"}), (2, {"how": "filter", "first": True})):
        await store.apply(tenant, [GraphBatch(stamp(second), edges=[Edge(dataset("a"), job("j"), EdgeKind.READS, properties)])])
    edges = await store.neighbours(tenant, [job("j")], direction=Direction.UPSTREAM, kinds=[EdgeKind.READS])
    assert edges == [Edge(dataset("a"), job("j"), EdgeKind.READS, {"how": "join", "by": "x", "first": True})]


async def test_ends_joined_by_two_kinds_have_two_edges(store: GraphStore, tenant: str) -> None:
    pair = [Edge("run:1", "run:2", EdgeKind.REPLAYS), Edge("run:1", "run:2", EdgeKind.CONTAINS)]
    await store.apply(tenant, [GraphBatch(stamp(1), edges=pair)])
    found = await store.neighbours(tenant, ["run:2"], direction=Direction.UPSTREAM, kinds=list(EdgeKind))
    assert {edge.kind for edge in found} == {EdgeKind.REPLAYS, EdgeKind.CONTAINS}


async def test_the_offset_is_that_of_the_last_entry_and_never_goes_back(store: GraphStore, tenant: str) -> None:
    assert await store.offset(tenant) == 0
    await store.apply(tenant, [PIPELINE], offset=7)
    await store.apply(tenant, [PIPELINE], offset=3)
    await store.apply(tenant, [PIPELINE])
    assert await store.offset(tenant) == 7


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        (GraphBatch(stamp(1), [node("run:2")], [Edge("nonsense", "run:1", EdgeKind.READS)]), "not a node id"),
        (GraphBatch(stamp(1), [node("run:2"), Node("run:3", NodeKind.JOB, "x")]), "stated to be a job"),
        (GraphBatch(stamp(1), [node("run:2"), node("run:" + "x" * 5_000)]), "4096"),
        (GraphBatch(stamp(1), [node("run:2", share=float("nan"))]), "not JSON"),
    ],
)
async def test_a_batch_that_is_wrong_in_part_is_not_applied_at_all(store: GraphStore, tenant: str, bad: GraphBatch, what: str) -> None:
    with pytest.raises(InvalidInputError, match=what):
        await store.apply(tenant, [PIPELINE, bad], offset=9)
    assert (await store.counts(tenant), await store.offset(tenant)) == ({}, 0)


async def test_the_longest_id_and_name_are_taken(store: GraphStore, tenant: str) -> None:
    longest = "run:" + "x" * 4_092
    await store.apply(tenant, [GraphBatch(stamp(1), [node(longest, "𝄞" * 9_000)])])
    assert (await store.search(tenant, "𝄞" * 400)).nodes[0].id == longest


async def test_counts_are_by_kind(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [PIPELINE, GraphBatch(stamp(1), edges=[writes("report", "out")])])
    assert await store.counts(tenant) == {"dataset": 5, "job": 3}


async def test_an_edge_knows_when_it_was_first_and_last_stated_and_by_whom(store: GraphStore, tenant: str) -> None:
    edge = reads("a", "j")
    for second, by in ((2, "r2"), (5, "r5"), (1, "r1"), (3, "r3")):
        await store.apply(tenant, [GraphBatch(stamp(second), edges=[edge], by=by)])
    await store.apply(tenant, [GraphBatch(Stamp("", ""), edges=[edge])])  # says that it is there, not when
    (found,) = await store.neighbours(tenant, [job("j")], direction=Direction.UPSTREAM, kinds=[EdgeKind.READS])
    assert (found.first, found.last) == ("2026-01-01T00:00:01.000000Z r1", "2026-01-01T00:00:05.000000Z r5")
    reached = await store.reach(tenant, [job("j")], direction=Direction.UPSTREAM, kinds=[EdgeKind.READS], depth=1, limit=9)
    assert [(edge.first, edge.last) for edge in reached.edges] == [(found.first, found.last)]


async def test_an_edge_without_a_time_takes_that_of_a_later_statement(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [GraphBatch(Stamp("", ""), edges=[reads("a", "j")])])
    (bare,) = await store.neighbours(tenant, [job("j")], direction=Direction.UPSTREAM, kinds=[EdgeKind.READS])
    assert (bare.first, bare.last) == ("", "")
    await store.apply(tenant, [GraphBatch(stamp(4), edges=[reads("a", "j")])])
    (found,) = await store.neighbours(tenant, [job("j")], direction=Direction.UPSTREAM, kinds=[EdgeKind.READS])
    assert found.first == found.last == "2026-01-01T00:00:04.000000Z "
