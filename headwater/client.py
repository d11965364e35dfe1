"""A client of a running service, for programs and notebooks: questions as typed answers, rows and records as Arrow or pandas.

    from headwater.client import Client

    client = Client()  # the running service of the home, or Client("https://headwater.example.com", key="hwk_…")
    for run in client.runs("job:local:report", states=["FAIL"], since="2026-01-01"):
        print(run.id, run.properties["state"])
    trace = client.trace("/data/out/report", where="wind > 100", column="wind")
    print(trace.exact, trace.pandas())

`AsyncClient` has the same methods, to be awaited (`async for` where there are pages). It needs no more than the light install; pandas
where a frame is asked for. What the service refuses is raised as the error of `headwater.errors` that it says.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from headwater.errors import NotFoundError, UnavailableError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from headwater.backend.client import GraphQLClient

__all__ = ["AsyncClient", "Client", "Edge", "Lineage", "Node", "Record", "Replay", "Rows", "Trace"]

_PAGE = 200
_POLL_SECONDS = 1.0
_FINAL = {"COMPLETE", "FAILED"}
_NODE = "id kind name properties"
_CONNECTION = f"{{ nodes {{ {_NODE} }} pageInfo {{ hasNextPage endCursor }} }}"
_RECORD = "dataset file row line grain values"


@dataclass(frozen=True, slots=True)
class Node:
    """A container of data or of actors; `kind` as `DATASET`, `properties` are JSON values."""

    id: str
    kind: str
    name: str
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Edge:
    """A link from `src` to `dst`, along which data flows."""

    src: str
    dst: str
    kind: str


@dataclass(frozen=True, slots=True)
class Lineage:
    """Nodes that were reached, nearest first, and the links between them. `truncated` counts nodes that the limit kept out."""

    nodes: Sequence[Node]
    edges: Sequence[Edge]
    truncated: int


@dataclass(frozen=True, slots=True)
class Record:
    """A record by its place: `row` is 0-based in its file, `line` 1-based in text. `values` are those that may be told, by column."""

    dataset: str
    file: str | None
    row: int | None
    line: int | None
    grain: str
    values: Mapping[str, Any]


class _Records:
    """Records as tables. A column whose values are of several types is text."""

    records: Sequence[Record]

    def arrow(self) -> pa.Table:
        """A table of `dataset`, `file`, `row` and `line`, then the columns of the records; null where one has none."""
        import pyarrow as pa

        places = {name: [getattr(record, name) for record in self.records] for name in ("dataset", "file", "row", "line")}
        table = {
            "dataset": pa.array(places["dataset"], pa.string()),
            "file": pa.array(places["file"], pa.string()),
            "row": pa.array(places["row"], pa.int64()),
            "line": pa.array(places["line"], pa.int64()),
        }
        arrays, names = list(table.values()), list(table)
        values = [record.values for record in self.records]  # noqa: PD011 - of a record, not of a frame
        for name in dict.fromkeys(name for one in values for name in one):
            arrays.append(_column([one.get(name) for one in values]))
            names.append(name)  # it may be called as a place is: Arrow bears two columns of one name
        return pa.Table.from_arrays(arrays, names=names)

    def pandas(self) -> pd.DataFrame:
        """The same as a frame of pandas."""
        return self.arrow().to_pandas()


@dataclass(frozen=True, slots=True)
class Rows(_Records):
    """A page of a dataset's rows. `columns` are names and types; `total` counts all pages; `note` says what to know of the rows."""

    dataset: str
    columns: Sequence[tuple[str, str]]
    records: Sequence[Record]
    total: int
    note: str | None


@dataclass(frozen=True, slots=True)
class Trace(_Records):
    """What a trace found. Where it is not `exact`, `reasons` say why. `total` counts records beyond those that are told, too."""

    exact: bool
    reasons: Sequence[str]
    records: Sequence[Record]
    selected: Sequence[Record]
    total: int


@dataclass(frozen=True, slots=True)
class Replay:
    """A pipeline that runs again: `steps` are its jobs with their states, `differences` the rows that it changed."""

    id: str
    state: str
    steps: Sequence[tuple[str, str]]
    error: str | None
    shadow: str
    differences: Sequence[Mapping[str, Any]]


class Client:
    """Asks a service. Threads may share one."""

    def __init__(self, url: str | None = None, key: str | None = None, *, timeout: float = 60.0) -> None:
        """`url` and `key` are by default HEADWATER_URL and HEADWATER_API_KEY, else those of the service that runs on the home.

        Raises:
            UnavailableError: no address is given, and no service runs on the home.
        """
        self._url, self._key = _service(url, key)
        self._timeout = timeout
        self._own = threading.local()

    def execute(self, document: str, **variables: Any) -> dict[str, Any]:
        """The `data` of an answer to a GraphQL document.

        Raises:
            HeadwaterError: what the service says was wrong.
        """
        from headwater.backend.client import GraphQLClient

        client: GraphQLClient | None = getattr(self._own, "client", None)
        if client is None:
            client = self._own.client = GraphQLClient(self._url, self._key, timeout=self._timeout)
        return client.execute(document, **variables)

    def jobs(self, namespace: str | None = None) -> Iterator[Node]:
        """Jobs in the order of their ids."""
        return self._pages("jobs", "($n: String, $f: Int!, $a: String)", "namespace: $n", n=namespace)

    def datasets(self, namespace: str | None = None) -> Iterator[Node]:
        """Datasets in the order of their ids."""
        return self._pages("datasets", "($n: String, $f: Int!, $a: String)", "namespace: $n", n=namespace)

    def runs(self, job: str, *, states: Sequence[str] = (), since: str | None = None, until: str | None = None) -> Iterator[Node]:
        """Runs of a job, by its id, the latest first."""
        asked = "($j: ID!, $s: [String!], $b: String, $u: String, $f: Int!, $a: String)"
        return self._pages("runs", asked, "job: $j, states: $s, since: $b, until: $u", j=job, s=list(states), b=since, u=until)

    def versions(self, dataset: str, *, until: str | None = None) -> Iterator[Node]:
        """What runs wrote to a dataset, by its id, the latest first."""
        return self._pages("versions", "($d: ID!, $u: String, $f: Int!, $a: String)", "dataset: $d, until: $u", d=dataset, u=until)

    def node(self, identifier: str) -> Node | None:
        """A node by its id."""
        found = self.execute(f"query ($i: ID!) {{ node(id: $i) {{ {_NODE} }} }}", i=identifier)["node"]
        return Node(**found) if found else None

    def search(self, text: str, *, kinds: Sequence[str] = (), first: int = 20) -> list[Node]:
        """Nodes whose name holds a text."""
        document = f"query ($t: String!, $k: [NodeKind!], $f: Int!) {{ search(text: $t, kinds: $k, first: $f) {{ nodes {{ {_NODE} }} }} }}"
        return [Node(**node) for node in self.execute(document, t=text, k=list(kinds) or None, f=first)["search"]["nodes"]]

    def lineage(self, *focus: str, direction: str = "BOTH", depth: int = 8, limit: int = 2000) -> Lineage:
        """What the nodes of these ids came from (`UPSTREAM`), what was made of them (`DOWNSTREAM`), or both."""
        document = (
            "query ($f: [ID!]!, $d: Direction!, $n: Int!, $l: Int!) { lineage(focus: $f, direction: $d, depth: $n, limit: $l)"
            f" {{ nodes {{ {_NODE} }} edges {{ src dst kind }} truncated }} }}"
        )
        found = self.execute(document, f=list(focus), d=direction, n=depth, l=limit)["lineage"]
        return Lineage([Node(**node) for node in found["nodes"]], [Edge(**edge) for edge in found["edges"]], found["truncated"])

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
        """A page of a dataset's rows, by its id; `where` is DuckDB's SQL over its columns."""
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
    ) -> Trace:
        """Where records came from, or went (`forward`): those that `where` selects, or `rows`, as (file, 0-based row).

        `values` False asks for places alone, which needs no right to see values.
        """
        record = _RECORD if values else _RECORD.replace(" values", "").replace(" line", "")
        document = (
            "query ($d: String!, $w: String, $r: [RowRef!], $c: String, $s: Semantics!, $f: Boolean!, $t: String, $l: Int!, $a: String)"
            " { trace(dataset: $d, where: $w, rows: $r, column: $c, semantics: $s, forward: $f, to: $t, limit: $l, asOf: $a)"
            f" {{ exact total records {{ {record} }} selected {{ {record} }} incomplete {{ what reason }} }} }}"
        )
        places = [{"file": file, "row": row} for file, row in rows]
        found = self.execute(
            document, d=dataset, w=where, r=places or None, c=column, s=semantics, f=forward, t=to, l=limit, a=as_of
        )["trace"]  # fmt: skip
        reasons = [f"{entry['what']}: {entry['reason']}" for entry in found["incomplete"]]
        records, selected = ([_record(one) for one in found[name]] for name in ("records", "selected"))
        return Trace(found["exact"], reasons, records, selected, found["total"])

    def replay(
        self,
        dataset: str,
        *,
        where: str | None = None,
        rows: Sequence[tuple[str, int]] = (),
        output: str | None = None,
        progress: Callable[[Replay], None] = lambda _: None,
    ) -> Replay:
        """Run a pipeline again without some records of a dataset, and wait for its end.

        `progress` is called whenever it has come further.
        """
        document = (
            "mutation ($d: String!, $w: String, $r: [RowRef!], $o: String)"
            " { startReplay(dataset: $d, where: $w, rows: $r, output: $o) { id } }"
        )
        places = [{"file": file, "row": row} for file, row in rows]
        identifier = self.execute(document, d=dataset, w=where, r=places or None, o=output)["startReplay"]["id"]
        known: Replay | None = None
        while True:
            now = self._replay(identifier)
            if now != known:
                progress(now)
            if now.state in _FINAL:
                return now
            known = now
            time.sleep(_POLL_SECONDS)

    def _replay(self, identifier: str) -> Replay:
        shown = "id state shadow error steps { job state } differences { dataset before after columns }"
        found = self.execute(f"query ($i: ID!) {{ replay(id: $i) {{ {shown} }} }}", i=identifier)["replay"]
        if found is None:
            raise NotFoundError(f"There is no replay {identifier}.", hint="Its folder was removed.")
        steps = [(step["job"], step["state"]) for step in found["steps"]]
        return Replay(found["id"], found["state"], steps, found["error"], found["shadow"], found["differences"])

    def _pages(self, name: str, declared: str, given: str, **variables: Any) -> Iterator[Node]:
        document, after = f"query {declared} {{ {name}({given}, first: $f, after: $a) {_CONNECTION} }}", None
        while True:
            page = self.execute(document, **variables, f=_PAGE, a=after)[name]
            yield from (Node(**node) for node in page["nodes"])
            after = page["pageInfo"]["endCursor"]
            if not page["pageInfo"]["hasNextPage"]:
                return


class AsyncClient:
    """`Client` for programs that run on an event loop: each question is asked on a thread, so that others go on meanwhile."""

    def __init__(self, url: str | None = None, key: str | None = None, *, timeout: float = 60.0) -> None:
        """See `Client`."""
        self._client = Client(url, key, timeout=timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def execute(self, document: str, **variables: Any) -> dict[str, Any]:
        """See `Client`."""
        return await asyncio.to_thread(self._client.execute, document, **variables)

    def jobs(self, namespace: str | None = None) -> AsyncIterator[Node]:
        """See `Client`."""
        return _each(self._client.jobs(namespace))

    def datasets(self, namespace: str | None = None) -> AsyncIterator[Node]:
        """See `Client`."""
        return _each(self._client.datasets(namespace))

    def runs(self, job: str, **asked: Any) -> AsyncIterator[Node]:
        """See `Client`."""
        return _each(self._client.runs(job, **asked))

    def versions(self, dataset: str, *, until: str | None = None) -> AsyncIterator[Node]:
        """See `Client`."""
        return _each(self._client.versions(dataset, until=until))

    async def node(self, identifier: str) -> Node | None:
        """See `Client`."""
        return await asyncio.to_thread(self._client.node, identifier)

    async def search(self, text: str, **asked: Any) -> list[Node]:
        """See `Client`."""
        return await asyncio.to_thread(self._client.search, text, **asked)

    async def lineage(self, *focus: str, **asked: Any) -> Lineage:
        """See `Client`."""
        return await asyncio.to_thread(self._client.lineage, *focus, **asked)

    async def rows(self, dataset: str, **asked: Any) -> Rows:
        """See `Client`."""
        return await asyncio.to_thread(self._client.rows, dataset, **asked)

    async def trace(self, dataset: str, **asked: Any) -> Trace:
        """See `Client`."""
        return await asyncio.to_thread(self._client.trace, dataset, **asked)

    async def replay(self, dataset: str, **asked: Any) -> Replay:
        """See `Client`; `progress` is called on the thread that asks."""
        return await asyncio.to_thread(self._client.replay, dataset, **asked)


async def _each(nodes: Iterator[Node]) -> AsyncIterator[Node]:
    while (node := await asyncio.to_thread(next, nodes, None)) is not None:
        yield node


def _record(found: Mapping[str, Any]) -> Record:
    values = found.get("values") or {}
    return Record(found["dataset"], found["file"], found["row"], found.get("line"), found["grain"], values)


def _column(values: list[Any]) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def _service(url: str | None, key: str | None) -> tuple[str, str | None]:
    """Where the service is, and the key to it."""
    from headwater.backend.home import Home

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
