"""Objects of JSON as texts by column, and whether Spark's parser surely read the same of them.

Numbers stay the text that they were, so that none loses a digit on the way. What Spark's parser takes and Python's refuses (single quotes,
comments) is read as nothing here, and is never certain.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

_LONGEST = 16 << 20  # bytes of a record; Spark's parser has bounds for texts beyond it
_WHOLE = re.compile(r"-?[0-9]{1,19}")
_FLOATING = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?")
_FIXED = re.compile(r"-?([0-9]{1,38})(?:\.([0-9]{1,38}))?")
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


class Number(str):
    """The text of a number, which is no text of JSON."""

    __slots__ = ()


class NotOnceError(ValueError):
    """A name is there twice in an object."""


def value_of(text: str | bytes, *, once: bool = False) -> Any:
    """A value of JSON. With `once` no name may be there twice in an object.

    Raises:
        ValueError: it is none.
        RecursionError: it is too deep.
    """
    pairs = _only_once if once else None
    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=Number, object_pairs_hook=pairs)


def texts(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> pa.Table:
    """The columns of some objects, each a text or null."""
    return pa.table([pa.array([_text(record.get(name)) for record in records], pa.string()) for name in names], names=[*names])


def are_certain(records: Sequence[Any], columns: Sequence[tuple[str, str]], *, corrupt: str) -> bool:
    """Whether each value is of a form of which Spark surely read what stands there. `columns` are name and Spark's type of each.

    One bad value may make a record malformed, and so change its others: each column counts, but for the one that holds bad records.
    """
    kinds = [(name, _form(kind.lower())) for name, kind in columns if name != corrupt]
    return all(isinstance(record, dict) and all(_is_certain(record.get(name), form) for name, form in kinds) for record in records)


def line_value(line: bytes) -> Any:
    """The value of a line that is surely one object, each name once; None where it may not be."""
    if len(line) > _LONGEST:
        return None
    try:
        return value_of(line.decode(), once=True)
    except (ValueError, RecursionError):
        return None


def _is_certain(value: Any, form: Callable[[Any], bool] | None) -> bool:
    return value is None or (form is not None and form(value))


def _form(kind: str) -> Callable[[Any], bool] | None:
    """The condition on a value of a type of Spark; None where nothing is certain."""
    if kind in _BITS:
        most = 1 << (_BITS[kind] - 1)
        return lambda value: isinstance(value, Number) and _WHOLE.fullmatch(value) is not None and -most <= int(value) < most
    if kind in ("float", "double"):
        return lambda value: isinstance(value, Number) and _FLOATING.fullmatch(value) is not None
    if kind == "boolean":
        return lambda value: isinstance(value, bool)
    if kind == "string":
        return _is_text
    if kind == "date":
        return lambda value: _is_text(value) and _DATE.fullmatch(value) is not None
    if decimal := _DECIMAL.fullmatch(kind):
        whole, scale = int(decimal[1]) - int(decimal[2]), int(decimal[2])
        return lambda value: isinstance(value, Number) and _fits(value, whole, scale)
    return None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, Number) and value == _encodable(value)


def _fits(value: Number, whole: int, scale: int) -> bool:
    match = _FIXED.fullmatch(value)
    return match is not None and len(match[1].lstrip("0")) <= whole and len(match[2] or "") <= scale


def _only_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise NotOnceError("a name is there twice")
    return made


def _text(value: Any) -> str | None:
    text = value if value is None or isinstance(value, str) else json.dumps(_plain(value))
    return text if text is None else _encodable(text)


def _encodable(text: str) -> str:
    """A text without halves of surrogate pairs, which JSON may escape and no encoding has."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _plain(value: Any) -> Any:
    """A value whose numbers are numbers again, to be written as JSON."""
    if isinstance(value, Number):
        return json.loads(value)
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value
