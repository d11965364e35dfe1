"""The tables of a graph file, in numbered steps that only go forward. `user_version` of the file is the last step taken."""

from __future__ import annotations

import sqlite3

from headwater.errors import ConfigurationError

# Step n is at index n - 1.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    # 1. Edges refer to nodes by a number: ids are long, and each would stand in four index entries an edge. The kind comes before
    #    the far end in both edge indexes, since a dataset contains far more versions than it has readers. `stamps` makes later
    #    merges right (headwater.graph.model.merge); readers leave it alone.
    (
        """
        CREATE TABLE node (
          key INTEGER PRIMARY KEY,
          tenant TEXT NOT NULL,
          id TEXT NOT NULL,
          kind TEXT NOT NULL,
          name TEXT NOT NULL,
          folded TEXT NOT NULL,
          properties TEXT NOT NULL,
          stamps TEXT NOT NULL,
          UNIQUE (tenant, id)
        )
        """,
        "CREATE INDEX node_by_name ON node (tenant, kind, folded, id)",
        """
        CREATE TABLE edge (
          tenant TEXT NOT NULL,
          dst INTEGER NOT NULL REFERENCES node (key),
          kind TEXT NOT NULL,
          src INTEGER NOT NULL REFERENCES node (key),
          properties TEXT NOT NULL DEFAULT '{}',
          stamps TEXT NOT NULL DEFAULT '[]',
          PRIMARY KEY (tenant, dst, kind, src)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX edge_by_src ON edge (tenant, src, kind, dst)",
        "CREATE TABLE progress (tenant TEXT PRIMARY KEY, offset INTEGER NOT NULL) WITHOUT ROWID",
    ),
    # 2. When an edge was first and last stated, as `{time} {run}`. Edges of before have neither until the graph is rebuilt from the log.
    (
        "ALTER TABLE edge ADD COLUMN first TEXT",
        "ALTER TABLE edge ADD COLUMN last TEXT",
    ),
    # 3. Walks read narrow rows. A node's facts move to a table of their own. What is known of an edge stays in the table, and the two
    #    indexes hold the edge itself: three numbers each (the tenant is its nodes', the kind one of `vocabulary`) and the row's.
    (
        "CREATE TABLE fact (key INTEGER PRIMARY KEY REFERENCES node (key), properties TEXT NOT NULL, stamps TEXT NOT NULL)",
        "INSERT INTO fact SELECT key, properties, stamps FROM node WHERE stamps <> '[]' ORDER BY key",
        "ALTER TABLE node DROP COLUMN properties",
        "ALTER TABLE node DROP COLUMN stamps",
        "DROP INDEX edge_by_src",
        "ALTER TABLE edge RENAME TO edge_2",
        """
        CREATE TABLE edge (
          key INTEGER PRIMARY KEY,
          dst INTEGER NOT NULL REFERENCES node (key),
          kind INTEGER NOT NULL,
          src INTEGER NOT NULL REFERENCES node (key),
          first TEXT,
          last TEXT,
          properties TEXT,
          stamps TEXT
        )
        """,
        """
        INSERT INTO edge (dst, kind, src, first, last, properties, stamps)
        SELECT dst, CASE kind WHEN 'contains' THEN 0 WHEN 'reads' THEN 1 WHEN 'writes' THEN 2 WHEN 'derives' THEN 3 WHEN 'replays' THEN 4
            WHEN 'accesses' THEN 5 END, src, first, last, nullif(properties, '{}'), nullif(stamps, '[]')
        FROM edge_2 ORDER BY 1, 2, 3
        """,
        "DROP TABLE edge_2",
        "CREATE UNIQUE INDEX edge_by_dst ON edge (dst, kind, src)",
        "CREATE INDEX edge_by_src ON edge (src, kind, dst)",
    ),
    # 4. Names by three letters of theirs, for searching without looking at each. A spelling is indexed once: columns are many and spelt
    #    alike, and a version bears its run's name. The positions of letters are left out; whoever asks looks at what was found.
    (
        "CREATE TABLE spelling (key INTEGER PRIMARY KEY, tenant TEXT NOT NULL, folded TEXT NOT NULL, UNIQUE (tenant, folded))",
        "INSERT INTO spelling (tenant, folded) SELECT DISTINCT tenant, folded FROM node",
        """
        CREATE VIRTUAL TABLE spelling_part USING fts5 (
          folded, content = 'spelling', content_rowid = 'key', tokenize = 'trigram case_sensitive 1', detail = 'none', columnsize = 0)
        """,
        "INSERT INTO spelling_part (spelling_part) VALUES ('rebuild')",
    ),
    # 5. A log of the last transactions that wrote, for whoever keeps the graph in memory (headwater.graph.index): which nodes each touched.
    ("CREATE TABLE change (revision INTEGER PRIMARY KEY, nodes BLOB)",),
    # 6. The bytes of the log up to each of its transactions, by which it is kept short. What was logged before counts as nothing, and goes
    #    first. From here on a transaction that changed nothing but properties is logged too: no older Headwater may write beside.
    ("ALTER TABLE change ADD COLUMN total INTEGER NOT NULL DEFAULT 0",),
    # 7. What a node contains in the order in which that was first stated: the last versions of a dataset, without a look at all of them.
    ("CREATE INDEX contained_by_first ON edge (src, coalesce(first, ''), dst) WHERE kind = 0",),
)


def migrate(connection: sqlite3.Connection) -> list[int]:
    """Take the steps that the file has not taken, in a transaction of the caller that holds the write lock; their numbers.

    Raises:
        ConfigurationError: a newer Headwater wrote the file.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        raise ConfigurationError(
            f"The graph file is of schema {version}; this Headwater knows schemas up to {len(MIGRATIONS)}.",
            hint="Upgrade Headwater, or point it at another home.",
        )
    for step in MIGRATIONS[version:]:
        for statement in step:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    return list(range(version + 1, len(MIGRATIONS) + 1))
