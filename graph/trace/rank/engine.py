"""Ranks the inputs of one aggregated value: finds its group in the capture, reads the values, and removes each input record.

The value that the file has is compared with the value that is computed here from the same inputs. If they differ, the answer says so.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import duckdb

from headwater.errors import InvalidQueryError, UnsupportedError
from headwater.graph.associations import NONE, Boundary
from headwater.graph.duck.sql import Untranslatable
from headwater.graph.records import AssociationStore
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.answer import TracedRecord, TraceRequest
from headwater.graph.trace.datasets import Dataset
from headwater.graph.trace.hops import report_problems
from headwater.graph.trace.links import find_writers
from headwater.graph.trace.plan import Column, list_branches, list_names, list_references
from headwater.graph.trace.rank.aggregates import AggregateColumn, find_aggregate
from headwater.graph.trace.rank.answer import RankAnswer, RankedRecord, RankRequest
from headwater.graph.trace.rank.influence import MOST_REEVALUATED, difference, order_of, remove_each
from headwater.graph.trace.record_places import locate_references
from headwater.graph.trace.selection import read_values
from headwater.graph.trace.session import Capture, Session, map_places
from headwater.graph.trace.start_records import select_start
from headwater.graph.trace.step.collisions import find_collisions
from headwater.graph.trace.step.lookup import Lookup
from headwater.graph.trace.step.values import join_leaf_tables
from headwater.graph.trace.tracer import get_tracer
from headwater.graph.trace.translate import Translator
from headwater.graph.trace.versions import find_requested_dataset

MOST_ROWS = 200_000  # of a group
_CLOSE = 1e-9  # relative difference of two floating point values that count as equal, because sums depend on the order
Place = tuple[int, int]


async def rank(graph: GraphStore | None, store: AssociationStore, tenant: str, request: RankRequest) -> RankAnswer:
    """Answer a request.

    Raises:
        NotFoundError: the dataset does not exist.
        InvalidQueryError: not exactly one row is selected, or there is no such column.
        UnsupportedError: the column is no aggregate whose inputs can be ranked, or they cannot be read.
    """
    if (request.where is None) == (request.row is None):
        raise InvalidQueryError("Which row to rank is not given.", field="where", hint="Give a predicate, or a file and row. Not both.")
    asked = TraceRequest(
        dataset=request.dataset, where=request.where, rows=[request.row] if request.row else (), column=request.column, limit=2
    )  # fmt: skip
    with get_tracer(store).session(tenant) as session:
        dataset = await find_requested_dataset(session, graph, asked)
        return await asyncio.to_thread(_rank, session, dataset, asked, request)


def _rank(session: Session, dataset: Dataset, asked: TraceRequest, request: RankRequest) -> RankAnswer:
    begin, selected = select_start(session, dataset, asked, by_origin=False)
    count = session.count_rows(begin)
    if count != 1:
        raise InvalidQueryError(
            f"{count:,} rows are selected.", field="where", hint="Inputs are ranked for one row: name it, or select it by its keys."
        )
    capture = _find_capture(session, begin)
    report_problems(session, capture, witness=False)
    column = find_aggregate(capture, request.column)
    rows, columns, boundary = _find_group_rows(session, capture, column, begin, request.column)
    values = _read_arguments(session, capture, column, rows, columns, boundary)
    members, unknown = _find_members(session, capture, column, rows, columns)
    value, without = remove_each(column.function, values, members)
    notes = _list_notes(capture, column, selected[0], request.column, value, session)
    if unknown:
        session.report(request.column, f"the records of {unknown:,} rows of the group are not known, and not ranked", "missing")
    return _make_answer(session, capture, column, selected[0], request, value, without, _list_gone(column, members, len(values)), notes)


def _find_capture(session: Session, begin: str) -> Capture:
    numbers = session.list_files_of([begin])
    files = [session.files[number] for number in numbers]
    writers = set(find_writers(session, files).values())
    if len(writers) != 1 or session.find_pruned(writers):
        raise UnsupportedError(
            f"The capture of the run that wrote {files[0].block.path} is not here.", hint="headwater trace shows what is known of the row."
        )
    return session.get_capture(writers.pop())


def _find_group_rows(
    session: Session, capture: Capture, column: AggregateColumn, begin: str, name: str
) -> tuple[str, Sequence[Column], Boundary]:
    """Return a table `rid, grp, <references>` of the rows of the group from which the value was made."""
    plan = capture.plan
    sink, boundary = plan.sink, plan.boundary(column.operator)
    reference = next((each for each in list_references(sink) if each.operator == column.operator.id), None) if sink is not None else None
    if sink is None or boundary is None or reference is None:
        raise UnsupportedError(
            f"The inputs of {name} cannot be ranked: the capture does not name its group.", hint="headwater trace lists its inputs."
        )
    lookup = Lookup(session, capture)
    found = lookup.find_at_places(sink, begin, map_places(session, capture, session.list_files_of([begin])), [reference.name])
    group = f"SELECT DISTINCT 0::BIGINT AS origin, {reference.name} AS ref FROM {found} WHERE {reference.name} <> {NONE}"
    groups = session.make_table(group)
    if session.count_rows(groups) != 1 or find_collisions(session, capture, column.operator, groups):
        raise UnsupportedError(
            f"The inputs of {name} cannot be ranked: its group is not known alone.", hint="headwater trace lists them, and says why."
        )
    columns = list_references(boundary)
    rows = lookup.find_groups(boundary, groups, list_names([*columns, *list_branches(boundary)]))
    count, most = session.count_rows(rows), MOST_REEVALUATED if column.function.is_reevaluated else MOST_ROWS
    if count > most:
        raise UnsupportedError(
            f"The group of {name} has {count:,} rows.",
            hint=f"Inputs of {column.function.name} are ranked if there are at most {most:,}.",
        )
    return session.make_table(f"SELECT row_number() OVER () - 1 AS rid, c.* FROM {rows} c"), columns, boundary


def _read_arguments(
    session: Session, capture: Capture, column: AggregateColumn, rows: str, columns: Sequence[Column], boundary: Boundary
) -> list[Any]:
    """Return the value that each row gives the function. None for a null, and for a row that its FILTER excludes."""
    known = [*columns, *list_branches(boundary)]
    translator = Translator(capture.plan, {each.operator: each.name for each in known})
    source = capture.plan.children(column.operator)[0]
    try:
        value = "1" if column.argument is None else translator.translate(column.argument, source)
        keep = translator.translate(column.call.filter, source) if column.call.filter is not None else "true"
        joins = join_leaf_tables(session, capture, columns, rows, translator.needed)
        query = f"SELECT CASE WHEN {keep} THEN {value} END FROM {rows} c{joins} ORDER BY c.rid"
        values = [found for (found,) in session.database.execute(query).fetchall()]
    except Untranslatable as reason:
        raise UnsupportedError(
            f"The inputs of {column.call.text} cannot be ranked: {reason}.", hint="headwater trace lists its inputs without a ranking."
        ) from None
    except (duckdb.OutOfRangeException, duckdb.ConversionException, duckdb.BinderException) as error:
        raise UnsupportedError(
            f"The inputs of {column.call.text} cannot be ranked: {error}.", hint="headwater trace lists its inputs without a ranking."
        ) from None
    if column.as_float:
        return [None if found is None else float(found) for found in values]
    if column.function.needs_numbers and any(found is not None and not isinstance(found, int | float | Decimal) for found in values):
        raise UnsupportedError(f"{column.call.text} is not of numbers.", hint="headwater trace lists its inputs without a ranking.")
    return values


def _find_members(
    session: Session, capture: Capture, column: AggregateColumn, rows: str, columns: Sequence[Column]
) -> tuple[dict[Place, list[int]], int]:
    """Return the rows of each input record by its place, and the number of rows whose record is not known."""
    members: dict[Place, list[int]] = {}
    unknown: set[int] = set()
    for reference in (each for each in columns if each.operator in column.scans):
        name = reference.name
        table = session.make_table(f"SELECT rid AS origin, {name} AS ref FROM {rows} WHERE {name} >= 0")
        source = capture.source(capture.plan.operators[reference.operator].source)
        places = locate_references(session, capture, source, table)
        found = session.database.execute(f"SELECT origin, file, row FROM {places} ORDER BY origin").fetchall()
        located = set()
        for rid, file, row in found:
            if row is not None:
                located.add(rid)
                members.setdefault((file, row), []).append(rid)
        unknown |= {rid for (rid,) in session.database.execute(f"SELECT origin FROM {table}").fetchall()} - located
    return members, len(unknown)


def _list_gone(column: AggregateColumn, members: Mapping[Place, Sequence[int]], count: int) -> set[Place]:
    """Return the records without which the group has no row. A group without keys has a row in any case."""
    return {place for place, rows in members.items() if len(set(rows)) == count} if column.operator.keys else set()


def _list_notes(
    capture: Capture, column: AggregateColumn, row: TracedRecord, name: str, value: Any, session: Session
) -> list[str]:  # fmt: skip
    notes: list[str] = []
    written = next((each for key, each in row.values.items() if key.lower() == name.lower()), None)
    if not column.is_whole:
        notes.append(f"{name} is an expression over {column.call.text}. The inputs are ranked by {column.call.text}.")
    elif not _is_same(value, written):
        reason = f"the file has {written}, and {column.call.text} of the inputs is {value}: they are not all known, or have changed"
        session.report(name, reason, "superset")
    if column.may_vanish:
        notes.append("A filter, a join or a limit above the aggregate may drop the row if its value changes.")
    if column.other_scans:
        texts = sorted({capture.plan.operators[scan].label for scan in column.other_scans})
        notes.append(f"Records of {', '.join(texts)} are not ranked: without one of them, other rows may come.")
    return notes


def _is_same(value: Any, written: Any) -> bool:
    if value is None or written is None or isinstance(value, bool) or isinstance(written, bool):
        return value is written or value == written
    if isinstance(value, int | float | Decimal):
        try:
            number = float(written)
        except (TypeError, ValueError):
            return False
        return math.isclose(float(value), number, rel_tol=_CLOSE, abs_tol=1e-300) or (math.isnan(float(value)) and math.isnan(number))
    return bool(value == written) or str(value) == str(written)


def _make_answer(
    session: Session, capture: Capture, column: AggregateColumn, row: TracedRecord, request: RankRequest, value: Any,
    without: Mapping[Place, Any], gone: set[Place], notes: Sequence[str],
) -> RankAnswer:  # fmt: skip
    def key(place: Place) -> tuple[tuple[int, float], str, str, int]:
        file = session.files[place[0]]
        return order_of(value, without[place], is_row_gone=place in gone), file.dataset, file.block.path, place[1]

    first = sorted(without, key=key)[: request.first]
    records = read_values(session, first)
    ranked = [
        RankedRecord(record, None, None, is_row_gone=True)
        if place in gone
        else RankedRecord(record, without[place], difference(value, without[place]), is_row_gone=False)
        for place, record in zip(first, records, strict=True)
    ]
    return RankAnswer(
        run=f"run:{capture.manifest.run.run_id}", function=column.call.text, row=row, value=value, records=ranked, total=len(without),
        exact=session.is_whole, incomplete=list(session.incomplete), notes=notes,
    )  # fmt: skip
