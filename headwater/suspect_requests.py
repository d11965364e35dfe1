"""The requests of the clients for suspects, explanations and rankings: where to look for the cause of a wrong value."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from headwater.answers import Record, record

_REPORT = "job run compared metrics runs siblings suspects { subject metric value expected low high chance compared }"
_RANKING = (
    "function value total exact notes incomplete { what reason }"
    " records { without change isRowGone record { dataset file row line grain values } }"
)
_INSTANCE = "{ task file dataset job run }"
_INSTANCES = (
    f"dataset instances bad good exact incomplete {{ what reason }} suspects {{ instance {_INSTANCE} bad rows expected chance"
    f" alike {_INSTANCE} }}"
)
_EXPLANATIONS = (
    "exact incomplete { what reason } sources { dataset bad good unused hidden isComplete"
    " explanations { condition bad good precision recall } }"
)


@dataclass(frozen=True, slots=True)
class Suspect:
    """An unusual metric of a run or a task (`subject`). `expected` is the prediction from `compared` earlier runs or sibling tasks.

    The others lie between `low` and `high`. `chance` is the probability of such a value in a healthy run, if it is known.
    """

    subject: str
    metric: str
    value: float
    expected: float
    low: float
    high: float
    chance: float | None
    compared: int


@dataclass(frozen=True, slots=True)
class SuspectReport:
    """The suspects of a run. `compared` of its `metrics` were compared with `runs` earlier runs, `siblings` among its tasks."""

    job: str
    run: str
    compared: int
    metrics: int
    runs: int
    siblings: int
    suspects: Sequence[Suspect]


@dataclass(frozen=True, slots=True)
class Instance:
    """A task that wrote records of `dataset`, or a file of a source. The job and the run of a source are None."""

    task: str | None
    file: str | None
    dataset: str
    job: str | None
    run: str | None


@dataclass(frozen=True, slots=True)
class SuspectInstance:
    """An instance through which `bad` wrong rows of `rows` rows passed, where `expected` wrong rows would be usual.

    `chance` is the probability of at least as many wrong rows in a healthy instance. The same rows passed through `alike`.
    """

    instance: Instance
    bad: int
    rows: int
    expected: float
    chance: float
    alike: Sequence[Instance]


@dataclass(frozen=True, slots=True)
class InstanceReport:
    """The suspects among `instances` instances. If the answer is not exact, `reasons` say what is missing."""

    dataset: str
    suspects: Sequence[SuspectInstance]
    instances: int
    bad: int
    good: int
    exact: bool
    reasons: Sequence[str]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A condition in DuckDB SQL, the records that meet it, and how well it separates them."""

    condition: str
    bad: int
    good: int
    precision: float
    recall: float


@dataclass(frozen=True, slots=True)
class SourceExplanation:
    """The explanations by a dataset: `bad` of its records are behind wrong rows, `good` behind other rows alone."""

    dataset: str
    bad: int
    good: int
    explanations: Sequence[Explanation]
    unused: Sequence[str]
    hidden: Sequence[str]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class RankedRecord:
    """An input record, and the value `without` it. `is_row_gone`: the row would not be there without the record."""

    record: Record
    without: Any
    change: Any
    is_row_gone: bool


@dataclass(frozen=True, slots=True)
class Ranking:
    """The inputs of an aggregated value, the largest change first. If the answer is not exact, `reasons` say what is missing."""

    function: str
    value: Any
    records: Sequence[RankedRecord]
    total: int
    exact: bool
    reasons: Sequence[str]
    notes: Sequence[str]


@dataclass(frozen=True, slots=True)
class WrongRowExplanations:
    """The explanations of wrong rows by source. If the answer is not exact, `reasons` say what is missing."""

    exact: bool
    reasons: Sequence[str]
    sources: Sequence[SourceExplanation]


class _Asks(Protocol):
    def execute(self, document: str, **variables: Any) -> dict[str, Any]: ...


class SuspectRequests:
    """The methods of `Client` for suspects and explanations."""

    def suspects(self: _Asks, name: str, *, runs: int = 60) -> list[SuspectReport]:
        """Return what is unusual about a run (its id), or about the last complete run of a job or of each job of a pipeline."""
        document = f"query ($n: String!, $r: Int!) {{ suspects(name: $n, runs: $r) {{ {_REPORT} }} }}"
        return [
            SuspectReport(**{**report, "suspects": [Suspect(**suspect) for suspect in report["suspects"]]})
            for report in self.execute(document, n=name, r=runs)["suspects"]
        ]

    def suspect_instances(self: _Asks, dataset: str, *, bad: str, good: str | None = None, limit: int = 100_000) -> InstanceReport:
        """Find the tasks and files through which more wrong rows (`bad`) passed than chance explains.

        client.suspect_instances("out/report", bad="price < 0").suspects[0].instance.task
        """
        document = (
            "query ($d: String!, $b: String!, $g: String, $l: Int!) "
            f"{{ suspectInstances(dataset: $d, bad: $b, good: $g, limit: $l) {{ {_INSTANCES} }} }}"
        )
        found = self.execute(document, d=dataset, b=bad, g=good, l=limit)["suspectInstances"]
        suspects = [
            SuspectInstance(**{**one, "instance": Instance(**one["instance"]), "alike": [Instance(**other) for other in one["alike"]]})
            for one in found["suspects"]
        ]
        reasons = [f"{entry['what']}: {entry['reason']}" for entry in found["incomplete"]]
        counts = (found["instances"], found["bad"], found["good"])
        return InstanceReport(found["dataset"], suspects, *counts, found["exact"], reasons)

    def explain(
        self: _Asks,
        dataset: str,
        *,
        bad: str | None = None,
        rows: Sequence[tuple[str, int]] = (),
        good: str | None = None,
        to: str | None = None,
        without: Sequence[str] = (),
        most: int = 3,
        limit: int = 20_000,
        seconds: float = 10.0,
    ) -> WrongRowExplanations:
        """Find conditions that hold for the records behind wrong rows (`bad` or `rows`), and not for those behind other rows.

        client.explain("out/report", bad="max_wind_mph > 200").sources[0].explanations[0].condition
        """
        document = (
            "query ($d: String!, $b: String, $r: [RowRef!], $g: String, $t: String, $w: [String!], $m: Int!, $l: Int!, $s: Float!) "
            "{ explain(dataset: $d, bad: $b, rows: $r, good: $g, to: $t, without: $w, most: $m, limit: $l, seconds: $s) "
            f"{{ {_EXPLANATIONS} }} }}"
        )
        places = [{"file": file, "row": row} for file, row in rows]
        asked = {"d": dataset, "b": bad, "r": places or None, "g": good, "t": to, "w": list(without), "m": most, "l": limit, "s": seconds}
        found = self.execute(document, **asked)["explain"]
        reasons = [f"{entry['what']}: {entry['reason']}" for entry in found["incomplete"]]
        return WrongRowExplanations(found["exact"], reasons, [_source(source) for source in found["sources"]])

    def rank_inputs(
        self: _Asks, dataset: str, column: str, *, where: str | None = None, row: tuple[str, int] | None = None, first: int = 20
    ) -> Ranking:
        """Rank the inputs of an aggregated value by how much it would change without each. `where` or `row` selects one row.

        client.rank_inputs("out/report", "max_wind", where="origin = 'EWR'").records[0].without
        """
        document = (
            "query ($d: String!, $c: String!, $w: String, $r: RowRef, $f: Int!) "
            f"{{ rankInputs(dataset: $d, column: $c, where: $w, row: $r, first: $f) {{ {_RANKING} }} }}"
        )
        place = {"file": row[0], "row": row[1]} if row is not None else None
        found = self.execute(document, d=dataset, c=column, w=where, r=place, f=first)["rankInputs"]
        ranked = [RankedRecord(record(one["record"]), one["without"], one["change"], one["isRowGone"]) for one in found["records"]]
        reasons = [f"{entry['what']}: {entry['reason']}" for entry in found["incomplete"]]
        return Ranking(found["function"], found["value"], ranked, found["total"], found["exact"], reasons, found["notes"])


class AsyncSuspectRequests:
    """The methods of `AsyncClient` for suspects and explanations. Each calls the method of `Client` on a thread."""

    _client: Any

    async def suspects(self, name: str, **asked: Any) -> list[SuspectReport]:
        found: list[SuspectReport] = await asyncio.to_thread(self._client.suspects, name, **asked)
        return found

    async def suspect_instances(self, dataset: str, **asked: Any) -> InstanceReport:
        found: InstanceReport = await asyncio.to_thread(self._client.suspect_instances, dataset, **asked)
        return found

    async def explain(self, dataset: str, **asked: Any) -> WrongRowExplanations:
        found: WrongRowExplanations = await asyncio.to_thread(self._client.explain, dataset, **asked)
        return found

    async def rank_inputs(self, dataset: str, column: str, **asked: Any) -> Ranking:
        found: Ranking = await asyncio.to_thread(self._client.rank_inputs, dataset, column, **asked)
        return found


def _source(answer: dict[str, Any]) -> SourceExplanation:
    explanations = [Explanation(**found) for found in answer["explanations"]]
    return SourceExplanation(
        answer["dataset"], answer["bad"], answer["good"], explanations, answer["unused"], answer["hidden"], answer["isComplete"]
    )
