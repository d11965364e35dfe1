"""A client of a running service, for programs and notebooks: questions as typed answers, rows and records as Arrow or pandas.

    from headwater.client import Client

    client = Client()  # the running service of the home, or Client("https://headwater.example.com", key="hwk_…")
    for run in client.runs("job:local:report", states=["FAIL"], since="2026-01-01"):
        print(run.id, run.properties["state"])
    trace = client.trace("/data/out/report", where="wind > 100", column="wind")
    print(trace.exact, trace.pandas())

`AsyncClient` has the same methods, to be awaited (`async for` where there are pages). It needs no more than the light install; pandas
where a frame is asked for, and websockets (`headwater[client]`) to follow what happens. What the service refuses is raised as the error of
`headwater.errors` that it says.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self, TypeVar

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
    culprit_search,
    hops,
    recapture,
    record,
    replay,
)
from headwater.block_requests import AsyncBlockRequests, BlockRequests
from headwater.contract_requests import AsyncContractRequests, ContractClause, ContractReport, ContractRequests
from headwater.description_requests import AsyncDescriptionRequests, Description, DescriptionRequests, GlossaryTerm, SavedView
from headwater.errors import HeadwaterError, LargeTraceError, NotFoundError, UnavailableError
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
from headwater.subscriptions import CULPRITS, NODE, RECAPTURE, REPLAY, Subscriptions
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
_POLL_SECONDS = 1.0
_Ending = TypeVar("_Ending", Replay, Recapture, CulpritSearch)
_FINAL = {"COMPLETE", "FAILED"}
_RUNNING = {"QUEUED", "RUNNING"}
_CONNECTION = f"{{ nodes {{ {NODE} }} pageInfo {{ hasNextPage endCursor }} }}"
_RECORD = "dataset file row line grain values"
_SELECTION_TYPES = "$d: String, $w: String, $r: [RowRef!], $o: String, $k: ReplayKind!, $e: [ReplayEdit!]"
_SELECTION = "dataset: $d, where: $w, rows: $r, output: $o, kind: $k, edits: $e"
_DRY_RUN = "kind output starts steps { job script writes seconds } excluded kept edited seconds diskBytes diskFree unknownSizes notes"
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
                    time.sleep(_POLL_SECONDS if job["state"] in _RUNNING else 0)
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

    def replay(
        self,
        dataset: str,
        *,
        where: str | None = None,
        rows: Sequence[tuple[str, int]] = (),
        output: str | None = None,
        kind: str = "exclusive",
        edits: Mapping[str, str | None] | None = None,
        seconds: float | None = None,
        disk_bytes: int | None = None,
        progress: Callable[[Replay], None] = lambda _: None,
    ) -> Replay:
        """Run a pipeline again without some records of a dataset, and wait for its end.

        `kind` may also be `what-if` (the records get the values in `edits`, by column), `refresh` (the dataset changed), `selective` or
        `verify`. The last two replay `output`; `where` and `rows` then select its rows, and `dataset` may be empty. So does `step`, which
        waits before each program for `answer_replay`: `progress` gets its `stop`.

        `seconds` and `disk_bytes` are limits of the replay. `progress` is called at each change of the replay's state.
        """
        document = f"mutation ({_SELECTION_TYPES}, $l: ReplayLimits) {{ startReplay({_SELECTION}, limits: $l) {{ id }} }}"
        limits = {"seconds": seconds, "diskBytes": disk_bytes}
        started = self.execute(document, l=limits, **_selection(dataset, where, rows, output, kind, edits))
        identifier = started["startReplay"]["id"]
        return self._until_ended(lambda: self._replay(identifier), progress)

    def replay_dry_run(
        self,
        dataset: str,
        *,
        where: str | None = None,
        rows: Sequence[tuple[str, int]] = (),
        output: str | None = None,
        kind: str = "exclusive",
        edits: Mapping[str, str | None] | None = None,
    ) -> dict[str, Any]:
        """Return the plan of a `replay`: jobs, numbers of records, time and disk space. Nothing runs."""
        document = f"query ({_SELECTION_TYPES}) {{ replayDryRun({_SELECTION}) {{ {_DRY_RUN} }} }}"
        found: dict[str, Any] = self.execute(document, **_selection(dataset, where, rows, output, kind, edits))["replayDryRun"]
        return found

    def cancel_replay(self, identifier: str) -> Replay:
        """Ask a waiting or running replay to end."""
        return self._change_replay("cancelReplay", identifier)

    def answer_replay(
        self,
        identifier: str,
        action: str,
        *,
        file: str | None = None,
        row: int | None = None,
        edits: Mapping[str, str | None] | None = None,
    ) -> Replay:
        """Answer the stop of a replay of the kind `step`. `action` is `continue`, `drop`, `edit` or `stop`.

        `file` and `row`, from 0, name the record to drop or edit. `edits` are its new values by column, as text.
        """
        document = (
            "mutation ($i: ID!, $a: StopAction!, $f: String, $r: RowNumber, $e: [ReplayEdit!]) {"
            f" answerReplay(id: $i, action: $a, file: $f, row: $r, edits: $e) {{ {REPLAY} }} }}"
        )
        values = [{"column": column, "value": value} for column, value in (edits or {}).items()]
        return replay(self.execute(document, i=identifier, a=action.upper(), f=file, r=row, e=values)["answerReplay"])

    def approve_replay(self, identifier: str) -> Replay:
        """Approve the commit of a replay, as a second person."""
        return self._change_replay("approveReplay", identifier)

    def commit_replay(self, identifier: str, *, keep_days: float = 7) -> Replay:
        """Replace the real data with the changed outputs of a complete replay. The old data is stored for `keep_days`."""
        document = f"mutation ($i: ID!, $k: Float!) {{ commitReplay(id: $i, keepDays: $k) {{ {REPLAY} }} }}"
        return replay(self.execute(document, i=identifier, k=keep_days)["commitReplay"])

    def undo_replay(self, identifier: str) -> Replay:
        """Put the old data of a committed replay back."""
        return self._change_replay("undoReplay", identifier)

    def _change_replay(self, mutation: str, identifier: str) -> Replay:
        return replay(self.execute(f"mutation ($i: ID!) {{ {mutation}(id: $i) {{ {REPLAY} }} }}", i=identifier)[mutation])

    def _replay(self, identifier: str) -> Replay:
        found = self.execute(f"query ($i: ID!) {{ replay(id: $i) {{ {REPLAY} }} }}", i=identifier)["replay"]
        if found is None:
            raise NotFoundError(f"There is no replay {identifier}.", hint="Its folder was removed.")
        return replay(found)

    def recapture(self, dataset: str, *, progress: Callable[[Recapture], None] = lambda _: None) -> Recapture:
        """Find the record lineage of a dataset after it was written, and wait for the result. `dataset` is an id or a path.

        The service runs the registered program that wrote the dataset again, next to the real data. If the files are identical, its record
        lineage is stored. `progress` is called at each change of state. In the state `FAILED` nothing is stored, and `error` has the
        reason.
        """
        identifier = self.execute("mutation ($d: String!) { startRecapture(dataset: $d) { id } }", d=dataset)["startRecapture"]["id"]
        return self._until_ended(lambda: self._recapture(identifier), progress)

    def _recapture(self, identifier: str) -> Recapture:
        found = self.execute(f"query ($i: ID!) {{ recapture(id: $i) {{ {RECAPTURE} }} }}", i=identifier)["recapture"]
        if found is None:
            raise UnavailableError("The service does not know this recapture any more.", hint="It was started anew. Ask again.")
        return recapture(found)

    def why(
        self, run: str | None = None, *, seconds: float = 300.0, progress: Callable[[CulpritSearch], None] = lambda _: None
    ) -> CulpritSearch:
        """Name the input record at which a run failed, and wait for the result. `run` is a run or a job, or None for the last failed run.

        The service runs the registered program again on parts of its input, next to the real data. `progress` is called at each change.
        """
        document = "mutation ($r: String, $s: Float!) { startWhy(run: $r, seconds: $s) { id } }"
        identifier = self.execute(document, r=run, s=seconds)["startWhy"]["id"]
        return self._until_ended(lambda: self._culprit_search(identifier), progress)

    def blame(
        self,
        dataset: str,
        *,
        assertion: str | None = None,
        where: str | None = None,
        seconds: float = 300.0,
        progress: Callable[[CulpritSearch], None] = lambda _: None,
    ) -> CulpritSearch:
        """Find the smallest set of input records that makes rows of a dataset wrong, and wait for the result.

        Wrong are the rows for which `assertion` is false, or the rows that `where` selects. Give one of the two.

            client.blame("out/report", assertion="max_wind_mph < 250").records
        """
        document = (
            "mutation ($d: String!, $a: String, $w: String, $s: Float!)"
            " { startBlame(dataset: $d, assertion: $a, where: $w, seconds: $s) { id } }"
        )
        identifier = self.execute(document, d=dataset, a=assertion, w=where, s=seconds)["startBlame"]["id"]
        return self._until_ended(lambda: self._culprit_search(identifier), progress)

    def witness(
        self,
        dataset: str,
        *,
        where: str,
        columns: Sequence[str] = (),
        seconds: float = 300.0,
        progress: Callable[[CulpritSearch], None] = lambda _: None,
    ) -> CulpritSearch:
        """Find the smallest set of input records that still gives a row, and wait for the result. `where` selects the row.

        Only the values in `columns` must stay, or those in all columns, if none is named.

            client.witness("out/sessions", where="user = 'u17'").records
        """
        document = (
            "mutation ($d: String!, $w: String!, $c: [String!], $s: Float!)"
            " { startWitness(dataset: $d, where: $w, columns: $c, seconds: $s) { id } }"
        )
        identifier = self.execute(document, d=dataset, w=where, c=list(columns), s=seconds)["startWitness"]["id"]
        return self._until_ended(lambda: self._culprit_search(identifier), progress)

    def compare(
        self,
        first: str,
        second: str,
        *,
        replays: bool = True,
        seconds: float = 600.0,
        progress: Callable[[CulpritSearch], None] = lambda _: None,
    ) -> CulpritSearch:
        """Attribute the difference between the results of two runs of a job to what changed between them, and wait for the result.

        Each change is tested by replays, unless `replays` is false.

            client.compare("run:01a22530…", "run:01a22530…").comparison.causes
        """
        document = (
            "mutation ($a: String!, $b: String!, $s: Float!, $r: Boolean!)"
            " { startCompare(first: $a, second: $b, seconds: $s, replays: $r) { id } }"
        )
        identifier = self.execute(document, a=first, b=second, s=seconds, r=replays)["startCompare"]["id"]
        return self._until_ended(lambda: self._culprit_search(identifier), progress)

    def clean(
        self,
        dataset: str,
        quality: str,
        *,
        below: float | None = None,
        count: int = 10,
        seconds: float | None = None,
        dry_run: bool = False,
        progress: Callable[[CulpritSearch], None] = lambda _: None,
    ) -> CulpritSearch:
        """Leave out the records behind the worst rows of a dataset in a replay, and wait for the result.

        A row is worse if `quality`, an expression in DuckDB SQL, is lower. The worst rows are those `below` a limit, or `count` rows.

            client.clean("out/contigs", "coverage", below=3).cleaning.after
        """
        document = (
            "mutation ($d: String!, $q: String!, $b: Float, $c: Int!, $s: Float, $n: Boolean!)"
            " { startClean(dataset: $d, quality: $q, below: $b, count: $c, seconds: $s, dryRun: $n) { id } }"
        )
        asked = {"d": dataset, "q": quality, "b": below, "c": count, "s": seconds, "n": dry_run}
        identifier = self.execute(document, **asked)["startClean"]["id"]
        return self._until_ended(lambda: self._culprit_search(identifier), progress)

    def cancel_culprit_search(self, identifier: str) -> None:
        """Ask a waiting or running search to end: of `why`, `blame`, `witness`, `compare` or `clean`. The smallest set so far stays."""
        self.execute("mutation ($i: ID!) { cancelCulpritSearch(id: $i) { id } }", i=identifier)

    def _culprit_search(self, identifier: str) -> CulpritSearch:
        found = self.execute(f"query ($i: ID!) {{ culpritSearch(id: $i) {{ {CULPRITS} }} }}", i=identifier)["culpritSearch"]
        if found is None:
            raise UnavailableError("The service does not know this search any more.", hint="It was started anew. Ask again.")
        return culprit_search(found)

    @staticmethod
    def _until_ended(look: Callable[[], _Ending], progress: Callable[[_Ending], None]) -> _Ending:
        known: _Ending | None = None
        while True:
            now = look()
            if now != known:
                progress(now)
            if now.state in _FINAL:
                return now
            known = now
            time.sleep(_POLL_SECONDS)

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

    async def replay(self, dataset: str, **asked: Any) -> Replay:
        """Run `Client.replay` on a thread, on which `progress` is called too."""
        return await asyncio.to_thread(self._client.replay, dataset, **asked)

    async def replay_dry_run(self, dataset: str, **asked: Any) -> dict[str, Any]:
        return await asyncio.to_thread(self._client.replay_dry_run, dataset, **asked)

    async def cancel_replay(self, identifier: str) -> Replay:
        return await asyncio.to_thread(self._client.cancel_replay, identifier)

    async def answer_replay(self, identifier: str, action: str, **asked: Any) -> Replay:
        """See `Client`."""
        return await asyncio.to_thread(self._client.answer_replay, identifier, action, **asked)

    async def approve_replay(self, identifier: str) -> Replay:
        return await asyncio.to_thread(self._client.approve_replay, identifier)

    async def commit_replay(self, identifier: str, **asked: Any) -> Replay:
        return await asyncio.to_thread(self._client.commit_replay, identifier, **asked)

    async def undo_replay(self, identifier: str) -> Replay:
        return await asyncio.to_thread(self._client.undo_replay, identifier)

    async def recapture(self, dataset: str, **asked: Any) -> Recapture:
        """Run `Client.recapture` on a thread, on which `progress` is called too."""
        return await asyncio.to_thread(self._client.recapture, dataset, **asked)

    async def why(self, run: str | None = None, **asked: Any) -> CulpritSearch:
        """Run `Client.why` on a thread, on which `progress` is called too."""
        return await asyncio.to_thread(self._client.why, run, **asked)

    async def blame(self, dataset: str, **asked: Any) -> CulpritSearch:
        """Run `Client.blame` on a thread, on which `progress` is called too."""
        return await asyncio.to_thread(self._client.blame, dataset, **asked)

    async def witness(self, dataset: str, **asked: Any) -> CulpritSearch:
        """Run `Client.witness` on a thread, on which `progress` is called too."""
        return await asyncio.to_thread(self._client.witness, dataset, **asked)

    async def compare(self, first: str, second: str, **asked: Any) -> CulpritSearch:
        """Run `Client.compare` on a thread, on which `progress` is called too."""
        return await asyncio.to_thread(self._client.compare, first, second, **asked)

    async def clean(self, dataset: str, quality: str, **asked: Any) -> CulpritSearch:
        """Run `Client.clean` on a thread, on which `progress` is called too."""
        return await asyncio.to_thread(self._client.clean, dataset, quality, **asked)

    async def cancel_culprit_search(self, identifier: str) -> None:
        await asyncio.to_thread(self._client.cancel_culprit_search, identifier)

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


def _selection(
    dataset: str, where: str | None, rows: Sequence[tuple[str, int]], output: str | None, kind: str, edits: Mapping[str, str | None] | None
) -> dict[str, Any]:
    places = [{"file": file, "row": row} for file, row in rows]
    values = [{"column": column, "value": value} for column, value in (edits or {}).items()]
    return {"d": dataset or None, "w": where, "r": places or None, "o": output, "k": kind.upper().replace("-", "_"), "e": values or None}
