"""A graph in a file: it moves between stores whole, and a file that is not whole is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings

from headwater.errors import InvalidInputError
from headwater.graph.model import GraphBatch
from headwater.graph.stores import GraphStore, open_store
from headwater.graph.stores.portable import Head, Tail, read_graph, read_head, write_graph
from tests.graph.stores.samples import PIPELINE, dataset, node, stamp
from tests.graph.stores.test_order import deliveries
from tests.neo4j_server import Neo4jServer

RICH = GraphBatch(stamp(2), [node(dataset("weather"), 'Bö "☂"\n\x00', rows=26_115, note="a\u2028b", owner=None)])


async def exported(store: GraphStore, tenant: str) -> tuple[list[str], Tail]:
    lines: list[str] = []
    tail = await write_graph(store, tenant, Head(7, "ab"), lines.append)
    return lines, tail


async def imported(store: GraphStore, lines: Sequence[str]) -> str:
    tenant = uuid4().hex
    remaining = iter(lines)
    assert read_head(remaining) == Head(7, "ab")
    await read_graph(store, tenant, remaining, offset=7)
    assert await store.offset(tenant) == 7
    return tenant


async def test_what_was_exported_is_imported_with_the_same_fingerprint(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [PIPELINE, RICH])
    await store.apply("another", [PIPELINE])
    lines, tail = await exported(store, tenant)
    assert (tail.nodes, tail.edges) == (8, 8)
    assert tail.fingerprint == await store.fingerprint(tenant) == await store.fingerprint(await imported(store, lines))


async def test_an_imported_graph_merges_later_statements_as_the_first_would(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [PIPELINE, RICH])
    copy = await imported(store, (await exported(store, tenant))[0])
    for late in (
        GraphBatch(stamp(1), [node(dataset("weather"), "older", owner="x", rows=0)]),
        GraphBatch(stamp(3), [node(dataset("out"), rows=1)]),
    ):
        await store.apply(tenant, [late])
        await store.apply(copy, [late])
    assert await store.fingerprint(copy) == await store.fingerprint(tenant)


async def test_importing_twice_changes_nothing(store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [PIPELINE, RICH])
    before = await store.fingerprint(tenant)
    lines, _ = await exported(store, tenant)
    await read_graph(store, tenant, lines[1:])
    assert await store.fingerprint(tenant) == before


async def test_a_graph_of_several_portions_is_whole(store: GraphStore, tenant: str) -> None:
    runs = [f"run:{number}" for number in range(4_500)]
    await store.apply(tenant, [GraphBatch(stamp(1), [node(run, index=number) for number, run in enumerate(runs)])])
    lines, tail = await exported(store, tenant)
    assert (tail.nodes, len(lines)) == (4_500, 4_502)
    assert tail.fingerprint == await store.fingerprint(tenant)


async def test_an_empty_graph_is_a_graph(store: GraphStore, tenant: str) -> None:
    lines, tail = await exported(store, tenant)
    assert (len(lines), tail.nodes) == (2, 0)
    assert await store.counts(await imported(store, lines)) == {}


@given(deliveries())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_graph_survives_the_file(tmp_path: Path, delivery: tuple[list[GraphBatch], list[list[GraphBatch]]]) -> None:
    store, tenant = open_store(f"sqlite:///{tmp_path}/graph.db"), uuid4().hex
    await store.open()
    try:
        await store.apply(tenant, delivery[0])
        lines, tail = await exported(store, tenant)
        assert tail.fingerprint == await store.fingerprint(await imported(store, lines))
    finally:
        await store.close()


@pytest.mark.neo4j
@given(deliveries())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
async def test_from_sqlite_to_neo4j_and_back_is_the_same_file(
    tmp_path: Path, neo4j_server: Neo4jServer, delivery: tuple[list[GraphBatch], list[list[GraphBatch]]]
) -> None:
    embedded, tenant = open_store(f"sqlite:///{tmp_path}/graph.db"), uuid4().hex
    server = open_store(neo4j_server.uri, user=neo4j_server.user, password=neo4j_server.password)
    await embedded.open()
    await server.open()
    try:
        await embedded.apply(tenant, delivery[0])
        there, first = await exported(embedded, tenant)
        back, second = await exported(server, await imported(server, there))
        assert first == second
        home, third = await exported(embedded, await imported(embedded, back))
        assert (sorted(home), third) == (sorted(there), first)
    finally:
        await embedded.close()
        await server.close()


def damaged() -> Iterator[tuple[str, list[str], str]]:
    head = json.dumps({"format": "headwater-graph", "version": 1, "offset": 0, "entry": ""})
    line = json.dumps({"node": ["run:1", "1", {}, []]})
    yield "cut", [head, line], "no last line"
    yield "lost lines", [head, line, json.dumps({"end": {"nodes": 2, "edges": 0, "fingerprint": ""}})], "2 nodes and 0 edges; 1 and 0"
    yield "no JSON", [head, line, "{"], "Line 3 is not JSON"
    yield "no object", [head, "[]"], "Line 2 is not an object"
    yield "an unknown kind", [head, json.dumps({"node": ["planet:1", "1", {}, []]})], "planet:1"
    yield (
        "an unknown edge",
        [head, json.dumps({"edge": ["run:1", "run:2", "likes", {}, [], "", ""]})],
        "Line 2 is neither a node nor an edge",
    )
    yield "too few parts", [head, json.dumps({"node": ["run:1"]})], "Line 2 is neither"


@pytest.mark.parametrize(("lines", "why"), [pytest.param(lines, why, id=name) for name, lines, why in damaged()])
async def test_a_damaged_file_is_refused_with_the_line(tmp_path: Path, lines: list[str], why: str) -> None:
    store = open_store(f"sqlite:///{tmp_path}/graph.db")
    await store.open()
    try:
        remaining = iter(lines)
        read_head(remaining)
        with pytest.raises(InvalidInputError, match=why):
            await read_graph(store, "t", remaining)
    finally:
        await store.close()


@pytest.mark.parametrize(
    ("head", "why"),
    [("", "not JSON"), ('{"format": "other"}', "not the head"), ('{"format": "headwater-graph", "version": 9}', "version 9")],
)
def test_another_file_is_refused(head: str, why: str) -> None:
    with pytest.raises(InvalidInputError, match=why):
        read_head(iter([head] if head else []))
