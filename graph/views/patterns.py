"""Patterns of names: `*` stands for any text, `?` for any character, `[abc]` for one of some; capitals and small letters are alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from functools import lru_cache

_FEW = 100  # names that are looked at one by one


def like(values: tuple[str, ...], text: str) -> bool:
    """Whether one of the patterns matches a text."""
    return _pattern(values).match(text) is not None


def all_like(values: tuple[str, ...], names: Sequence[str]) -> list[bool]:
    """`like` for each of tens of thousands of names: by arrays, where both tools are of one mind, which they are about ASCII."""
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


@lru_cache(maxsize=256)
def _pattern(values: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(translate(value) for value in values), re.IGNORECASE)


@lru_cache(maxsize=256)
def _expression(values: tuple[str, ...]) -> str | None:
    """The patterns for RE2; None where they are not of ASCII alone, or name one of some characters."""
    if not all(value.isascii() and "[" not in value and "\0" not in value for value in values):
        return None
    return r"(?is)\A(?:" + "|".join("".join(_WILD.get(letter) or re.escape(letter) for letter in value) for value in values) + r")\z"


_WILD = {"*": ".*", "?": "."}
