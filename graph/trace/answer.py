"""The question that a trace answers, and its answer (docs: semantics of a record's lineage).

Every answer states its meaning (`semantics`), whether it is exact, and what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from headwater.graph.files.column_names import ColumnNames


class Semantics(StrEnum):
    """The meaning of a trace.

    `influence`: all records that had a part in a row. `witness`: records that suffice to produce the row again.
    """

    INFLUENCE = "influence"
    WITNESS = "witness"


class Grain(StrEnum):
    """The granularity of an entry. An answer with any grain but `record` is not exact."""

    RECORD = "record"
    PARTITION = "partition"
    VERSION = "version"
    DATASET = "dataset"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRequest:
    """A question to a trace.

    - `dataset`: an id, a name or a path that a job read or wrote.
    - `where`: a predicate over its columns, in DuckDB SQL.
    - `rows`: records, as (file, row).
    - `column`: asks for the witness of one column.
    - `to`: keeps the records of one dataset, which need not be a source.
    - `limit`: most records in the answer.
    - `values`: read the values of the records found.
    - `selected_values`: read the values of the records in `rows`.
    - `as_of`: an earlier state: an instant (UTC), a run that wrote or read the dataset, a version of the graph, a snapshot.
    - `origins`: add the files that the values come from.
    - `everywhere`: in a trace downstream, list the records of every dataset on the way, not only the last ones. See `ReachedDataset`.
    """

    dataset: str
    where: str | None = None
    rows: Sequence[tuple[str, int]] = ()
    column: str | None = None
    semantics: Semantics = Semantics.INFLUENCE
    forward: bool = False
    to: str | None = None
    limit: int = 10_000
    values: bool = True
    selected_values: bool = True
    as_of: str | None = None
    origins: bool = False
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class TracedRecord:
    """A record in the answer of a trace.

    `row` is 0-based in its file (a CSV header is no record); `line` is 1-based, for text formats. Coarser grains have no row.
    `is_former`: only an earlier version of the dataset has the record. Set in an answer to `everywhere` alone.
    """

    dataset: str
    file: str | None
    row: int | None
    grain: Grain
    values: Mapping[str, Any] = field(default_factory=dict)
    line: int | None = None
    is_former: bool = False

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the record as a tuple.

        Answers with thousands of records pass between processes. Pickling them as dataclasses takes several times as long.
        """
        return TracedRecord, (self.dataset, self.file, self.row, self.grain, self.values, self.line, self.is_former)


@dataclass(frozen=True, slots=True)
class Origin:
    """A file that contains values of an answer: its name, its real location (links followed), and the names of its columns.

    `names` are certain only if the file itself states them.
    """

    file: str
    lies: str
    names: ColumnNames


@dataclass(frozen=True, slots=True)
class ColumnExpression:
    """A column and the expression that computes it."""

    column: str
    expression: str


@dataclass(frozen=True, slots=True)
class Step:
    """The effect of one operator: the columns that it computes, and its conditions, group keys and sort order."""

    operator: str
    made: Sequence[ColumnExpression]
    by: Sequence[str]


@dataclass(frozen=True, slots=True)
class Hop:
    """A run on the path of a trace: the dataset that it wrote, its inputs, and the operations in between, outermost first.

    - `records`: number of distinct output records of this run that are part of the trace.
    - `expressions`: expressions that computed the requested column (all columns, without a request), through every run.
    - `recaptured`: when the program ran again for this lineage, and wrote the same files.
    - `tasks`: ids of the tasks that wrote these records, if the capture records them; at most `MOST_TASKS`.
    """

    job: str
    run: str
    output: str
    inputs: Sequence[str]
    operations: Sequence[str]
    records: int
    grain: Grain
    expressions: Sequence[Step] = ()
    recaptured: str | None = None
    tasks: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Incomplete:
    """A reason why an answer is not complete: `what` (an operator, a file, a run), the reason, and the effect.

    Effects are `superset`, `missing`, `unreadable` (values cannot be read) and `version` (the dataset has changed since). An answer with
    only the last two is still exact.
    """

    what: str
    reason: str
    effect: str


@dataclass(frozen=True, slots=True)
class ReachedDataset:
    """A dataset downstream of the selected records, and what is known of the records in it that derive from them.

    - `records`: such records that the dataset holds now. `former`: those that only earlier versions of it have.
    - `complete`: no such record of the dataset is missing in the answer.
    - `exact`: the dataset holds exactly these records, no fewer and no more. `reasons` say why it may not.
    - `coarse`: any record of the dataset may derive from them, because a hop is known by datasets only.
    """

    dataset: str
    records: int
    former: int
    complete: bool
    exact: bool
    coarse: bool = False
    reasons: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class FoundAgain:
    """The estimated and the measured time, in milliseconds, to compute records of an operator again that no run wrote."""

    capture: str
    operator: str
    estimated_ms: float
    took_ms: float


@dataclass(frozen=True, slots=True)
class AsOf:
    """The version of the dataset at which a trace began: its instant, and the runs that wrote it, latest first.

    `is_read` is true if no captured run wrote the dataset. The version is then what one run read.
    """

    at: str
    runs: Sequence[str]
    is_read: bool = False


@dataclass(frozen=True, slots=True)
class TraceAnswer:
    """The answer of a trace.

    `selected` are the records that the trace began with. `records` are the records that it found, ordered by dataset, file and row. `total`
    counts them before `limit` cut the list.

    `reached` are all datasets downstream, if the request has `everywhere`: also those without a derived record.
    `notes` are sentences that a reader needs even if the answer is exact. `storage_requests` and `storage_bytes` count requests to remote
    storage and the bytes read from there.
    """

    semantics: Semantics
    exact: bool
    records: Sequence[TracedRecord]
    path: Sequence[Hop]
    incomplete: Sequence[Incomplete]
    total: int
    selected: Sequence[TracedRecord]
    elapsed_ms: float
    found_again: Sequence[FoundAgain] = ()
    storage_requests: int = 0
    storage_bytes: int = 0
    as_of: AsOf | None = None
    origins: Sequence[Origin] = ()
    notes: Sequence[str] = ()
    reached: Sequence[ReachedDataset] = ()


@dataclass(frozen=True, slots=True)
class RowOrder:
    """An order of rows by the values of a column. Equal rows keep their order by file and row."""

    column: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A record of a dataset. `row` is 0-based in its file; `line` is 1-based, for text formats. `values` follow the columns of the page."""

    file: str
    row: int
    line: int | None
    values: Sequence[Any]


@dataclass(frozen=True, slots=True)
class RowPage:
    """A page of rows, ordered by file and row. `columns` are names and types; `total` counts the rows of all pages.

    `origins` are all files that were searched for the rows, if the caller requested them.
    """

    dataset: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Row]
    total: int
    has_record_lineage: bool
    note: str | None
    origins: Sequence[Origin] = ()
