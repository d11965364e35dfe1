"""Avro files: records are identified by their number in the file, and read by fastavro (the extra "avro")."""

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
from headwater.graph.files.avro_blocks import AvroBlocks, load_avro
from headwater.graph.files.column_names import UNCERTAIN, ColumnNames
from headwater.graph.files.formats.base import Format
from headwater.graph.files.formats.loaded_records import choose_rows, load_records
from headwater.graph.files.read_files import FileReader, ReadFile, WantedRows
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
# Values of these types mean the same to Spark and here, if the file has the type.
_CERTAIN = {
    "boolean": "boolean", "tinyint": "int", "smallint": "int", "int": "int", "bigint": "long", "float": "float", "double": "double",
    "string": "string", "date": "date",
}  # fmt: skip
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_OLDEST = date(1600, 1, 1)  # before 1582 a file's days may be in another calendar
_PRIMITIVES = frozenset({*_PLAIN, "null", "bytes", "record", "array", "map", "error"})
# With these options, Spark does not find a column's values by its name in the file's own schema.
_OTHERWISE = ("avroschema", "avroschemaurl", "positionalfieldmatching")


class Avro(Format):
    """The Avro format. Columns match by name. A reference counts the records of its split."""

    @property
    def unreadable_reason(self) -> str | None:
        return None

    def find_first_of_split(self, reader: FileReader, file: ReadFile, shape: Shape, start: int) -> int:
        del shape
        return reader.find_avro_blocks(file).count_before(start)

    def count_records(self, reader: FileReader, database: Database, shape: Shape, file: ReadFile) -> int:
        del database, shape
        return reader.find_avro_blocks(file).records

    def find_column_names(self, reader: FileReader, database: Database, shape: Shape, files: Sequence[ReadFile]) -> list[ColumnNames]:
        del database
        if not self.has_reliable_columns(shape):
            return [UNCERTAIN] * len(files)
        return [_list_names(reader, file) for file in files]

    def translate_to_writer(self, source: Source, sink: Sink, names: Collection[str]) -> frozenset[str] | None:
        """Return the same names, because Avro files store the names of columns."""
        if sink.format != self.name or _find_renaming_options(source.options):
            return None
        return frozenset(names)

    def make_query(
        self,
        reader: FileReader,
        database: Database,
        shape: Shape,
        files: Sequence[ReadFile],
        wanted_rows: WantedRows | None = None,
        columns: Iterable[str] | None = None,
    ) -> tuple[str, list[object]]:
        computed_columns = frozenset(columns or ())
        if renaming_options := _find_renaming_options(dict(shape.options)):
            raise UnsupportedError(
                f"Records of Avro read with the option {renaming_options} cannot be read here.", hint="Ask for an answer without values."
            )
        return load_records(
            database, shape, files, wanted_rows, lambda file, rows: _read_columns(reader, file, shape, rows, computed_columns)
        )


def _list_names(reader: FileReader, file: ReadFile) -> ColumnNames:
    try:
        schema = reader.find_avro_blocks(file).schema
    except (OSError, UnsupportedError):
        return UNCERTAIN
    fields = schema.get("fields", ()) if isinstance(schema, Mapping) else ()
    inner = {field["name"]: _list_field_names(field["type"]) for field in fields}
    all_names = frozenset().union(*inner.values())  # a named type is declared in one field, and used in others
    pairs = {(column, name) for column, names in inner.items() for name in (all_names if None in names else names) if name is not None}
    return ColumnNames(is_certain=True, other_names=frozenset(pairs))


def _list_field_names(definition: Any) -> set[str | None]:
    """Return the names of fields within an Avro type. None stands for the fields of a type that is declared elsewhere."""
    if isinstance(definition, list):
        return {name for subtype in definition for name in _list_field_names(subtype)}
    if not isinstance(definition, Mapping):
        return set() if definition is None or definition in _PRIMITIVES else {None}
    if definition.get("type") == "enum" or definition.get("type") == "fixed":
        return set()
    names = {name for part in ("type", "items", "values") for name in _list_field_names(definition.get(part))}
    for field in definition.get("fields", ()):
        names |= {field["name"], *_list_field_names(field["type"])}
    return names


def _find_renaming_options(options: Mapping[str, Any]) -> str | None:
    lower_options = {name.lower(): str(value).lower() for name, value in options.items()}
    return next((name for name in _OTHERWISE if lower_options.get(name, "false") != "false"), None)


def _read_columns(
    reader: FileReader, file: ReadFile, shape: Shape, rows: Longs | None, computed_columns: frozenset[str]
) -> tuple[Longs, pa.Table]:
    blocks = reader.find_avro_blocks(file)
    fields = _list_fields(blocks, file)
    found_fields = [_find_field(fields, column, kind, column in computed_columns, file) for column, kind in shape.columns]
    rows = choose_rows(rows, blocks.records)
    records = _read_records(file, blocks, rows)
    columns = []
    for (name, _), (place, arrow) in zip(shape.columns, found_fields, strict=True):
        values = [None if place is None else record.get(place) for record in records]
        if name in computed_columns and pa.types.is_date(arrow) and any(value is not None and value < _OLDEST for value in values):
            raise UnsupportedError(f"What Spark read in {name} is not certain: a date before 1600.")
        columns.append(_make_column(values, arrow, file))
    return rows, pa.table(columns, names=[str(place) for place in range(len(columns))])


def _list_fields(blocks: AvroBlocks, file: ReadFile) -> Mapping[str, Any]:
    schema = blocks.schema
    if not isinstance(schema, Mapping) or schema.get("type") != "record":
        raise UnsupportedError(f"{file.stored.name} holds no records of Avro, but values of another type.")
    return {field["name"]: field["type"] for field in schema["fields"]}


def _find_field(fields: Mapping[str, Any], column: str, kind: str, is_computed: bool, file: ReadFile) -> tuple[str | None, pa.DataType]:
    """Return the Avro field that Spark reads for a column, and its Arrow type.

    The name is None if there is no field: Spark reads null.
    """
    matching_names = [name for name in fields if name == column] or [name for name in fields if name.lower() == column.lower()]
    ambiguous = sum(name.lower() == column.lower() for name in fields) > 1
    stored, arrow = _describe_type(fields[matching_names[0]]) if matching_names else (None, pa.string())
    if is_computed and (not matching_names or ambiguous or stored != _find_avro_type(kind)):
        raise UnsupportedError(f"What Spark read in {column} is not certain: {kind}; {file.stored.name} has {stored or 'no such field'}.")
    return (matching_names[0], arrow) if matching_names and (not ambiguous or matching_names[0] == column) else (None, pa.string())


def _find_avro_type(kind: str) -> str:
    """Return the Avro type, in the words of `_describe_type`, whose values certainly equal those of a Spark type."""
    lower = kind.lower()
    decimal = _DECIMAL.fullmatch(lower)
    return f"decimal({decimal[1]},{decimal[2]})" if decimal else _CERTAIN.get(lower, "none")


def _describe_type(definition: Any) -> tuple[str | None, pa.DataType]:
    """Return the name and the Arrow type of an Avro type. A composed type is read as text, under a name that no Spark type matches."""
    if isinstance(definition, list):  # a union
        non_null_types = [union_type for union_type in definition if union_type != "null"]
        return _describe_type(non_null_types[0]) if len(non_null_types) == 1 and len(definition) <= 2 else ("union", pa.string())
    if isinstance(definition, str):
        return definition, _PLAIN.get(definition, pa.string())
    kind, logical = definition.get("type"), definition.get("logicalType")
    if logical == "decimal" and kind in ("bytes", "fixed"):
        precision, scale = int(definition["precision"]), int(definition.get("scale", 0))
        return (f"decimal({precision},{scale})", pa.decimal128(precision, scale)) if 0 < precision <= 38 else ("decimal", pa.string())
    if logical == "date" and kind == "int":
        return "date", pa.date32()
    if logical in ("timestamp-millis", "timestamp-micros", "local-timestamp-millis", "local-timestamp-micros") and kind == "long":
        return str(logical), pa.timestamp("us")
    return (kind, _PLAIN[kind]) if logical is None and kind in _PLAIN else (f"{kind} {logical}", pa.string())


def _read_records(file: ReadFile, blocks: AvroBlocks, rows: Longs) -> list[Mapping[str, Any]]:
    holding = blocks.find_holding(rows)
    numbers = (number for block in holding.tolist() for number in range(int(blocks.firsts[block]), int(blocks.firsts[block + 1])))
    wanted_rows = set(rows.tolist())
    try:
        decoded = load_avro().reader(blocks.cut_file(file.stored.content(), holding))
        return [record for number, record in zip(numbers, decoded, strict=True) if number in wanted_rows]
    except UnsupportedError:
        raise
    except Exception as error:  # the library raises anything for a damaged file
        raise OSError(f"{file.stored.name} cannot be read as Avro: {error}") from error


def _make_column(values: Sequence[Any], arrow: pa.DataType, file: ReadFile) -> pa.Array:
    try:
        if pa.types.is_timestamp(arrow):
            values = [value.replace(tzinfo=None) if isinstance(value, datetime) else value for value in values]
        elif pa.types.is_string(arrow):
            values = [value if value is None or isinstance(value, str) else _make_text(value) for value in values]
        return pa.array(values, arrow)
    except (pa.ArrowException, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise OSError(f"{file.stored.name} cannot be read as Avro: {error}") from error


def _make_text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else json.dumps(value, default=str)
