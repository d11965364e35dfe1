"""Finds the wrong rows of an output, the programs that made them, and the records behind the first of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headwater.backend.rerun.replay.kinds import ReplayRequest, Sources, Work, load_kind
from headwater.backend.rerun.replay.kinds.kind import file_prefix
from headwater.backend.rerun.replay.model import Invocation
from headwater.backend.rerun.replay.shadow_tables.bases import find_bases
from headwater.errors import InvalidQueryError, UnsupportedError
from headwater.graph.culprits.record_set import RecordSet
from headwater.graph.records import AssociationStore
from headwater.graph.trace import Grain, Semantics, TraceRequest
from headwater.graph.trace.questions import Questions, RowsRequest
from headwater.graph.trace.rows_elsewhere import ReadAs, find_shape_of, negate
from headwater.spark_listener.registry import Registry

_LIMIT = 1_000_000  # limit of traced records


@dataclass(frozen=True, slots=True, kw_only=True)
class BlameRequest:
    """The wrong rows of `dataset`: those for which `assertion` is false, or those that `where` selects. Only one of the two is given."""

    dataset: str
    assertion: str | None = None
    where: str | None = None


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
        UnsupportedError: the output cannot be read, or its programs cannot run again in trials.
    """
    where = _predicate(request, sources.tenant, records)
    page = await questions.rows(sources.tenant, RowsRequest(request.dataset, where=where, first=1))
    if not page.columns:
        raise UnsupportedError(f"The rows of {request.dataset} cannot be read: {page.note}")
    if not page.rows:
        raise _nothing_wrong(request)
    wrong = page.rows[0]
    work, notes = await _plan(request.dataset, [(wrong.file, wrong.row)], sources)
    invocations = [work.upstream.invocation(application, registry) for application in work.start.applications]
    for application, invocation in zip(work.start.applications, invocations, strict=True):
        if tables := await find_bases(work.upstream, application, sources):
            raise UnsupportedError(
                f"The program of job {invocation.job} uses the table {tables[0].dataset}, and trials write files only.",
                hint="headwater explain needs no trials, and headwater replay can leave out records.",
            )
    lineage = RecordSet.of(work.keep)
    witness = await _witness(request.dataset, [(wrong.file, wrong.row)], work, sources) if lineage else RecordSet(())
    return WrongRows(
        where, await find_shape_of(sources.graph, records, sources.tenant, request.dataset), page.total, wrong.file, wrong.row,
        dict(zip([name for name, _ in page.columns], wrong.values, strict=True)), invocations, [witness, lineage], work.restrict,
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
