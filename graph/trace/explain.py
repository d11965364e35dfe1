"""Explains wrong rows: traces wrong rows and other rows to their sources, and looks for conditions that separate the records there.

An explanation is computed from the answers of two traces and from nothing else. So it cannot reveal more than these traces: a column whose
values the traces hide is in no condition.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.errors import InvalidQueryError
from headwater.graph.culprits.explanations import Explanation
from headwater.graph.culprits.explanations import explain as find_explanations
from headwater.graph.model.ids import dataset_name
from headwater.graph.trace.answer import Grain, Incomplete, TraceAnswer, TracedRecord, TraceRequest

_MOST_LISTED = 50
_FILE_ORDER = "Conditions on columns in this order may be false."
_MOST_SOURCES = 100
Tracer = Callable[[TraceRequest], Awaitable[TraceAnswer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainRequest:
    """A question for conditions that hold for the records behind wrong rows of `dataset`, and not for those behind other rows.

    - `bad`: a predicate that selects the wrong rows; or `rows`: the wrong rows, as (file, row).
    - `good`: a predicate that selects right rows; all other rows, if it is None.
    - `to`: compare records of this dataset only.
    - `without`: columns that no condition may use.
    - `most`: most conditions for each dataset.
    - `limit`: most records behind the wrong rows, and behind the others.
    - `seconds`: time limit of the search in all datasets together.
    """

    dataset: str
    bad: str | None = None
    rows: Sequence[tuple[str, int]] = ()
    good: str | None = None
    to: str | None = None
    without: Sequence[str] = ()
    most: int = 3
    limit: int = 20_000
    seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class SourceExplanation:
    """The conditions that separate `bad` records of a dataset from `good` ones, best first.

    `unused` are columns whose values cannot be compared, `hidden` columns whose values the traces hide. `is_complete` is false if the time
    limit ended the search.
    """

    dataset: str
    bad: int
    good: int
    explanations: Sequence[Explanation]
    unused: Sequence[str]
    hidden: Sequence[str]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class ExplainAnswer:
    """The explanations by dataset, and the reasons why the compared records may not be all. It is exact without any."""

    sources: Sequence[SourceExplanation]
    incomplete: Sequence[Incomplete]

    @property
    def exact(self) -> bool:
        return all(entry.effect in ("unreadable", "version") for entry in self.incomplete)


async def explain(trace: Tracer, request: ExplainRequest, *, hidden: object = None) -> ExplainAnswer:
    """Answer the question by two traces. `hidden` is the value in place of hidden values.

    Raises:
        InvalidQueryError: no record is behind wrong rows, or the request names a column that no source has.
    """
    if (request.bad is None) != bool(request.rows):
        raise InvalidQueryError("Which rows are wrong is not given.", field="bad", hint="Give a predicate (bad), or rows. Not both.")
    of_bad = await trace(_trace_request(request, where=request.bad, rows=request.rows))
    if not of_bad.total:
        raise InvalidQueryError(
            "No record was found behind rows that are wrong.",
            field="bad",
            hint=f"headwater trace {request.dataset} --where … shows what is found, and why.",
        )
    others = "true" if request.bad is None else f"NOT coalesce((\n{request.bad}\n), false)"  # it may end with a comment
    of_good = await trace(_trace_request(request, where=request.good or others))
    _check_columns(request.without, of_bad)
    sources = sorted({record.dataset for record in of_bad.records if record.grain is Grain.RECORD})[:_MOST_SOURCES]
    found = [
        await asyncio.to_thread(_explain_source, source, of_bad, of_good, request, request.seconds / len(sources), hidden)
        for source in sources
    ]
    return ExplainAnswer(found, [*_list_gaps("wrong", of_bad), *_list_gaps("other", of_good)])


def _trace_request(request: ExplainRequest, *, where: str | None, rows: Sequence[tuple[str, int]] = ()) -> TraceRequest:
    return TraceRequest(dataset=request.dataset, where=where, rows=rows, to=request.to, limit=request.limit, selected_values=False)


def _explain_source(
    source: str, of_bad: TraceAnswer, of_good: TraceAnswer, request: ExplainRequest, seconds: float, hidden: object
) -> SourceExplanation:
    wrong = {_place(record): record for record in of_bad.records if _is_of(record, source)}
    right = {_place(record): record for record in of_good.records if _is_of(record, source) and _place(record) not in wrong}
    records = [*wrong.values(), *right.values()]
    concealed = [] if hidden is None else sorted({name for record in records for name, value in record.values.items() if value == hidden})
    if not right:
        return SourceExplanation(source, len(wrong), 0, (), (), concealed, is_complete=True)
    left_out = {name.casefold() for name in (*request.without, *concealed)}
    bad_values, good_values = ([_values(record, left_out) for record in each.values()] for each in (wrong, right))
    search = find_explanations(bad_values, good_values, most=request.most, seconds=seconds)
    return SourceExplanation(
        source, len(wrong), len(right), search.explanations, search.unused, concealed, is_complete=search.is_complete
    )  # fmt: skip


def _is_of(record: TracedRecord, dataset: str) -> bool:
    return record.dataset == dataset and record.grain is Grain.RECORD


def _place(record: TracedRecord) -> tuple[str | None, int | None]:
    return record.file, record.row


def _check_columns(without: Sequence[str], answer: TraceAnswer) -> None:
    """Check that each column that is to be left out exists."""
    columns = sorted({name for record in answer.records for name in record.values})
    if unknown := [name for name in without if name.casefold() not in {column.casefold() for column in columns}]:
        raise InvalidQueryError(
            f"No source has a column {unknown[0]}.", field="without", hint=f"The columns are: {', '.join(columns[:_MOST_LISTED])}."
        )


def _values(record: TracedRecord, left_out: set[str]) -> dict[str, Any]:
    return {name: value for name, value in record.values.items() if name.casefold() not in left_out}


def _list_gaps(name: str, answer: TraceAnswer) -> list[Incomplete]:
    found = [Incomplete(f"{name} rows: {entry.what}", entry.reason, entry.effect) for entry in answer.incomplete]
    coarse = sorted({dataset_name(record.dataset) for record in answer.records if record.grain is not Grain.RECORD})
    if coarse:
        found.append(
            Incomplete(f"{name} rows", f"which records of {', '.join(coarse[:_MOST_LISTED])} are behind them is not known", "missing")
        )
    if answer.total > len(answer.records):
        reason = (
            f"only the first {len(answer.records):,} of {answer.total:,} records behind them were compared, in file order. {_FILE_ORDER}"
        )
        found.append(Incomplete(f"{name} rows", reason, "missing"))
    return found
