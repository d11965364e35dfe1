"""How the files of a dataset are read: format, options, columns, and the columns that lie in folder names."""

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
    """`columns` are name and Spark type in the dataset's order, without the partition columns; those stand in `partitions`.

    `ids` are those of the fields, by name, of a table that finds its columns by them; `defaulted` are columns that are not null where a
    file lacks them.
    """

    format: str
    options: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, str], ...]
    partitions: tuple[tuple[str, str], ...] = ()
    ids: tuple[tuple[str, int], ...] = ()
    defaulted: frozenset[str] = frozenset()

    @classmethod
    def of_source(cls, source: Source) -> Shape:
        """As a scan read it."""
        columns = [(c.name, c.type) for c in source.columns]
        is_file = any(file.path == source.path for file in source.files)  # whatever its name looks like, it is no folder of a partition
        shape = _shape(source.format, source.options, columns, source.partition_columns, "" if is_file else source.within)
        return replace(shape, ids=_ids(source.columns), defaulted=frozenset(c.name for c in source.columns if c.default))

    @classmethod
    def of_sink(cls, sink: Sink) -> Shape:
        """As it was written; a reader's options have the same names."""
        shape = _shape(sink.format, sink.options, [(c.name, c.type) for c in sink.columns], sink.partition_columns, sink.within)
        return replace(shape, ids=_ids(sink.columns))

    @classmethod
    def of_names(cls, names: Iterable[str]) -> Shape:
        """Of files that no capture describes, by their names: Parquet, or lines of text.

        Raises:
            UnsupportedError: some are Parquet, and some are not.
        """
        known = list(names)
        parquet, other = ([name for name in known if name.endswith(".parquet") is is_parquet] for is_parquet in (True, False))
        if parquet and other:
            first, second = (found[0].rpartition("/")[2] for found in (parquet, other))
            raise UnsupportedError(
                f"{first} is Parquet and {second} is not, in one dataset, and no capture says how they are read.",
                hint="Capture a run that reads or writes it.",
            )
        if parquet:
            return cls("parquet", (), ())
        return cls("text", (), (("value", "string"),))


def partition_values(uri: str, shape: Shape, given: Mapping[str, Any]) -> dict[str, str | None]:
    """The values of the partition columns for a file: as given, else from its path."""
    if not shape.partitions:
        return {}
    in_path = {partition_text(name).lower(): partition_text(value) for name, value in _PAIR.findall(uri)}
    found: dict[str, str | None] = {}
    for name, _ in shape.partitions:
        value = given[name] if name in given else in_path.get(name.lower())
        found[name] = None if value is None or value == _HIVE_NULL else str(value)
    return found


def _ids(columns: Iterable[SourceColumn | SinkColumn]) -> tuple[tuple[str, int], ...]:
    return tuple((column.name, column.id) for column in columns if column.id is not None)


def _shape(format_: str, options: Mapping[str, Any], columns: list[tuple[str, str]], partitions: tuple[str, ...], within: str) -> Shape:
    """`within` is the part of the dataset that was read or written by its path: a partition names columns that its files do not have."""
    split = {name.lower() for name in partitions}
    types = {name.lower(): kind for name, kind in columns}
    in_path = [(name, _type_of(value)) for name, value in partition_pairs(within).items() if name.lower() not in split | types.keys()]
    return Shape(
        format=format_,
        options=tuple(sorted((name.lower(), str(value)) for name, value in options.items())),
        columns=tuple((name, kind) for name, kind in columns if name.lower() not in split),
        partitions=(*in_path, *((name, types.get(name.lower(), "string")) for name in partitions)),
    )


def _type_of(value: str) -> str:
    """The type that Spark infers for a partition column from a text."""
    if _WHOLE.fullmatch(value):
        return "int" if len(value) < _INT_DIGITS else "bigint"
    return "date" if _DATE.fullmatch(value) else "string"
