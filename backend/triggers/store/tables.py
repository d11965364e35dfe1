"""The tables of the store, in numbered migration steps. The statements are valid in SQLite and in PostgreSQL.

`trigger_lock` has a row for each tenant. Writers of a tenant update this row first, so they run one after the other. `number` is the log
offset up to which causes were found.
"""

from __future__ import annotations

from headwater.backend.tables import Schema

_STEPS = (
    (
        "CREATE TABLE trigger_lock (tenant text PRIMARY KEY, number bigint NOT NULL)",
        """CREATE TABLE trigger_definition (id text PRIMARY KEY, tenant text NOT NULL, name text NOT NULL, document text NOT NULL,
            owner text NOT NULL, state text NOT NULL, reason text, created double precision NOT NULL, since bigint NOT NULL,
            last_fired double precision, UNIQUE (tenant, name))""",
        # The next instant of each time condition. `member` is its position in the condition.
        """CREATE TABLE trigger_clock (trigger_id text NOT NULL, member integer NOT NULL, due double precision NOT NULL,
            PRIMARY KEY (trigger_id, member))""",
        "CREATE INDEX trigger_clock_by_due ON trigger_clock (due)",
        # Facts that fulfil one member of a combination, until facts for the other members arrive.
        """CREATE TABLE trigger_part (trigger_id text NOT NULL, member integer NOT NULL, fact_id text NOT NULL,
            at double precision NOT NULL, fact text NOT NULL, PRIMARY KEY (trigger_id, member, fact_id))""",
        # Facts whose predicate over rows has yet to be evaluated.
        """CREATE TABLE trigger_check (trigger_id text NOT NULL, member integer NOT NULL, fact_id text NOT NULL, tenant text NOT NULL,
            fact text NOT NULL, due double precision NOT NULL, attempt integer NOT NULL, PRIMARY KEY (trigger_id, member, fact_id))""",
        "CREATE INDEX trigger_check_by_due ON trigger_check (due)",
        """CREATE TABLE trigger_cause (trigger_id text NOT NULL, cause text NOT NULL, at double precision NOT NULL,
            recorded double precision NOT NULL, depth integer NOT NULL, outcome text NOT NULL, reason text, facts text NOT NULL,
            execution text, PRIMARY KEY (trigger_id, cause))""",
        "CREATE INDEX trigger_cause_by_time ON trigger_cause (trigger_id, recorded)",
        """CREATE TABLE trigger_execution (id text PRIMARY KEY, tenant text NOT NULL, trigger_id text NOT NULL, cause text NOT NULL,
            depth integer NOT NULL, state text NOT NULL, attempt integer NOT NULL, due double precision NOT NULL, holder text,
            lease double precision, created double precision NOT NULL, started double precision, ended double precision, error text,
            result text)""",
        "CREATE INDEX trigger_execution_by_state ON trigger_execution (state, due)",
        "CREATE INDEX trigger_execution_by_trigger ON trigger_execution (trigger_id, state)",
    ),
    (
        # The owner at the time of the cause: a later owner lends no rights to executions that wait.
        "ALTER TABLE trigger_execution ADD COLUMN owner text",
        "UPDATE trigger_execution SET owner = (SELECT d.owner FROM trigger_definition d WHERE d.id = trigger_execution.trigger_id)",
        # The workflow whose file declares the trigger.
        "ALTER TABLE trigger_definition ADD COLUMN workflow text",
        # Digests of removed causes, and of facts that a combination has used. None of them fires again.
        "CREATE TABLE trigger_past (trigger_id text NOT NULL, digest text NOT NULL, PRIMARY KEY (trigger_id, digest))",
    ),
    (
        # Views of the page that people saved. They are no triggers: the table is here because replicas share this database.
        """CREATE TABLE saved_view (id text PRIMARY KEY, tenant text NOT NULL, name text NOT NULL, location text NOT NULL,
            shared integer NOT NULL, owner text NOT NULL, author text NOT NULL, created double precision NOT NULL,
            changed double precision NOT NULL, UNIQUE (tenant, owner, name))""",
    ),
    (
        # The openings of deviations in which causes were found, and those before a trigger, which do not fire it.
        "ALTER TABLE trigger_lock ADD COLUMN opening bigint NOT NULL DEFAULT 0",
        "ALTER TABLE trigger_definition ADD COLUMN opening bigint NOT NULL DEFAULT 0",
    ),
    (
        # The next look at the dataset of each condition `stale`. Triggers of earlier versions may have one, so all get a first look, which
        # removes the rows of conditions of other kinds.
        """CREATE TABLE trigger_look (trigger_id text NOT NULL, member integer NOT NULL, tenant text NOT NULL,
            due double precision NOT NULL, PRIMARY KEY (trigger_id, member))""",
        "CREATE INDEX trigger_look_by_due ON trigger_look (tenant, due)",
        "INSERT INTO trigger_look SELECT id, -1, tenant, 0 FROM trigger_definition",
    ),
)

SCHEMA = Schema("triggers", "trigger", _STEPS)
