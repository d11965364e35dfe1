"""Writes the records of a difference to a CSV, JSON or Parquet file, page by page. A failed command leaves no file."""

from __future__ import annotations

import csv
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from headwater.backend.csv_cells import inert
from headwater.errors import ConfigurationError, InvalidQueryError
from headwater.graph.duck.sql import literal, quoted

Page = Mapping[str, Any]
Rows = Callable[[Page], list[dict[str, Any]]]
Places = Callable[[Sequence[Mapping[str, str]]], Sequence[str]]
_ENDINGS = (".csv", ".json", ".parquet")
_OWN_TYPES = {"row": "BIGINT", "line": "BIGINT"}


def check_ending(output: Path) -> None:
    """Check that the file name has the ending of a supported format. Raises `InvalidQueryError`."""
    if output.suffix.lower() not in _ENDINGS:
        raise InvalidQueryError(f"{output.name} names no known format.", field="output", hint=f"End the name with {', '.join(_ENDINGS)}.")


async def write_changes(pages: AsyncIterator[Page], output: Path, places_of: Places, rows_of: Rows) -> int:
    """Write the rows of all pages, and return their number. `places_of` names the columns before the columns of the data.

    Raises:
        ConfigurationError: the file cannot be written.
    """
    draft, lines = (output.with_name(f".{output.name}.{uuid4().hex}{end}") for end in (".tmp", ".lines"))
    kind = output.suffix.lower()
    count, columns = 0, list[Mapping[str, str]]()
    try:
        with (draft if kind != ".parquet" else lines).open("w", encoding="utf-8", newline="") as file:
            async for page in pages:
                columns = page["columns"]
                count += _write_rows(
                    file, kind, [*places_of(columns), *(column["name"] for column in columns)], rows_of(page), is_first=count == 0
                )
            if kind == ".json":
                file.write("\n]\n" if count else "[]\n")
        if kind == ".parquet":
            _to_parquet(lines, draft, places_of(columns), columns)
        draft.replace(output)
    except OSError as error:
        raise ConfigurationError(f"{output} cannot be written: {error.strerror}.", hint="Name another file with -o.") from error
    finally:
        draft.unlink(missing_ok=True)
        lines.unlink(missing_ok=True)
    return count


def _write_rows(file: IO[str], kind: str, names: Sequence[str], rows: Sequence[Mapping[str, Any]], *, is_first: bool) -> int:
    if kind == ".csv":
        writer = csv.writer(file, lineterminator="\n")
        if is_first:
            writer.writerow(map(inert, names))
        writer.writerows([inert(row.get(name)) for name in names] for row in rows)
    else:
        separator = ",\n" if kind == ".json" else "\n"
        for number, row in enumerate(rows):
            begin = "[\n" if kind == ".json" and is_first and number == 0 else separator
            file.write(begin if number or not is_first or kind == ".json" else "")
            json.dump(row, file, ensure_ascii=False, default=str)
    return len(rows)


def _to_parquet(lines: Path, draft: Path, places: Sequence[str], columns: Sequence[Mapping[str, str]]) -> None:
    """Write JSON lines as Parquet, with the types of the data. The lines contain bytes in hexadecimal form."""
    import duckdb

    types = {name: _OWN_TYPES.get(name.lstrip("_"), "VARCHAR") for name in places}
    types |= {column["name"]: "VARCHAR" if column["type"] == "BLOB" else column["type"] for column in columns}
    listed = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in types.items())
    blobs = {column["name"] for column in columns if column["type"] == "BLOB"}
    selected = ", ".join(f"unhex({quoted(name)}) AS {quoted(name)}" if name in blobs else quoted(name) for name in types)
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        source = f"read_json({literal(str(lines))}, format = 'newline_delimited', columns = {{{listed}}})"
        try:
            database.execute(f"COPY (SELECT {selected} FROM {source}) TO {literal(str(draft))} (FORMAT parquet)")
        except duckdb.IOException as error:
            raise ConfigurationError(f"{draft.parent} cannot be written: {error}.", hint="Name another file with -o.") from error
