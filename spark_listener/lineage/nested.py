"""Columns within columns, out of Spark's text of a type: `struct<street:string,lines:array<struct<n:int>>>`.

For the schema facet, whose convention has `_element` for what an array holds, `key` and `value` for a map. Names stand in the text as they
are: one that makes it ambiguous is not guessed at, and the column is told without what is in it.
"""

from __future__ import annotations

from typing import Any

_DEEPEST = 20


def fields_of(text: str) -> list[dict[str, Any]]:
    """The fields of a type; none where it has none, or where its text cannot be told apart."""
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
    """Whether it looks like one type: a word, with what is in it in brackets, and nothing that belongs to a name."""
    head = text.partition("<")[0].partition("(")[0]
    return head.replace("_", "").replace(" ", "").isalnum()


def _parts(text: str) -> list[str]:
    """What stands between the outermost commas."""
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
