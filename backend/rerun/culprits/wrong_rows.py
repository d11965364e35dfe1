"""Finds the wrong rows of an output, the programs that made them, and the records behind the first of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headwater.backend.rerun.replay.checks import file_states
from headwater.backend.rerun.replay.kinds import ReplayRequest, Sources, Work, load_kind
from headwater.backend.rerun.replay.kinds.kind import file_prefix
from headwater.backend.rerun.replay.latest_runs import check_read_by_latest_runs
from headwater.backend.rerun.replay.model import Invocation
from headwater.backend.rerun.replay.shadow_tables.bases import find_bases
from headwater.errors import InvalidQueryError, NotFoundError, UnsupportedError
from headwater.graph.culprits.record_set import RecordSet
from headwater.graph.records import AssociationStore
from headwater.graph.trace import Grain, Semantics, TraceRequest
from headwater.graph.trace.questions import Questions, RowsRequest
from headwater.graph.trace.rank import RankRequest
from headwater.graph.trace.rows_elsewhere import ReadAs, find_shape_of, list_columns_of, negate
from headwater.spark_listener.registry import Registry

_LIMIT = 1_000_000  # limit of traced records
_LARGE = 64  # records of a witness for which a ranking takes less time than the trials that it may save
_PLAIN = re.compile(  # types of DuckDB whose values have a text that gives the same value again
    r"BOOLEAN|U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|VARCHAR|UUID|DATE|TIME|TIMESTAMP(_S|_MS)?|"
    r"TIMESTAMP WITH TIME ZONE"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlameRequest:
    """The wrong rows of `dataset`: those for which `assertion` is false, or those that `where` selects. Only one of the two is given.

    With `like`, the rows that count are those like the first row that `where` selects: with equal values in the columns `like`, or in all
    columns if it is empty.
    """

    dataset: str
    assertion: str | None = None
    where: str | None = None
    like: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class WrongRows:
    """The wrong rows of an output: `total` of them. `file`, `row` and `values` are those of the first one.

    `invocations` are the programs to run again. `lineages` are records behind the first wrong row, few before many, of the files
    in `restrict`. `where` selects wrong rows, and `read_as` says how the output is read.
    """

    where: str
    read_as: ReadAs
    total: int
    file: str
    row: int
    values: Mapping[str, Any]
    invocations: Sequence[Invocation]
    lineages: Sequence[RecordSet]
    restrict: Sequence[str]
    notes: Sequence[str]


async def find_wrong_rows(
    request: BlameRequest, sources: Sources, questions: Questions, records: AssociationStore, registry: Registry
) -> WrongRows:
    """Return the wrong rows of an output. `questions` answers what the caller may know.

    Raises:
        InvalidQueryError: no row is wrong, or the predicate cannot be used.
        NotFoundError: there is no such dataset, or no run that wrote it.
        UnsupportedError: the output cannot be read, its programs cannot run again in trials, or only an earlier run of a job read a record
            behind the row.
    """
    asked = where = _predicate(request, sources.tenant, records)
    page = await questions.rows(sources.tenant, RowsRequest(request.dataset, where=where, first=1))
    if not page.columns:
        raise UnsupportedError(f"The rows of {request.dataset} cannot be read: {page.note}")
    if not page.rows:
        raise _nothing_wrong(request)
    wrong = page.rows[0]
    if request.like is not None:
        where = equal_values(page.columns, wrong.values, request.like)
    work, notes = await _plan(request.dataset, [(wrong.file, wrong.row)], sources)
    invocations = [work.upstream.invocation(application, registry) for application in work.start.applications]
    for application, invocation in zip(work.start.applications, invocations, strict=True):
        if tables := await find_bases(work.upstream, application, sources):
            raise UnsupportedError(
                f"The program of job {invocation.job} uses the table {tables[0].dataset}, and trials write files only.",
                hint="headwater explain needs no trials, and headwater replay can leave out records.",
            )
    await check_read_by_latest_runs(work, await asyncio.to_thread(file_states, work.keep, sources.roots), sources)
    lineage = RecordSet.of(work.keep)
    witness = await _witness(request.dataset, [(wrong.file, wrong.row)], work, sources) if lineage else RecordSet(())
    names = [name for name, _ in page.columns]
    likely = RecordSet(())
    if len(witness) >= _LARGE:
        named = await asyncio.to_thread(list_columns_of, records, sources.tenant, asked)
        place = (wrong.file, wrong.row)
        ranks = [RankRequest(dataset=request.dataset, column=name, row=place, first=1) for name in names if name.lower() in named]
        likely = await _likely_record(ranks, witness, sources.tenant, questions)
    return WrongRows(
        where, await find_shape_of(sources.graph, records, sources.tenant, request.dataset), page.total, wrong.file, wrong.row,
        dict(zip(names, wrong.values, strict=True)), invocations, [likely, witness, lineage], work.restrict,
        [*notes, *work.notes, *work.start.notes(work.upstream.flows)],
    )  # fmt: skip


def _predicate(request: BlameRequest, tenant: str, records: AssociationStore) -> str:
    if (request.assertion is None) == (request.where is None):
        raise InvalidQueryError(
            "Which rows are wrong is not given.", field="where", hint='Give one of --assert "speed < 250" and --where "speed >= 250".'
        )
    if request.where is not None:
        return request.where
    return negate(records, tenant, request.assertion or "")


def equal_values(columns: Sequence[tuple[str, str]], values: Sequence[Any], names: Sequence[str]) -> str:
    """Return the predicate that selects the rows with these values in some columns. Without `names`, all columns count.

    Raises:
        InvalidQueryError: there is no such column.
        UnsupportedError: a column has nested values.
    """
    by_name = {name.casefold(): (name, kind, value) for (name, kind), value in zip(columns, values, strict=True)}
    if unknown := [name for name in names if name.casefold() not in by_name]:
        listed = ", ".join(name for name, _ in columns)
        raise InvalidQueryError(f"There is no column {unknown[0]}.", field="columns", hint=f"The columns are: {listed}.")
    chosen = [by_name[name.casefold()] for name in names] if names else list(by_name.values())
    return " AND ".join(_equal_value(name, kind, value) for name, kind, value in chosen)


def _equal_value(name: str, kind: str, value: Any) -> str:
    column = f'"{name.replace(chr(34), chr(34) * 2)}"'
    if value is None:
        return f"{column} IS NULL"
    if not _PLAIN.fullmatch(kind):
        raise UnsupportedError(
            f"The values of {name} are of the type {kind}, and cannot be compared.",
            hint="Name the columns that the row is known by: --column.",
        )
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"{column} = CAST('{text.replace(chr(39), chr(39) * 2)}' AS {kind})"


def _nothing_wrong(request: BlameRequest) -> InvalidQueryError:
    if request.assertion is not None:
        return InvalidQueryError(
            f"The assertion {request.assertion!r} holds: no row of {request.dataset} breaks it.",
            field="assertion",
            hint="State what must be true of each row. A row for which it is NULL breaks nothing.",
        )
    return InvalidQueryError(
        f"No row of {request.dataset} was selected.", field="where", hint="Look at the rows first: `headwater trace … --where …`."
    )


async def _plan(dataset: str, rows: Sequence[tuple[str, int]], sources: Sources) -> tuple[Work, list[str]]:
    """Return the programs to run again and the records behind some rows. Without lineage, all programs and no record."""
    try:
        return await load_kind("selective").plan(ReplayRequest(output=dataset, rows=rows), sources), []
    except UnsupportedError as error:
        work = await load_kind("verify").plan(ReplayRequest(output=dataset), sources)
        return work, [f"the search began with all inputs, because lineage does not help: {error.message}"]


async def _likely_record(candidates: Sequence[RankRequest], witness: RecordSet, tenant: str, questions: Questions) -> RecordSet:
    """Return the record of a witness on which the first value that can be ranked depends most. Empty if none can be ranked.

    A trial decides whether the record is to blame.
    """
    for candidate in candidates:
        try:
            ranked = await questions.rank(tenant, candidate)
        except (InvalidQueryError, NotFoundError, UnsupportedError):
            continue  # no aggregate, like the key of the group
        for found in ranked.records:
            record = found.record
            if record.file is not None and record.row is not None:
                likely = RecordSet.of({record.file: [record.row]})
                return likely if len(witness | likely) == len(witness) else RecordSet(())
    return RecordSet(())


async def _witness(dataset: str, rows: Sequence[tuple[str, int]], work: Work, sources: Sources) -> RecordSet:
    """Return the records that suffice for some rows, of the datasets whose records the lineage names. Empty if they are not known."""
    found: dict[str, list[int]] = {}
    request = TraceRequest(dataset=dataset, rows=rows, semantics=Semantics.WITNESS, limit=_LIMIT, values=False, selected_values=False)
    for source in work.start.datasets:
        if file_prefix(source) not in work.restrict:
            continue
        for record in (await sources.trace(replace(request, to=source))).records:
            if record.grain is not Grain.RECORD or record.file is None or record.row is None:
                return RecordSet(())
            found.setdefault(record.file, []).append(record.row)
    return RecordSet.of(found)
