"""Records that are captured without a Spark SQL plan: operators, boundaries, and segments of tasks, from which captures are made.

All recording from Python uses it. A task may write a segment long before its captures are known, because the files of a shuffle serve every
job that reads them. So all segments go into one pool of the application, and each capture links the segments that it needs. Only segments
of task attempts that Spark counted are known here: reports come with the task results, through an accumulator.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any
from uuid import uuid4

_log = logging.getLogger("headwater.recording")

# The first number of an operator, a boundary or a source. Spark SQL plans have smaller numbers, so that a capture may hold both
# (jvm/rewrite/kept/RecordedRows.java).
FIRST = 1_000_000
_PLAN = 100_000  # numbers reserved for one Spark SQL plan
_MOST_PLANS = 10_000
_MOST_OPERATORS = 50_000  # operators stay in memory while the program runs, about 1 kB each
_MOST_REPORTS = 500_000


@dataclass(frozen=True, slots=True)
class SegmentReport:
    """A task's report about its segment of one boundary. If `rows` is 0, there is no segment.

    `partly`: the segment ends at the last record that a function read. `content` is a digest of the rows; segments with different digests
    may still have the same rows in another encoding or order. `superset` is the reason why rows may name too many records.
    """

    boundary: int
    partition: int
    stage: int
    attempt: int
    rows: int
    bytes: int
    sha256: str
    name: str
    fault: str | None
    partly: bool = False
    content: str = ""
    superset: str | None = None


@dataclass(slots=True)
class _Boundary:
    described: dict[str, Any]
    partitions: Callable[[], int | None] | None  # number of tasks that must report; None: unknown
    counted: int | None = None  # the number at the last call
    reports: dict[int, SegmentReport] = field(default_factory=dict)
    replaced: list[tuple[SegmentReport, SegmentReport]] = field(default_factory=list)  # partitions that were computed again with other rows

    def count(self) -> int | None:
        if self.counted is None and self.partitions is not None:
            self.counted = self.partitions()
        return self.counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A file that a task wrote: its partition, and the number of its rows in the sink.

    Together the files hold all rows of the partition.
    """

    partition: int
    path: str
    length: int
    modified: int


class Recording:
    """The recording of one application. `folder` receives the captures, one folder each; Python workers must reach it."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.pool = str(uuid4())
        self.folder = folder
        self._limit = limit
        self._bytes = 0
        self._operators: dict[int, dict[str, Any]] = {}
        self._boundaries: dict[int, _Boundary] = {}
        self._sources: dict[int, dict[str, Any]] = {}
        self._problems: dict[int, list[dict[str, str]]] = {}
        self._plans: dict[int, Callable[[int, str], Mapping[str, Any]]] = {}
        self._reports = 0
        self._lock = Lock()  # several threads of the program may define RDDs
        self._next = FIRST

    @property
    def bound_reached(self) -> str | None:
        """Return the reason to record no more. None while recording continues."""
        if self._bytes >= self._limit:
            return "what was recorded of RDDs has reached HEADWATER_SPOOL_BYTES"
        if len(self._operators) >= _MOST_OPERATORS or self._reports >= _MOST_REPORTS:
            return f"the program has made more than {_MOST_OPERATORS:,} RDDs, or its tasks have recorded more than {_MOST_REPORTS:,} parts"
        return None

    def operator(self, op: str, text: str, children: Iterable[int], **more: Any) -> int:
        number = self._number()
        self._operators[number] = {"id": number, "op": op, "text": text, "children": list(children), **more}
        return number

    def source(self, operator: int, **described: Any) -> None:
        self._sources[operator] = described

    def plan(self, parts: Callable[[int, str], Mapping[str, Any]]) -> int | None:
        """Reserve numbers for a plan of Spark SQL whose rows became records of an RDD.

        Return the number of its root; None if there are too many plans. `parts` returns the manifest parts of the plan for that number and
        the id of a capture.
        """
        if len(self._plans) >= _MOST_PLANS:
            return None
        number = self._number(_PLAN)
        self._plans[number] = parts
        return number

    def boundary(
        self, kind: str, operator: int, columns: Sequence[Mapping[str, Any]], partitions: Callable[[], int | None] | None = None
    ) -> int:
        """Add a boundary, and return its number. `partitions` returns the number of tasks that write it, or None if unknown.

        A boundary of the kind `declared` is in no manifest. Tasks use it to report that a function contradicts the program's declaration.
        """
        number = self._number()
        described = {"boundary": number, "kind": kind, "operator": operator, "columns": list(columns)}
        if kind == "rows":
            described["by"] = "partition"  # every attempt makes the same rows in the same order, or the capture is refused
        self._boundaries[number] = _Boundary(described, partitions)
        if kind not in ("sink", "check", "declared"):
            self._operators[operator]["boundary"] = number
        return number

    def roles(self, boundary: int) -> list[Mapping[str, Any]]:
        columns: list[Mapping[str, Any]] = self._boundaries[boundary].described["columns"]
        return columns

    def text(self, operator: int) -> str:
        known = self._operators.get(operator)
        return "a DataFrame, of which the program took the RDD" if known is None else str(known["text"])

    def scans_below(self, roots: Iterable[int]) -> list[int]:
        return [number for number in self._below(roots) if self._operators[number]["op"] == "Scan"]

    def sources_below(self, roots: Iterable[int]) -> list[tuple[int, Mapping[str, Any]]]:
        """Return the sources below some operators, each with the number of the RDD operator that reads it.

        The sources of a Spark SQL plan have the number of the plan's root.
        """
        capture = str(uuid4())
        operators, plans = self._with_plans(roots, capture)
        shutil.rmtree(self.folder / capture, ignore_errors=True)  # a plan states its sources together with its segments
        found: list[tuple[int, Mapping[str, Any]]] = [(one, self._sources[one]) for one in operators if one in self._sources]
        return found + [(self._root_of(plan), source) for plan in plans for source in plan["sources"]]

    def _root_of(self, plan: Mapping[str, Any]) -> int:
        base = self._plan_of(int(plan["operators"][0]["id"]))
        assert base is not None  # noqa: S101 - its operators have numbers that were set aside for it
        return base

    def _below(self, roots: Iterable[int]) -> dict[int, None]:
        found: dict[int, None] = {}
        waiting = list(roots)
        while waiting:
            number = waiting.pop()
            if number not in found and number in self._operators:  # operators of Spark SQL plans are not in this map
                found[number] = None
                waiting += self._operators[number]["children"]
        return found

    def problems_of(self, operators: Iterable[int]) -> list[Mapping[str, str]]:
        chosen = set(operators)
        found = [problem for operator in chosen for problem in self._problems.get(operator, ())]
        lacks = [self._lacks(number) for number, known in list(self._boundaries.items()) if known.described["operator"] in chosen]
        return [*found, *(problem for lack in lacks for problem in lack)]

    def recorded(self, operator: int, kind: str) -> tuple[list[Mapping[str, Any]], list[tuple[int, Path]]]:
        """Return the columns of an operator's boundary, and its segments by partition. Empty if there is no such boundary."""
        for known in list(self._boundaries.values()):
            if known.described["operator"] == operator and known.described["kind"] == kind:
                reports = [report for report in list(known.reports.values()) if report.rows]
                return known.described["columns"], [(report.partition, self.folder / self.pool / report.name) for report in reports]
        return [], []

    def count(self, roots: Iterable[int]) -> None:
        """Determine how many tasks write the boundaries at and below some operators, before these run."""
        below = self._below(roots)
        for known in list(self._boundaries.values()):
            if known.described["operator"] in below:
                known.count()

    def counts_below(self, roots: Iterable[int]) -> list[Callable[[], int | None]]:
        """Return functions that count the tasks which write the boundaries at and below some operators."""
        below = self._below(roots)
        known = list(self._boundaries.values())
        return [one.partitions for one in known if one.partitions is not None and one.described["operator"] in below]

    def problem(self, operator: int, reason: str, kind: str) -> None:
        """Add a problem to everything that reads from this operator."""
        text = str(self._operators[operator]["text"])
        self._problems.setdefault(operator, []).append({"operator": text, "reason": reason, "kind": kind})

    def add_report(self, report: SegmentReport) -> None:
        """Add the report of a counted task about its segment.

        Never raises, because the calling thread also adds up the program's accumulators.
        """
        boundary = self._boundaries.get(report.boundary)
        if boundary is None:
            _log.warning("A task told of boundary %s, which is not known.", report.boundary)
            return
        before = boundary.reports.get(report.partition)
        self._reports += 1
        if before is None:
            pass
        elif report.partly and report.fault is None and (not before.partly or before.rows > report.rows):
            return  # a job that pulled only some results, like `take`
        elif before.fault is None and not before.partly and (before.rows, before.content) != (report.rows, report.content):
            boundary.replaced.append((before, report))
        boundary.reports[report.partition] = report
        self._bytes += report.bytes

    def capture(self, sink: int, written: Sequence[Written], described: Mapping[str, Any]) -> dict[str, Any]:
        """Return the manifest parts of the rows written through a sink, as far down as they are known."""
        capture = str(uuid4())
        parts: dict[str, Any] = {"format": 3, "capture": capture, "sink": {**described, "boundary": sink}}
        parts |= self._parts(capture, [self._boundaries[sink].described["operator"]], sink)
        files = {file.partition: file for file in written}
        for entry in parts["segments"]:
            if entry["boundary"] == sink and entry["partition"] in files:
                file = files[entry["partition"]]
                entry |= {
                    "files": [{"path": file.path, "length": file.length, "modified": file.modified}],
                    "runs": [[0, entry["rows"]]],
                }
        if any(map(_ends, parts["problems"])):
            return {**parts, "status": "refused", "boundaries": [], "segments": []}
        return {**parts, "status": _status(parts["problems"]), "cost": _cost(parts)}

    def completed(self, parts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the manifest parts of a Spark SQL query, with the recorded RDDs from which its rows came."""
        tops = [int(operator["recorded"]) for operator in parts["operators"] if "recorded" in operator]
        if not tops:
            return dict(parts)
        below = self._parts(str(parts["capture"]), tops, None)
        whole = {**parts, "operators": [_joined(operator) for operator in parts["operators"]]}
        whole |= {name: [*whole[name], *below[name]] for name in below}
        if parts["status"] == "refused" or any(map(_ends, below["problems"])):
            return {**whole, "status": "refused", "boundaries": [], "segments": []}
        return {**whole, "status": parts["status"] if _status(below["problems"]) == "complete" else "partial", "cost": _cost(whole)}

    def _parts(self, capture: str, roots: Sequence[int], sink: int | None) -> dict[str, list[Any]]:
        operators, plans = self._with_plans(roots, capture)
        chosen = set(operators)
        known_ones = list(self._boundaries.items())
        kinds = {number: known.described["kind"] for number, known in known_ones if known.described["operator"] in chosen}
        boundaries = [number for number, kind in kinds.items() if kind != "sink" or number == sink]
        problems = [problem for operator in operators for problem in self._problems.get(operator, ())]
        problems += [self._unread(operator) for operator in operators if self._is_unread(operator)]
        problems += [problem for number in boundaries for problem in self._lacks(number)]
        parts: dict[str, list[Any]] = {
            "operators": [self._described(operator) for operator in operators],
            "sources": [{"source": operator, **self._sources[operator]} for operator in operators if operator in self._sources],
            "problems": problems,
            "boundaries": [self._boundaries[number].described for number in boundaries if kinds[number] != "declared"],
            "segments": [],
        }
        if not any(map(_ends, problems)):
            reports = [report for number in boundaries for report in list(self._boundaries[number].reports.values())]
            parts["segments"] = [entry for report in reports if (entry := self._segment(capture, report))]
        for plan in plans:
            for name in parts:
                parts[name] += map(_joined, plan[name]) if name == "operators" else plan[name]
        return parts

    def close(self) -> None:
        shutil.rmtree(self.folder / self.pool, ignore_errors=True)

    def _number(self, more: int = 0) -> int:
        with self._lock:
            self._next += 1 + more
            return self._next - more

    def _with_plans(self, roots: Iterable[int], capture: str) -> tuple[list[int], list[Mapping[str, Any]]]:
        found: dict[int, None] = {}
        plans: dict[int, Mapping[str, Any]] = {}
        waiting = list(roots)
        while waiting:
            number = waiting.pop()
            base = self._plan_of(number)
            if base is None and number not in found:
                found[number] = None
                waiting += reversed(self._operators[number]["children"])
            elif base is not None and base not in plans:
                plans[base] = parts = self._plans[base](base, capture)
                waiting += [int(operator["recorded"]) for operator in parts["operators"] if "recorded" in operator]
        return list(found), list(plans.values())

    def _plan_of(self, number: int) -> int | None:
        if number in self._operators:
            return None
        bases = list(self._plans)  # in ascending order
        return bases[bisect_right(bases, number) - 1]

    def _is_unread(self, operator: int) -> bool:
        return self._operators[operator]["op"] == "Scan" and operator not in self._sources

    def _unread(self, operator: int) -> dict[str, str]:
        text = str(self._operators[operator]["text"])
        return {"operator": text, "reason": "its files were not listed when a job read them", "kind": "refused"}

    def _described(self, operator: int) -> dict[str, Any]:
        described = self._operators[operator]
        if self._is_unread(operator):
            return {**described, "behaviour": "opaque"}  # no source can be named
        return {**described, "source": operator} if operator in self._sources else described

    def _lacks(self, boundary: int) -> Iterable[dict[str, str]]:
        known = self._boundaries[boundary]
        text = str(self._operators[known.described["operator"]]["text"])
        reports = list(known.reports.values())
        faults = {report.fault for report in reports if report.fault}
        yield from ({"operator": text, "reason": fault, "kind": "refused"} for fault in sorted(faults))
        reasons = {report.superset for report in reports if report.superset}
        yield from ({"operator": text, "reason": reason, "kind": "superset"} for reason in sorted(reasons)[:1])  # one is enough
        tasks = known.count()
        if tasks is not None and (missing := tasks - len(reports)) > 0:
            reason = f"{missing} of {tasks} tasks did not tell what they recorded"
            kind = "missing" if reports or known.described["kind"] == "check" else "refused"
            yield {"operator": text, "reason": reason, "kind": kind}
        if self._changed(known):
            reason = "a partition was computed more than once, with different results, and it is not known which of them was read"
            yield {"operator": text, "reason": reason, "kind": "refused"}

    def _changed(self, boundary: _Boundary) -> bool:
        """Return whether a partition was computed again with another result. Another order is no difference if order has no meaning."""
        kind = boundary.described["kind"]
        if not boundary.replaced or kind not in ("group", "rows"):
            return False
        from headwater.spark_listener.same_rows import same_rows  # loads pyarrow

        pool = self.folder / self.pool
        for pair in list(boundary.replaced):
            if same_rows(*(pool / one.name if one.rows else None for one in pair), in_order=kind == "rows"):
                boundary.replaced.remove(pair)
        return bool(boundary.replaced)

    def _segment(self, capture: str, report: SegmentReport) -> dict[str, Any] | None:
        if not report.rows:
            return None
        target = self.folder / capture
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # the reader reports missing segments as lost
            _link(self.folder / self.pool / report.name, target / report.name)
        return {
            "name": report.name, "boundary": report.boundary, "stage": report.stage, "stage_attempt": 0, "partition": report.partition,
            "attempt": report.attempt, "rows": report.rows, "bytes": report.bytes, "sha256": report.sha256, "origin": self.pool,
        }  # fmt: skip


def _joined(operator: Mapping[str, Any]) -> dict[str, Any]:
    """Return an operator of Spark SQL. If an RDD made its rows, the RDD's operator becomes its child."""
    described = dict(operator)
    top = described.pop("recorded", None)
    return described if top is None else {**described, "children": [top]}


def _ends(problem: Mapping[str, Any]) -> bool:
    return problem["kind"] in ("refused", "fault")


def _status(problems: Iterable[Mapping[str, Any]]) -> str:
    return "partial" if any(problem["kind"] == "missing" for problem in problems) else "complete"


def _cost(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {**parts.get("cost", {}), **{name: sum(entry[name] for entry in parts["segments"]) for name in ("bytes", "rows")}}


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(source, target)
