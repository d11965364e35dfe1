"""Constraints and indexes of a Neo4j database, in numbered steps that only go forward. A `HeadwaterMigration` node stores the last step.

During a rolling upgrade, old and new services run at the same time. So the node also stores the oldest schema that a service must know.
"""

from __future__ import annotations

import asyncio
import time
from typing import LiteralString

from neo4j.exceptions import ClientError

from headwater.errors import ConfigurationError, UnavailableError
from headwater.graph.stores.neo4j.connections import Connections
from headwater.graph.stores.neo4j.entries import write_all_entries
from headwater.graph.stores.neo4j.rollups import write_all_rollups

# Step n is at index n - 1. Each statement must be repeatable: schema and data cannot change in one transaction.
MIGRATIONS: tuple[tuple[LiteralString, ...], ...] = (
    # 1. The constraints come before all data: without them, concurrent MERGE statements create duplicates. The index serves pages of names.
    (
        "CREATE CONSTRAINT headwater_container IF NOT EXISTS FOR (n:Container) REQUIRE (n.tenant, n.id) IS UNIQUE",
        "CREATE CONSTRAINT headwater_progress IF NOT EXISTS FOR (p:HeadwaterProgress) REQUIRE p.tenant IS UNIQUE",
        "CREATE CONSTRAINT headwater_migration IF NOT EXISTS FOR (m:HeadwaterMigration) REQUIRE m.name IS UNIQUE",
        "CREATE INDEX headwater_container_by_name IF NOT EXISTS FOR (n:Container) ON (n.tenant, n.kind, n.folded, n.id)",
    ),
    # 2. A full-text index finds a part of a name without reading each name.
    ("CREATE TEXT INDEX headwater_container_by_part IF NOT EXISTS FOR (n:Container) ON (n.folded)",),
    # 3. A log names the nodes that each of the last transactions touched, for indexes in memory (headwater.graph.index).
    (
        "CREATE CONSTRAINT headwater_revision IF NOT EXISTS FOR (r:HeadwaterRevision) REQUIRE r.name IS UNIQUE",
        "CREATE CONSTRAINT headwater_change IF NOT EXISTS FOR (c:HeadwaterChange) REQUIRE c.revision IS UNIQUE",
    ),
    # 4. Each transaction of the log stores the bytes before it, so that the log can be trimmed. Older entries count as zero bytes and are
    # dropped first.
    (
        "CREATE INDEX headwater_change_by_bytes IF NOT EXISTS FOR (c:HeadwaterChange) ON (c.before)",
        "MATCH (c:HeadwaterChange) WHERE c.before IS NULL SET c.before = 0",
    ),
    # 5. The entries of nodes for searches by words (headwater.graph.search), and lists by state and name, and by time. `write_all_entries`
    # fills them. A node that an older service writes during an upgrade gets its entry with the next statement about it.
    (
        (
            "CREATE FULLTEXT INDEX headwater_container_words IF NOT EXISTS FOR (n:Container) ON EACH [n.own, n.place, n.facet] "
            "OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace', `fulltext.eventually_consistent`: false}}"
        ),
        "CREATE INDEX headwater_container_by_urgency IF NOT EXISTS FOR (n:Container) ON (n.tenant, n.kind, n.urgency, n.folded, n.id)",
        "CREATE INDEX headwater_container_by_activity IF NOT EXISTS FOR (n:Container) ON (n.tenant, n.kind, n.at, n.id)",
    ),
    # 6. The map of a lake (headwater.graph.stores.rollups): its groups, the flows between groups, and lists of the members of a namespace
    # or a pipeline. `write_all_rollups` fills it. An older service counts nothing, so no such service may write for long.
    (
        "CREATE CONSTRAINT headwater_map IF NOT EXISTS FOR (m:HeadwaterMap) REQUIRE m.tenant IS UNIQUE",
        "CREATE CONSTRAINT headwater_group IF NOT EXISTS FOR (g:HeadwaterGroup) REQUIRE (g.tenant, g.map, g.id) IS UNIQUE",
        "CREATE INDEX headwater_group_by_members IF NOT EXISTS FOR (g:HeadwaterGroup) ON (g.tenant, g.map, g.lens, g.members)",
        "CREATE CONSTRAINT headwater_flow IF NOT EXISTS FOR (f:HeadwaterFlow) REQUIRE (f.tenant, f.map, f.src, f.dst, f.actor) IS UNIQUE",
        "CREATE INDEX headwater_flow_by_src IF NOT EXISTS FOR (f:HeadwaterFlow) ON (f.tenant, f.map, f.src, f.dst, f.actor, f.weight)",
        "CREATE INDEX headwater_flow_by_dst IF NOT EXISTS FOR (f:HeadwaterFlow) ON (f.tenant, f.map, f.dst, f.src, f.actor, f.weight)",
        "CREATE INDEX headwater_container_in_namespace IF NOT EXISTS FOR (n:Container) ON (n.tenant, n.kind, n.namespace)",
        "CREATE INDEX headwater_container_in_pipeline IF NOT EXISTS FOR (n:Container) ON (n.tenant, n.kind, n.pipeline)",
    ),
)
# The steps whose properties are filled by code.
_ENTRIES = 5
_MAP = 6
# The schema that a Headwater must know to run at the same time as this one. A step that only adds, such as an index, does not raise it.
LEAST = 4
_NOT_ONLINE: LiteralString = (
    "SHOW INDEXES YIELD name, state, populationPercent WHERE name STARTS WITH 'headwater_' AND state <> 'ONLINE'"
    " RETURN name, state, populationPercent ORDER BY name"
)
_LOOK_AGAIN = 0.1  # seconds
_LONGEST = 300.0
_ALIKE = "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists"
_TRIES = 20
_PAUSE = 0.5  # seconds


async def migrate(connections: Connections) -> list[int]:
    """Run the missing migrations, and return their numbers. Several processes may start at the same time.

    Raises:
        ConfigurationError: a newer Headwater has migrated the database.
    """
    rows = await connections.read(
        "OPTIONAL MATCH (m:HeadwaterMigration {name: 'graph'}) RETURN coalesce(m.number, 0), coalesce(m.least, m.number, 0)"
    )
    version, least = map(int, rows[0])
    if least > len(MIGRATIONS):
        raise ConfigurationError(
            f"The Neo4j database is of schema {version}; this Headwater knows schemas up to {len(MIGRATIONS)}.",
            hint="Upgrade Headwater, or point it at another database.",
        )
    for number, step in enumerate(MIGRATIONS[version:], version + 1):
        for statement in step:
            await _take(connections, statement)
        await _online(connections)
        if number == _ENTRIES:
            await write_all_entries(connections)
        if number == _MAP:
            await write_all_rollups(connections)
        await _take(
            connections,
            "MERGE (m:HeadwaterMigration {name: 'graph'}) SET m.number = CASE WHEN m.number > $number THEN m.number ELSE $number END,"
            " m.least = CASE WHEN m.least > $least THEN m.least ELSE $least END",
            number=number,
            least=min(number, LEAST),
        )
    return list(range(version + 1, len(MIGRATIONS) + 1))


async def _online(connections: Connections) -> None:
    """Wait for the indexes, by polling.

    `db.awaitIndexes` is one transaction that waits. An index that another service creates meanwhile waits for older transactions to end. So
    two services that start at the same time would wait for each other.
    """
    until = time.monotonic() + _LONGEST
    while waiting := await connections.read(_NOT_ONLINE):
        name, state, percent = waiting[0]
        if state == "FAILED":
            raise UnavailableError(f"Neo4j could not make the index {name}.", hint="Look into its log, and start again.")
        if time.monotonic() > until:
            raise UnavailableError(
                f"Neo4j has not made the index {name} in {_LONGEST:.0f} s: {percent} % of it.", hint="Start again later."
            )
        await asyncio.sleep(_LOOK_AGAIN)


async def _take(connections: Connections, statement: LiteralString, **parameters: int) -> None:
    """Run one statement of a migration. Other services may run it at the same time; the server lets one of them win."""
    for left in reversed(range(_TRIES)):
        try:
            await connections.run(statement, **parameters)
        except ClientError as error:
            if error.code != _ALIKE:
                raise
            return  # another service has made it meanwhile
        except UnavailableError:  # a deadlock of two migrations, or the server is away
            if not left:
                raise
            await asyncio.sleep(_PAUSE)
        else:
            return
