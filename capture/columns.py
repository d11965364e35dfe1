"""Reads the columns of a file: the header of CSV, the names in lines of JSON, the schema of Parquet and ORC.

Commits describe each complete file with them. Traces show columns, and predicates name them. A file with unreadable columns has no
columns here, and no error is raised.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

Columns = tuple[tuple[str, str], ...]  # name and Spark's type of each

_MOST_BYTES = 1 << 20  # of the beginning of a file, unpacked
_MOST_LINES = 100
_BLANKS = "".join(map(chr, range(33)))  # CSV skips a line of these characters only
_SEPARATORS = {"\\t": "\t", "\\\\": "\\"}  # as an option may spell them
_ARROW_TYPES = {
    "bool": "boolean", "int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "float": "float", "double": "double",
    "string": "string", "large_string": "string", "binary": "binary", "date32[day]": "date",
}  # fmt: skip


def columns_of(path: Path, format_: str, options: Mapping[str, str]) -> Columns:
    """Return the current columns of a file. They are empty if the file states none, cannot be read, or has another format."""
    reader = _READERS.get(format_)
    if reader is None:
        return ()
    try:
        return reader(path, options)
    except Exception:  # noqa: BLE001 - whatever a file holds, its program goes on
        return ()


def _csv_columns(path: Path, options: Mapping[str, str]) -> Columns:
    """Return the column names as Spark gives them: the names in the header, or `_c0`, `_c1` and so on."""
    cells = _first_cells(_lines(path, options), options)
    null = options.get("nullvalue", "")
    if options.get("header", "false").lower() != "true":
        return tuple((f"_c{place}", "string") for place in range(len(cells)))
    folded = [cell.lower() for cell in cells]
    names = []
    for place, cell in enumerate(cells):
        if cell in ("", null):
            names.append(f"_c{place}")
        else:
            names.append(f"{cell}{place}" if folded.count(folded[place]) > 1 else cell)
    return tuple((name, "string") for name in names)


def _first_cells(lines: Iterable[str], options: Mapping[str, str]) -> list[str]:
    """Return the cells of the first line that is neither blank nor a comment."""
    comment = options.get("comment", "")
    separator = options.get("sep", options.get("delimiter", ","))
    separator = _SEPARATORS.get(separator, separator)
    quote, escape = options.get("quote", '"'), options.get("escape", "\\")
    records: Iterable[str] = (line for line in lines if line.strip(_BLANKS) and not (comment and line.startswith(comment)))
    if options.get("multiline", "false").lower() != "true":
        records = islice(records, 1)
    if len(separator) != 1:
        return next(iter(records), "").rstrip("\n").split(separator)
    own_escape = escape not in ("", quote)
    reader = csv.reader(
        records, delimiter=separator, quotechar=quote or None, quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        escapechar=escape if own_escape else None, doublequote=not own_escape,
    )  # fmt: skip
    return next(reader, [])


def _json_columns(path: Path, options: Mapping[str, str]) -> Columns:
    """Return the names in the objects of the first lines, in alphabetical order as Spark infers them."""
    if options.get("multiline", "false").lower() == "true":
        found: list[Any] = [json.loads("".join(_lines(path, options)))]
    else:
        found = [_parsed(line) for line in islice(_lines(path, options), _MOST_LINES)]
    objects = [one for each in found for one in (each if isinstance(each, list) else [each]) if isinstance(one, dict)]
    return tuple((name, "string") for name in sorted({name for one in objects for name in one}))


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _parquet_columns(path: Path, options: Mapping[str, str]) -> Columns:
    from pyarrow import parquet  # heavy

    del options
    return _of_schema(parquet.read_schema(path))


def _orc_columns(path: Path, options: Mapping[str, str]) -> Columns:
    from pyarrow import orc  # heavy

    del options
    return _of_schema(orc.ORCFile(path).schema)


def _of_schema(schema: Any) -> Columns:
    def type_of(kind: Any) -> str:
        text = str(kind)
        return _ARROW_TYPES.get(text) or (text.replace("decimal128", "decimal") if text.startswith("decimal128(") else "string")

    return tuple((field.name, type_of(field.type)) for field in schema)


def _lines(path: Path, options: Mapping[str, str]) -> Iterator[str]:
    """Yield the first lines of a file. A line ends at LF, CR or CRLF, and is returned with LF. A line beyond the limit is left out."""
    left = _MOST_BYTES
    encoding = options.get("encoding", options.get("charset", "utf-8"))
    with _opened(path) as raw, io.TextIOWrapper(raw, encoding=encoding, errors="replace") as text:
        while line := text.readline(left):
            left -= len(line)
            if left <= 0:
                return
            yield line.removeprefix("\ufeff")


def _opened(path: Path) -> Any:
    """Open a file. Unpack it if its name has the ending of a compression.

    Raises:
        OSError: this compression is not supported here.
    """
    if path.suffix in _NOT_UNPACKED:
        raise OSError(f"{path.name} is not unpacked")
    if path.suffix == ".zst":
        import pyarrow as pa  # heavy

        with pa.input_stream(path, compression="zstd") as stream:
            return io.BytesIO(stream.read(_MOST_BYTES))
    if path.suffix == ".deflate":
        return io.BytesIO(zlib.decompressobj().decompress(path.read_bytes(), _MOST_BYTES))
    return _STREAMS.get(path.suffix, open)(path, "rb")


_NOT_UNPACKED = frozenset({".lz4", ".snappy", ".xz", ".zip"})
PACKED = frozenset({".bz2", ".deflate", ".gz", ".zst"}) | _NOT_UNPACKED
_STREAMS: dict[str, Callable[[Path, str], Any]] = {".gz": gzip.open, ".bz2": bz2.open}
_READERS: dict[str, Callable[[Path, Mapping[str, str]], Columns]] = {
    "csv": _csv_columns, "json": _json_columns, "parquet": _parquet_columns, "orc": _orc_columns,
}  # fmt: skip
