"""The tables of a graph file, in numbered steps that only go forward. `user_version` of the file is the last step taken."""

from __future__ import annotations

import sqlite3

from headwater.errors import ConfigurationError
from headwater.graph.stores.sqlite.entries import write_all_entries
from headwater.graph.stores.sqlite.rollups import write_all_rollups

# Step n is at index n - 1.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    # 1. Edges refer to nodes by number: ids are long, and each would be stored in four index entries per edge. The kind comes before the
    # far end in both edge indexes, because a dataset contains far more versions than it has readers. `stamps` makes later merges correct
    # (headwater.graph.model.merge); readers ignore it.
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
    # 2. The first and last statement of an edge, as `{time} {run}`. Older edges have neither until the graph is rebuilt from the log.
    (
        "ALTER TABLE edge ADD COLUMN first TEXT",
        "ALTER TABLE edge ADD COLUMN last TEXT",
    ),
    # 3. Walks read narrow rows. A node's facts move to a separate table. The facts of an edge stay in the table, and the two indexes hold
    # the edge itself: three numbers (the nodes determine the tenant, `vocabulary` numbers the kind) and the row's number.
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
    # 4. A trigram index of names, for searching without reading each name. A spelling is indexed once: many columns share a spelling, and a
    # version has the name of its run. The index omits positions of letters, so searches check each hit.
    (
        "CREATE TABLE spelling (key INTEGER PRIMARY KEY, tenant TEXT NOT NULL, folded TEXT NOT NULL, UNIQUE (tenant, folded))",
        "INSERT INTO spelling (tenant, folded) SELECT DISTINCT tenant, folded FROM node",
        """
        CREATE VIRTUAL TABLE spelling_part USING fts5 (
          folded, content = 'spelling', content_rowid = 'key', tokenize = 'trigram case_sensitive 1', detail = 'none', columnsize = 0)
        """,
        "INSERT INTO spelling_part (spelling_part) VALUES ('rebuild')",
    ),
    # 5. A log names the nodes that each of the last transactions touched, for indexes in memory (headwater.graph.index).
    ("CREATE TABLE change (revision INTEGER PRIMARY KEY, nodes BLOB)",),
    # 6. Each transaction of the log stores the bytes up to it, so that the log can be trimmed. Older entries count as zero bytes and are
    # dropped first. From this step on, a transaction that changes only properties is logged too, so no older Headwater may write to the
    # file.
    ("ALTER TABLE change ADD COLUMN total INTEGER NOT NULL DEFAULT 0",),
    # 7. An index of a node's contents in the order of their first statement, to find the last versions of a dataset without reading all.
    ("CREATE INDEX contained_by_first ON edge (src, coalesce(first, ''), dst) WHERE kind = 0",),
    # 8. The entries of nodes for searches by words (headwater.graph.search), an index of their words, and a trigram index of the words
    # themselves, for words that are typed wrong. The two other indexes serve lists by state and name, and counts of groups. The table is
    # filled by `write_all_entries`.
    (
        """
        CREATE TABLE entry (
          key INTEGER PRIMARY KEY REFERENCES node (key),
          tenant TEXT NOT NULL,
          kind TEXT NOT NULL,
          folded TEXT NOT NULL,
          urgency INTEGER NOT NULL,
          at TEXT NOT NULL,
          namespace TEXT NOT NULL,
          platform TEXT NOT NULL,
          state TEXT NOT NULL,
          actor TEXT NOT NULL,
          pipeline TEXT NOT NULL,
          labels TEXT NOT NULL,
          own TEXT NOT NULL,
          place TEXT NOT NULL,
          facet TEXT NOT NULL
        )
        """,
        "CREATE INDEX entry_by_urgency ON entry (tenant, kind, urgency, folded, key) WHERE kind <> 'column'",
        "CREATE INDEX entry_by_time ON entry (tenant, kind, at, key) WHERE kind <> 'column'",
        "CREATE INDEX entry_by_group ON entry (tenant, kind, namespace, platform, state, actor, pipeline, labels) WHERE kind <> 'column'",
        """
        CREATE TABLE entry_count (
          tenant TEXT NOT NULL,
          kind TEXT NOT NULL,
          namespace TEXT NOT NULL,
          facet TEXT NOT NULL,
          value TEXT NOT NULL,
          count INTEGER NOT NULL,
          PRIMARY KEY (tenant, kind, namespace, facet, value)
        ) WITHOUT ROWID
        """,
        """
        CREATE VIRTUAL TABLE entry_word USING fts5 (
          own, place, facet, content = 'entry', content_rowid = 'key', tokenize = 'ascii', prefix = '1 2 3',
          detail = 'column', columnsize = 0)
        """,
        "CREATE TABLE word (key INTEGER PRIMARY KEY, tenant TEXT NOT NULL, folded TEXT NOT NULL, UNIQUE (tenant, folded))",
        """
        CREATE VIRTUAL TABLE word_part USING fts5 (
          folded, content = 'word', content_rowid = 'key', tokenize = 'trigram case_sensitive 1', detail = 'none', columnsize = 0)
        """,
    ),
    # 9. The map of a lake (headwater.graph.stores.rollups): its groups, the groups before (way 0) and after (way 1) each job and dataset,
    # and the flows between groups by the namespace of the job or dataset between them. `weight` is the number of flows of a dataset or job.
    # The tables are filled by `write_all_rollups`.
    (
        """
        CREATE TABLE map_group (
          key INTEGER PRIMARY KEY,
          tenant TEXT NOT NULL,
          lens TEXT NOT NULL,
          id TEXT NOT NULL,
          members INTEGER NOT NULL,
          UNIQUE (tenant, id)
        )
        """,
        "CREATE INDEX map_group_by_members ON map_group (tenant, lens, members DESC, id)",
        """
        CREATE TABLE map_side (
          hub INTEGER NOT NULL REFERENCES node (key),
          way INTEGER NOT NULL,
          grp INTEGER NOT NULL REFERENCES map_group (key),
          count INTEGER NOT NULL,
          PRIMARY KEY (hub, way, grp)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE map_flow (
          src INTEGER NOT NULL REFERENCES map_group (key),
          dst INTEGER NOT NULL REFERENCES map_group (key),
          actor INTEGER NOT NULL REFERENCES map_group (key),
          weight INTEGER NOT NULL,
          PRIMARY KEY (src, dst, actor)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX map_flow_by_dst ON map_flow (dst, src, actor, weight)",
        "ALTER TABLE entry ADD COLUMN weight INTEGER NOT NULL DEFAULT 0",
        "CREATE INDEX entry_by_weight ON entry (tenant, kind, namespace, weight, key) WHERE kind <> 'column'",
        "CREATE INDEX entry_by_pipeline ON entry (tenant, kind, pipeline, weight, key) WHERE kind <> 'column' AND pipeline <> ''",
    ),
)
# The steps whose tables are filled by code.
_ENTRIES = 8
_MAP = 9


def migrate(connection: sqlite3.Connection) -> list[int]:
    """Run the missing migrations, and return their numbers. The caller's transaction must hold the write lock.

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
    if version < _ENTRIES:
        write_all_entries(connection)
    if version < _MAP:
        write_all_rollups(connection)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    return list(range(version + 1, len(MIGRATIONS) + 1))
