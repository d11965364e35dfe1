"""Records of files that a library reads: put into a trace's database as a table, by their number in the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

import numpy as np
import pyarrow as pa

from headwater.graph.duck.memory_tables import Database
from headwater.graph.duck.sql import quoted
from headwater.graph.files.reader import FILE, LINE, NO_ROWS, ROW, ReadFile, Wanted, extra, places
from headwater.graph.files.shapes import Shape
from headwater.graph.records.decode import Longs, arrow_of

_numbers = count()

Load = Callable[[ReadFile, Longs | None], tuple[Longs, pa.Table]]  # the records of some numbers (None: all) that are there, in that order


def loaded(database: Database, shape: Shape, files: Sequence[ReadFile], wanted: Wanted | None, load: Load) -> tuple[str, list[object]]:
    """A query of records as `Format.query` gives it; `load` gives the columns of a shape, by place, for one file."""
    asked = None if wanted is None else asked_of(database, wanted) if isinstance(wanted, str) else wanted
    names = [f"__loaded_{place}" for place in range(len(shape.columns))]  # names of the user's may be those of a place
    parts = []
    for file in files:
        rows, table = load(file, None if asked is None else asked.get(file.number, NO_ROWS))
        numbers = arrow_of(np.full(len(rows), file.number, np.int64))
        parts.append(pa.table([numbers, arrow_of(rows), *table.columns], names=[FILE, ROW, *names]))
    if not parts:
        empty = {FILE: pa.array([], pa.int64()), ROW: pa.array([], pa.int64())}
        parts = [pa.table(empty | {name: pa.array([], pa.string()) for name in names})]
    source = f"loaded_{next(_numbers)}"
    database.register(source, pa.concat_tables(parts, promote_options="permissive"))
    join = f" JOIN {places(database, shape, files)} USING ({FILE})" if shape.partitions else ""
    columns = "".join(f", {name} AS {quoted(column)}" for name, (column, _) in zip(names, shape.columns, strict=True))
    return f"SELECT {FILE}, {ROW}, NULL::BIGINT AS {LINE}{columns}{extra(shape)} FROM {source}{join}", []


def asked_of(database: Database, wanted: str) -> dict[int, Longs]:
    """The rows of a table `file, row`, by file, ascending."""
    found = database.execute(f"SELECT DISTINCT file, row FROM {wanted} ORDER BY file, row").fetchnumpy()
    files, rows = np.asarray(found["file"], np.int64), np.asarray(found["row"], np.int64)
    return {int(file): rows[files == file] for file in np.unique(files)}


def chosen(rows: Longs | None, there: int) -> Longs:
    """Those of some numbers that a file of so many records has; None: all of them."""
    return np.arange(there, dtype=np.int64) if rows is None else rows[rows < there]
