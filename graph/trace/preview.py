"""Pages of the current rows of a dataset, from which a user selects a record to trace."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from headwater.errors import HeadwaterError, InvalidQueryError
from headwater.graph.duck.sql import quoted
from headwater.graph.files.footers import NoParquetError
from headwater.graph.files.formats import get_format
from headwater.graph.files.read_files import FILE, ROW
from headwater.graph.files.shapes import Shape
from headwater.graph.records import AssociationStore
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.trace.answer import Row, RowOrder, RowPage, TracedRecord
from headwater.graph.trace.datasets import Dataset, find_dataset, find_shape, is_captured, keep_readable_files, list_current_files
from headwater.graph.trace.selection import list_column_types, list_records, select_records
from headwater.graph.trace.session import KnownFile, Session
from headwater.graph.trace.tracer import get_tracer
from headwater.graph.trace.value_sources import list_origins


async def preview(
    graph: GraphStore | None,
    store: AssociationStore,
    tenant: str,
    dataset: str,
    *,
    predicate: str | None = None,
    order: RowOrder | None = None,
    first: int = 50,
    offset: int = 0,
    origins: bool = False,
) -> RowPage:
    """Return up to `first` rows that the predicate selects, from the 0-based row `offset` on.

    For a dataset that cannot be read, the page is empty and has a note. Rows without an order are sorted by file and row. An order reads
    all rows that the predicate selects.

    Raises:
        NotFoundError: there is no such dataset.
        InvalidQueryError: the predicate or the order cannot be used.
    """
    with get_tracer(store).session(tenant) as session:
        known_dataset = await find_dataset(session, graph, dataset)
        page, files = await asyncio.to_thread(_read_page, session, known_dataset, predicate, order, first, offset)
        return replace(page, origins=await asyncio.to_thread(list_origins, session, files)) if origins else page


def _read_page(
    session: Session, dataset: Dataset, predicate: str | None, order: RowOrder | None, first: int, offset: int
) -> tuple[RowPage, Sequence[KnownFile]]:
    try:
        shape, _ = find_shape(session, dataset)
        dataset_files = list_current_files(session, dataset, shape)
    except HeadwaterError as error:
        return RowPage(dataset.id, (), (), 0, has_record_lineage=False, note=str(error)), ()
    files = keep_readable_files(session, dataset_files)
    page_predicate = predicate if order is None and not session.deleted_rows else predicate or "true"
    try:
        table, total = _select_page(session, shape, files, page_predicate, first, offset)
    except NoParquetError as error:
        return RowPage(dataset.id, (), (), 0, has_record_lineage=False, note=str(error)), ()
    columns = list_column_types(session, table)
    by = _format_order(order, [name for name, _ in columns])
    page = session.make_table(
        f"SELECT * FROM {table} ORDER BY {by}{FILE}, {ROW} LIMIT {first:d} OFFSET {offset if page_predicate else 0:d}"
    )
    captured = is_captured(session, dataset_files)
    note = "; ".join(f"{entry.what}: {entry.reason}" for entry in session.incomplete) or (None if captured else _UNCAPTURED)
    places = session.database.execute(f"SELECT {FILE}, {ROW} FROM {page} ORDER BY {by}{FILE}, {ROW}").fetchall()
    records_by_place = dict(zip(sorted(places), list_records(session, page), strict=True))  # `records` gives them by file and row
    rows = [_make_row(records_by_place[place], columns) for place in places]
    return RowPage(dataset.id, columns, rows, total, has_record_lineage=captured, note=note), dataset_files


def _format_order(order: RowOrder | None, columns: Sequence[str]) -> str:
    """Return an ORDER BY clause, nulls last in both directions. Without an order, return an empty string."""
    if order is None:
        return ""
    if order.column not in columns:
        raise InvalidQueryError(
            f"There is no column {order.column!r} to order by.", field="order", hint=f"The columns are {', '.join(columns)}."
        )
    return f"{quoted(order.column)} {'DESC' if order.descending else 'ASC'} NULLS LAST, "


def _select_page(
    session: Session, shape: Shape, files: Sequence[KnownFile], predicate: str | None, first: int, offset: int
) -> tuple[str, int]:
    """Return a table with the page's records, and the total number of records. Without a predicate, only the page is read."""
    if predicate is not None:
        table = select_records(session, shape, files, predicate=predicate, rows=())
        return table, session.count_rows(table)
    counts = [_count_records(session, shape, file) for file in files]
    places: list[tuple[str, int]] = []
    for file, count, end in zip(files, counts, accumulate(counts), strict=True):
        begin = end - count
        places += [(file.block.path, row - begin) for row in range(max(begin, offset), min(end, offset + max(first, 1)))]
    # Beyond the end, one record is read for the names of the columns. Without any record, the empty file gives them.
    last_records = [(file.block.path, count - 1) for file, count in zip(files, counts, strict=True) if count][-1:]
    table = select_records(session, shape, files, predicate=None, rows=places or last_records)
    return table if places else session.make_table(f"SELECT * FROM {table} WHERE false"), sum(counts)


def _count_records(session: Session, shape: Shape, file: KnownFile) -> int:
    return get_format(shape.format).count_records(session.reader, session.database, shape, file.make_read_file())


_UNCAPTURED = "No capture wrote or read these files as they are now, so their records cannot be traced one by one."


def _make_row(record: TracedRecord, columns: Sequence[tuple[str, str]]) -> Row:
    return Row(record.file or "", record.row or 0, record.line, [record.values[name] for name, _ in columns])
