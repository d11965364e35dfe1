"""The entries of nodes for searches by words: written in the transaction that changes a node, or the last run of a dataset or job.

An index of FTS5 over another table must be given the old words of a row before the new ones. The table `entry` keeps them.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from headwater.graph.model import EdgeKind, Node, NodeKind, node_id, parse_id
from headwater.graph.search import SEARCHED, Activity, Entry, entry_of
from headwater.graph.search.entries import BREAK, NO_ACTIVITY, state_of
from headwater.graph.search.facets import KIND, NAMESPACE, OF_LABEL, PIPELINE, PLATFORM, STATE
from headwater.graph.stores.paging import fold
from headwater.graph.stores.rollups import groups_of
from headwater.graph.stores.sqlite.read import COLUMNS, FACTS, to_node
from headwater.graph.stores.sqlite.rollups import Regrouped
from headwater.graph.stores.sqlite.spellings import drop_spellings, write_spellings
from headwater.graph.stores.sqlite.vocabulary import CODE

_FIELDS = "key, tenant, kind, folded, urgency, at, namespace, platform, state, actor, pipeline, labels, own, place, facet"
_UPDATE = ", ".join(f"{field} = excluded.{field}" for field in _FIELDS.split(", ")[1:])  # all other columns keep their values
_CONTAINS, _WRITES = CODE[EdgeKind.CONTAINS], CODE[EdgeKind.WRITES]
_KINDS = ", ".join(f"'{kind}'" for kind in SEARCHED)
_GROUPED = (NodeKind.DATASET.value, NodeKind.JOB.value)
_SEARCHED = frozenset(SEARCHED)
_COUNTED = itemgetter(2, 6, 7, 8, 9, 10, 11)  # the fields of a row that are counted
_PORTION = 5_000
_SHORTEST_WORD = 3  # of the words that may be typed wrong

_Row = tuple[int, str, str, str, int, str, str, str, str, str, str, str, str, str, str]


def write_entries(connection: sqlite3.Connection, tenant: str, fresh: Mapping[int, Node], changed: Collection[int]) -> Regrouped:
    """Write the entries of new nodes, and bring those of changed nodes up to date, and those of the datasets and jobs of these runs.

    Return the datasets and jobs whose groups in the map of the lake have changed.
    """
    new = {key: node for key, node in fresh.items() if node.kind in _SEARCHED}
    old = _read(connection, changed)
    runs = [key for nodes in (new, old) for key, node in nodes.items() if node.kind is NodeKind.RUN]
    if runs:
        old |= _read(connection, _of_runs(connection, tenant, runs) - new.keys() - old.keys())
    return _write(connection, tenant, new, old) if new or old else {}


def write_all_entries(connection: sqlite3.Connection) -> None:
    """Write the entries of all nodes, for a file of an earlier schema."""
    last = 0
    while True:
        rows = connection.execute("SELECT key, tenant FROM node WHERE key > ? ORDER BY key LIMIT ?", (last, _PORTION)).fetchall()
        if not rows:
            return
        for tenant in {tenant for _, tenant in rows}:
            known = _read(connection, [key for key, owner in rows if owner == tenant])
            if known:
                _write(connection, tenant, {}, known)
        last = rows[-1][0]


def drop_entries(connection: sqlite3.Connection, tenant: str) -> None:
    """Delete all entries and words of a tenant."""
    if connection.execute("SELECT 1 FROM entry WHERE tenant <> ? LIMIT 1", (tenant,)).fetchone():
        _unindex(connection, "tenant = ?", tenant)
    else:
        connection.execute("INSERT INTO entry_word (entry_word) VALUES ('delete-all')")
    connection.execute("DELETE FROM entry WHERE tenant = ?", (tenant,))
    connection.execute("DELETE FROM entry_count WHERE tenant = ?", (tenant,))
    drop_spellings(connection, tenant, table="word")


def _unindex(connection: sqlite3.Connection, which: str, value: str) -> None:
    connection.execute(
        f"INSERT INTO entry_word (entry_word, rowid, own, place, facet) SELECT 'delete', key, own, place, facet FROM entry WHERE {which}",
        (value,),
    )


def _read(connection: sqlite3.Connection, keys: Collection[int]) -> dict[int, Node]:
    """Return the nodes with entries among some."""
    rows = connection.execute(
        f"SELECT n.key, {COLUMNS} FROM json_each(?) AS asked CROSS JOIN node AS n ON n.key = asked.value {FACTS} "
        f"WHERE n.kind IN ({_KINDS})",
        (json.dumps(sorted(keys)),),
    )
    return {key: to_node(tuple(row)) for key, *row in rows}


def _of_runs(connection: sqlite3.Connection, tenant: str, runs: Sequence[int]) -> set[int]:
    """Return the jobs of some runs, and the datasets that these runs write."""
    asked = json.dumps(runs)
    jobs = connection.execute(
        f"SELECT DISTINCT e.src FROM json_each(?) AS asked CROSS JOIN edge AS e ON e.dst = asked.value AND e.kind = {_CONTAINS} "
        f"CROSS JOIN node AS n ON n.key = e.src WHERE n.kind = '{NodeKind.JOB}'",
        (asked,),
    ).fetchall()
    versions = connection.execute(
        f"SELECT n.id FROM json_each(?) AS asked CROSS JOIN edge AS e ON e.src = asked.value AND e.kind = {_WRITES} "
        f"CROSS JOIN node AS n ON n.key = e.dst WHERE n.kind = '{NodeKind.VERSION}'",
        (asked,),
    )
    datasets = {node_id(NodeKind.DATASET, *parse_id(version)[1][:2]) for (version,) in versions}
    keys = connection.execute(
        "SELECT n.key FROM json_each(?) AS asked CROSS JOIN node AS n ON n.tenant = ? AND n.id = asked.value",
        (json.dumps(sorted(datasets)), tenant),
    )
    return {key for (key,) in (*jobs, *keys)}


def _write(connection: sqlite3.Connection, tenant: str, new: Mapping[int, Node], old: Mapping[int, Node]) -> Regrouped:
    """Write the entries of nodes that have none (`new`), and of others that may have one."""
    known = {**new, **old}
    activities = _Activities.read(connection, tenant, known)
    rows: list[_Row] = []
    for key, node in known.items():
        entry = entry_of(node, activities.of(key), within=activities.jobs.get(key, ""), tenant=tenant)
        rows.append(_row(key, tenant, entry))
    before = {
        row[0]: row
        for row in connection.execute(
            f"SELECT {_FIELDS} FROM entry WHERE key IN (SELECT value FROM json_each(?))", (json.dumps(list(old)),)
        )
    }
    changed = [row for row in rows if before.get(row[0]) != row]
    if not changed:
        return {}
    reworded = [row for row in changed if row[0] not in before or before[row[0]][-3:] != row[-3:]]
    gone = [row[0] for row in reworded if row[0] in before]
    if gone:
        _unindex(connection, "key IN (SELECT value FROM json_each(?))", json.dumps(gone))
    marks = ", ".join("?" * len(changed[0]))
    connection.executemany(f"INSERT INTO entry ({_FIELDS}) VALUES ({marks}) ON CONFLICT (key) DO UPDATE SET {_UPDATE}", changed)
    connection.executemany(
        "INSERT INTO entry_word (rowid, own, place, facet) VALUES (?, ?, ?, ?)", [(row[0], *row[-3:]) for row in reworded]
    )
    write_spellings(connection, tenant, _words(reworded), table="word")
    _count(connection, tenant, [before[row[0]] for row in changed if row[0] in before], changed)
    return _regrouped(before, changed)


def _regrouped(before: Mapping[int, _Row], changed: Iterable[_Row]) -> Regrouped:
    found: dict[int, tuple[Sequence[str], Sequence[str]]] = {}
    for row in changed:
        if row[2] in _GROUPED:
            old = _groups(before[row[0]]) if row[0] in before else ()
            if old != (new := _groups(row)):
                found[row[0]] = (old, new)
    return found


def _groups(row: _Row) -> tuple[str, ...]:
    return groups_of(row[2], row[6], row[10], row[11])


def _count(connection: sqlite3.Connection, tenant: str, gone: Iterable[_Row], new: Iterable[_Row]) -> None:
    """Keep the counts of the facets' values, by kind and namespace. A state and a pipeline come with the namespace of their job."""
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for sign, rows in ((-1, gone), (1, new)):
        for (kind, namespace, platform, state, actor, pipeline, labels), number in Counter(map(_COUNTED, rows)).items():
            values = [(KIND, kind)]
            if kind != NodeKind.COLUMN:
                values += [(NAMESPACE, namespace), (PLATFORM, platform)]
                values += [(STATE, f"{actor}\n{state}")] if state else []
                values += [(PIPELINE, f"{actor}\n{pipeline}")] if pipeline else []
                values += [(OF_LABEL[label[0]], label[2:]) for label in (json.loads(labels) if labels else ())]
            for name, value in values:
                counts[kind, namespace, name, value] += sign * number
    connection.executemany(
        "INSERT INTO entry_count (tenant, kind, namespace, facet, value, count) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET count = count + excluded.count",
        [(tenant, *key, count) for key, count in sorted(counts.items()) if count],
    )


def _row(key: int, tenant: str, entry: Entry) -> _Row:
    activity = entry.activity
    return (
        key, tenant, entry.kind.value, fold(entry.name), entry.urgency, activity.at, entry.namespace, entry.platform, activity.state,
        activity.actor, activity.pipeline, json.dumps(entry.labels) if entry.labels else "", entry.own, entry.place, entry.facet,
    )  # fmt: skip


def _words(rows: Iterable[_Row]) -> set[str]:
    """Return the words that a text may mean if it has a typing error. The long names of runs are left out."""
    found = {word for row in rows if row[2] != NodeKind.RUN for word in row[-3].split()}
    return {word for word in found if len(word) >= _SHORTEST_WORD and word != BREAK}


@dataclass(frozen=True, slots=True)
class _Activities:
    """The last runs of some datasets, jobs and runs, by key. `jobs` has the job of each run."""

    last: Mapping[int, str]
    runs: Mapping[str, Activity]
    jobs: Mapping[int, str]
    pipelines: Mapping[int, str]

    def of(self, key: int) -> Activity:
        activity = self.runs.get(self.last.get(key, ""), NO_ACTIVITY)
        pipeline = self.pipelines.get(key, "")
        return replace(activity, pipeline=pipeline) if pipeline else activity

    @classmethod
    def read(cls, connection: sqlite3.Connection, tenant: str, known: Mapping[int, Node]) -> _Activities:
        datasets = [key for key, node in known.items() if node.kind is NodeKind.DATASET]
        last = {key: node_id(NodeKind.RUN, run) for key, run in _last_writers(connection, datasets).items()}
        jobs = [key for key, node in known.items() if node.kind is NodeKind.JOB]
        last |= {key: run for key in jobs if isinstance(run := known[key].properties.get("lastRun"), str)}
        own = {key: node.id for key, node in known.items() if node.kind is NodeKind.RUN}
        last |= own
        runs = {known[key].id: (key, *state_of(known[key].properties)) for key in own}
        runs |= _runs(connection, tenant, sorted(set(last.values()) - runs.keys()))
        containers = _containers(connection, [key for key, _, _ in runs.values()], NodeKind.JOB)
        above = _containers(connection, [*jobs, *(job for job, _ in containers.values())], NodeKind.PIPELINE)
        activities: dict[str, Activity] = {}
        for identifier, (key, state, at) in runs.items():
            job, job_id = containers.get(key, (0, ""))
            pipeline = above.get(job, (0, ""))[1]
            activities[identifier] = Activity(state, at, parse_id(job_id)[1][0] if job_id else "", pipeline)
        return cls(
            last, activities, {key: containers[key][1] for key in own if key in containers},
            {key: above[key][1] for key in jobs if key in above},
        )  # fmt: skip


def _last_writers(connection: sqlite3.Connection, datasets: Sequence[int]) -> dict[int, str]:
    """Return the last run that was to write each dataset."""
    rows = connection.execute(
        f"""
        SELECT asked.value, (
          SELECT v.id FROM edge AS e INDEXED BY contained_by_first CROSS JOIN node AS v ON v.key = e.dst
          WHERE e.src = asked.value AND e.kind = {_CONTAINS} AND v.kind = '{NodeKind.VERSION}'
          ORDER BY coalesce(e.first, '') DESC, e.dst DESC LIMIT 1)
        FROM json_each(?) AS asked
        """,
        (json.dumps(datasets),),
    )
    return {key: parse_id(version)[1][2] for key, version in rows if version}


def _runs(connection: sqlite3.Connection, tenant: str, ids: Sequence[str]) -> dict[str, tuple[int, str, str]]:
    """Return the key of each run that exists, its state, and the time of its last event."""
    rows = connection.execute(
        f"SELECT n.key, {COLUMNS} FROM json_each(?) AS asked CROSS JOIN node AS n ON n.tenant = ? AND n.id = asked.value {FACTS}",
        (json.dumps(ids), tenant),
    )
    found: dict[str, tuple[int, str, str]] = {}
    for key, *row in rows:
        node = to_node(tuple(row))
        found[node.id] = (key, *state_of(node.properties))
    return found


def _containers(connection: sqlite3.Connection, keys: Iterable[int], kind: NodeKind) -> dict[int, tuple[int, str]]:
    """Return the container of a kind around some nodes: its key and id. If there are several, the first by id."""
    rows: Iterable[tuple[Any, ...]] = connection.execute(
        f"SELECT e.dst, n.key, n.id FROM json_each(?) AS asked CROSS JOIN edge AS e ON e.dst = asked.value AND e.kind = {_CONTAINS} "
        "CROSS JOIN node AS n ON n.key = e.src WHERE n.kind = ? ORDER BY n.id DESC",
        (json.dumps(sorted(set(keys))), kind),
    )
    return {child: (key, identifier) for child, key, identifier in rows}
