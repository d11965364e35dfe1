"""The manifest: the description of one captured query, its inputs and outputs, and the segments that count.

The Spark side writes it; the association store and traces read it. Reading checks everything on which later steps rely, so a damaged or
foreign manifest is refused at once, with the name of the field.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any, Self
from uuid import UUID

from headwater.errors import InvalidCaptureError
from headwater.graph.associations.behaviours import INPUTS, Behaviour, assumed
from headwater.graph.associations.codec import Wire, key, wrong
from headwater.graph.associations.expressions import Operator
from headwater.graph.associations.parts import (
    Application,
    Boundary,
    DatasetName,
    Problem,
    RunName,
    SecondRun,
    SegmentEntry,
    Sink,
    Source,
    root_of,
)

FORMATS = (1, 2, 3)  # format 2 may identify a group by its key; in format 3 operators state their behaviour
STATUSES = ("complete", "partial", "refused")
KINDS = ("sink", "group", "window", "match", "semi", "rows", "check", "extent", "keys", "chosen")
_STATES_BEHAVIOURS = 3
MOST_PLACED = 1 << 30  # rows of a capture that states places: a few bytes may encode any number of rows, and all rows are sorted
_SEGMENT = re.compile(r"b(-?\d{1,9})-s\d{1,9}\.\d{1,9}-p\d{1,9}-a\d{1,18}\.seg")
_NAMED = 20  # numbers that an error message lists: a manifest may have a million operators


@dataclass(frozen=True, kw_only=True)
class Manifest(Wire):
    """The manifest of one capture. `sink` is absent only if the capture was refused before its output was known.

    `recaptured`: a second run of the program of `run` made the capture. `collected`: the program had read results of earlier queries, and
    may have used values of them in this query. `collected_from`: the datasets of those results, as far as they are listed.
    `set_aside`: numbers of records at which a function failed, and which the run left out.
    """

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
    recaptured: SecondRun | None = None
    collected: bool | None = None
    collected_from: tuple[DatasetName, ...] | None = key("collectedFrom", default=None)
    set_aside: Mapping[str, Any] | None = key("setAside", default=None)

    @classmethod
    def from_json(cls, value: Any, path: str = "$") -> Self:
        """Read and check a manifest.

        Raises:
            InvalidCaptureError: the manifest breaks the format; `field` names the place.
        """
        if isinstance(value, Mapping) and value.get("format") not in FORMATS:
            raise InvalidCaptureError(
                f"The manifest has format {value.get('format')!r}; this release reads formats {FORMATS[0]} to {FORMATS[-1]}.",
                field=f"{path}.format", hint="Upgrade the service before the applications.",
            )  # fmt: skip
        manifest = super().from_json(value, path)
        if manifest.format < _STATES_BEHAVIOURS:
            manifest = replace(manifest, operators=tuple(map(_with_behaviour, manifest.operators)))
        if changed := _with_roots(manifest):
            manifest = replace(manifest, **changed)
        _check(manifest, path)
        return manifest


def _with_roots(manifest: Manifest) -> dict[str, Any]:
    """Return the fields of a manifest that change if partitions or parts of data are replaced by whole datasets."""
    named: list[Source | Sink] = [*manifest.sources, *([manifest.sink] if manifest.sink is not None else [])]
    roots = [root_of(of.dataset, of.format, of.extra.get("table")) for of in named]
    if all(of.dataset is root for of, root in zip(named, roots, strict=True)):
        return {}
    sources = tuple(replace(source, dataset=root) for source, root in zip(manifest.sources, roots, strict=False))
    return {"sources": sources, "sink": replace(manifest.sink, dataset=roots[-1]) if manifest.sink is not None else None}


def _with_behaviour(operator: Operator) -> Operator:
    """Return an operator of an old manifest, with the behaviour that its name implies."""
    behaviour, optional = assumed(operator.op, operator.how)
    if operator.stated is not None or behaviour is None:
        return operator
    return replace(operator, stated=str(behaviour), optional=optional)


def is_segment_name(name: str) -> bool:
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
    operators = _unique([operator.id for operator in manifest.operators], "operator", "id", f"{path}.operators")
    sources = _unique([source.source for source in manifest.sources], "source", "source", f"{path}.sources")
    _unique([boundary.boundary for boundary in manifest.boundaries], "boundary", "boundary", f"{path}.boundaries")
    for index, operator in enumerate(manifest.operators):
        for child in operator.children:
            _known(child, operators, "operator", f"{path}.operators[{index}].children")
        for subquery in operator.subqueries:
            _known(subquery, operators, "operator", f"{path}.operators[{index}].subqueries")
        if operator.behaviour is Behaviour.SOURCE:
            _known(operator.source, sources, "source", f"{path}.operators[{index}].source")
    try:
        TopologicalSorter({operator.id: operator.inputs for operator in manifest.operators}).prepare()
    except CycleError as error:
        raise InvalidCaptureError(f"{path}.operators feed each other in a circle: {error.args[1]}.", field=f"{path}.operators") from None
    for index, operator in enumerate(manifest.operators):
        _check_inputs(operator, f"{path}.operators[{index}]")
    for index, boundary in enumerate(manifest.boundaries):
        here = f"{path}.boundaries[{index}]"
        _one_of(boundary.kind, KINDS, f"{here}.kind")
        _known(boundary.operator, operators, "operator", f"{here}.operator")
        for column in boundary.columns:
            if column.role in {"ref", "branch", "partition"}:
                _known(column.operator, operators, "operator", f"{here}.columns")


def _check_inputs(operator: Operator, path: str) -> None:
    """Check that an operator has the number of inputs that its behaviour requires."""
    least, most = INPUTS[operator.behaviour]
    count = len(operator.children)
    if count < least or (most is not None and count > most):
        wanted = str(least) if least == most else f"{least} or more" if most is None else f"{least} to {most}"
        raise InvalidCaptureError(f"{path} has {count} children; one that is {operator.stated!r} has {wanted}.", field=f"{path}.children")
    for place in operator.optional:
        _known(place, range(count), "input", f"{path}.optional")


def _check_segments(manifest: Manifest, path: str) -> None:
    boundaries = {boundary.boundary for boundary in manifest.boundaries} | {-1}
    names: set[str] = set()
    for index, segment in enumerate(manifest.segments):
        here = f"{path}.segments[{index}]"
        if not is_segment_name(segment.name) or segment.name in names:
            raise wrong(f"{here}.name", "a segment's name, once, as b0-s3.0-p1-a42.seg", segment.name)
        names.add(segment.name)
        _known(segment.boundary, boundaries, "boundary", f"{here}.boundary")
    placed = {boundary.boundary for boundary in manifest.boundaries if boundary.is_placed}
    rows = sum(segment.rows for segment in manifest.segments if segment.boundary in placed)
    if rows > MOST_PLACED or any(segment.rows < 0 for segment in manifest.segments):
        raise InvalidCaptureError(
            f"{path}.segments have {rows:,} rows of stated places; a capture has 0 to {MOST_PLACED:,}.",
            field=f"{path}.segments", hint="Commit more often: each commit is a capture of its own.",
        )  # fmt: skip


def _one_of(value: str, choices: tuple[str, ...], path: str) -> None:
    if value not in choices:
        raise wrong(path, f"one of {', '.join(choices)}", value)


def _unique(numbers: list[int], what: str, field: str, path: str) -> set[int]:
    """Return the numbers in a list, and refuse equal numbers, because their members could not be distinguished."""
    seen: dict[int, int] = {}
    for index, number in enumerate(numbers):
        if number in seen:
            raise InvalidCaptureError(
                f"{path}[{index}].{field} is {number}, which is that of {path}[{seen[number]}]; each {what} has a number of its own.",
                field=f"{path}[{index}].{field}",
            )
        seen[number] = index
    return set(seen)


def _known(value: int | None, known: Collection[int], what: str, path: str) -> None:
    if value not in known:
        there = ", ".join(map(str, sorted(known)[:_NAMED])) or "none"
        if len(known) > _NAMED:
            there += f" and {len(known) - _NAMED:,} more"
        raise InvalidCaptureError(f"{path} names {what} {value}; there is {there}.", field=path)
