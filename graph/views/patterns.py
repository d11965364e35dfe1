"""Patterns for names: `*` is any text, `?` any character, `[abc]` one of some characters. Upper and lower case are equal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from functools import lru_cache

_FEW = 100  # names that are matched one by one


def like(values: tuple[str, ...], text: str) -> bool:
    return _pattern(values).match(text) is not None


def all_like(values: tuple[str, ...], names: Sequence[str]) -> list[bool]:
    """Return `like` for each of many names. ASCII patterns are matched by RE2 over an array, which gives the same result."""
    expression = _expression(values) if len(names) > _FEW else None
    if expression is None:
        match = _pattern(values).match
        return [match(name) is not None for name in names]
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pa.array(names, pa.large_string())
    try:
        found: list[bool] = pc.match_substring_regex(column, expression).to_pylist()
    except pa.ArrowInvalid:  # more patterns than RE2 has room for
        return [like(values, name) for name in names]
    if not pc.all(pc.string_is_ascii(column), min_count=0).as_py():
        return [found[place] if name.isascii() else like(values, name) for place, name in enumerate(names)]
    return found


def expression_of(values: tuple[str, ...]) -> re.Pattern[str]:
    """Return the regular expression of some patterns, to be matched from the beginning."""
    return re.compile("|".join(translate(value) for value in values), re.IGNORECASE)


_pattern = lru_cache(maxsize=256)(expression_of)


@lru_cache(maxsize=256)
def _expression(values: tuple[str, ...]) -> str | None:
    """Return the patterns for RE2. None if they are not ASCII, or have a list of characters."""
    if not all(value.isascii() and "[" not in value and "\0" not in value for value in values):
        return None
    return r"(?is)\A(?:" + "|".join("".join(_WILD.get(letter) or re.escape(letter) for letter in value) for value in values) + r")\z"


_WILD = {"*": ".*", "?": "."}
