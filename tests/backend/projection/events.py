"""OpenLineage events for the tests of the projection, and the graph that they make."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from headwater.backend.projection import event_stamp, fold, project_event
from headwater.graph.model import EdgeKind, Node
from headwater.graph.stores import Direction, GraphStore, open_store

RUN = "0198c0de-0000-7000-8000-000000000001"
RUN_ID = f"run:{RUN}"
JOB_ID = "job:flights:daily.report"


def run_event(
    kind: str | None = "COMPLETE",
    second: int = 0,
    *,
    run: str = RUN,
    job: str = "daily.report",
    facets: Mapping[str, Any] | None = None,
    inputs: Sequence[Mapping[str, Any]] = (),
    outputs: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    event: dict[str, Any] = {
        "eventTime": f"2026-01-01T00:00:{second:02}Z",
        "producer": "https://example.org/producer",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run, "facets": dict(facets or {})},
        "job": {"namespace": "flights", "name": job},
        "inputs": list(inputs),
        "outputs": list(outputs),
    }
    return event | ({"eventType": kind} if kind else {})


def dataset(name: str, *, columns: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    facets = more.pop("facets", {})
    if columns:
        facets = {"schema": {"fields": [{"name": column, "type": "double"} for column in columns]}} | facets
    return {"namespace": "file", "name": name, "facets": facets, **more}


@asynccontextmanager
async def graph_of(folder: Path, *events: Mapping[str, Any]) -> AsyncIterator[Graph]:
    """The graph after the events, in the order given."""
    store = open_store(f"sqlite:///{folder}/graph.db")
    await store.open()
    graph = Graph(store)
    try:
        for event in events:
            await graph.add(event)
        yield graph
    finally:
        await store.close()


class Graph:
    """One tenant's graph, with short ways to look into it."""

    def __init__(self, store: GraphStore) -> None:
        self.store = store
        self.tenant = uuid4().hex

    async def add(self, event: Mapping[str, Any]) -> None:
        await fold(self.store, self.tenant, [project_event(event, event_stamp(event, str(sorted(event.items()))))])

    async def node(self, identifier: str) -> Node:
        (found,) = await self.store.get(self.tenant, [identifier])
        return found

    async def ids(self) -> set[str]:
        return {node.id for node in (await self.store.search(self.tenant, "", first=1_000)).nodes}

    async def containers(self, identifier: str) -> list[str]:
        return [node.id for node in (await self.store.ancestors(self.tenant, [identifier]))[identifier]]

    async def arcs(self, kind: EdgeKind) -> set[tuple[str, str]]:
        ids = sorted(await self.ids())
        return {(edge.src, edge.dst) for edge in await self.store.neighbours(self.tenant, ids, direction=Direction.UPSTREAM, kinds=[kind])}

    async def fingerprint(self) -> str:
        return await self.store.fingerprint(self.tenant)
