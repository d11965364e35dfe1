"""Fields within columns, from Spark's text of a type: `struct<street:string,lines:array<struct<n:int>>>`.

The schema facet lists them. It uses `_element` for the elements of an array, and `key` and `value` for a map. A type's text does not quote
names. An ambiguous text is not guessed at: the column is stated without its fields.
"""

from __future__ import annotations

from typing import Any

_DEEPEST = 20


def fields_of(text: str) -> list[dict[str, Any]]:
    """Return the fields of a type. Empty if it has none, or its text is ambiguous."""
    try:
        return _fields(text, 0)
    except ValueError:
        return []


def _fields(text: str, depth: int) -> list[dict[str, Any]]:
    kind, bracket, inner = text.partition("<")
    if not bracket or depth > _DEEPEST:
        return []
    if not inner.endswith(">"):
        raise ValueError(text)
    inner = inner[:-1]
    if kind == "struct":
        named = [part.partition(":")[::2] for part in _parts(inner)] if inner else []
    elif kind == "array":
        named = [("_element", inner)]
    elif kind == "map":
        named = list(zip(("key", "value"), _parts(inner), strict=True))
    else:
        return []
    if not all(name and _is_type(kind_) for name, kind_ in named):
        raise ValueError(text)
    return [{"name": name, "type": kind_, "fields": _fields(kind_, depth + 1)} for name, kind_ in named]


def _is_type(text: str) -> bool:
    """Return whether a text looks like one type: a word, with its contents in brackets, and nothing else."""
    head = text.partition("<")[0].partition("(")[0]
    return head.replace("_", "").replace(" ", "").isalnum()


def _parts(text: str) -> list[str]:
    parts, depth, begin = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "<(") - (letter in ">)")
        if depth < 0:
            raise ValueError(text)
        if letter == "," and depth == 0:
            parts.append(text[begin:place])
            begin = place + 1
    if depth:
        raise ValueError(text)
    return [*parts, text[begin:]]
