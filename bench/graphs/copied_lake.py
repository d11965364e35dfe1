"""Copies a generated lake from its SQLite file into a Neo4j server, in the form in which the store of Neo4j keeps it.

Statements write nodes and relationships directly, because the way through batches takes ten times as long. The map is written as
`headwater.graph.stores.neo4j.rollups` keeps it.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from neo4j import AsyncDriver

from headwater.graph.stores.rollups import lens_of

_PORTION = 20_000
_AT_ONCE = 2
_NODES = """
    UNWIND $rows AS row
    CREATE (n:Container {tenant: $tenant, key: row[0], id: row[1], kind: row[2], name: row[3], folded: row[4], urgency: row[5], at: row[6],
      namespace: row[7], platform: row[8], state: row[9], actor: row[10], pipeline: row[11], labels: row[12], own: row[13], place: row[14],
      facet: row[15], weight: row[16], grouped: row[11] + '\\n' + row[12], sides: row[17], properties: '{}', stamps: '[]', map: 1})
    """
_EDGES = """
    UNWIND $rows AS row
    MATCH (s:Container {key: row[0]}) MATCH (d:Container {key: row[1]})
    CREATE (s)-[:TYPE {map: 1, properties: '{}', stamps: '[]'}]->(d)
    """
_GROUPS = (
    "UNWIND $rows AS row CREATE (:HeadwaterGroup {tenant: $tenant, map: 1, number: row[0], id: row[1], lens: row[2], members: row[3]})"
)
_FLOWS = """
    UNWIND $rows AS row
    CREATE (:HeadwaterFlow {tenant: $tenant, map: 1, src: row[0], dst: row[1], actor: row[2], weight: row[3]})
    """


async def copy_lake(file: Path, driver: AsyncDriver, tenant: str, *, with_nodes: bool) -> None:
    """Copy a lake into an empty database whose migrations have run. Without `with_nodes`, only the groups and flows of its map."""
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True, check_same_thread=False)
    write = _Writer(driver, tenant)
    await write("map", "CREATE (:HeadwaterMap {tenant: $tenant, number: 1})", [[]])
    names: dict[int, str] = dict(connection.execute("SELECT key, id FROM map_group WHERE tenant = ?", (tenant,)))
    members = connection.execute("SELECT key, id, members FROM map_group WHERE tenant = ?", (tenant,))
    await write("groups", _GROUPS, ([key, name, lens_of(name), count] for key, name, count in members))
    flows = connection.execute("SELECT src, dst, actor, weight FROM map_flow")
    await write("flows", _FLOWS, (list(flow) for flow in flows if flow[0] in names))
    if with_nodes:
        await driver.execute_query("CREATE INDEX bench_key IF NOT EXISTS FOR (n:Container) ON (n.key)")
        await driver.execute_query("CALL db.awaitIndexes(300)")
        await write("nodes", _NODES, _nodes(connection, tenant, names))
        for code, kind in ((0, "CONTAINS"), (1, "READS"), (2, "WRITES")):
            rows = connection.execute("SELECT src, dst FROM edge WHERE kind = ?", (code,))
            await write(kind, _EDGES.replace("TYPE", kind), map(list, rows))
    connection.close()


def _nodes(connection: sqlite3.Connection, tenant: str, names: dict[int, str]) -> Iterator[list[Any]]:
    sides = itertools.groupby(connection.execute("SELECT hub, way, grp, count FROM map_side ORDER BY hub"), key=lambda row: row[0])
    hub, around = next(sides, (-1, iter(())))
    rows = connection.execute(
        "SELECT n.key, n.id, n.kind, n.name, n.folded, e.urgency, e.at, e.namespace, e.platform, e.state, e.actor, e.pipeline, e.labels, "
        "e.own, e.place, e.facet, e.weight FROM node AS n LEFT JOIN entry AS e ON e.key = n.key WHERE n.tenant = ? ORDER BY n.key",
        (tenant,),
    )
    for row in rows:
        packed = None
        if row[0] == hub:
            packed = json.dumps([[way, names[group], count] for _, way, group, count in around])
            hub, around = next(sides, (-1, iter(())))
        yield [*row, packed]


class _Writer:
    """Writes rows in portions, some transactions at once."""

    def __init__(self, driver: AsyncDriver, tenant: str) -> None:
        self._driver, self._tenant = driver, tenant

    async def __call__(self, what: str, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        began, left = time.perf_counter(), iter(rows)
        lock, number = asyncio.Lock(), 0

        async def work() -> None:
            nonlocal number
            while True:
                async with lock:
                    portion = await asyncio.to_thread(lambda: list(itertools.islice(left, _PORTION)))
                if not portion:
                    return
                await self._driver.execute_query(statement, rows=portion, tenant=self._tenant)
                number += len(portion)

        await asyncio.gather(*(work() for _ in range(_AT_ONCE)))
        print(f"  {what}: {number:,} in {time.perf_counter() - began:.0f} s", flush=True)
