"""Rows of a dataset as they are now, a page at a time: what a person picks a record from, to trace it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from headwater.errors import HeadwaterError, InvalidQueryError
from headwater.graph.duck.sql import quoted
from headwater.graph.files.footers import NoParquetError
from headwater.graph.files.formats import format_of
from headwater.graph.files.reader import FILE, ROW
from headwater.graph.files.shapes import Shape
from headwater.graph.records import AssociationStore
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.answer import Row, RowOrder, RowPage, TracedRecord
from headwater.graph.trace.datasets import Dataset, current_files, find_dataset, is_captured, readable_files, shape_of
from headwater.graph.trace.selection import column_types, records, select
from headwater.graph.trace.session import KnownFile, Session
from headwater.graph.trace.tracer import tracer_of
from headwater.graph.trace.value_sources import origins_of


async def preview(
    graph: GraphStore | None,
    store: AssociationStore,
    tenant: str,
    dataset: str,
    *,
    where: str | None = None,
    order: RowOrder | None = None,
    first: int = 50,
    offset: int = 0,
    origins: bool = False,
) -> RowPage:
    """Rows `offset` … `offset + first − 1` of those that the predicate selects. A dataset that cannot be read gives no rows and a note.

    Without an order they come by file and row. An order reads all rows that the predicate selects.

    Raises:
        NotFoundError: the dataset is not known.
        InvalidQueryError: the predicate or the order cannot be used.
    """
    with tracer_of(store).session(tenant) as session:
        found = await find_dataset(session, graph, dataset)
        page, files = await asyncio.to_thread(_page, session, found, where, order, first, offset)
        return replace(page, origins=await asyncio.to_thread(origins_of, session, files)) if origins else page


def _page(
    session: Session, dataset: Dataset, where: str | None, order: RowOrder | None, first: int, offset: int
) -> tuple[RowPage, Sequence[KnownFile]]:
    """A page, and the files that it was chosen from."""
    try:
        shape, _ = shape_of(session, dataset)
        listed = current_files(session, dataset, shape)
    except HeadwaterError as error:
        return RowPage(dataset.id, (), (), 0, has_record_lineage=False, note=str(error)), ()
    files = readable_files(session, listed)
    wanted = where if order is None and not session.left_out else where or "true"
    try:
        table, total = _selected(session, shape, files, wanted, first, offset)
    except NoParquetError as error:
        return RowPage(dataset.id, (), (), 0, has_record_lineage=False, note=str(error)), ()
    columns = column_types(session, table)
    by = _ordering(order, [name for name, _ in columns])
    page = session.table(f"SELECT * FROM {table} ORDER BY {by}{FILE}, {ROW} LIMIT {first:d} OFFSET {offset if wanted else 0:d}")
    captured = is_captured(session, listed)
    note = "; ".join(f"{entry.what}: {entry.reason}" for entry in session.incomplete) or (None if captured else _UNCAPTURED)
    places = session.database.execute(f"SELECT {FILE}, {ROW} FROM {page} ORDER BY {by}{FILE}, {ROW}").fetchall()
    found = dict(zip(sorted(places), records(session, page), strict=True))  # `records` gives them by file and row
    rows = [_row(found[place], columns) for place in places]
    return RowPage(dataset.id, columns, rows, total, has_record_lineage=captured, note=note), listed


def _ordering(order: RowOrder | None, columns: Sequence[str]) -> str:
    """The order as SQL, nulls last either way; '' for none."""
    if order is None:
        return ""
    if order.column not in columns:
        raise InvalidQueryError(
            f"There is no column {order.column!r} to order by.", field="order", hint=f"The columns are {', '.join(columns)}."
        )
    return f"{quoted(order.column)} {'DESC' if order.descending else 'ASC'} NULLS LAST, "


def _selected(session: Session, shape: Shape, files: Sequence[KnownFile], where: str | None, first: int, offset: int) -> tuple[str, int]:
    """A table that holds the page's records, and how many there are in all. Without a predicate, the page's alone are read."""
    if where is not None:
        table = select(session, shape, files, where=where, rows=())
        return table, session.count(table)
    counts = [_count(session, shape, file) for file in files]
    places: list[tuple[str, int]] = []
    for file, count, end in zip(files, counts, accumulate(counts), strict=True):
        begin = end - count
        places += [(file.block.path, row - begin) for row in range(max(begin, offset), min(end, offset + max(first, 1)))]
    # Beyond the end nothing is read but one record, which tells the columns; with no record at all, the empty whole does.
    last = [(file.block.path, count - 1) for file, count in zip(files, counts, strict=True) if count][-1:]
    table = select(session, shape, files, where=None, rows=places or last)
    return table if places else session.table(f"SELECT * FROM {table} WHERE false"), sum(counts)


def _count(session: Session, shape: Shape, file: KnownFile) -> int:
    """Records of a file: a footer tells, or lines that are kept."""
    return format_of(shape.format).count(session.reader, session.database, shape, file.readable())


_UNCAPTURED = "No capture wrote or read these files as they are now, so their records cannot be traced one by one."


def _row(record: TracedRecord, columns: Sequence[tuple[str, str]]) -> Row:
    return Row(record.file or "", record.row or 0, record.line, [record.values[name] for name, _ in columns])
