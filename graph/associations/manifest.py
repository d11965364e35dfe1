"""The manifest: what one captured query was, what it read and wrote, and which segments count.

For the Spark side, which writes it, and for the association store and traces, which read it. Reading one checks all that later
steps rely on, so that a damaged or foreign manifest is refused at the door, by the name of the field.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any, Self
from uuid import UUID

from headwater.errors import InvalidCaptureError
from headwater.graph.associations.codec import Wire, key, wrong
from headwater.graph.associations.expressions import Expression, Operator

FORMATS = (1, 2)  # a group of the second may be told by its key
STATUSES = ("complete", "partial", "refused")
KINDS = ("sink", "group", "window", "match", "semi", "rows", "check")
_SEGMENT = re.compile(r"b(-?\d{1,9})-s\d{1,9}\.\d{1,9}-p\d{1,9}-a\d{1,18}\.seg")


@dataclass(frozen=True, kw_only=True)
class DatasetName(Wire):
    """A dataset as OpenLineage names it."""

    namespace: str
    name: str


@dataclass(frozen=True, kw_only=True)
class RunName(Wire):
    """The OpenLineage run that a query belongs to."""

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
class Problem(Wire):
    """What a capture lacks: `kind` is refused, superset, missing or fault."""

    operator: str
    reason: str
    kind: str


@dataclass(frozen=True, kw_only=True)
class SourceColumn(Wire):
    """`type` is Spark's DDL."""

    name: str
    type: str


@dataclass(frozen=True, kw_only=True)
class SourceFile(Wire):
    """A file that was read. It has the ordinals from `ordinal` on, `ordinals` of them. `modified` is in milliseconds since the epoch."""

    ordinal: int
    path: str
    length: int
    modified: int
    ordinals: int = 1
    partition: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Split(Wire):
    """A split of a file that was read by itself: its bytes from `start` on, `length` of them."""

    ordinal: int
    path: str
    start: int
    length: int


@dataclass(frozen=True, kw_only=True)
class Source(Wire):
    """What a scan read."""

    source: int
    dataset: DatasetName
    path: str
    format: str
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[SourceColumn, ...] = ()
    partition_columns: tuple[str, ...] = ()
    files: tuple[SourceFile, ...] = ()
    splits: tuple[Split, ...] = ()


@dataclass(frozen=True, kw_only=True)
class BoundaryColumn(Wire):
    """What a long of a boundary's row means.

    `role` is key, check, ref, branch, partition, frame_end, frame_size, rank, total, value or nulls.
    """

    role: str
    operator: int | None = None
    frame: int | None = None
    attr: int | None = None


@dataclass(frozen=True, kw_only=True)
class Derived(Wire):
    """How long finding the rows of one key again was estimated to take, in milliseconds.

    Of matches and rows of a semi-join, `keys` and `values` say what makes the columns `key` and `value` of a row, over what their side
    puts out; of matches below a derived group `left` is the key of the left side. Of a group, `told` says that its reference tells its key.
    """

    estimate_ms: float
    told: bool = False
    left: tuple[Expression, ...] = ()
    keys: tuple[Expression, ...] = ()
    values: tuple[Expression, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Boundary(Wire):
    """A place in the plan where associations were written, or, if `derived`, are found again when a trace asks.

    `compared` is what of a semi-join's condition a match must meet.
    """

    boundary: int
    kind: str
    operator: int
    columns: tuple[BoundaryColumn, ...]
    derived: Derived | None = None
    compared: Expression | None = None


@dataclass(frozen=True, kw_only=True)
class SinkColumn(Wire):
    """A column of the written dataset, and the attribute that it holds."""

    name: str
    type: str
    attr: int


@dataclass(frozen=True, kw_only=True)
class Sink(Wire):
    """What was written, and how."""

    boundary: int
    dataset: DatasetName
    path: str
    format: str
    mode: str
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[SinkColumn, ...] = ()
    partition_columns: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SegmentEntry(Wire):
    """A segment that counts; `attempt` is the task attempt's id."""

    name: str
    boundary: int
    stage: int
    stage_attempt: int
    partition: int
    attempt: int
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Manifest(Wire):
    """One capture. `sink` is absent only where the capture was refused before it was known."""

    format: int
    capture: str
    run: RunName
    application: Application
    started: str
    ended: str
    mode: str
    status: str
    problems: tuple[Problem, ...]
    sources: tuple[Source, ...]
    operators: tuple[Operator, ...]
    boundaries: tuple[Boundary, ...]
    segments: tuple[SegmentEntry, ...]
    sink: Sink | None = None
    execution: Any = None
    cost: Mapping[str, Any] | None = None

    @classmethod
    def from_json(cls, value: Any, path: str = "$") -> Self:
        """Read and check a manifest.

        Raises:
            InvalidCaptureError: it breaks the format; `field` says where.
        """
        if isinstance(value, Mapping) and value.get("format") not in FORMATS:
            raise InvalidCaptureError(
                f"The manifest has format {value.get('format')!r}; this release reads formats {FORMATS[0]} to {FORMATS[-1]}.",
                field=f"{path}.format", hint="Upgrade the service before the applications.",
            )  # fmt: skip
        manifest = super().from_json(value, path)
        _check(manifest, path)
        return manifest


def is_segment_name(name: str) -> bool:
    """Whether a text is the name of a finished segment."""
    return _SEGMENT.fullmatch(name) is not None


def _check(manifest: Manifest, path: str) -> None:
    _check_capture(manifest.capture, f"{path}.capture")
    _one_of(manifest.status, STATUSES, f"{path}.status")
    _check_plan(manifest, path)
    _check_segments(manifest, path)
    if manifest.status != "refused":
        if manifest.sink is None:
            raise InvalidCaptureError(f"{path}.sink is missing.", field=f"{path}.sink", hint="Only a refused capture may lack it.")
        _known(manifest.sink.boundary, {boundary.boundary for boundary in manifest.boundaries}, "boundary", f"{path}.sink.boundary")


def _check_capture(capture: str, path: str) -> None:
    try:
        normal = str(UUID(capture))
    except ValueError:
        normal = ""
    if normal != capture:
        raise wrong(path, "a UUID in lower case, with hyphens", capture)


def _check_plan(manifest: Manifest, path: str) -> None:
    operators = {operator.id for operator in manifest.operators}
    sources = {source.source for source in manifest.sources}
    for index, operator in enumerate(manifest.operators):
        for child in operator.children:
            _known(child, operators, "operator", f"{path}.operators[{index}].children")
        for subquery in operator.subqueries:
            _known(subquery, operators, "operator", f"{path}.operators[{index}].subqueries")
        if operator.op == "Scan":
            _known(operator.source, sources, "source", f"{path}.operators[{index}].source")
    try:
        TopologicalSorter({operator.id: operator.inputs for operator in manifest.operators}).prepare()
    except CycleError as error:
        raise InvalidCaptureError(f"{path}.operators feed each other in a circle: {error.args[1]}.", field=f"{path}.operators") from None
    for index, boundary in enumerate(manifest.boundaries):
        here = f"{path}.boundaries[{index}]"
        _one_of(boundary.kind, KINDS, f"{here}.kind")
        _known(boundary.operator, operators, "operator", f"{here}.operator")
        for column in boundary.columns:
            if column.role in {"ref", "branch", "partition"}:
                _known(column.operator, operators, "operator", f"{here}.columns")


def _check_segments(manifest: Manifest, path: str) -> None:
    boundaries = {boundary.boundary for boundary in manifest.boundaries} | {-1}
    names: set[str] = set()
    for index, segment in enumerate(manifest.segments):
        here = f"{path}.segments[{index}]"
        if not is_segment_name(segment.name) or segment.name in names:
            raise wrong(f"{here}.name", "a segment's name, once, as b0-s3.0-p1-a42.seg", segment.name)
        names.add(segment.name)
        _known(segment.boundary, boundaries, "boundary", f"{here}.boundary")


def _one_of(value: str, choices: tuple[str, ...], path: str) -> None:
    if value not in choices:
        raise wrong(path, f"one of {', '.join(choices)}", value)


def _known(value: int | None, known: Collection[int], what: str, path: str) -> None:
    if value not in known:
        there = ", ".join(map(str, sorted(known))) or "none"
        raise InvalidCaptureError(f"{path} names {what} {value}; there is {there}.", field=path)
