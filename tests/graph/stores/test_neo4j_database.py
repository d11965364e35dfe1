"""Particulars of a server: logins, outages, concurrent writers."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import neo4j
import pytest

from headwater.errors import ConfigurationError, UnavailableError
from headwater.graph.index import open_indexed
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind
from headwater.graph.search import Order, SearchRequest
from headwater.graph.stores import Direction, open_store
from headwater.graph.stores.neo4j import changes
from headwater.graph.stores.neo4j.migrations import MIGRATIONS
from headwater.graph.stores.rollups import Lens
from tests.graph.stores.samples import FLOWS, PIPELINE, dataset, node, stamp
from tests.neo4j_server import Neo4jServer

pytestmark = pytest.mark.neo4j


async def test_a_wrong_password_is_a_matter_of_configuration(neo4j_server: Neo4jServer) -> None:
    await refused(neo4j_server.uri, ConfigurationError, "refuses the login", password="wrong")


async def test_a_database_that_is_not_there_is_named(neo4j_server: Neo4jServer) -> None:
    await refused(f"{neo4j_server.uri}/nowhere", ConfigurationError, "nowhere", password=neo4j_server.password)


async def test_a_server_that_does_not_answer_is_worth_a_retry() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        await refused(f"bolt://127.0.0.1:{taken.getsockname()[1]}", UnavailableError, "does not answer")


async def refused(url: str, error: type[Exception], why: str, password: str | None = None) -> None:
    store = open_store(url, user="neo4j", password=password)
    with pytest.raises(error, match=why):
        await store.open()
    await store.close()


async def test_concurrent_writers_lose_and_double_nothing(neo4j_server: Neo4jServer, tenant: str) -> None:
    stores = [open_store(neo4j_server.uri, user=neo4j_server.user, password=neo4j_server.password) for _ in range(4)]
    await asyncio.gather(*(store.open() for store in stores))

    async def write(writer: int) -> None:
        for index in range(15):
            shared = Node("job:n:shared", NodeKind.JOB, "shared", {f"w{writer}": index})
            edges = [
                Edge(dataset("a"), "job:n:shared", EdgeKind.READS, {f"w{writer}": index}),
                Edge("job:n:shared", f"run:{writer}-{index}", EdgeKind.CONTAINS),
            ]
            await stores[writer].apply(tenant, [GraphBatch(stamp(index), [shared], edges)], offset=index)

    try:
        await asyncio.gather(*(write(writer) for writer in range(4)))
        assert await stores[0].counts(tenant) == {"dataset": 1, "job": 1, "run": 60}
        last = {f"w{writer}": 14 for writer in range(4)}
        assert (await stores[0].get(tenant, ["job:n:shared"]))[0].properties == last
    finally:
        await asyncio.gather(*(store.close() for store in stores))


async def test_no_verb_scans_what_other_tenants_have(neo4j_server: Neo4jServer, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every statement that begins at nodes finds them by an index."""
    statements: dict[str, dict[str, object]] = {}
    run = neo4j.AsyncManagedTransaction.run

    async def recording(self, query, parameters=None, **more):
        statements[query] = {**(parameters or {}), **more}
        return await run(self, query, parameters, **more)

    store = open_store(neo4j_server.uri, user=neo4j_server.user, password=neo4j_server.password)
    await store.open()
    monkeypatch.setattr(neo4j.AsyncManagedTransaction, "run", recording)
    await store.apply(tenant, [PIPELINE, GraphBatch(stamp(1), [Node("run:1", NodeKind.RUN, "1", {"a": 1})])], offset=1)
    await store.reach(tenant, [dataset("out")], direction=Direction.BOTH, kinds=[EdgeKind.READS, EdgeKind.WRITES], depth=9, limit=9)
    await store.cone(tenant, [dataset("out")], direction=Direction.BOTH, kinds=[EdgeKind.READS], depth=9, limit=9, contained=[NodeKind.JOB])
    await store.neighbours(tenant, [dataset("out")], direction=Direction.BOTH, kinds=list(EdgeKind))
    await store.search(tenant, "", kinds=[NodeKind.JOB])
    await store.search(tenant, "a", kinds=[NodeKind.JOB])
    await store.children(tenant, dataset("out"))
    await store.listed(tenant, "column:file:out:")
    await store.latest(tenant, dataset("out"), NodeKind.VERSION)
    await store.latest_at(tenant, [(dataset("out"), None), (dataset("hours"), None), (dataset("hours"), "2026")], NodeKind.VERSION, first=9)
    await store.ancestors(tenant, [dataset("out")])
    await store.counts(tenant)
    await store.fingerprint(tenant)
    await store.lake_map(tenant, Lens.NAMESPACE, include=["platform:file"])
    await store.member_flows(tenant, Lens.NAMESPACE, [dataset("out")])
    for chosen in ({}, {"namespaces": ("file",)}, {"pipelines": ("pipeline:a:b",)}, {"tags": ("gold",)}, {"text": "out"}):
        await store.find(tenant, SearchRequest(kinds=(NodeKind.DATASET,), order=Order.WEIGHT, **chosen))
    await store.drop(tenant)
    await store.close()
    monkeypatch.undo()
    async with neo4j.AsyncGraphDatabase.driver(neo4j_server.uri, auth=(neo4j_server.user, neo4j_server.password)) as driver:
        for statement, parameters in statements.items():
            if "Migration" in statement:
                continue
            summary = (await driver.execute_query(f"EXPLAIN {statement}", parameters, database_="neo4j")).summary
            assert not {name for name in operators(summary.plan) if "Scan" in name and "Index" not in name}, statement


def operators(plan: Any) -> set[str]:
    return {plan["operatorType"]}.union(*(operators(child) for child in plan.get("children", ())))


async def test_people_find_labels_and_constraints(neo4j_server: Neo4jServer, tenant: str) -> None:
    store = open_store(neo4j_server.uri, user=neo4j_server.user, password=neo4j_server.password)
    await store.open()
    await store.open()  # taking the migrations again changes nothing
    await store.apply(tenant, [PIPELINE])
    await store.close()
    async with neo4j.AsyncGraphDatabase.driver(neo4j_server.uri, auth=(neo4j_server.user, neo4j_server.password)) as driver:
        found = await driver.execute_query(
            "MATCH (s:Dataset {tenant: $tenant})-[:READS]->(:Job) RETURN count(DISTINCT s)", tenant=tenant, database_="neo4j"
        )
        constraints = await driver.execute_query("SHOW CONSTRAINTS YIELD name RETURN name", database_="neo4j")
        migration = await driver.execute_query("MATCH (m:HeadwaterMigration) RETURN m.number", database_="neo4j")
    assert found.records[0][0] == 4
    assert {"headwater_container", "headwater_progress"} <= {record[0] for record in constraints.records}
    assert migration.records[0][0] == len(MIGRATIONS)


async def test_the_log_of_changes_is_kept_short_by_bytes_and_what_was_logged_last_stays(
    neo4j_server: Neo4jServer, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_indexed(neo4j_server.uri, user=neo4j_server.user, password=neo4j_server.password, index_bytes=1 << 26)
    await store.open()

    async def logged() -> list[int]:
        """Bytes of what the log still has of this tenant, oldest first."""
        async with neo4j.AsyncGraphDatabase.driver(neo4j_server.uri, auth=(neo4j_server.user, neo4j_server.password)) as driver:
            found = await driver.execute_query(
                "MATCH (c:HeadwaterChange {tenant: $tenant}) RETURN c.nodes ORDER BY c.revision", tenant=tenant, database_="neo4j"
            )
        return [len(record[0]) for record in found.records]

    try:
        monkeypatch.setattr(changes, "LOGGED_BYTES", 100)
        for number in range(12):
            await store.apply(tenant, [GraphBatch(stamp(number), [node(dataset(f"d{number}"), rows=number)])])
            reached = await store.reach(tenant, [dataset(f"d{number}")], direction=Direction.UPSTREAM, kinds=FLOWS, depth=1, limit=9)
            assert [each.properties for each in reached.nodes] == [{"rows": number}]
        kept = await logged()
        assert 1 < len(kept) < 12
        assert sum(kept) <= 100
        monkeypatch.setattr(changes, "LOGGED_BYTES", 1)
        await store.apply(tenant, [GraphBatch(stamp(20), [node(dataset("d0"), rows=20)])])
        assert len(await logged()) == 1
        reached = await store.reach(tenant, [dataset("d0")], direction=Direction.UPSTREAM, kinds=FLOWS, depth=0, limit=9)
        assert [each.properties for each in reached.nodes] == [{"rows": 20}]
    finally:
        await store.close()


async def test_only_a_changed_content_writes_an_entry_again(neo4j_server: Neo4jServer, tenant: str) -> None:
    store = open_store(neo4j_server.uri, user=neo4j_server.user, password=neo4j_server.password)
    await store.open()
    try:
        async with neo4j.AsyncGraphDatabase.driver(neo4j_server.uri, auth=(neo4j_server.user, neo4j_server.password)) as driver:

            async def written_again(second: int, **properties: Any) -> bool:
                """Mark the entry, state the node, and return whether the mark is gone."""
                mark = "MATCH (n {tenant: $tenant, id: $id}) SET n.own = 'mark'"
                await driver.execute_query(mark, tenant=tenant, id=dataset("a"))
                await store.apply(tenant, [GraphBatch(stamp(second), [node(dataset("a"), "a", **properties)])])
                found = await driver.execute_query("MATCH (n {tenant: $tenant, id: $id}) RETURN n.own", tenant=tenant, id=dataset("a"))
                return bool(found.records[0][0] != "mark")

            await store.apply(tenant, [GraphBatch(stamp(0), [node(dataset("a"), "a", size=1)])])
            assert not await written_again(2, size=1)
            assert not await written_again(1, size=2), "the later statement of the same content counts"
            assert await written_again(3, size=2)
    finally:
        await store.close()


async def test_the_log_of_an_older_database_counts_as_nothing_and_goes_first(neo4j_server: Neo4jServer, tenant: str) -> None:
    store = open_store(neo4j_server.uri, user=neo4j_server.user, password=neo4j_server.password)
    await store.open()
    await store.apply(tenant, [PIPELINE])
    async with neo4j.AsyncGraphDatabase.driver(neo4j_server.uri, auth=(neo4j_server.user, neo4j_server.password)) as driver:

        async def ask(statement: str) -> list[object]:
            found = await driver.execute_query(statement, tenant=tenant, database_="neo4j")
            return [record[0] for record in found.records]

        await ask("MATCH (c:HeadwaterChange {tenant: $tenant}) REMOVE c.before")  # as it was before step 4
        for statement in MIGRATIONS[3]:
            await ask(statement)
        assert await ask("MATCH (c:HeadwaterChange {tenant: $tenant}) RETURN c.before") == [0]
        indexes = await ask("SHOW INDEXES YIELD name, state WHERE state = 'ONLINE' RETURN name")
    assert "headwater_change_by_bytes" in indexes
    await store.apply(tenant, [GraphBatch(stamp(9), [node(dataset("out"), rows=9)])])
    assert [each.properties for each in await store.get(tenant, [dataset("out")])] == [{"rows": 9}]
    await store.close()


@pytest.mark.slow
async def test_services_that_start_at_once_on_a_new_database_make_its_indexes_once(neo4j_server: Neo4jServer) -> None:
    stores = [open_store(neo4j_server.uri, user=neo4j_server.user, password=neo4j_server.password) for _ in range(4)]
    async with neo4j.AsyncGraphDatabase.driver(neo4j_server.uri, auth=(neo4j_server.user, neo4j_server.password)) as driver:

        async def ask(statement: str) -> list[str]:
            found = await driver.execute_query(statement, database_="neo4j")
            return [record[0] for record in found.records]

        for _ in range(2):
            for kind in ("CONSTRAINT", "INDEX"):
                for name in await ask(f"SHOW {kind} YIELD name WHERE name STARTS WITH 'headwater_' RETURN name"):
                    await ask(f"DROP {kind} {name} IF EXISTS")
            await ask("MATCH (m:HeadwaterMigration) DELETE m")
            taken = await asyncio.gather(*(store.open() for store in stores))
            assert all(numbers in ([], list(range(1, len(MIGRATIONS) + 1))) for numbers in taken)
            assert await ask("MATCH (m:HeadwaterMigration) RETURN m.number") == [len(MIGRATIONS)]
            assert (
                len(await ask("SHOW INDEXES YIELD name, state WHERE name STARTS WITH 'headwater_' AND state = 'ONLINE' RETURN name")) == 19
            )
    for store in stores:
        await store.close()


async def test_a_newer_schema_is_refused_only_where_it_asks_for_a_newer_headwater(neo4j_server: Neo4jServer) -> None:
    store = open_store(neo4j_server.uri, user=neo4j_server.user, password=neo4j_server.password)
    await store.open()
    async with neo4j.AsyncGraphDatabase.driver(neo4j_server.uri, auth=(neo4j_server.user, neo4j_server.password)) as driver:
        try:
            await driver.execute_query("MATCH (m:HeadwaterMigration) SET m.number = 99, m.least = 4", database_="neo4j")
            assert await store.open() == []
            for stated in ("m.least = 99", "m.least = null"):
                await driver.execute_query(f"MATCH (m:HeadwaterMigration) SET {stated}", database_="neo4j")
                with pytest.raises(ConfigurationError, match="Upgrade"):
                    await store.open()
        finally:
            await driver.execute_query(f"MATCH (m:HeadwaterMigration) SET m.number = {len(MIGRATIONS)}, m.least = 4", database_="neo4j")
            await store.close()
