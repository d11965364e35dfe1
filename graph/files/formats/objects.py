"""Converts JSON objects to texts by column, and checks that Spark's parser certainly read the same.

Numbers stay text, so they keep all digits. Text that Spark's parser accepts and Python's refuses (single quotes, comments) becomes null
here, and is never certain.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

_LONGEST = 16 << 20  # bytes of a record; Spark's parser limits longer texts
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_FLOATING = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?")
_FIXED = re.compile(r"-?([0-9]{1,38})(?:\.([0-9]{1,38}))?")
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


class Number(str):
    """The text of a JSON number, as opposed to a JSON string."""

    __slots__ = ()


class NotOnceError(ValueError):
    """A name occurs twice in a JSON object."""


def parse_value(text: str | bytes, *, has_unique_names: bool = False) -> Any:
    """Parse a JSON value. With `has_unique_names`, refuse an object in which a name occurs twice.

    Raises:
        ValueError: the text is not JSON.
        RecursionError: the value is nested too deeply.
    """
    pairs = _make_unique_dict if has_unique_names else None
    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=Number, object_pairs_hook=pairs)


def make_texts(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> pa.Table:
    return pa.table([pa.array([_make_text(record.get(name)) for record in records], pa.string()) for name in names], names=[*names])


def are_certain(records: Sequence[Any], columns: Sequence[tuple[str, str]], *, corrupt: str) -> bool:
    """Return whether Spark certainly read the same from each value. `columns` are name and Spark's type of each.

    One bad value may make a record malformed, and so change its other values. So every column counts, except the column for corrupt
    records.
    """
    kinds = [(name, _make_form_check(kind.lower())) for name, kind in columns if name != corrupt]
    return all(isinstance(record, dict) and all(_is_certain(record.get(name), form) for name, form in kinds) for record in records)


def parse_line(line: bytes) -> Any:
    """Return the value of a line that is certainly one object with unique names, otherwise None."""
    if len(line) > _LONGEST:
        return None
    try:
        return parse_value(line.decode(), has_unique_names=True)
    except (ValueError, RecursionError):
        return None


def _is_certain(value: Any, form: Callable[[Any], bool] | None) -> bool:
    return value is None or (form is not None and form(value))


def _make_form_check(kind: str) -> Callable[[Any], bool] | None:
    """Return a condition on values of a Spark type. None if no value of the type is certain."""
    if kind in _BITS:
        greatest_value = 1 << (_BITS[kind] - 1)
        return lambda value: (
            isinstance(value, Number) and _WHOLE.fullmatch(value) is not None and -greatest_value <= int(value) < greatest_value
        )
    if kind in ("float", "double"):
        return lambda value: isinstance(value, Number) and _FLOATING.fullmatch(value) is not None
    if kind == "boolean":
        return lambda value: isinstance(value, bool)
    if kind == "string":
        return _is_text
    if kind == "date":
        return lambda value: _is_text(value) and _DATE.fullmatch(value) is not None
    if decimal := _DECIMAL.fullmatch(kind):
        whole_digits, scale = int(decimal[1]) - int(decimal[2]), int(decimal[2])
        return lambda value: isinstance(value, Number) and _fits(value, whole_digits, scale)
    return None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, Number) and value == _make_encodable(value)


def _fits(value: Number, whole_digits: int, scale: int) -> bool:
    match = _FIXED.fullmatch(value)
    return match is not None and len(match[1].lstrip("0")) <= whole_digits and len(match[2] or "") <= scale


def _make_unique_dict(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise NotOnceError("a name is there twice")
    return result


def _make_text(value: Any) -> str | None:
    text = value if value is None or isinstance(value, str) else json.dumps(_make_plain_value(value))
    return text if text is None else _make_encodable(text)


def _make_encodable(text: str) -> str:
    """Return a text without single surrogates, which JSON may escape but no encoding has."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _make_plain_value(value: Any) -> Any:
    if isinstance(value, Number):
        return json.loads(value)
    if isinstance(value, dict):
        return {name: _make_plain_value(entry) for name, entry in value.items()}
    return [_make_plain_value(entry) for entry in value] if isinstance(value, list) else value
