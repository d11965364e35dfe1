"""The tables of a shared log, in numbered migration steps.

During a rolling upgrade, old replicas work on tables that a new one has changed. Each step therefore states the oldest schema that a
replica must support to work with it; a step that only adds states the previous one. Older replicas are refused at their start.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.backend.ingest.log.postgres.address import Address, drop
from headwater.errors import ConfigurationError

if TYPE_CHECKING:
    from pg8000.native import Connection

_log = logging.getLogger("headwater.log")
_LOCK = 7_305_461_209  # key of an advisory lock: one replica migrates at a time


@dataclass(frozen=True, slots=True)
class Step:
    """One migration step. `least` is the schema that a replica must support to work after it."""

    least: int
    statements: tuple[str, ...]


# Step n is at index n - 1.
STEPS = (
    # 1. The log. `counter` assigns offsets: a writer holds its row until the commit, so that offsets become visible in their order.
    Step(1, (
        """CREATE TABLE entry (number bigint PRIMARY KEY, tenant text COLLATE "C" NOT NULL, kind text NOT NULL, key bytea NOT NULL,
            received text NOT NULL, body bytea NOT NULL, UNIQUE (tenant, key))""",
        "CREATE INDEX entry_by_tenant ON entry (tenant, number)",
        "CREATE TABLE counter (one boolean PRIMARY KEY DEFAULT true CHECK (one), number bigint NOT NULL)",
        "INSERT INTO counter (number) VALUES (0)",
        """CREATE TABLE dead_letter (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant text COLLATE "C" NOT NULL,
            stage text NOT NULL, hash bytea NOT NULL, number bigint NOT NULL, reason text NOT NULL, field text, received text NOT NULL,
            times bigint NOT NULL DEFAULT 1, body bytea NOT NULL, UNIQUE (tenant, stage, hash, number))""",
        "CREATE TABLE lease (work text PRIMARY KEY, holder text NOT NULL, until timestamptz NOT NULL)",
        "CREATE TABLE mark (source text NOT NULL, item text NOT NULL, state text NOT NULL, PRIMARY KEY (source, item))",
        """CREATE TABLE replica (id text PRIMARY KEY, host text NOT NULL, version text NOT NULL, settings text NOT NULL,
            seen timestamptz NOT NULL)""",
        # The access data that replicas share: named keys, unused links to the page, and ended sessions.
        """CREATE TABLE named_key (id text PRIMARY KEY, number bigint GENERATED ALWAYS AS IDENTITY, name text NOT NULL,
            tenant text NOT NULL, digest bytea NOT NULL, scopes text NOT NULL, created double precision NOT NULL, expires double precision,
            revoked double precision, used double precision)""",
        "CREATE TABLE ticket (digest bytea PRIMARY KEY, ends double precision NOT NULL, scopes text NOT NULL, owner text NOT NULL)",
        "CREATE TABLE ended_session (digest bytea PRIMARY KEY, until double precision NOT NULL)",
    )),
    # 2. The audit logs of all replicas (`audit.shared`). A replica of the earlier schema keeps only its own log, as before.
    Step(1, (
        """CREATE TABLE audit_chain (chain text PRIMARY KEY, host text NOT NULL, number bigint NOT NULL, telling bigint NOT NULL,
            seen timestamptz NOT NULL)""",
        """CREATE TABLE audit_line (chain text NOT NULL, number bigint NOT NULL, digest bytea NOT NULL, at text COLLATE "C" NOT NULL,
            tenant text COLLATE "C", who text NOT NULL, decision text, subjects text NOT NULL, line bytea NOT NULL,
            PRIMARY KEY (chain, number))""",
        "CREATE INDEX audit_line_by_digest ON audit_line (digest)",
        "CREATE INDEX audit_line_by_time ON audit_line (at, chain, number)",
        "CREATE INDEX audit_line_by_tenant ON audit_line (tenant, at, chain, number)",
    )),
)  # fmt: skip


def migrate(address: Address, steps: tuple[Step, ...] = STEPS) -> list[int]:
    """Run the missing steps, and return their numbers. Several replicas may start at the same time.

    Raises:
        ConfigurationError: a newer, incompatible Headwater made the tables, or the user may not create tables.
        UnavailableError: the server does not answer.
    """
    connection = address.connect()
    try:
        with address.faults():
            _warn(connection, address)
            connection.run("BEGIN")
            connection.run("SELECT pg_advisory_xact_lock(:lock)", lock=_LOCK)
            if not connection.run("SELECT 1 FROM pg_namespace WHERE nspname = 'headwater'"):
                connection.run("CREATE SCHEMA headwater")
            connection.run("CREATE TABLE IF NOT EXISTS schema_step (number integer PRIMARY KEY, least integer NOT NULL)")
            done = connection.run("SELECT coalesce(max(number), 0), coalesce(max(least), 0) FROM schema_step")
            version, least = done[0]
            if least > len(steps):
                raise ConfigurationError(
                    f"The shared log {address.url} is of schema {version}, and this Headwater knows schemas up to {len(steps)}.",
                    hint="Upgrade this replica.",
                )
            for number, step in enumerate(steps[version:], version + 1):
                for statement in step.statements:
                    connection.run(statement)
                connection.run("INSERT INTO schema_step VALUES (:number, :least)", number=number, least=step.least)
            connection.run("COMMIT")
        return list(range(version + 1, len(steps) + 1))
    finally:
        drop(connection)


def _warn(connection: Connection, address: Address) -> None:
    if connection.run("SHOW fsync")[0][0] != "on":
        _log.warning("%s runs without fsync: what is acknowledged may be lost if its machine fails", address.url)
