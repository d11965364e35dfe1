"""A client of a running service, for programs and notebooks: questions as typed answers, rows and records as Arrow or pandas.

    from headwater.client import Client

    client = Client()  # the running service of the home, or Client("https://headwater.example.com", key="hwk_…")
    for run in client.runs("job:local:report", states=["FAIL"], since="2026-01-01"):
        print(run.id, run.properties["state"])
    trace = client.trace("/data/out/report", where="wind > 100", column="wind")
    print(trace.exact, trace.pandas())

`AsyncClient` has the same methods, to be awaited (`async for` where there are pages). Both need only the light install. Frames need
pandas, and subscriptions need websockets (`headwater[client]`). What the service refuses is raised as the error of
`headwater.errors` that it says.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Self

from headwater.answers import (
    Cleaning,
    ComparedResult,
    Culprit,
    CulpritSearch,
    Edge,
    Hop,
    Lineage,
    Node,
    Progress,
    Recapture,
    Record,
    Replay,
    Rows,
    Trace,
    hops,
    record,
)
from headwater.block_requests import AsyncBlockRequests, BlockRequests
from headwater.contract_requests import AsyncContractRequests, ContractClause, ContractReport, ContractRequests
from headwater.culprit_requests import AsyncCulpritRequests, CulpritRequests
from headwater.description_requests import AsyncDescriptionRequests, Description, DescriptionRequests, GlossaryTerm, SavedView
from headwater.errors import HeadwaterError, LargeTraceError, UnavailableError
from headwater.following import AsyncFollowing, Following
from headwater.policy_requests import (
    AsyncPolicyRequests,
    ExpiringData,
    Policy,
    PolicyDeviation,
    PolicyReport,
    PolicyRequests,
    RetentionReport,
)
from headwater.privacy_requests import (
    AsyncPrivacyRequests,
    DatasetReader,
    DatasetReaders,
    Erasure,
    PrivacyRequests,
    SubjectAccess,
    SubjectDataset,
)
from headwater.replay_requests import POLL_SECONDS, AsyncReplayRequests, ReplayRequests
from headwater.subscriptions import NODE, Subscriptions
from headwater.suspect_requests import (
    AsyncSuspectRequests,
    Explanation,
    Instance,
    InstanceReport,
    RankedRecord,
    Ranking,
    SourceExplanation,
    Suspect,
    SuspectInstance,
    SuspectReport,
    SuspectRequests,
    WrongRowExplanations,
)
from headwater.transport import GraphQLClient
from headwater.trigger_requests import AsyncTriggerRequests, Trigger, TriggerCause, TriggerExecution, TriggerRequests
from headwater.workflow_requests import (
    AsyncWorkflowRequests,
    Workflow,
    WorkflowChannel,
    WorkflowInput,
    WorkflowOutput,
    WorkflowRequests,
    WorkflowRun,
    WorkflowTask,
)

__all__ = [
    "AsyncClient",
    "Cleaning",
    "Client",
    "ComparedResult",
    "ContractClause",
    "ContractReport",
    "Culprit",
    "CulpritSearch",
    "DatasetReader",
    "DatasetReaders",
    "Description",
    "Edge",
    "Erasure",
    "ExpiringData",
    "Explanation",
    "GlossaryTerm",
    "Hop",
    "Instance",
    "InstanceReport",
    "Lineage",
    "Node",
    "Policy",
    "PolicyDeviation",
    "PolicyReport",
    "Progress",
    "RankedRecord",
    "Ranking",
    "Recapture",
    "Record",
    "Replay",
    "RetentionReport",
    "Rows",
    "SavedView",
    "SourceExplanation",
    "SubjectAccess",
    "SubjectDataset",
    "Suspect",
    "SuspectInstance",
    "SuspectReport",
    "Trace",
    "Trigger",
    "TriggerCause",
    "TriggerExecution",
    "Workflow",
    "WorkflowChannel",
    "WorkflowInput",
    "WorkflowOutput",
    "WorkflowRun",
    "WorkflowTask",
    "WrongRowExplanations",
]

_PAGE = 200
_RUNNING = {"QUEUED", "RUNNING"}
_CONNECTION = f"{{ nodes {{ {NODE} }} pageInfo {{ hasNextPage endCursor }} }}"
_RECORD = "dataset file row line grain values"
_HOP = "job run output inputs operations records grain recaptured tasks"


class Client(
    TriggerRequests,
    WorkflowRequests,
    BlockRequests,
    DescriptionRequests,
    PolicyRequests,
    ContractRequests,
    PrivacyRequests,
    SuspectRequests,
    ReplayRequests,
    CulpritRequests,
):
    """A client of one service. Threads may share it."""

    def __init__(self, url: str | None = None, key: str | None = None, *, timeout: float = 60.0) -> None:
        """`url` and `key` are by default HEADWATER_URL and HEADWATER_API_KEY, else those of the service that runs on the home.

        Raises:
            UnavailableError: no address is given, and no service runs on the home.
        """
        self._url, self._key = _service(url, key)
        self._timeout = timeout
        self._own = threading.local()
        self._subscriptions = Subscriptions(self._url, self._key, timeout)

    def execute(self, document: str, **variables: Any) -> dict[str, Any]:
        """Execute a GraphQL document, and return the `data` of the answer.

        Raises:
            HeadwaterError: the service answered with an error.
        """
        client: GraphQLClient | None = getattr(self._own, "client", None)
        if client is None:
            client = self._own.client = GraphQLClient(self._url, self._key, timeout=self._timeout)
        return client.execute(document, **variables)

    def jobs(self, namespace: str | None = None) -> Iterator[Node]:
        """Yield the jobs in the order of their ids."""
        return self._pages("jobs", "($n: String, $f: Int!, $a: String)", "namespace: $n", n=namespace)

    def datasets(self, namespace: str | None = None) -> Iterator[Node]:
        """Yield the datasets in the order of their ids."""
        return self._pages("datasets", "($n: String, $f: Int!, $a: String)", "namespace: $n", n=namespace)

    def runs(self, job: str, *, states: Sequence[str] = (), since: str | None = None, until: str | None = None) -> Iterator[Node]:
        """Yield the runs of a job, latest first. `job` is an id."""
        asked = "($j: ID!, $s: [String!], $b: String, $u: String, $f: Int!, $a: String)"
        return self._pages("runs", asked, "job: $j, states: $s, since: $b, until: $u", j=job, s=list(states), b=since, u=until)

    def versions(self, dataset: str, *, until: str | None = None) -> Iterator[Node]:
        """Yield the versions of a dataset (the data that each run wrote), latest first. `dataset` is an id."""
        return self._pages("versions", "($d: ID!, $u: String, $f: Int!, $a: String)", "dataset: $d, until: $u", d=dataset, u=until)

    def node(self, identifier: str) -> Node | None:
        found = self.execute(f"query ($i: ID!) {{ node(id: $i) {{ {NODE} }} }}", i=identifier)["node"]
        return Node(**found) if found else None

    def search(self, text: str, *, kinds: Sequence[str] = (), first: int = 20) -> list[Node]:
        """Return nodes whose name contains a text."""
        document = f"query ($t: String!, $k: [NodeKind!], $f: Int!) {{ search(text: $t, kinds: $k, first: $f) {{ nodes {{ {NODE} }} }} }}"
        return [Node(**node) for node in self.execute(document, t=text, k=list(kinds) or None, f=first)["search"]["nodes"]]

    def find(
        self, text: str = "", *, kinds: Sequence[str] = (), namespaces: Sequence[str] = (), owners: Sequence[str] = (),
        tags: Sequence[str] = (), states: Sequence[str] = (), first: int = 20,
    ) -> list[Node]:  # fmt: skip
        """Nodes by words of names, columns, descriptions, owners, tags and terms, the best first. Typing errors are forgiven.

        Without a text, nodes with the chosen values are listed, failures first.
        """
        asked = {"k": ("kinds", "NodeKind", kinds), "n": ("namespaces", "String", namespaces), "o": ("owners", "String", owners),
                 "g": ("tags", "String", tags), "s": ("states", "String", states)}  # fmt: skip
        types = ", ".join(f"${letter}: [{kind}!]" for letter, (_, kind, _) in asked.items())
        chosen = ", ".join(f"{name}: ${letter}" for letter, (name, _, _) in asked.items())
        document = f"query ($t: String!, $f: Int!, {types}) {{ find(text: $t, first: $f, {chosen}) {{ hits {{ node {{ {NODE} }} }} }} }}"
        values = {letter: list(values) or None for letter, (_, _, values) in asked.items()}
        return [Node(**hit["node"]) for hit in self.execute(document, t=text, f=first, **values)["find"]["hits"]]

    def lineage(self, *focus: str, direction: str = "BOTH", depth: int = 8, limit: int = 2000) -> Lineage:
        """Return the nodes upstream of these ids (`UPSTREAM`), downstream of them (`DOWNSTREAM`), or both."""
        document = (
            "query ($f: [ID!]!, $d: Direction!, $n: Int!, $l: Int!) { lineage(focus: $f, direction: $d, depth: $n, limit: $l)"
            f" {{ nodes {{ {NODE} }} edges {{ src dst kind }} truncated hidden }} }}"
        )
        found = self.execute(document, f=list(focus), d=direction, n=depth, l=limit)["lineage"]
        nodes, edges = [Node(**node) for node in found["nodes"]], [Edge(**edge) for edge in found["edges"]]
        return Lineage(nodes, edges, found["truncated"], found["hidden"])

    def rows(
        self,
        dataset: str,
        *,
        where: str | None = None,
        order: str | None = None,
        descending: bool = False,
        first: int = 50,
        offset: int = 0,
    ) -> Rows:
        """Return a page of a dataset's rows. `dataset` is an id; `where` is DuckDB SQL over its columns."""
        document = (
            "query ($d: ID!, $w: String, $o: RowOrder, $f: Int!, $s: Int!) { rows(dataset: $d, where: $w, order: $o, first: $f, offset: $s)"
            " { dataset columns { name type } rows { file row line values } total note } }"
        )
        by = {"column": order, "descending": descending} if order else None
        found = self.execute(document, d=dataset, w=where, o=by, f=first, s=offset)["rows"]
        columns = [(column["name"], column["type"]) for column in found["columns"]]
        names = [name for name, _ in columns]
        records = [
            Record(found["dataset"], row["file"], row["row"], row["line"], "RECORD", dict(zip(names, row["values"], strict=True)))
            for row in found["rows"]
        ]
        return Rows(found["dataset"], columns, records, found["total"], found["note"])

    def diff(
        self,
        dataset: str,
        before: str,
        after: str = "now",
        *,
        key: Sequence[str] = (),
        changes: Sequence[str] = (),
        first: int = 50,
        offset: int = 0,
    ) -> dict[str, Any]:
        """Return the records that differ between two versions of a dataset, in the form of GraphQL's `VersionDiff`, with values by column.

        A version is a sequence, a snapshot, a run, an instant, or `now`. `changes` are ADDED, REMOVED and CHANGED; all by default.
        """
        document = (
            "query ($d: ID!, $b: String!, $a: String!, $k: [String!], $c: [Change!], $f: Int!, $s: Int!) {"
            " diff(dataset: $d, before: $b, after: $a, key: $k, changes: $c, first: $f, offset: $s) {"
            " dataset before { name asOf at runs } after { name asOf at runs } columns { name type } key total added removed changed exact"
            " incomplete { what reason effect } notes"
            " entries { change before { file row line values run } after { file row line values run } } } }"
        )
        answer = self.execute(document, d=dataset, b=before, a=after, k=list(key), c=list(changes) or None, f=first, s=offset)
        found: dict[str, Any] = answer["diff"]
        names = [column["name"] for column in found["columns"]]
        for side in (side for entry in found["entries"] for side in (entry["before"], entry["after"]) if side is not None):
            side["values"] = dict(zip(names, side["values"], strict=True))
        return found

    def trace(
        self,
        dataset: str,
        *,
        where: str | None = None,
        rows: Sequence[tuple[str, int]] = (),
        column: str | None = None,
        semantics: str = "INFLUENCE",
        forward: bool = False,
        to: str | None = None,
        limit: int = 1000,
        as_of: str | None = None,
        values: bool = True,
        progress: Callable[[str], None] = lambda _: None,
    ) -> Trace:
        """Trace records to their sources, or to their outputs (`forward`). `where` or `rows` (file, 0-based row) select the records.

        If `values` is False, the answer has positions only, which needs no right to see values. If a trace is too large to be answered
        immediately, and the service runs jobs, it runs as a job. The method then waits for its end, and calls `progress` with each line of
        progress.
        """
        shown = _RECORD if values else _RECORD.replace(" values", "").replace(" line", "")
        answer = (
            f"{{ exact total records {{ {shown} }} selected {{ {shown} }} incomplete {{ what reason }} path {{ {_HOP} }} recapturable }}"
        )
        declared = "$d: String!, $w: String, $r: [RowRef!], $c: String, $s: Semantics!, $f: Boolean!, $t: String, $l: Int!, $a: String"
        given = "dataset: $d, where: $w, rows: $r, column: $c, semantics: $s, forward: $f, to: $t, limit: $l, asOf: $a"
        places = [{"file": file, "row": row} for file, row in rows]
        asked = {"d": dataset, "w": where, "r": places or None, "c": column, "s": semantics, "f": forward, "t": to, "l": limit, "a": as_of}
        try:
            found = self.execute(f"query ({declared}) {{ trace({given}) {answer} }}", **asked)["trace"]
        except LargeTraceError:
            begun = self.execute(f"mutation ({declared}, $v: Boolean!) {{ startTrace({given}, values: $v) {{ id }} }}", **asked, v=values)
            found = self._job(begun["startTrace"]["id"], answer, progress)
        reasons = [f"{entry['what']}: {entry['reason']}" for entry in found["incomplete"]]
        records, selected = ([record(one) for one in found[name]] for name in ("records", "selected"))
        return Trace(found["exact"], reasons, records, selected, found["total"], hops(found["path"]), found["recapturable"])

    def _job(self, identifier: str, answer: str, progress: Callable[[str], None]) -> dict[str, Any]:
        """Wait for a trace job, and return its answer. If the wait is interrupted, the job is cancelled."""
        look, shown = "query ($i: ID!) { traceJob(id: $i) { state error progress } }", 0
        job: dict[str, Any] | None = {"state": "QUEUED"}
        try:
            while job is not None and job["state"] in _RUNNING:
                if job := self.execute(look, i=identifier)["traceJob"]:
                    for line in job["progress"][shown:]:
                        progress(line)
                    shown = len(job["progress"])
                    if job["state"] in _RUNNING:
                        time.sleep(POLL_SECONDS)
        except BaseException:
            with suppress(Exception):
                self.execute("mutation ($i: ID!) { cancelTrace(id: $i) { id } }", i=identifier)
            raise
        if job is None:
            raise UnavailableError("The service does not know this trace any more.", hint="It was started anew. Ask again.")
        if job["state"] != "COMPLETE":
            raise HeadwaterError(job["error"] or "This trace was cancelled.")
        found: dict[str, Any] = self.execute(f"query ($i: ID!) {{ traceJob(id: $i) {{ answer {answer} }} }}", i=identifier)["traceJob"][
            "answer"
        ]
        return found

    def follow_runs(self, job: str | None = None, *, states: Sequence[str] = ()) -> Following[Node]:
        """Follow new and changed runs, of one job (its id) or of all.

        with client.follow_runs("job:local:report", states=["FAIL"]) as runs:
            for run in runs:
                print(run.id, run.properties["state"])
        """
        return Following(self._subscriptions.runs(job, states))

    def follow_captures(self, job: str | None = None) -> Following[Node]:
        """Follow runs as their record lineage arrives. `properties["capture"]` describes the capture."""
        return Following(self._subscriptions.captures(job))

    def follow_replays(self, identifier: str | None = None) -> Following[Replay]:
        """Follow the latest replays, or one replay by its id. Present states come first, then each change."""
        return Following(self._subscriptions.replays(identifier))

    def follow_recaptures(self, identifier: str | None = None) -> Following[Recapture]:
        """Follow the latest recaptures, or one recapture by its id. Present states come first, then each change."""
        return Following(self._subscriptions.recaptures(identifier))

    def follow_culprit_searches(self, identifier: str | None = None) -> Following[CulpritSearch]:
        """Follow the progress of searches of `why` and `blame`, of one or of all."""
        return Following(self._subscriptions.culprit_searches(identifier))

    def follow_progress(self) -> Following[Progress]:
        """Follow the progress of the service. The present progress comes first, then each change."""
        return Following(self._subscriptions.progress())

    def _pages(self, name: str, declared: str, given: str, **variables: Any) -> Iterator[Node]:
        document, after = f"query {declared} {{ {name}({given}, first: $f, after: $a) {_CONNECTION} }}", None
        while True:
            page = self.execute(document, **variables, f=_PAGE, a=after)[name]
            yield from (Node(**node) for node in page["nodes"])
            after = page["pageInfo"]["endCursor"]
            if not page["pageInfo"]["hasNextPage"]:
                return


class AsyncClient(
    AsyncTriggerRequests,
    AsyncWorkflowRequests,
    AsyncBlockRequests,
    AsyncDescriptionRequests,
    AsyncPolicyRequests,
    AsyncContractRequests,
    AsyncPrivacyRequests,
    AsyncSuspectRequests,
    AsyncReplayRequests,
    AsyncCulpritRequests,
):
    """`Client` for programs with an event loop. Each method calls the method of `Client` with the same name on a thread."""

    def __init__(self, url: str | None = None, key: str | None = None, *, timeout: float = 60.0) -> None:
        self._client = Client(url, key, timeout=timeout)
        self._subscriptions = Subscriptions(*_service(url, key), timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def execute(self, document: str, **variables: Any) -> dict[str, Any]:
        return await asyncio.to_thread(self._client.execute, document, **variables)

    def jobs(self, namespace: str | None = None) -> AsyncIterator[Node]:
        return _each(self._client.jobs(namespace))

    def datasets(self, namespace: str | None = None) -> AsyncIterator[Node]:
        return _each(self._client.datasets(namespace))

    def runs(self, job: str, **asked: Any) -> AsyncIterator[Node]:
        return _each(self._client.runs(job, **asked))

    def versions(self, dataset: str, *, until: str | None = None) -> AsyncIterator[Node]:
        return _each(self._client.versions(dataset, until=until))

    async def node(self, identifier: str) -> Node | None:
        return await asyncio.to_thread(self._client.node, identifier)

    async def find(self, text: str = "", **asked: Any) -> list[Node]:
        """See `Client.find`."""
        return await asyncio.to_thread(self._client.find, text, **asked)

    async def search(self, text: str, **asked: Any) -> list[Node]:
        return await asyncio.to_thread(self._client.search, text, **asked)

    async def lineage(self, *focus: str, **asked: Any) -> Lineage:
        return await asyncio.to_thread(self._client.lineage, *focus, **asked)

    async def rows(self, dataset: str, **asked: Any) -> Rows:
        return await asyncio.to_thread(self._client.rows, dataset, **asked)

    async def diff(self, dataset: str, before: str, after: str = "now", **asked: Any) -> dict[str, Any]:
        return await asyncio.to_thread(self._client.diff, dataset, before, after, **asked)

    async def trace(self, dataset: str, **asked: Any) -> Trace:
        return await asyncio.to_thread(self._client.trace, dataset, **asked)

    def follow_runs(self, job: str | None = None, *, states: Sequence[str] = ()) -> AsyncFollowing[Node]:
        """Follow runs: `async with client.follow_runs() as runs`, then `async for run in runs`."""
        return AsyncFollowing(self._subscriptions.runs(job, states))

    def follow_captures(self, job: str | None = None) -> AsyncFollowing[Node]:
        return AsyncFollowing(self._subscriptions.captures(job))

    def follow_replays(self, identifier: str | None = None) -> AsyncFollowing[Replay]:
        return AsyncFollowing(self._subscriptions.replays(identifier))

    def follow_recaptures(self, identifier: str | None = None) -> AsyncFollowing[Recapture]:
        return AsyncFollowing(self._subscriptions.recaptures(identifier))

    def follow_culprit_searches(self, identifier: str | None = None) -> AsyncFollowing[CulpritSearch]:
        return AsyncFollowing(self._subscriptions.culprit_searches(identifier))

    def follow_progress(self) -> AsyncFollowing[Progress]:
        return AsyncFollowing(self._subscriptions.progress())


async def _each(nodes: Iterator[Node]) -> AsyncIterator[Node]:
    while (node := await asyncio.to_thread(next, nodes, None)) is not None:
        yield node


def _service(url: str | None, key: str | None) -> tuple[str, str | None]:
    from headwater.backend.home.folder import Home

    stated, shown = url or os.environ.get("HEADWATER_URL"), key or os.environ.get("HEADWATER_API_KEY")
    if stated:
        return stated, shown
    home = Home.at()
    running = home.service()
    if running is None:
        raise UnavailableError(
            f"No service runs on {home.path}.", hint="Start one: headwater serve. Or give its address, or HEADWATER_URL."
        )
    return running.url, shown or home.key()
