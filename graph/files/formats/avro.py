"""Avro: records by their number in the file, read by fastavro (the extra "avro")."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from headwater.errors import UnsupportedError
from headwater.graph.associations import Sink, Source
from headwater.graph.duck.memory_tables import Database
from headwater.graph.files.avro_blocks import AvroBlocks, avro
from headwater.graph.files.column_names import UNCERTAIN, ColumnNames
from headwater.graph.files.formats.base import Format
from headwater.graph.files.formats.loaded_records import chosen, loaded
from headwater.graph.files.reader import Reader, ReadFile, Wanted
from headwater.graph.files.shapes import Shape
from headwater.graph.records.decode import Longs

_PLAIN = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
}
# Of these types a value means the same to Spark and here, if the file has the type.
_CERTAIN = {
    "boolean": "boolean", "tinyint": "int", "smallint": "int", "int": "int", "bigint": "long", "float": "float", "double": "double",
    "string": "string", "date": "date",
}  # fmt: skip
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_OLDEST = date(1600, 1, 1)  # before 1582 a file's days may be of another calendar
_PRIMITIVES = frozenset({*_PLAIN, "null", "bytes", "record", "array", "map", "error"})
# Options by which Spark finds a column's values otherwise than by its name in the file's own schema.
_OTHERWISE = ("avroschema", "avroschemaurl", "positionalfieldmatching")


class Avro(Format):
    """Columns by name, rows by their number. A reference counts the records of its split."""

    @property
    def unreadable(self) -> str | None:
        return None

    def first_of_split(self, reader: Reader, file: ReadFile, shape: Shape, start: int) -> int:
        del shape
        return reader.avro_blocks(file).before(start)

    def count(self, reader: Reader, database: Database, shape: Shape, file: ReadFile) -> int:
        del database, shape
        return reader.avro_blocks(file).records

    def column_names(self, reader: Reader, database: Database, shape: Shape, files: Sequence[ReadFile]) -> list[ColumnNames]:
        del database
        if not self.tells_columns(shape):
            return [UNCERTAIN] * len(files)
        return [_names(reader, file) for file in files]

    def names_at_writer(self, source: Source, sink: Sink, names: Collection[str]) -> frozenset[str] | None:
        """The file keeps the names."""
        if sink.format != self.name or _otherwise(source.options):
            return None
        return frozenset(names)

    def query(
        self,
        reader: Reader,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted: Wanted | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        exact = frozenset(columns or ())
        if own := _otherwise(dict(shape.options)):
            raise UnsupportedError(
                f"Records of Avro read with the option {own} cannot be read here.", hint="Ask for an answer without values."
            )
        return loaded(database, shape, files, wanted, lambda file, rows: _read(reader, file, shape, rows, exact))


def _names(reader: Reader, file: ReadFile) -> ColumnNames:
    try:
        schema = reader.avro_blocks(file).schema
    except (OSError, UnsupportedError):
        return UNCERTAIN
    fields = schema.get("fields", ()) if isinstance(schema, Mapping) else ()
    inner = {field["name"]: _field_names(field["type"]) for field in fields}
    everything = frozenset().union(*inner.values())  # a type of a name is declared in one field, and used in others
    pairs = {(column, name) for column, names in inner.items() for name in (everything if None in names else names) if name is not None}
    return ColumnNames(is_certain=True, others=frozenset(pairs))


def _field_names(declared: Any) -> set[str | None]:
    """The names of fields within a type of Avro; None stands for those of a type that is declared elsewhere."""
    if isinstance(declared, list):
        return {name for one in declared for name in _field_names(one)}
    if not isinstance(declared, Mapping):
        return set() if declared is None or declared in _PRIMITIVES else {None}
    if declared.get("type") == "enum" or declared.get("type") == "fixed":
        return set()
    found = {name for part in ("type", "items", "values") for name in _field_names(declared.get(part))}
    for field in declared.get("fields", ()):
        found |= {field["name"], *_field_names(field["type"])}
    return found


def _otherwise(options: Mapping[str, Any]) -> str | None:
    given = {name.lower(): str(value).lower() for name, value in options.items()}
    return next((name for name in _OTHERWISE if given.get(name, "false") != "false"), None)


def _read(reader: Reader, file: ReadFile, shape: Shape, rows: Longs | None, exact: frozenset[str]) -> tuple[Longs, pa.Table]:
    blocks = reader.avro_blocks(file)
    fields = _fields(blocks, file)
    found = [_found(fields, column, kind, column in exact, file) for column, kind in shape.columns]
    rows = chosen(rows, blocks.records)
    records = _records(file, blocks, rows)
    columns = []
    for (name, _), (place, arrow) in zip(shape.columns, found, strict=True):
        values = [None if place is None else record.get(place) for record in records]
        if name in exact and pa.types.is_date(arrow) and any(value is not None and value < _OLDEST for value in values):
            raise UnsupportedError(f"What Spark read in {name} is not certain: a date before 1600.")
        columns.append(_column(values, arrow, file))
    return rows, pa.table(columns, names=[str(place) for place in range(len(columns))])


def _fields(blocks: AvroBlocks, file: ReadFile) -> Mapping[str, Any]:
    """The types of the file's fields, by name."""
    schema = blocks.schema
    if not isinstance(schema, Mapping) or schema.get("type") != "record":
        raise UnsupportedError(f"{file.stored.name} holds no records of Avro, but values of another type.")
    return {field["name"]: field["type"] for field in schema["fields"]}


def _found(fields: Mapping[str, Any], column: str, kind: str, exact: bool, file: ReadFile) -> tuple[str | None, pa.DataType]:
    """The file's field for a column, as Spark finds it, and its Arrow type; no name where there is none: Spark reads null."""
    met = [name for name in fields if name == column] or [name for name in fields if name.lower() == column.lower()]
    ambiguous = sum(name.lower() == column.lower() for name in fields) > 1
    stored, arrow = _type(fields[met[0]]) if met else (None, pa.string())
    if exact and (not met or ambiguous or stored != _wanted(kind)):
        raise UnsupportedError(f"What Spark read in {column} is not certain: {kind}; {file.stored.name} has {stored or 'no such field'}.")
    return (met[0], arrow) if met and (not ambiguous or met[0] == column) else (None, pa.string())


def _wanted(kind: str) -> str:
    """The type of Avro, as `_type` calls it, that surely holds values of a type of Spark."""
    lower = kind.lower()
    decimal = _DECIMAL.fullmatch(lower)
    return f"decimal({decimal[1]},{decimal[2]})" if decimal else _CERTAIN.get(lower, "none")


def _type(declared: Any) -> tuple[str | None, pa.DataType]:
    """The name of a type and the Arrow type for its values; a name that nothing asks for, and text, where it is a composed one."""
    if isinstance(declared, list):  # a union
        others = [one for one in declared if one != "null"]
        return _type(others[0]) if len(others) == 1 and len(declared) <= 2 else ("union", pa.string())
    if isinstance(declared, str):
        return declared, _PLAIN.get(declared, pa.string())
    kind, logical = declared.get("type"), declared.get("logicalType")
    if logical == "decimal" and kind in ("bytes", "fixed"):
        precision, scale = int(declared["precision"]), int(declared.get("scale", 0))
        return (f"decimal({precision},{scale})", pa.decimal128(precision, scale)) if 0 < precision <= 38 else ("decimal", pa.string())
    if logical == "date" and kind == "int":
        return "date", pa.date32()
    if logical in ("timestamp-millis", "timestamp-micros", "local-timestamp-millis", "local-timestamp-micros") and kind == "long":
        return str(logical), pa.timestamp("us")
    return (kind, _PLAIN[kind]) if logical is None and kind in _PLAIN else (f"{kind} {logical}", pa.string())


def _records(file: ReadFile, blocks: AvroBlocks, rows: Longs) -> list[Mapping[str, Any]]:
    """The records of some numbers, ascending. Only blocks that hold one are decoded."""
    holding = blocks.holding(rows)
    numbers = (number for block in holding.tolist() for number in range(int(blocks.firsts[block]), int(blocks.firsts[block + 1])))
    wanted = set(rows.tolist())
    try:
        decoded = avro().reader(blocks.cut(file.stored.content(), holding))
        return [record for number, record in zip(numbers, decoded, strict=True) if number in wanted]
    except UnsupportedError:
        raise
    except Exception as error:  # whatever a library meets in a damaged file
        raise OSError(f"{file.stored.name} cannot be read as Avro: {error}") from error


def _column(values: Sequence[Any], arrow: pa.DataType, file: ReadFile) -> pa.Array:
    try:
        if pa.types.is_timestamp(arrow):
            values = [value.replace(tzinfo=None) if isinstance(value, datetime) else value for value in values]
        elif pa.types.is_string(arrow):
            values = [value if value is None or isinstance(value, str) else _text(value) for value in values]
        return pa.array(values, arrow)
    except (pa.ArrowException, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise OSError(f"{file.stored.name} cannot be read as Avro: {error}") from error


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else json.dumps(value, default=str)
