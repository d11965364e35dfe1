r"""The rows of a dataset's files as a relation of DuckDB, for comparisons.

Rows of Parquet, ORC and JSON have columns of values. Rows of CSV and of text are lines: two lines are the same row if they have the same
bytes. Therefore no guess about types, quotes or missing cells can hide a difference. Lines end at `\n`, `\r\n` or `\r`, as in Spark. Cells
of CSV are cut when a line is shown, or if the files have different headers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from pyarrow import json as pajson
from pyarrow import orc

from headwater.backend.rerun.replay.output_files import Content, OutputFile, partition_columns
from headwater.errors import UnsupportedError
from headwater.graph.duck.sql import literal, quoted
from headwater.graph.files.compression import unpack_file
from headwater.graph.files.formats.csv import Csv
from headwater.graph.files.lines import LineRules, Lines, find_lines
from headwater.graph.files.marks import MarkedLines
from headwater.graph.records import Look

LINE = "_headwater_line"
_CSV = Csv("csv")
_NUMBER = "_headwater_row"
_BATCH = 1 << 16  # lines
_SCANS = {
    Content.PARQUET: "read_parquet({files}, union_by_name = true, hive_partitioning = false)",
    Content.JSON: "read_json({files}, sample_size = -1, union_by_name = true, hive_partitioning = false)",
}
_INTEGER, _DECIMAL = re.compile(r"-?(0|[1-9]\d{0,17})"), re.compile(r"-?\d+\.\d+([eE][-+]?\d+)?")
_table_numbers = count()


@dataclass(frozen=True, slots=True)
class LineForm:
    """The form of lines of CSV or text. `is_line`: lines are compared, not cells. `names` are the columns of CSV, None for text.

    `has_header`: the first line of each file of CSV is a header. `options` are Spark's options of CSV.
    """

    is_line: bool
    has_header: bool
    names: Sequence[str] | None
    options: Mapping[str, str]

    def show(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row with the cells of its line. A cell that is certainly a number is converted to a number."""
        if not self.is_line:
            return dict(row)
        line = bytes(row[LINE])
        others = {name: value for name, value in row.items() if name != LINE}
        if self.names is None:
            return {"value": line.decode("utf-8", "replace"), **others}
        names = list(self.names)
        names += [f"_c{place}" for place in range(len(names), _width(line, self.options))]  # a line may be longer than the first
        cells = _CSV.cut_cells([line], names, self.options).to_pylist()[0]
        kept = {name: _value(cell) for place, (name, cell) in enumerate(cells.items()) if place < len(self.names) or cell is not None}
        return {**kept, **others}


def find_line_form(sides: Sequence[tuple[Sequence[OutputFile], Look]], options: Mapping[str, str] | None) -> LineForm:
    """Return the form of the lines of all files to compare. `options` are Spark's options for writing CSV, or None if they are unknown.

    Without options, the first line is a header if all files share it, and each of its cells is a name.

    Raises:
        UnsupportedError: the comparison does not support these options.
    """
    given = {name.lower(): value for name, value in (options or {}).items()}
    if "linesep" in given or given.get("encoding", given.get("charset", "utf-8")).lower() not in (
        "utf-8",
        "utf8",
        "us-ascii",
        "iso-8859-1",
    ):
        raise UnsupportedError("The program writes CSV with a line separator or an encoding that cannot be compared.")
    contents = {file.content for files, _ in sides for file in files}
    if Content.CSV not in contents:
        return LineForm(contents == {Content.TEXT}, False, None, given)
    firsts = {first for files, look in sides for file in files if file.content is Content.CSV and (first := _first_line(file, look))}
    is_common = len(firsts) == 1 and _may_be_header(min(firsts), given)
    has_header = given["header"].lower() == "true" if "header" in given else is_common
    is_line = contents == {Content.CSV} and not (has_header and len(firsts) > 1)
    names = _cells(min(firsts), given) if has_header and firsts else []
    width = len(names) if has_header else max((_width(line, given) for line in firsts), default=0)
    return LineForm(is_line, has_header, [name or f"_c{place}" for place, name in enumerate(names)] or _made_names(width), given)


def relation(
    database: duckdb.DuckDBPyConnection,
    files: Sequence[OutputFile],
    look: Look,
    form: LineForm,
    chosen: Mapping[str, Sequence[int]] | None = None,
) -> str:
    """Return a query of the rows of files with their partition columns. `chosen` are 0-based rows by the inner path of a file.

    Raises:
        UnsupportedError: a file is damaged, or holds chosen rows and is not there.
    """
    if chosen is not None and (missing := sorted(set(chosen) - {file.inner for file in files})):
        raise UnsupportedError(f"{missing[0]} holds chosen rows and was not written again, so they cannot be compared.")
    columns = partition_columns(files)
    groups: dict[tuple[object, ...], list[OutputFile]] = {}
    for file in files:
        if chosen is None or file.inner in chosen:
            is_alone = (
                chosen is not None
                or file.deleted
                or file.names
                or file.content not in _SCANS
                or (file.content is Content.JSON and file.is_packed)
            )
            groups.setdefault((columns[file], file.content, file.inner if is_alone else ""), []).append(file)
    queries = []
    for group in groups.values():
        rows = _scan(database, group, look, form)
        conditions = []
        if chosen is not None:
            conditions.append(f"IN ({', '.join(f'{row:d}' for row in chosen[group[0].inner])})")
        if group[0].deleted:
            deleted = f"deleted_{next(_table_numbers)}"
            database.register("batch", pa.table({"row": pa.array(group[0].deleted, pa.int64())}))
            database.execute(f"CREATE TEMP TABLE {deleted} AS SELECT * FROM batch")
            database.unregister("batch")
            conditions.append(f"NOT IN (SELECT row FROM {deleted})")
        if conditions:
            numbered = f"SELECT *, row_number() OVER () - 1 AS {quoted(_NUMBER)} FROM {rows}"
            condition = " AND ".join(f"{quoted(_NUMBER)} {each}" for each in conditions)
            rows = f"(SELECT * EXCLUDE ({quoted(_NUMBER)}) FROM ({numbered}) WHERE {condition})"
        queries.append(f"SELECT {_select(database, group[0], rows)}{columns[group[0]]} FROM {rows}")
    return f"({' UNION ALL BY NAME '.join(queries)})"


def _select(database: duckdb.DuckDBPyConnection, file: OutputFile, rows: str) -> str:
    """Return a SELECT list of a file's columns under the table's names, without partition columns, which files of Delta may have, too."""
    if not file.names and not file.partitions:
        return "*"
    names, split = dict(file.names), {name.lower() for name, _ in file.partitions}
    stored = [name for name, *_ in database.execute(f"DESCRIBE SELECT * FROM {rows}").fetchall()]
    shown = [(name, names.get(name, name)) for name in stored if names.get(name, name).lower() not in split]
    return ", ".join(f"{quoted(name)} AS {quoted(label)}" for name, label in shown) or "1 AS _headwater_none"


def _scan(database: duckdb.DuckDBPyConnection, files: Sequence[OutputFile], look: Look, form: LineForm) -> str:
    kind = files[0].content
    if kind in _SCANS and not (kind is Content.JSON and files[0].is_packed):
        listed = ", ".join(literal(look.file(file.path)[1].scan) for file in files)
        return _SCANS[kind].format(files=f"[{listed}]")
    table = f"rows_{next(_table_numbers)}"
    for number, batch in enumerate(_batches(files[0], look, form)):
        database.register("batch", batch)
        database.execute(f"INSERT INTO {table} SELECT * FROM batch" if number else f"CREATE TEMP TABLE {table} AS SELECT * FROM batch")
        database.unregister("batch")
    return table


def _batches(file: OutputFile, look: Look, form: LineForm) -> Iterator[pa.Table]:
    stored = look.file(file.path)[1]
    if file.content is Content.ORC:
        yield orc.ORCFile(pa.BufferReader(pa.py_buffer(stored.content()))).read()
        return
    if file.content is Content.JSON:
        yield pajson.read_json(pa.BufferReader(pa.py_buffer(unpack_file(stored))))
        return
    lines = _lines(file, look, form.has_header)
    names = [LINE] if form.is_line else ["value"]
    if not form.is_line and file.content is Content.CSV:
        names = _cells(_first_line(file, look), form.options) if form.has_header else list(form.names or ())
    for begin in range(0, max(len(lines), 1), _BATCH):
        batch = lines.read(np.arange(begin, min(begin + _BATCH, len(lines))))
        if form.is_line:
            yield pa.table({LINE: pa.array(batch, pa.binary())})
        elif file.content is Content.CSV:
            yield _CSV.cut_cells(batch, names, form.options)
        else:
            yield pa.table({"value": pa.array([line.decode("utf-8", "replace") for line in batch], pa.string())})


def _lines(file: OutputFile, look: Look, has_header: bool) -> Lines | MarkedLines:
    is_csv = file.content is Content.CSV
    rules = LineRules(blank=not is_csv, header=has_header and is_csv)
    return find_lines(unpack_file(look.file(file.path)[1]), rules)


def _first_line(file: OutputFile, look: Look) -> bytes:
    lines = _lines(file, look, False)
    return lines.read(np.array([0]))[0] if len(lines) else b""


def _cells(line: bytes, options: Mapping[str, str]) -> list[str]:
    width = _width(line, options)
    cells = _CSV.cut_cells([line], _made_names(width), options).to_pylist()[0]
    texts = list(cells.values())
    while texts and texts[-1] is None:  # a quoted separator is none
        texts.pop()
    return [text or "" for text in texts]


def _width(line: bytes, options: Mapping[str, str]) -> int:
    separator = options.get("sep", options.get("delimiter", ","))
    return line.count({"\\t": "\t"}.get(separator, separator).encode()) + 1


def _may_be_header(line: bytes, options: Mapping[str, str]) -> bool:
    cells = _cells(line, options)
    return len(set(cells)) == len(cells) and all(cell and not re.fullmatch(r"[-+\d.:eE/ ]+|true|false", cell) for cell in cells)


def _made_names(width: int) -> list[str]:
    return [f"_c{place}" for place in range(width)]


def _value(cell: str | None) -> Any:
    if cell is not None and _INTEGER.fullmatch(cell):
        return int(cell)
    return float(cell) if cell is not None and _DECIMAL.fullmatch(cell) else cell
