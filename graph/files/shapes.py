"""The shape of a dataset's files: format, options, columns, and the columns in folder names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headwater.errors import UnsupportedError
from headwater.graph.associations import Sink, Source
from headwater.graph.associations.parts import SinkColumn, SourceColumn
from headwater.paths import partition_pairs, partition_text

_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
_WHOLE = re.compile(r"-?\d{1,18}")
_INT_DIGITS = 10
_DATE = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])")
_PAIR = re.compile(r"([^/=]+)=([^/]*)/")


@dataclass(frozen=True, slots=True)
class Shape:
    """How to read files. `columns` are name and Spark type in the dataset's order, without the partition columns in `partitions`.

    `ids` are field ids by name, for a table that finds its columns by them. `defaulted` are columns with a default value in files without
    them.
    """

    format: str
    options: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, str], ...]
    partitions: tuple[tuple[str, str], ...] = ()
    ids: tuple[tuple[str, int], ...] = ()
    defaulted: frozenset[str] = frozenset()

    @classmethod
    def from_source(cls, source: Source) -> Shape:
        columns = [(c.name, c.type) for c in source.columns]
        is_file = any(file.path == source.path for file in source.files)  # a file is never a partition's folder, whatever its name
        shape = _make_shape(source.format, source.options, columns, source.partition_columns, "" if is_file else source.within)
        return replace(shape, ids=_list_ids(source.columns), defaulted=frozenset(c.name for c in source.columns if c.default))

    @classmethod
    def from_sink(cls, sink: Sink) -> Shape:
        """Return the shape in which files were written. The writer's options have the same names as a reader's."""
        shape = _make_shape(sink.format, sink.options, [(c.name, c.type) for c in sink.columns], sink.partition_columns, sink.within)
        return replace(shape, ids=_list_ids(sink.columns))

    @classmethod
    def from_names(cls, names: Iterable[str]) -> Shape:
        """Return the shape of files without a capture, by their names: Parquet, or lines of text.

        Raises:
            UnsupportedError: some files are Parquet, and some are not.
        """
        file_names = list(names)
        parquet, other_files = ([name for name in file_names if name.endswith(".parquet") is is_parquet] for is_parquet in (True, False))
        if parquet and other_files:
            first, second = (examples[0].rpartition("/")[2] for examples in (parquet, other_files))
            raise UnsupportedError(
                f"{first} is Parquet and {second} is not, in one dataset, and no capture says how they are read.",
                hint="Capture a run that reads or writes it.",
            )
        if parquet:
            return cls("parquet", (), ())
        return cls("text", (), (("value", "string"),))


def find_partition_values(uri: str, shape: Shape, stated_values: Mapping[str, Any]) -> dict[str, str | None]:
    """Return a file's values of partition columns. Stated values take precedence over values in its path."""
    if not shape.partitions:
        return {}
    in_path = {partition_text(name).lower(): partition_text(value) for name, value in _PAIR.findall(uri)}
    values: dict[str, str | None] = {}
    for name, _ in shape.partitions:
        value = stated_values[name] if name in stated_values else in_path.get(name.lower())
        values[name] = None if value is None or value == _HIVE_NULL else str(value)
    return values


def _list_ids(columns: Iterable[SourceColumn | SinkColumn]) -> tuple[tuple[str, int], ...]:
    return tuple((column.name, column.id) for column in columns if column.id is not None)


def _make_shape(format_: str, options: Mapping[str, Any], columns: list[tuple[str, str]], partitions: tuple[str, ...], part: str) -> Shape:
    """Make a shape. `part` is the path of the only partition that was read or written; its columns are not in the files."""
    split = {name.lower() for name in partitions}
    types = {name.lower(): kind for name, kind in columns}
    in_path = [(name, _infer_type(value)) for name, value in partition_pairs(part).items() if name.lower() not in split | types.keys()]
    return Shape(
        format=format_,
        options=tuple(sorted((name.lower(), str(value)) for name, value in options.items())),
        columns=tuple((name, kind) for name, kind in columns if name.lower() not in split),
        partitions=(*in_path, *((name, types.get(name.lower(), "string")) for name in partitions)),
    )


def _infer_type(value: str) -> str:
    """Return the type that Spark infers for a partition column from a folder name."""
    if _WHOLE.fullmatch(value):
        return "int" if len(value) < _INT_DIGITS else "bigint"
    return "date" if _DATE.fullmatch(value) else "string"
