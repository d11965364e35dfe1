"""Equal statements leave equal graphs, whatever their order, number and grouping, in every store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp
from headwater.graph.stores import GraphStore, open_store
from tests.graph.stores.samples import PIPELINE, dataset, node, stamp
from tests.neo4j_server import Neo4jServer

IDS = ["dataset:f:a", "dataset:f:b", "job:n:j", "column:f:a:x", "run:1", "version:f:a:1"]
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=3),
    st.just([{"a": 1}]),
)
PROPERTIES = st.dictionaries(st.sampled_from(["state", "owner", "rows"]), VALUES, max_size=3)
RANKS = st.dictionaries(st.sampled_from(["state", "owner"]), st.integers(-2, 2), max_size=2)
# Two keys and three seconds: stamps that are equal though the statements differ must not matter either.
STAMPS = st.builds(Stamp, st.sampled_from([f"2026-01-01T00:00:0{second}.000000Z" for second in range(3)]), st.sampled_from(["k", "l"]))


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    identifier = draw(st.sampled_from(IDS))
    return Node(identifier, NodeKind(identifier.split(":")[0]), draw(st.sampled_from(["one", "two"])), draw(PROPERTIES), draw(RANKS))


EDGES = st.builds(Edge, st.sampled_from(IDS), st.sampled_from(IDS), st.sampled_from(EdgeKind), PROPERTIES, RANKS)
BATCHES = st.builds(GraphBatch, STAMPS, st.lists(nodes(), max_size=3), st.lists(EDGES, max_size=3))


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[list[GraphBatch], list[list[GraphBatch]]]:
    """Batches, and a delivery of them: shuffled, some twice, in groups."""
    batches = draw(st.lists(BATCHES, min_size=1, max_size=5))
    shuffled = draw(st.permutations(batches + draw(st.lists(st.sampled_from(batches), max_size=3))))
    cuts = sorted(draw(st.sets(st.integers(1, len(shuffled)), max_size=3)))
    return batches, [shuffled[start:end] for start, end in zip([0, *cuts], [*cuts, len(shuffled)], strict=True)]


async def content(store: GraphStore, groups: Sequence[Sequence[GraphBatch]]) -> str:
    tenant = uuid4().hex
    for group in groups:
        await store.apply(tenant, group)
    return await store.fingerprint(tenant)


@given(deliveries())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_late_double_and_shuffled_batches_give_the_same_graph(
    tmp_path: Path, delivery: tuple[list[GraphBatch], list[list[GraphBatch]]]
) -> None:
    batches, groups = delivery
    store = open_store(f"sqlite:///{tmp_path}/graph.db")
    await store.open()
    try:
        assert await content(store, [[batch] for batch in batches]) == await content(store, groups)
    finally:
        await store.close()


@pytest.mark.neo4j
@given(deliveries())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
async def test_both_stores_end_with_the_same_graph(
    tmp_path: Path, neo4j_server: Neo4jServer, delivery: tuple[list[GraphBatch], list[list[GraphBatch]]]
) -> None:
    batches, groups = delivery
    embedded = open_store(f"sqlite:///{tmp_path}/graph.db")
    server = open_store(neo4j_server.uri, user=neo4j_server.user, password=neo4j_server.password)
    await embedded.open()
    await server.open()
    try:
        assert await content(embedded, [batches]) == await content(server, groups)
    finally:
        await embedded.close()
        await server.close()


async def test_the_fingerprint_sees_every_part_of_the_content(store: GraphStore) -> None:
    edge = Edge(dataset("a"), "job:n:j", EdgeKind.READS)
    graphs = [
        GraphBatch(stamp(1), [node(dataset("a"))]),
        GraphBatch(stamp(1), [node(dataset("a"), "named")]),
        GraphBatch(stamp(1), [node(dataset("a"), rows=1)]),
        GraphBatch(stamp(1), edges=[edge]),
        GraphBatch(stamp(1), edges=[Edge(edge.dst, edge.src, EdgeKind.READS)]),
        GraphBatch(stamp(1), edges=[Edge(edge.src, edge.dst, EdgeKind.WRITES)]),
        GraphBatch(stamp(1), edges=[Edge(edge.src, edge.dst, EdgeKind.READS, {"how": "scan"})]),
        PIPELINE,
    ]
    assert len({await content(store, [[graph]]) for graph in graphs}) == len(graphs)


async def test_what_was_dropped_can_be_built_again(store: GraphStore, tenant: str) -> None:
    empty = await store.fingerprint(tenant)
    await store.apply(tenant, [PIPELINE], offset=4)
    built = await store.fingerprint(tenant)
    await store.drop(tenant)
    assert (await store.fingerprint(tenant), await store.offset(tenant)) == (empty, 0)
    await store.apply(tenant, [PIPELINE], offset=4)
    assert await store.fingerprint(tenant) == built
