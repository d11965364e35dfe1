"""Constraints and indexes of a Neo4j database, in numbered steps that only go forward. A `HeadwaterMigration` node tells the last one.

Where services are upgraded one by one, an old one starts beside a new one: the node also tells which schema it must know at least.
"""

from __future__ import annotations

import asyncio
import time
from typing import LiteralString

from neo4j.exceptions import ClientError

from headwater.errors import ConfigurationError, UnavailableError
from headwater.graph.stores.neo4j.connections import Connections

# Step n is at index n - 1. Each statement must bear being repeated: schema and data do not change in one transaction.
MIGRATIONS: tuple[tuple[LiteralString, ...], ...] = (
    # 1. The constraints come before all data: MERGE without them duplicates under concurrency. The index serves pages of names.
    (
        "CREATE CONSTRAINT headwater_container IF NOT EXISTS FOR (n:Container) REQUIRE (n.tenant, n.id) IS UNIQUE",
        "CREATE CONSTRAINT headwater_progress IF NOT EXISTS FOR (p:HeadwaterProgress) REQUIRE p.tenant IS UNIQUE",
        "CREATE CONSTRAINT headwater_migration IF NOT EXISTS FOR (m:HeadwaterMigration) REQUIRE m.name IS UNIQUE",
        "CREATE INDEX headwater_container_by_name IF NOT EXISTS FOR (n:Container) ON (n.tenant, n.kind, n.folded, n.id)",
    ),
    # 2. A part of a name is found by its letters, without looking at each name.
    ("CREATE TEXT INDEX headwater_container_by_part IF NOT EXISTS FOR (n:Container) ON (n.folded)",),
    # 3. A log of the last transactions that wrote, for whoever keeps the graph in memory (headwater.graph.index): which nodes each touched.
    (
        "CREATE CONSTRAINT headwater_revision IF NOT EXISTS FOR (r:HeadwaterRevision) REQUIRE r.name IS UNIQUE",
        "CREATE CONSTRAINT headwater_change IF NOT EXISTS FOR (c:HeadwaterChange) REQUIRE c.revision IS UNIQUE",
    ),
    # 4. The bytes of the log before each of its transactions, by which it is kept short. What was logged until now counts as nothing, and
    #    goes first.
    (
        "CREATE INDEX headwater_change_by_bytes IF NOT EXISTS FOR (c:HeadwaterChange) ON (c.before)",
        "MATCH (c:HeadwaterChange) WHERE c.before IS NULL SET c.before = 0",
    ),
)
# The schema that a Headwater must know to work beside this one. A step that only adds, as an index, leaves it as it is.
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
    """Take the steps that the database has not taken; their numbers. Safe when several processes start at once.

    Raises:
        ConfigurationError: a newer Headwater has been here.
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
        await _take(
            connections,
            "MERGE (m:HeadwaterMigration {name: 'graph'}) SET m.number = CASE WHEN m.number > $number THEN m.number ELSE $number END,"
            " m.least = CASE WHEN m.least > $least THEN m.least ELSE $least END",
            number=number,
            least=min(number, LEAST),
        )
    return list(range(version + 1, len(MIGRATIONS) + 1))


async def _online(connections: Connections) -> None:
    """Wait for the indexes, by short looks.

    `db.awaitIndexes` is one transaction that waits, and an index that another service makes meanwhile waits for older transactions to
    end: two services that start at once would wait for each other.
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
    """Run one statement of a step. Others that start at the same time may be at it, too: the server lets one of them win."""
    for left in reversed(range(_TRIES)):
        try:
            await connections.run(statement, **parameters)
        except ClientError as error:
            if error.code != _ALIKE:
                raise
            return  # another made it while this one looked
        except UnavailableError:  # a deadlock of two that migrate, or a server that is away
            if not left:
                raise
            await asyncio.sleep(_PAUSE)
        else:
            return
