"""The map of a lake in Neo4j: databases of an earlier schema, deletions that end halfway, and services that write at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import neo4j
import pytest

from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp, node_id
from headwater.graph.search import Order, SearchRequest
from headwater.graph.stores import GraphStore, open_store
from headwater.graph.stores.neo4j import list_counts, write
from headwater.graph.stores.neo4j.migrations import MIGRATIONS
from headwater.graph.stores.rollups import Lens
from tests.graph.views.history import FEB, JAN, ran
from tests.neo4j_server import Neo4jServer

pytestmark = pytest.mark.neo4j

A, B, C = (node_id(NodeKind.DATASET, namespace, name) for namespace, name in (("raw", "a"), ("raw", "b"), ("mart", "c")))
JOB = node_id(NodeKind.JOB, "air", "one")
FLOWS = [Edge(A, JOB, EdgeKind.READS), Edge(B, JOB, EdgeKind.READS), Edge(JOB, C, EdgeKind.WRITES)]
WHOLE = ({"platform:raw": 2, "platform:mart": 1}, {("platform:raw", "platform:mart"): 1})


def opened(server: Neo4jServer) -> GraphStore:
    return open_store(server.uri, user=server.user, password=server.password)


@pytest.fixture
async def store(neo4j_server: Neo4jServer) -> AsyncIterator[GraphStore]:
    store = opened(neo4j_server)
    await store.open()
    yield store
    await store.close()


async def ask(server: Neo4jServer, statement: str, **parameters: Any) -> list[Any]:
    async with neo4j.AsyncGraphDatabase.driver(server.uri, auth=(server.user, server.password)) as driver:
        found = await driver.execute_query(statement, parameters, database_="neo4j")
        return [record[0] for record in found.records]


async def read_map(store: GraphStore, tenant: str) -> tuple[dict[str, int], dict[tuple[str, str], int]]:
    found = await store.lake_map(tenant, Lens.NAMESPACE)
    return {group.id: group.members for group in found.groups}, {(flow.src, flow.dst): flow.weight for flow in found.flows}


def batch(number: int, edges: list[Edge] = FLOWS) -> GraphBatch:
    return GraphBatch(Stamp("2026-01-01T00:00:00.000000Z", str(number)), [], edges)


async def test_a_database_of_an_earlier_schema_gets_the_map(neo4j_server: Neo4jServer, store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [batch(1)])
    for statement in (
        "MATCH (n) WHERE n.tenant = $tenant AND (n:HeadwaterGroup OR n:HeadwaterFlow OR n:HeadwaterMap) DELETE n",
        "MATCH (n:Container {tenant: $tenant}) REMOVE n.map, n.grouped, n.sides, n.weight",
        "MATCH (:Container {tenant: $tenant})-[e]->() REMOVE e.map",
        "MATCH (m:HeadwaterMigration) SET m.number = 5",
    ):
        await ask(neo4j_server, statement, tenant=tenant)
    assert await read_map(store, tenant) == ({}, {})
    assert await store.open() == [len(MIGRATIONS)]
    assert await read_map(store, tenant) == WHOLE
    found = await store.find(tenant, SearchRequest(kinds=(NodeKind.DATASET,), order=Order.WEIGHT))
    assert len(found.hits) == 3
    await store.apply(tenant, [batch(2)])
    assert await read_map(store, tenant) == WHOLE


async def test_an_edge_that_an_older_service_wrote_is_counted_with_the_next_statement(
    neo4j_server: Neo4jServer, store: GraphStore, tenant: str
) -> None:
    await store.apply(tenant, [batch(1, FLOWS[:1])])
    await ask(
        neo4j_server,
        "MATCH (j:Container {tenant: $tenant, id: $job}) "
        "CREATE (j)-[:WRITES]->(:Container:Dataset {tenant: $tenant, id: $id, kind: 'dataset', "
        "name: 'c', folded: 'c', properties: '{}', stamps: '[]'}) RETURN 1",
        tenant=tenant, job=JOB, id=C,
    )  # fmt: skip
    await store.apply(tenant, [batch(2)])
    assert await read_map(store, tenant) == WHOLE


async def test_the_map_is_right_after_a_deletion_that_ended_halfway(
    store: GraphStore, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.apply(tenant, [batch(1)], offset=1)

    async def end(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(write, "log_change", end)  # in the transaction that deletes nodes
        with pytest.raises(KeyboardInterrupt):
            await store.drop(tenant)
    assert await store.offset(tenant) == 0
    assert await store.counts(tenant) == {"dataset": 3, "job": 1}
    assert await read_map(store, tenant) == ({}, {})
    await store.apply(tenant, [batch(1)], offset=1)
    assert await read_map(store, tenant) == WHOLE


async def test_a_deleted_graph_leaves_no_groups(neo4j_server: Neo4jServer, store: GraphStore, tenant: str) -> None:
    await store.apply(tenant, [batch(1)])
    await store.drop(tenant)
    left = "MATCH (n) WHERE n.tenant = $tenant AND (n:HeadwaterGroup OR n:HeadwaterFlow) RETURN count(n)"
    assert await ask(neo4j_server, left, tenant=tenant) == [0]


async def test_services_that_write_at_once_count_each_flow_once(neo4j_server: Neo4jServer, tenant: str) -> None:
    stores = [opened(neo4j_server) for _ in range(4)]
    await asyncio.gather(*(store.open() for store in stores))

    async def write_flows(writer: int) -> None:
        for number in range(10):
            mart = node_id(NodeKind.DATASET, "mart", f"m{(number + writer) % 10}")
            job = node_id(NodeKind.JOB, "air", f"j{number}")
            tagged = Node(A, NodeKind.DATASET, "a", {"tags": {"tags": [{"key": f"t{number % 2}"}]}})
            stated = GraphBatch(
                Stamp(f"2026-01-01T00:00:{number:02}.00{writer}000Z", f"{writer}-{number}"), [tagged],
                [Edge(A, job, EdgeKind.READS), Edge(job, mart, EdgeKind.WRITES)],
            )  # fmt: skip
            await stores[writer].apply(tenant, [stated])

    try:
        await asyncio.gather(*(write_flows(writer) for writer in range(4)))
        assert await read_map(stores[0], tenant) == ({"platform:mart": 10, "platform:raw": 1}, {("platform:raw", "platform:mart"): 10})
        by_tag = await stores[0].lake_map(tenant, Lens.TAG)
        assert {group.id: group.members for group in by_tag.groups} == {"tag:t1": 1}
    finally:
        await asyncio.gather(*(store.close() for store in stores))


async def test_a_long_list_is_counted_by_the_map(store: GraphStore, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    described: dict[str, Any] = {"tags": {"tags": [{"key": "gold"}]}, "ownership": {"owners": [{"name": "ann"}]}}
    raw, mart, other = (
        {"namespace": namespace, "name": name, "facets": facets}
        for namespace, name, facets in (("s3://shop", "raw", {}), ("s3://shop", "mart", described), ("hr", "pay", described))
    )
    await ran(store, tenant, JAN, "load", "r1", [raw], [mart], "FAIL")
    await ran(store, tenant, FEB, "pay", "r2", [], [other])
    asked = SearchRequest(kinds=(NodeKind.DATASET,), order=Order.FAILED_FIRST)
    whole = await store.find(tenant, asked)
    assert (whole.total, whole.counted) == (3, True)
    monkeypatch.setattr(list_counts, "MOST", 2)
    found = await store.find(tenant, asked)
    assert (found.total, found.counted, found.hits) == (3, False, whole.hits)
    assert found.facets == whole.facets
    narrowed = await store.find(tenant, replace(asked, namespaces=("s3://shop",)))
    assert (narrowed.total, narrowed.counted) == (2, True)
    both = await store.find(tenant, replace(asked, namespaces=("s3://shop", "hr")))
    assert (both.total, both.counted, len(both.hits)) == (3, False, 3)
