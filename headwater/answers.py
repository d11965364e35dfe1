"""The answer types of `headwater.client`. Records are tables of Arrow or pandas; notebooks draw lineage and traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from headwater.drawing import Box, Link, drawn, listed

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Node:
    """A container of data or actors. `kind` is a text like `DATASET`; `properties` are JSON values."""

    id: str
    kind: str
    name: str
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Edge:
    """A link along which data flows from `src` to `dst`."""

    src: str
    dst: str
    kind: str


@dataclass(frozen=True, slots=True)
class Lineage:
    """The reached nodes, nearest first, and the links between them. `truncated` is the number of nodes beyond the limit.

    `hidden` is true if a neighbour is in a namespace that the key may not read. A notebook draws the lineage.
    """

    nodes: Sequence[Node]
    edges: Sequence[Edge]
    truncated: int
    hidden: bool = False

    def _repr_html_(self) -> str:
        notes = [f"{self.truncated:,} more nodes are beyond the limit."] if self.truncated else []
        notes += ["Something that belongs here lies in namespaces that this key may not read."] if self.hidden else []
        boxes = [Box(node.id, node.kind, node.name) for node in self.nodes]
        return drawn(boxes, [(edge.src, edge.dst) for edge in self.edges if edge.kind != "CONTAINS"], notes)


@dataclass(frozen=True, slots=True)
class Record:
    """A record and its position: `row` counts from 0 in its file, `line` from 1 in a text. `values` are the visible values by column."""

    dataset: str
    file: str | None
    row: int | None
    line: int | None
    grain: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Hop:
    """One run on the path of a trace: the dataset that it wrote (`output`) with `records` of the trace, and the datasets that it read.

    `grain` is `RECORD` if the trace followed records through the run. If a second run of the program found the records, `recaptured` is its
    time (ISO 8601, UTC); otherwise it is None. `tasks` are ids of tasks that wrote the records (at most 20).
    """

    job: str
    run: str
    output: str
    inputs: Sequence[str]
    operations: Sequence[str]
    records: int
    grain: str = "RECORD"
    recaptured: str | None = None
    tasks: Sequence[str] = ()


class _Records:
    """Records that can be converted to tables. A column with values of several types becomes text."""

    records: Sequence[Record]

    def arrow(self) -> pa.Table:
        """Return a table of `dataset`, `file`, `row` and `line`, then the columns of the records. A missing value is null."""
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
            names.append(name)  # a column of the data may have this name too, because Arrow allows two columns of one name
        return pa.Table.from_arrays(arrays, names=names)

    def pandas(self) -> pd.DataFrame:
        """Return the table as a pandas DataFrame."""
        return self.arrow().to_pandas()

    def _listed(self, total: int, notes: Sequence[str]) -> str:
        values = [record.values for record in self.records]  # noqa: PD011 - of a record, not of a frame
        names = list(dict.fromkeys(name for one in values for name in one))
        rows = [
            [record.dataset, record.file, record.row, *(one.get(name) for name in names)]
            for record, one in zip(self.records, values, strict=True)
        ]
        return listed(["dataset", "file", "row", *names], rows, total, notes)


@dataclass(frozen=True, slots=True)
class Rows(_Records):
    """A page of a dataset's rows. `columns` are names and types; `total` counts all pages; `note` is a remark about the rows."""

    dataset: str
    columns: Sequence[tuple[str, str]]
    records: Sequence[Record]
    total: int
    note: str | None

    def _repr_html_(self) -> str:
        return self._listed(self.total, [self.note] if self.note else [])


@dataclass(frozen=True, slots=True)
class Trace(_Records):
    """The result of a trace. If it is not `exact`, `reasons` explain it. `total` counts all records, including those beyond the limit.

    `path` has the runs on the path; a notebook draws them above the records. `recapturable` are datasets on the path that `recapture` may
    trace to records: their programs ran without record capture, and this key may run them again.
    """

    exact: bool
    reasons: Sequence[str]
    records: Sequence[Record]
    selected: Sequence[Record]
    total: int
    path: Sequence[Hop] = ()
    recapturable: Sequence[str] = ()

    def _repr_html_(self) -> str:
        kinds = {data: "DATASET" for hop in self.path for data in (hop.output, *hop.inputs)} | {hop.job: "JOB" for hop in self.path}
        links: list[Link] = [(data, hop.job) for hop in self.path for data in hop.inputs]
        links += [(hop.job, hop.output) for hop in self.path]
        boxes = [Box(identifier, kind, _named(identifier)) for identifier, kind in kinds.items()]
        notes = ["Exact."] if self.exact else ["Not exact:", *self.reasons]
        notes += [
            f"The records of {_named(hop.output)} were found by running its program again ({hop.recaptured}); it wrote the same files."
            for hop in self.path
            if hop.recaptured is not None
        ]
        return (drawn(boxes, links, []) if boxes else "") + self._listed(self.total, notes)


@dataclass(frozen=True, slots=True)
class Replay:
    """A pipeline that runs again: `steps` are its jobs with their states, `differences` the rows that it changed.

    `differing` counts all of these rows. `commit` is None unless the outputs replaced the real data. `stop` is
    the stop at which a replay of the kind `step` waits: the next job, and the first records of its `inputs` and of the `outputs` before it.
    """

    id: str
    state: str
    steps: Sequence[tuple[str, str]]
    error: str | None
    shadow: str
    differences: Sequence[Mapping[str, Any]]
    kind: str = "EXCLUSIVE"
    output: str = ""
    notes: Sequence[str] = ()
    differing: int = 0
    commit: Mapping[str, Any] | None = None
    stop: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Recapture:
    """A registered program that runs again, to find the record lineage of `dataset`.

    `outputs` are the datasets that now have record lineage. `left` are the program's other outputs with reasons. `files` counts compared
    files.
    """

    id: str
    dataset: str
    state: str
    error: str | None
    outputs: Sequence[str]
    files: int
    left: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Culprit:
    """A record to blame. `row` is 0-based in its file."""

    file: str
    row: int
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunCause:
    """A possible cause of a difference between two runs. `rows` differ in a replay with this change alone.

    `changes` say what changed, `reason` explains the verdict. `is_whole`: this change alone gives the result of the first run.
    """

    kind: str
    verdict: str
    changes: Sequence[str]
    rows: int | None
    is_whole: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class ComparedResult:
    """The difference of one dataset. `rows` is None if it is not known, for the `reason`. `differences` has the first rows."""

    dataset: str
    rows: int | None
    is_rebuilt: bool
    reason: str | None
    differences: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class RunComparison:
    """The comparison of two runs. `together`: all changes together give the result of the first run; None if that is not known."""

    first: str
    second: str
    results: Sequence[ComparedResult]
    causes: Sequence[RunCause]
    together: bool | None
    notes: Sequence[str]


@dataclass(frozen=True, slots=True)
class Cleaning:
    """A cleaning of a result. The records are left out at the first of `steps`. `before` and `after` are qualities of the rows.

    `after` and `replay` are None if no replay ran. `commit_replay` puts its result in place.
    """

    worst: Sequence[Mapping[str, Any]]
    best: Sequence[Mapping[str, Any]]
    steps: Sequence[Mapping[str, Any]]
    before: Mapping[str, Any]
    after: Mapping[str, Any] | None
    replay: str | None
    differing: int | None


@dataclass(frozen=True, slots=True)
class CulpritSearch:
    """A search for the records at which the run `subject` failed (`WHY`), or that make rows of the dataset `subject` wrong (`BLAME`).

    Or a search for the records that still give a row of a dataset (`WITNESS`). A comparison of two runs (`COMPARE`) has its result in
    `comparison`, and a cleaning (`CLEAN`) in `cleaning`. `records` are then those that it leaves out. `doing` says what the two do now.
    `left` counts the records of the present trial. `count` counts the culprits, and `records` has the first ones. `problem` says why there
    is none. `is_minimal`: each of them is needed. `origins` are the records of sources behind them. `step` and `function` are the line of
    the program and the function that failed.
    """

    id: str
    kind: str
    subject: str
    state: str
    error: str | None
    trials: int
    left: int
    step: str | None
    function: str | None
    records: Sequence[Culprit]
    count: int
    is_minimal: bool
    problem: str | None
    origins: Sequence[Culprit]
    notes: Sequence[str]
    doing: str | None = None
    comparison: RunComparison | None = None
    cleaning: Cleaning | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of the service: the number of log entries that are not yet in the graph, and of stored captures."""

    pending: int
    captures: int


def nodes(answer: Any) -> list[Node]:
    return [Node(**node) for node in answer]


def replay(answer: Mapping[str, Any]) -> Replay:
    steps = [(step["job"], step["state"]) for step in answer["steps"]]
    return Replay(
        answer["id"], answer["state"], steps, answer["error"], answer["shadow"], answer["differences"], answer["kind"], answer["output"],
        answer["notes"], answer["differing"], answer["commit"], answer["stop"],
    )  # fmt: skip


def recapture(answer: Mapping[str, Any]) -> Recapture:
    left = {one["dataset"]: one["reason"] for one in answer["left"]}
    return Recapture(answer["id"], answer["dataset"], answer["state"], answer["error"], answer["outputs"], answer["files"], left)


def culprit_search(answer: Mapping[str, Any]) -> CulpritSearch:
    records, origins = ([Culprit(**one) for one in answer[name]] for name in ("records", "origins"))
    return CulpritSearch(
        answer["id"], answer["kind"], answer["subject"], answer["state"], answer["error"], answer["trials"], int(answer["left"]),
        answer["step"], answer["function"], records, int(answer["count"]), answer["isMinimal"], answer["problem"], origins, answer["notes"],
        answer["doing"], _comparison(answer["comparison"]) if answer["comparison"] else None,
        Cleaning(**answer["cleaning"]) if answer["cleaning"] else None,
    )  # fmt: skip


def _comparison(answer: Mapping[str, Any]) -> RunComparison:
    results = [
        ComparedResult(one["dataset"], _whole(one["rows"]), one["isRebuilt"], one["reason"], one["differences"])
        for one in answer["results"]
    ]
    causes = [
        RunCause(one["kind"], one["verdict"], one["changes"], _whole(one["rows"]), one["isWhole"], one["reason"])
        for one in answer["causes"]
    ]
    return RunComparison(answer["first"], answer["second"], results, causes, answer["together"], answer["notes"])


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


def hops(answer: Any) -> list[Hop]:
    return [Hop(**hop) for hop in answer]


def record(answer: Mapping[str, Any]) -> Record:
    values = answer.get("values") or {}
    return Record(answer["dataset"], answer["file"], answer["row"], answer.get("line"), answer["grain"], values)


def _named(identifier: str) -> str:
    return unquote(identifier.rpartition(":")[2])


def _column(values: list[Any]) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values], pa.string())
