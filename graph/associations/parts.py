"""The parts of a manifest: sources, boundaries, the sink, segments. Each is a frozen record that reads and writes its own JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headwater.graph.associations.codec import Wire, key
from headwater.graph.associations.expressions import Expression
from headwater.paths import dataset_root, within_dataset


@dataclass(frozen=True, kw_only=True)
class DatasetName(Wire):
    """The name of a dataset in OpenLineage."""

    namespace: str
    name: str


@dataclass(frozen=True, kw_only=True)
class RunName(Wire):
    """The OpenLineage run of a query."""

    namespace: str
    job: str
    run_id: str = key("runId")


@dataclass(frozen=True, kw_only=True)
class Application(Wire):
    """The Spark application; `spark` is its version."""

    id: str
    name: str
    spark: str


@dataclass(frozen=True, kw_only=True)
class SecondRun(Wire):
    """The time of a second run of the program that made the capture. It wrote the same bytes as the first run."""

    started: str
    ended: str


@dataclass(frozen=True, kw_only=True)
class Problem(Wire):
    """A limit of a capture: `kind` is refused, superset, missing, influence or fault.

    *influence*: records are missing from influences, and from no witness.
    """

    operator: str
    reason: str
    kind: str


@dataclass(frozen=True, kw_only=True)
class SourceColumn(Wire):
    """A column that a scan reads. `type` is Spark's DDL. With `default`, Spark reads a default value if a file lacks the column.

    `id` is the field's id in a table that finds columns by id, whatever their names in a file.
    """

    name: str
    type: str
    default: bool | None = None
    id: int | None = None


def root_of(dataset: DatasetName, format_: str, table: Any) -> DatasetName:
    """Return the dataset that contains a dataset of a manifest. Manifests of earlier releases name partitions as datasets."""
    tables = [table] if isinstance(table, str) and table else ()
    root = dataset_root(dataset.namespace, dataset.name, formats=[format_], tables=tables)
    return dataset if root == (dataset.namespace, dataset.name) else DatasetName(namespace=root[0], name=root[1])


@dataclass(frozen=True, kw_only=True)
class SourceFile(Wire):
    """A file that was read. It has `ordinals` ordinals, from `ordinal` on. `modified` is in milliseconds since the epoch."""

    ordinal: int
    path: str
    length: int
    modified: int
    ordinals: int = 1
    partition: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Split(Wire):
    """A split of a file that a task read alone: `length` bytes from `start` on."""

    ordinal: int
    path: str
    start: int
    length: int


@dataclass(frozen=True, kw_only=True)
class Source(Wire):
    """The input of a scan."""

    source: int
    dataset: DatasetName
    path: str
    format: str
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[SourceColumn, ...] = ()
    partition_columns: tuple[str, ...] = ()
    files: tuple[SourceFile, ...] = ()
    splits: tuple[Split, ...] = ()

    @property
    def within(self) -> str:
        """Return the part of the dataset at `path`. Empty if it is the whole dataset."""
        return within_dataset(self.path, self.dataset.namespace, self.dataset.name)


@dataclass(frozen=True, kw_only=True)
class BoundaryColumn(Wire):
    """The meaning of an integer column in a boundary.

    `role` is key, check, ref, branch, partition, frame_end, frame_size, rank, total, value or nulls.
    """

    role: str
    operator: int | None = None
    frame: int | None = None
    attr: int | None = None


@dataclass(frozen=True, kw_only=True)
class Recomputed(Wire):
    """The data that a trace needs to compute the rows of a boundary again. `estimate_ms` is the expected time for the rows of one key.

    - `keys`, `values`: for matches and rows of a semi-join, the expressions of the columns `key` and `value`, over their side's columns.
    - `left`: for matches below a recomputed group, the key of the left side.
    - `key_in_reference`: a group's reference determines its key.
    """

    estimate_ms: float
    key_in_reference: bool = key("told", default=False)
    left: tuple[Expression, ...] = ()
    keys: tuple[Expression, ...] = ()
    values: tuple[Expression, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Boundary(Wire):
    """A place in the plan at which associations were written. With `recomputed`, a trace computes them again instead.

    - `compared`: the part of a semi-join's condition that a match must meet.
    - `by`: `partition` if references to its rows have the partition of the writing task as ordinal, not its attempt.
    - `takes`: for chosen rows, pairs of the attribute of an aggregate's output, and the `frame` of the columns that refer to a chosen row.
    """

    boundary: int
    kind: str
    operator: int
    columns: tuple[BoundaryColumn, ...]
    recomputed: Recomputed | None = field(default=None, metadata={"key": "derived"})
    compared: Expression | None = None
    by: str | None = None
    takes: tuple[Any, ...] | None = None

    @property
    def is_placed(self) -> bool:
        """Return whether the rows state their positions. Otherwise their order is their position. A record may have several rows."""
        return any(column.role == "place" for column in self.columns)


@dataclass(frozen=True, kw_only=True)
class SinkColumn(Wire):
    """A column of the written dataset, with its attribute in the plan. `id` is as in a source's column."""

    name: str
    type: str
    attr: int
    id: int | None = None


@dataclass(frozen=True, kw_only=True)
class WrittenFile(Wire):
    """A file that a sink wrote: its final path, its length in bytes, and its time in milliseconds since the epoch."""

    path: str
    length: int
    modified: int


@dataclass(frozen=True, kw_only=True)
class NumberedFile(Wire):
    """A file that a sink wrote to a table with row numbers: the number of its first row, and the default version of its rows.

    `added` is the number of the commit that added it.
    """

    path: str
    first: int
    version: int
    added: int


@dataclass(frozen=True, kw_only=True)
class Sink(Wire):
    """The output of a query, and how it was written.

    - `committed`: its files after the commit, if the commit changed their times (on object stores).
    - `numbered`: files whose rows the table numbers, if they are few.
    - `merge`: the command was MERGE, `plain` or with clauses for rows that the source does not match (`by_source`).
    - `failure_reasons`: by the keys of a table of inputs that failed in an actor.
    - `block`: the effect on the dataset that a workflow stated.
    """

    boundary: int
    dataset: DatasetName
    path: str
    format: str
    mode: str
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[SinkColumn, ...] = ()
    partition_columns: tuple[str, ...] = ()
    committed: tuple[WrittenFile, ...] = ()
    numbered: tuple[NumberedFile, ...] = ()
    merge: str | None = None
    block: str | None = None
    failure_reasons: Mapping[str, Any] | None = key("failureReasons", default=None)

    @property
    def within(self) -> str:
        """Return the part of the dataset at `path`. Empty if it is the whole dataset."""
        return within_dataset(self.path, self.dataset.namespace, self.dataset.name)


@dataclass(frozen=True, kw_only=True)
class SegmentEntry(Wire):
    """A segment that counts; `attempt` is the task attempt's id.

    The entry has values that the segment's writer could not know: the capture, if the footer has another (`origin`), and the files of a
    sink.
    """

    name: str
    boundary: int
    stage: int
    stage_attempt: int
    partition: int
    attempt: int
    rows: int
    bytes: int
    sha256: str
    origin: str | None = None
    files: tuple[WrittenFile, ...] | None = None
    runs: tuple[tuple[int, ...], ...] | None = None
