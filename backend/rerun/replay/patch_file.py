"""Reads the patch file of a what-if replay: new values of records, by file and row, or by key columns.

CSV, with a header: the columns `file` and `row` (from 0) identify a record, or the key columns of the option `--key`. The other columns are
new values. An empty cell changes nothing, and `NULL` is NULL. JSON Lines: each line is `{"file": …, "row": …, "set": {column: value}}` or
`{"key": {column: value}, "set": {column: value}}`.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.errors import InvalidQueryError

_MOST = 1000  # limit of records, because each one is looked up
_PLACE = ("file", "row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """New values of one record, as text; None is NULL. `place` is (file, 0-based row). Without it, `key` has the values of key columns."""

    place: tuple[str, int] | None = None
    key: Mapping[str, str | None]
    values: Mapping[str, str | None]

    @property
    def where(self) -> str | None:
        """Return the predicate that selects the record by its key (DuckDB SQL)."""
        if self.place is not None:
            return None
        return " AND ".join(
            f"{_quoted(name)} IS NULL" if value is None else f"CAST({_quoted(name)} AS VARCHAR) = {_literal(value)}"
            for name, value in self.key.items()
        )


def read_patch_file(path: Path, keys: Sequence[str] = ()) -> list[Patch]:
    """Read a patch file. `keys` are the key columns of a CSV file without `file` and `row`.

    Raises:
        InvalidQueryError: the file cannot be read, or a line is not a patch.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise InvalidQueryError(f"The patch file {path} cannot be read: {error}", field="patch") from error
    lines = text.splitlines()
    patches = _read_json(path, lines) if path.suffix in (".json", ".jsonl", ".ndjson") else _read_csv(path, lines, keys)
    if not patches:
        raise InvalidQueryError(f"The patch file {path} has no record.", field="patch")
    if len(patches) > _MOST:
        raise InvalidQueryError(f"The patch file {path} has {len(patches)} records, more than {_MOST}.", field="patch")
    return patches


def _read_csv(path: Path, lines: Sequence[str], keys: Sequence[str]) -> list[Patch]:
    reader = csv.DictReader(lines, strict=True)
    names = list(reader.fieldnames or ())
    by_place = not keys and set(_PLACE) <= set(names)
    found = [name for name in keys if name not in names]
    if found or (not by_place and not keys):
        raise InvalidQueryError(
            f"{path} has the columns {', '.join(names)}." if not found else f"{path} has no column {found[0]}.",
            field="key", hint="Name records by the columns file and row, or name the key columns with --key.",
        )  # fmt: skip
    patches = []
    try:
        for number, row in enumerate(reader, start=2):
            if None in row or None in row.values():
                raise InvalidQueryError(f"Line {number} of {path} has another number of columns than its header.", field="patch")
            named = _PLACE if by_place else keys
            values = {name: _cell(value) for name, value in row.items() if name not in named and value != ""}
            place = _place(path, number, row["file"], row["row"]) if by_place else None
            patches.append(_patch(path, number, place, {name: _cell(row[name]) for name in keys}, values))
    except csv.Error as error:
        raise InvalidQueryError(f"{path} is no CSV file: {error}", field="patch") from error
    return patches


def _read_json(path: Path, lines: Sequence[str]) -> list[Patch]:
    patches = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except ValueError as error:
            raise InvalidQueryError(f"Line {number} of {path} is no JSON: {error}", field="patch") from error
        if not isinstance(entry, dict) or not isinstance(entry.get("set"), dict) or not set(entry) <= {*_PLACE, "key", "set"}:
            raise InvalidQueryError(
                f"Line {number} of {path} is no patch.", field="patch", hint='For example: {"key": {"id": 3}, "set": {"v": 4}}'
            )
        key = entry.get("key") or {}
        place = _place(path, number, entry.get("file"), entry.get("row")) if "file" in entry else None
        if not isinstance(key, dict) or (place is None) == (not key):
            raise InvalidQueryError(f"Line {number} of {path} names no record.", field="patch", hint="Give file and row, or key.")
        patches.append(_patch(path, number, place, _texts(path, number, key), _texts(path, number, entry["set"])))
    return patches


def _patch(
    path: Path, number: int, place: tuple[str, int] | None, key: Mapping[str, str | None], values: Mapping[str, str | None]
) -> Patch:
    if not values:
        raise InvalidQueryError(f"Line {number} of {path} changes nothing.", field="patch")
    return Patch(place=place, key=key, values=values)


def _place(path: Path, number: int, file: Any, row: Any) -> tuple[str, int]:
    text = str(row)
    if not isinstance(file, str) or not file or not (text.isascii() and text.isdigit()):
        raise InvalidQueryError(f"Line {number} of {path} has no file and row.", field="patch", hint="Rows count from 0.")
    return file, int(text)


def _texts(path: Path, number: int, values: Mapping[str, Any]) -> dict[str, str | None]:
    if wrong := [name for name, value in values.items() if isinstance(value, (dict, list))]:
        raise InvalidQueryError(f"Line {number} of {path}: the value of {wrong[0]} is no single value.", field="patch")
    return {name: json.dumps(value) if isinstance(value, (bool, int, float)) else value for name, value in values.items()}


def _cell(text: str) -> str | None:
    return None if text == "NULL" else text


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
