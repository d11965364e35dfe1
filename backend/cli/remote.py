"""The graph of a remote service, through GraphQL, with the interface of a local graph store.

Commands therefore use one interface for homes and services. The tenant comes from the credential; a passed tenant is ignored.
"""

# ruff: noqa: ARG002 - the protocol has a tenant, and the credential says which

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from headwater.backend.cli.output import note
from headwater.errors import HeadwaterError, LargeTraceError, UnavailableError
from headwater.graph.model import Edge, EdgeKind, Node, NodeKind
from headwater.graph.stores import Direction, Page, Subgraph
from headwater.graph.trace import (
    AsOf,
    ColumnExpression,
    FoundAgain,
    Grain,
    Hop,
    Incomplete,
    Semantics,
    Step,
    TraceAnswer,
    TracedRecord,
    TraceRequest,
)
from headwater.transport import GraphQLClient

_NODE = "fragment node on Node { id kind name properties }"
_RECORD = "fragment record on TracedRecord { dataset file row line grain values }"
_SEARCH = f"""query ($text: String!, $kinds: [NodeKind!], $first: Int!, $after: String) {{
  search(text: $text, kinds: $kinds, first: $first, after: $after) {{ nodes {{ ...node }} cursor total }} }} {_NODE}"""
_CHILDREN = f"""query ($id: ID!, $kinds: [NodeKind!], $first: Int!, $after: String) {{
  node(id: $id) {{ children(kinds: $kinds, first: $first, after: $after) {{ nodes {{ ...node }} cursor total }} }} }} {_NODE}"""
_LINEAGE = f"""query ($focus: [ID!]!, $direction: Direction!, $kinds: [EdgeKind!], $depth: Int!, $limit: Int!) {{
  lineage(focus: $focus, direction: $direction, kinds: $kinds, depth: $depth, limit: $limit) {{
    nodes {{ ...node }} edges {{ src dst kind properties first last }} truncated }} }} {_NODE}"""
_ARGUMENTS = """$dataset: String!, $where: String, $rows: [RowRef!], $column: String, $semantics: Semantics!, $forward: Boolean!,
  $to: String, $limit: Int!, $asOf: String"""
_ASKED = """dataset: $dataset, where: $where, rows: $rows, column: $column, semantics: $semantics, forward: $forward, to: $to,
  limit: $limit, asOf: $asOf"""
_ANSWER = f"""fragment answer on Trace {{
    asOf {{ at runs isRead }}
    semantics exact total elapsedMs records {{ ...record }} selected {{ ...record }} incomplete {{ what reason effect }} notes
    foundAgain {{ capture operator estimatedMs tookMs }} storageRequests storageBytes
    path {{ job run output inputs operations records grain expressions {{ operator made {{ column expression }} by }}
        recaptured tasks }} }} {_RECORD}"""
_TRACE = f"query ({_ARGUMENTS}) {{ trace({_ASKED}) {{ ...answer }} }} {_ANSWER}"
_START = f"mutation ({_ARGUMENTS}) {{ startTrace({_ASKED}) {{ id }} }}"
_JOB = "query ($id: ID!) { traceJob(id: $id) { state progress error } }"
_DONE = f"query ($id: ID!) {{ traceJob(id: $id) {{ answer {{ ...answer }} }} }} {_ANSWER}"
_CANCEL = "mutation ($id: ID!) { cancelTrace(id: $id) { id } }"

_POLL = 0.1
_JOB_POLL = 1.0
_PATIENCE = 600  # number of polls

_TOGETHER = 50  # nodes in a request, because the service limits the aliases of one document


class RemoteGraph:
    """The reading half of a graph store (`GraphReader`)."""

    def __init__(self, client: GraphQLClient) -> None:
        self._client = client

    async def get(self, tenant: str, ids: Sequence[str]) -> list[Node]:
        return [_node(found) for found in (await self._each(ids, "...node")).values()]

    async def ancestors(self, tenant: str, ids: Sequence[str]) -> dict[str, list[Node]]:
        found = await self._each(ids, "containers { ...node }")
        return {identifier: [_node(container) for container in node["containers"]] for identifier, node in found.items()}

    async def search(self, tenant: str, text: str, *, kinds: Sequence[NodeKind] = (), first: int = 20, after: str | None = None) -> Page:
        data = await self.ask(_SEARCH, text=text, kinds=_names(kinds), first=first, after=after)
        return _page(data["search"])

    async def children(
        self, tenant: str, parent: str, *, kinds: Sequence[NodeKind] = (), first: int = 100, after: str | None = None
    ) -> Page:
        data = await self.ask(_CHILDREN, id=parent, kinds=_names(kinds), first=first, after=after)
        return _page(data["node"]["children"]) if data["node"] else Page(nodes=(), cursor=None, total=0)

    async def reach(
        self, tenant: str, focus: Sequence[str], *, direction: Direction, kinds: Sequence[EdgeKind], depth: int, limit: int
    ) -> Subgraph:
        asked = {"focus": list(focus), "direction": direction.name, "kinds": _names(kinds), "depth": depth, "limit": limit}
        found = (await self.ask(_LINEAGE, **asked))["lineage"]
        edges = [
            Edge(edge["src"], edge["dst"], EdgeKind[edge["kind"]], edge["properties"], first=edge["first"], last=edge["last"])
            for edge in found["edges"]
        ]
        distance = _distances(focus, edges, direction)
        return Subgraph([_node(node) for node in found["nodes"]], edges, distance, found["truncated"])

    async def trace(self, request: TraceRequest) -> TraceAnswer:
        rows = [{"file": file, "row": row} for file, row in request.rows]
        asked = {"dataset": request.dataset, "where": request.where, "rows": rows or None, "column": request.column, "to": request.to}
        flags = {"semantics": request.semantics.name, "forward": request.forward, "limit": request.limit, "asOf": request.as_of}
        try:
            return _answer((await self.ask(_TRACE, **asked, **flags))["trace"])
        except LargeTraceError:
            return await self._as_job(asked | flags)

    async def _as_job(self, asked: Mapping[str, Any]) -> TraceAnswer:
        """Run a trace as a job of the service, and show its progress. Cancellation ends the job."""
        identifier = (await self.ask(_START, **asked))["startTrace"]["id"]
        try:
            await self._ended(identifier)
        except BaseException:
            with suppress(Exception):
                self._client.execute(_CANCEL, id=identifier)  # a synchronous call, because a closing event loop waits for no other request
            raise
        return _answer((await self.ask(_DONE, id=identifier))["traceJob"]["answer"])

    async def _ended(self, identifier: str) -> None:
        shown = 0
        while True:
            job = (await self.ask(_JOB, id=identifier))["traceJob"]
            if job is None:
                raise UnavailableError("The service does not know this job any more.", hint="Ask again.")
            for line in job["progress"][shown:]:
                note(line)
            shown = len(job["progress"])
            if job["state"] == "COMPLETE":
                return
            if job["state"] not in {"QUEUED", "RUNNING"}:
                raise HeadwaterError(job["error"] or "This trace was cancelled.")
            await asyncio.sleep(_JOB_POLL)

    async def settle(self) -> None:
        """Wait until the graph of the service contains all received events, for a minute at most."""
        for _ in range(_PATIENCE):
            if not (await self.ask("{ service { pending } }"))["service"]["pending"]:
                return
            await asyncio.sleep(_POLL)

    async def _each(self, ids: Sequence[str], fields: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for start in range(0, len(ids), _TOGETHER):
            some = ids[start : start + _TOGETHER]
            parameters = ", ".join(f"$i{number}: ID!" for number in range(len(some)))
            parts = " ".join(f"n{number}: node(id: $i{number}) {{ {fields} }}" for number in range(len(some)))
            data = await self.ask(f"query ({parameters}) {{ {parts} }} {_NODE}", **{f"i{number}": one for number, one in enumerate(some)})
            found |= {one: data[f"n{number}"] for number, one in enumerate(some) if data[f"n{number}"] is not None}
        return found

    async def ask(self, document: str, **variables: Any) -> dict[str, Any]:
        return await asyncio.to_thread(self._client.execute, document, **variables)


def _names(kinds: Sequence[NodeKind] | Sequence[EdgeKind]) -> list[str] | None:
    return [kind.name for kind in kinds] or None


def _node(found: Mapping[str, Any]) -> Node:
    return Node(found["id"], NodeKind[found["kind"]], found["name"], found["properties"])


def _page(found: Mapping[str, Any]) -> Page:
    return Page([_node(node) for node in found["nodes"]], found["cursor"], found["total"])


def _distances(focus: Sequence[str], edges: Sequence[Edge], direction: Direction) -> dict[str, int]:
    """Return the number of hops from the focus, which the service does not send."""
    following: dict[str, list[str]] = {}
    for edge in edges:
        if direction is not Direction.UPSTREAM:
            following.setdefault(edge.src, []).append(edge.dst)
        if direction is not Direction.DOWNSTREAM:
            following.setdefault(edge.dst, []).append(edge.src)
    distance = dict.fromkeys(focus, 0)
    frontier = list(focus)
    for node in frontier:  # breadth first: the list grows during the loop
        for after in following.get(node, ()):
            if after not in distance:
                distance[after] = distance[node] + 1
                frontier.append(after)
    return distance


def _answer(found: Mapping[str, Any]) -> TraceAnswer:
    incomplete = [Incomplete(item["what"], item["reason"], item["effect"]) for item in found["incomplete"]]
    path = [Hop(**{**hop, "grain": Grain[hop["grain"]], "expressions": _steps(hop["expressions"])}) for hop in found["path"]]
    return TraceAnswer(
        semantics=Semantics[found["semantics"]],
        exact=found["exact"],
        records=[_record(record) for record in found["records"]],
        path=path,
        incomplete=incomplete,
        total=found["total"],
        selected=[_record(record) for record in found["selected"]],
        elapsed_ms=found["elapsedMs"],
        found_again=[FoundAgain(item["capture"], item["operator"], item["estimatedMs"], item["tookMs"]) for item in found["foundAgain"]],
        storage_requests=found["storageRequests"],
        storage_bytes=int(found["storageBytes"]),
        as_of=AsOf(then["at"], then["runs"], then["isRead"]) if (then := found["asOf"]) else None,
        notes=found["notes"],
    )


def _steps(found: Sequence[Mapping[str, Any]]) -> list[Step]:
    return [Step(step["operator"], [ColumnExpression(**made) for made in step["made"]], step["by"]) for step in found]


def _record(found: Mapping[str, Any]) -> TracedRecord:
    return TracedRecord(**{**found, "grain": Grain[found["grain"]]})
