"""What is asked of a trace, and what it answers (docs: semantics of a record's lineage).

An answer always says what it means (`semantics`), whether it is exact, and what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from headwater.graph.files.column_names import ColumnNames


class Semantics(StrEnum):
    """`influence`: every record that had a part. `witness`: records that suffice to produce the row again."""

    INFLUENCE = "influence"
    WITNESS = "witness"


class Grain(StrEnum):
    """How finely an entry is known; anything but `record` makes an answer inexact."""

    RECORD = "record"
    PARTITION = "partition"
    VERSION = "version"
    DATASET = "dataset"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRequest:
    """`dataset`: an id, a name or a path that a job read or wrote. `where`: DuckDB SQL over its columns. `rows`: records, as (file, row).

    `column` asks for the witness of one column. `to` keeps the records of one dataset, which need not be a source. Without `values` those
    of the records found are not read, and without `selected_values` those of the records that it begins with, where `rows` says which.
    `as_of` asks about the dataset as it was: an instant (UTC), a run that wrote or read it, a version of the graph, or a table's snapshot.
    `origins`: whether the answer says which files its values come from.
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


@dataclass(frozen=True, slots=True)
class TracedRecord:
    """`row` is 0-based in its file (a CSV header is no record); `line` is 1-based, for text formats. Coarser grains have no row."""

    dataset: str
    file: str | None
    row: int | None
    grain: Grain
    values: Mapping[str, Any] = field(default_factory=dict)
    line: int | None = None

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by position: an answer of thousands goes between processes, and the way of dataclasses takes several times as long."""
        return TracedRecord, (self.dataset, self.file, self.row, self.grain, self.values, self.line)


@dataclass(frozen=True, slots=True)
class Origin:
    """A file that values come from: its name, where it lies (links followed), and the names by which its values are known.

    `names` are certain only as far as the file itself proves them.
    """

    file: str
    lies: str
    names: ColumnNames


@dataclass(frozen=True, slots=True)
class Made:
    """A column, and the expression that makes it."""

    column: str
    expression: str


@dataclass(frozen=True, slots=True)
class Step:
    """What an operator does: the columns that it makes, and by which expressions it decides (a condition, keys of a group, an order)."""

    operator: str
    made: Sequence[Made]
    by: Sequence[str]


@dataclass(frozen=True, slots=True)
class Hop:
    """One run on the path: which dataset it wrote from which, and the operations in between, outermost first.

    `records` counts the distinct output records of this run that are part of the trace. `expressions` are those behind the column that was
    asked for (behind all, where none was), through every run. `recaptured`: when its program ran again for this, and wrote the same files.
    `tasks` are the ids of the tasks that wrote these records, if the capture knows them; at most `MOST_TASKS`.
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
    """What the answer lacks, overstates or leaves to be known: `what` (an operator, a file, a run), why, and the effect.

    Effects are `superset`, `missing`, `unreadable` (of values) and `version` (what a dataset held and holds). The last two leave an answer
    exact.
    """

    what: str
    reason: str
    effect: str


@dataclass(frozen=True, slots=True)
class FoundAgain:
    """Records that no run wrote, of an operator of a capture: how long finding them was estimated to take, and took; in milliseconds."""

    capture: str
    operator: str
    estimated_ms: float
    took_ms: float


@dataclass(frozen=True, slots=True)
class AsOf:
    """The version of the dataset that a trace began with: as it was at an instant, and the runs that wrote it, latest first.

    `is_read` where no known run wrote it: it is then as the one run read it.
    """

    at: str
    runs: Sequence[str]
    is_read: bool = False


@dataclass(frozen=True, slots=True)
class TraceAnswer:
    """`records` is ordered by dataset, file and row; `total` counts them before `limit` cut the list. The trace began with `selected`.

    `notes` are what a reader has to know although the answer may be exact: each is a sentence.
    `storage_requests` and `storage_bytes` are what it asked of remote storage and read from there.
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


@dataclass(frozen=True, slots=True)
class RowOrder:
    """An order of rows by the values of a column; rows that are equal stay by file and row."""

    column: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A record: `row` is 0-based in its file, `line` 1-based, for text formats; `values` follow the page's columns."""

    file: str
    row: int
    line: int | None
    values: Sequence[Any]


@dataclass(frozen=True, slots=True)
class RowPage:
    """A page of rows by file and row. `columns` are names and types; `total` counts all pages; `note` says what to know of the rows.

    `origins` are all files that they were chosen from, where that was asked for.
    """

    dataset: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Row]
    total: int
    has_record_lineage: bool
    note: str | None
    origins: Sequence[Origin] = ()
