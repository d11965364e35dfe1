"""Loads records that a Python library reads into a trace's database, as a table by record number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

import numpy as np
import pyarrow as pa

from headwater.graph.duck.memory_tables import Database
from headwater.graph.duck.sql import quoted
from headwater.graph.files.read_files import FILE, LINE, NO_ROWS, ROW, ReadFile, WantedRows, format_partitions, make_places
from headwater.graph.files.shapes import Shape
from headwater.graph.records.decode import Longs, arrow_of

_numbers = count()

Load = Callable[
    [ReadFile, Longs | None], tuple[Longs, pa.Table]
]  # returns the records with these numbers (None: all) that exist, in this order


def load_records(
    database: Database, shape: Shape, files: Sequence[ReadFile], wanted_rows: WantedRows | None, load: Load
) -> tuple[str, list[object]]:
    """Return a query of records, like `Format.make_query`. `load` returns the columns of a shape, by position, for one file."""
    rows_by_file = None if wanted_rows is None else list_wanted_rows(database, wanted_rows) if isinstance(wanted_rows, str) else wanted_rows
    names = [f"__loaded_{place}" for place in range(len(shape.columns))]  # user names may collide with a place column
    parts = []
    for file in files:
        rows, table = load(file, None if rows_by_file is None else rows_by_file.get(file.number, NO_ROWS))
        numbers = arrow_of(np.full(len(rows), file.number, np.int64))
        parts.append(pa.table([numbers, arrow_of(rows), *table.columns], names=[FILE, ROW, *names]))
    if not parts:
        empty = {FILE: pa.array([], pa.int64()), ROW: pa.array([], pa.int64())}
        parts = [pa.table(empty | {name: pa.array([], pa.string()) for name in names})]
    source = f"loaded_{next(_numbers)}"
    database.register(source, pa.concat_tables(parts, promote_options="permissive"))
    join = f" JOIN {make_places(database, shape, files)} USING ({FILE})" if shape.partitions else ""
    columns = "".join(f", {name} AS {quoted(column)}" for name, (column, _) in zip(names, shape.columns, strict=True))
    return f"SELECT {FILE}, {ROW}, NULL::BIGINT AS {LINE}{columns}{format_partitions(shape)} FROM {source}{join}", []


def list_wanted_rows(database: Database, wanted_table: str) -> dict[int, Longs]:
    """Return the rows of a table `file, row`, by file, ascending."""
    sorted_places = database.execute(f"SELECT DISTINCT file, row FROM {wanted_table} ORDER BY file, row").fetchnumpy()
    files, rows = np.asarray(sorted_places["file"], np.int64), np.asarray(sorted_places["row"], np.int64)
    return {int(file): rows[files == file] for file in np.unique(files)}


def choose_rows(rows: Longs | None, record_count: int) -> Longs:
    """Return the wanted numbers that are smaller than the number of records. None stands for all records."""
    return np.arange(record_count, dtype=np.int64) if rows is None else rows[rows < record_count]
