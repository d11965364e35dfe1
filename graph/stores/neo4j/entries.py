"""The entries of nodes for searches by words: properties of the nodes, in the full-text index `headwater_container_words`.

Neo4j has no index of the contents of one node. So an entry keeps the last run that was to write the dataset (`writer`), and the time when
the containment of its version was first stated (`since`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, LiteralString

from neo4j import AsyncManagedTransaction

from headwater.graph.model import Node, NodeKind, kind_of, node_id, parse_id
from headwater.graph.search import SEARCHED, Activity, entry_of
from headwater.graph.search.entries import NO_ACTIVITY, state_of
from headwater.graph.stores.neo4j.connections import Connections, rows

_PORTION = 5_000
_NODES: LiteralString = (
    "UNWIND $ids AS id MATCH (n:Container {tenant: $tenant, id: id}) "
    "RETURN n.id, n.kind, n.name, n.properties, coalesce(n.since, ''), coalesce(n.writer, '')"
)
_WRITTEN: LiteralString = (
    "UNWIND $ids AS id MATCH (r:Container {tenant: $tenant, id: id})-[:WRITES]->(v:Container)<-[e:CONTAINS]-(d:Container) "
    "WHERE v.kind = 'version' AND d.kind = 'dataset' RETURN d.id, id, coalesce(e.first, '')"
)
_JOBS: LiteralString = (
    "UNWIND $ids AS id MATCH (r:Container {tenant: $tenant, id: id})<-[:CONTAINS]-(j:Container) WHERE j.kind = $kind "
    "RETURN id, j.id ORDER BY j.id DESC"
)
_ENTRY: LiteralString = """
    UNWIND $rows AS row
    MATCH (n:Container {tenant: $tenant, id: row[0]})
    SET n.own = row[1], n.place = row[2], n.facet = row[3], n.urgency = row[4], n.at = row[5], n.namespace = row[6], n.platform = row[7],
        n.state = row[8], n.actor = row[9], n.pipeline = row[10], n.labels = row[11], n.since = row[12], n.writer = row[13]
    """
_KINDS = frozenset(SEARCHED)

# When the version of a dataset was first stated, and the run that was to write it.
_Writer = tuple[str, str]


async def write_entries(transaction: AsyncManagedTransaction, tenant: str, stale: Collection[str]) -> set[str]:
    """Bring the entries of nodes up to date that have none or have changed, and those of the datasets and jobs that have one of these runs.

    Return the ids of these nodes.
    """
    ids = {identifier for identifier in stale if kind_of(identifier) in _KINDS}
    runs = sorted(identifier for identifier in ids if kind_of(identifier) is NodeKind.RUN)
    writers: dict[str, _Writer] = {}
    for portion in _portions(runs):
        for dataset, run, since in await rows(transaction, _WRITTEN, ids=list(portion), tenant=tenant):
            writers[dataset] = max(writers.get(dataset, ("", "")), (since, run))
    jobs = {job for _, job in await _around(transaction, tenant, runs, NodeKind.JOB)}
    written = ids | writers.keys() | jobs
    for portion in _portions(sorted(written)):
        await _write(transaction, tenant, portion, writers)
    return written


async def write_all_entries(connections: Connections) -> None:
    """Write the entries of nodes that have none, for a database of an earlier schema."""
    statement: LiteralString = (
        "MATCH (n:Container) WHERE n.kind IN $kinds AND n.own IS NULL WITH n LIMIT $limit RETURN n.tenant, collect(n.id)"
    )

    async def fill(transaction: AsyncManagedTransaction) -> int:
        found = await rows(transaction, statement, kinds=[kind.value for kind in SEARCHED], limit=_PORTION)
        for tenant, ids in found:
            datasets = [identifier for identifier in ids if kind_of(identifier) is NodeKind.DATASET]
            await _write(transaction, tenant, ids, await _last_writers(transaction, tenant, datasets))
        return sum(len(ids) for _, ids in found)

    while await connections.write_with(fill):
        pass


async def _last_writers(transaction: AsyncManagedTransaction, tenant: str, datasets: Sequence[str]) -> dict[str, _Writer]:
    found = await rows(
        transaction,
        "UNWIND $ids AS id MATCH (:Container {tenant: $tenant, id: id})-[e:CONTAINS]->(v:Container) WHERE v.kind = 'version' "
        "WITH id, e, v ORDER BY coalesce(e.first, '') DESC WITH id, collect([coalesce(e.first, ''), v.id])[0] AS last "
        "RETURN id, last[0], last[1]",
        ids=list(datasets),
        tenant=tenant,
    )
    return {dataset: (since, node_id(NodeKind.RUN, parse_id(version)[1][2])) for dataset, since, version in found}


async def _around(transaction: AsyncManagedTransaction, tenant: str, ids: Iterable[str], kind: NodeKind) -> list[list[str]]:
    """Return the containers of a kind around some nodes, as rows of (node, container). The first of several by id comes last."""
    asked = sorted(set(ids))
    return await rows(transaction, _JOBS, ids=asked, tenant=tenant, kind=kind.value) if asked else []


async def _write(transaction: AsyncManagedTransaction, tenant: str, ids: Sequence[str], writers: Mapping[str, _Writer]) -> None:
    nodes: dict[str, Node] = {}
    last: dict[str, _Writer] = {}
    for identifier, kind, name, properties, since, writer in await rows(transaction, _NODES, ids=list(ids), tenant=tenant):
        node = nodes[identifier] = Node(identifier, NodeKind(kind), name, json.loads(properties))
        if node.kind is NodeKind.DATASET:
            last[identifier] = max((since, writer), writers.get(identifier, ("", "")))
        elif node.kind is NodeKind.RUN:
            last[identifier] = "", identifier
        elif node.kind is NodeKind.JOB and isinstance(run := node.properties.get("lastRun"), str):
            last[identifier] = "", run
    activities = await _activities(transaction, tenant, {run for _, run in last.values() if run})
    within = dict(await _around(transaction, tenant, [each for each in nodes if kind_of(each) is NodeKind.RUN], NodeKind.JOB))
    pipelines = dict(await _around(transaction, tenant, [each for each in nodes if kind_of(each) is NodeKind.JOB], NodeKind.PIPELINE))
    written: list[list[Any]] = []
    for identifier, node in nodes.items():
        since, run = last.get(identifier, ("", ""))
        activity = activities.get(run, NO_ACTIVITY)
        if identifier in pipelines:
            activity = replace(activity, pipeline=pipelines[identifier])
        entry = entry_of(node, activity, within=within.get(identifier, ""), tenant=tenant)
        written.append([
            identifier, entry.own, entry.place, entry.facet, entry.urgency, activity.at, entry.namespace, entry.platform, activity.state,
            activity.actor, activity.pipeline, json.dumps(entry.labels) if entry.labels else "", since, run,
        ])  # fmt: skip
    await rows(transaction, _ENTRY, rows=written, tenant=tenant)


async def _activities(transaction: AsyncManagedTransaction, tenant: str, runs: Collection[str]) -> dict[str, Activity]:
    """Return what the last runs of datasets and jobs did. A run that does not exist has no activity."""
    found = await rows(transaction, _NODES, ids=sorted(runs), tenant=tenant) if runs else []
    jobs = dict(await _around(transaction, tenant, (row[0] for row in found), NodeKind.JOB))
    pipelines = dict(await _around(transaction, tenant, jobs.values(), NodeKind.PIPELINE))
    activities: dict[str, Activity] = {}
    for identifier, _, _, properties, _, _ in found:
        state, at = state_of(json.loads(properties))
        job = jobs.get(identifier, "")
        activities[identifier] = Activity(state, at, parse_id(job)[1][0] if job else "", pipelines.get(job, ""))
    return activities


def _portions(items: Iterable[str]) -> Iterator[list[str]]:
    iterator = iter(items)
    while portion := list(islice(iterator, _PORTION)):
        yield portion
