"""Lines of text → columns of text, as Spark's readers cut them. Typing comes after, in DuckDB.

pyarrow cuts CSV where its rules and Spark's cannot differ (no escape character in the data, every line of the same width); what
it refuses is cut line by line.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv


@dataclass(frozen=True, slots=True)
class Dialect:
    """How Spark was told to read a CSV file. Names and defaults are its own."""

    separator: str = ","
    quote: str = '"'
    escape: str = "\\"
    null: str = ""
    encoding: str = "utf-8"
    trim_left: bool = False
    trim_right: bool = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Dialect:
        """From a reader's options."""
        given = {name.lower(): str(value) for name, value in options.items()}
        return cls(
            separator=given.get("sep", given.get("delimiter", ",")),
            quote=given.get("quote", '"'),
            escape=given.get("escape", "\\"),
            null=given.get("nullvalue", ""),
            encoding=given.get("encoding", given.get("charset", "utf-8")),
            trim_left=given.get("ignoreleadingwhitespace", "false").lower() == "true",
            trim_right=given.get("ignoretrailingwhitespace", "false").lower() == "true",
        )


def texts(format_: str, lines: Sequence[bytes], names: Sequence[str], options: Mapping[str, Any]) -> pa.Table:
    """The columns of some lines, each a text or null, in the order of the lines."""
    if format_ == "csv":
        return _csv(lines, names, Dialect.of(options))
    if format_ == "json":
        return _json(lines, names)
    return pa.table({names[0]: pa.array([line.decode("utf-8", "replace") for line in lines], pa.string())})


def _csv(lines: Sequence[bytes], names: Sequence[str], dialect: Dialect) -> pa.Table:
    joined = b"\n".join(lines)
    if _plain(joined, dialect):
        try:
            table = _fast(joined, names, dialect)
        except pa.ArrowInvalid:
            pass  # lines of different widths, or an open quote: cut one by one, as Spark does
        else:
            if table.num_rows == len(lines):
                return table
    return _slow(lines, names, dialect)


def _plain(joined: bytes, dialect: Dialect) -> bool:
    simple = len(dialect.separator) == 1 and dialect.encoding.lower() in {"utf-8", "utf8"} and not (dialect.trim_left or dialect.trim_right)
    return bool(joined) and simple and (dialect.escape == dialect.quote or dialect.escape.encode() not in joined)


def _fast(joined: bytes, names: Sequence[str], dialect: Dialect) -> pa.Table:
    return pacsv.read_csv(
        io.BytesIO(joined),
        read_options=pacsv.ReadOptions(column_names=list(names)),
        parse_options=pacsv.ParseOptions(delimiter=dialect.separator, quote_char=dialect.quote or False, ignore_empty_lines=False),
        convert_options=pacsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[dialect.null],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )


def _slow(lines: Sequence[bytes], names: Sequence[str], dialect: Dialect) -> pa.Table:
    """Missing columns are null, columns beyond the schema are left out."""
    columns: list[list[str | None]] = [[] for _ in names]
    for line in lines:
        cells = _cells(line.decode(dialect.encoding, "replace"), dialect)
        for index, column in enumerate(columns):
            cell = cells[index] if index < len(cells) else None
            if cell is not None:
                cell = cell.lstrip() if dialect.trim_left else cell
                cell = cell.rstrip() if dialect.trim_right else cell
            column.append(None if cell == dialect.null else cell)
    return pa.table({name: pa.array(column, pa.string()) for name, column in zip(names, columns, strict=True)})


def _cells(line: str, dialect: Dialect) -> list[str]:
    if len(dialect.separator) != 1:
        return line.split(dialect.separator)
    own_escape = dialect.escape not in ("", dialect.quote)
    reader = csv.reader(
        [line],
        delimiter=dialect.separator,
        quotechar=dialect.quote or None,
        quoting=csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
        escapechar=dialect.escape if own_escape and '"' in line else None,  # Spark honours it within quotes alone
        doublequote=not own_escape,
    )
    return next(reader, [])


def _json(lines: Sequence[bytes], names: Sequence[str]) -> pa.Table:
    records = [_object(line) for line in lines]
    return pa.table({name: pa.array([_text(record.get(name)) for record in records], pa.string()) for name in names})


def _object(line: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}  # Spark reads a malformed line as a record of nulls
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)
