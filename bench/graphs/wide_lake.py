"""A generated lake of very many datasets, for the map of the whole lake: datasets, jobs and pipelines, without columns and runs.

Each dataset has a namespace (5,000 datasets in each) and a job of its own in a pipeline (250 jobs in each). A job reads one to eight
earlier datasets: 70 % of its own pipeline, 20 % of its namespace, and 10 % of the whole lake. A third of the datasets has an owner (of
500), a fifth a tag (of 40). A size determines the lake.

Statements of SQL write the nodes, edges and entries into the tables of a new graph file, because the way through batches takes ten times
as long. The map is written by the code that writes it for a file of an earlier schema.
"""

from __future__ import annotations

import sqlite3
import time

from headwater.graph.model import NodeKind, node_id
from headwater.graph.search.words import codes, facet_code, words_of
from headwater.graph.stores.sqlite.rollups import write_all_rollups

_NAMESPACE, _PIPELINE = 5_000, 250
_OWNERS, _TAGS = 500, 40
_SCHEMES = ("s3", "hdfs", "postgres", "kafka")

# Node keys: 1 + 2i is dataset i, 2 + 2i its job; namespaces, pipelines and the system come after them.
_RANGE = "WITH RECURSIVE range (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM range WHERE i + 1 < :count)"
_HASH = "((i * 2654435761 + s * 40503 * 65537 + 12345) % 4294967291)"
_STATEMENTS = (
    f"""
    INSERT INTO node (key, tenant, id, kind, name, folded)
    {_RANGE}, named AS (
      SELECT i, printf('mart_%d/table_%d', i / {_PIPELINE}, i) AS dataset, printf('flow_%d.load_%d', i / {_PIPELINE}, i) AS job FROM range)
    SELECT 1 + 2 * i, :tenant, 'dataset:' || p.part || ':' || dataset, 'dataset', dataset, dataset
      FROM named JOIN temp.place AS p ON p.number = i / {_NAMESPACE}
    UNION ALL SELECT 2 + 2 * i, :tenant, 'job:airflow:' || job, 'job', job, job FROM named
    """,
    """
    INSERT INTO node (key, tenant, id, kind, name, folded)
    SELECT 2 * :count + 10 + number, :tenant, 'platform:' || part, 'platform', name, name FROM temp.place
    """,
    """
    INSERT INTO node (key, tenant, id, kind, name, folded)
    SELECT 2 * :count + 1000000 + number, :tenant, 'pipeline:airflow:flow_' || number, 'pipeline', 'flow_' || number, 'flow_' || number
    FROM temp.flow
    """,
    f"""
    INSERT INTO edge (dst, kind, src)
    {_RANGE}, source (s) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7)),
    drawn AS (SELECT i, s, {_HASH} AS h FROM range CROSS JOIN source WHERE s = 0 OR (i * 7919 + s * 104729) % 16 < 6 - s),
    found AS (SELECT i, CASE
        WHEN h % 10 < 7 THEN (i / {_PIPELINE}) * {_PIPELINE} + (h / 10) % max(1, i % {_PIPELINE})
        WHEN h % 10 < 9 THEN (i / {_NAMESPACE}) * {_NAMESPACE} + (h / 10) % max(1, i % {_NAMESPACE})
        ELSE (h / 10) % max(1, i) END AS source FROM drawn)
    SELECT DISTINCT 2 + 2 * i, 1, 1 + 2 * source FROM found WHERE source < i ORDER BY 1, 3
    """,
    f"INSERT INTO edge (dst, kind, src) {_RANGE} SELECT 1 + 2 * i, 2, 2 + 2 * i FROM range",
    f"INSERT INTO edge (dst, kind, src) {_RANGE} SELECT 1 + 2 * i, 0, 2 * :count + 10 + i / {_NAMESPACE} FROM range",
    f"INSERT INTO edge (dst, kind, src) {_RANGE} SELECT 2 + 2 * i, 0, 2 * :count + 1000000 + i / {_PIPELINE} FROM range",
    f"""
    INSERT INTO entry (key, tenant, kind, folded, urgency, at, namespace, platform, state, actor, pipeline, labels, own, place, facet)
    {_RANGE}
    SELECT 1 + 2 * i, :tenant, 'dataset', printf('mart_%d/table_%d', i / {_PIPELINE}, i), 2, '', p.name, p.scheme, '', '', '',
      CASE WHEN o.name IS NULL AND t.name IS NULL THEN '' ELSE '[' || coalesce('"o:' || o.name || '"', '')
        || CASE WHEN o.name IS NULL OR t.name IS NULL THEN '' ELSE ', ' END || coalesce('"t:' || t.name || '"', '') || ']' END,
      printf('mart %d table %d', i / {_PIPELINE}, i), p.place,
      trim(p.facet || ' ' || coalesce(o.facet, '') || ' ' || coalesce(t.facet, ''))
    FROM range JOIN temp.place AS p ON p.number = i / {_NAMESPACE}
    LEFT JOIN temp.label AS o ON i % 3 = 0 AND o.kind = 'o' AND o.number = (i / 1000) % {_OWNERS}
    LEFT JOIN temp.label AS t ON i % 5 = 0 AND t.kind = 't' AND t.number = (i / 100) % {_TAGS}
    """,
    f"""
    INSERT INTO entry (key, tenant, kind, folded, urgency, at, namespace, platform, state, actor, pipeline, labels, own, place, facet)
    {_RANGE}
    SELECT 2 + 2 * i, :tenant, 'job', printf('flow_%d.load_%d', i / {_PIPELINE}, i), 2, '', 'airflow', '', '', '',
      'pipeline:airflow:flow_' || (i / {_PIPELINE}), '', printf('flow %d load %d', i / {_PIPELINE}, i), 'airflow', f.facet
    FROM range JOIN temp.flow AS f ON f.number = i / {_PIPELINE}
    """,
    "INSERT INTO entry_word (rowid, own, place, facet) SELECT key, own, place, facet FROM entry",
    """
    INSERT INTO entry_count (tenant, kind, namespace, facet, value, count)
    SELECT tenant, kind, namespace, 'kind', kind, count(*) FROM entry GROUP BY 1, 2, 3
    UNION ALL SELECT tenant, kind, namespace, 'namespace', namespace, count(*) FROM entry GROUP BY 1, 2, 3
    """,
)  # fmt: skip


def namespace_of(index: int) -> str:
    number = index // _NAMESPACE
    return f"{_SCHEMES[number % 4]}://lake-{number}"


def fill_wide_lake(connection: sqlite3.Connection, tenant: str, datasets: int) -> None:
    """Write the lake into a new graph file, whose tables exist."""
    connection.execute("BEGIN IMMEDIATE")
    _write_names(connection, tenant, datasets)
    for statement in _STATEMENTS:
        began = time.perf_counter()
        connection.execute(statement, {"count": datasets, "tenant": tenant})
        print(f"  {' '.join(statement.split()[:3])}: {time.perf_counter() - began:.0f} s", flush=True)
    began, used = time.perf_counter(), time.process_time()
    write_all_rollups(connection)
    print(f"  map: {time.perf_counter() - began:.0f} s, {time.process_time() - used:.0f} s of processor time", flush=True)
    connection.execute("COMMIT")


def _write_names(connection: sqlite3.Connection, tenant: str, datasets: int) -> None:
    connection.execute("CREATE TEMP TABLE place (number INTEGER PRIMARY KEY, name TEXT, part TEXT, scheme TEXT, place TEXT, facet TEXT)")
    connection.execute("CREATE TEMP TABLE flow (number INTEGER PRIMARY KEY, facet TEXT)")
    connection.execute("CREATE TEMP TABLE label (kind TEXT, number INTEGER, name TEXT, facet TEXT, PRIMARY KEY (kind, number))")
    tenants = facet_code("x", tenant)
    for number in range(-(-datasets // _NAMESPACE)):
        name = namespace_of(number * _NAMESPACE)
        scheme = name.partition(":")[0]
        facet = " ".join([tenants, "kdataset", facet_code("n", name), facet_code("p", scheme)])
        part = node_id(NodeKind.PLATFORM, name).partition(":")[2]
        row = (number, name, part, scheme, codes(words_of(name, 24)), facet)
        connection.execute("INSERT INTO place VALUES (?, ?, ?, ?, ?, ?)", row)
    for number in range(-(-datasets // _PIPELINE)):
        pipeline = node_id(NodeKind.PIPELINE, "airflow", f"flow_{number}")
        facet = " ".join([tenants, "kjob", facet_code("n", "airflow"), facet_code("l", pipeline)])
        connection.execute("INSERT INTO flow VALUES (?, ?)", (number, facet))
    for kind, count, word in (("o", _OWNERS, "team"), ("t", _TAGS, "tag")):
        for number in range(count):
            name = f"{word}-{number}"
            connection.execute("INSERT INTO label VALUES (?, ?, ?, ?)", (kind, number, name, facet_code(kind, name)))
