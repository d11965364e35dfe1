"""Removes needless parentheses from a condition of Spark, which nests the parts of an AND.

The meaning never changes. Spark does not quote string literals in a condition, so parentheses may be text of the program. A condition with
unbalanced parentheses is returned unchanged.
"""

from __future__ import annotations

_AND, _OR = " AND ", " OR "
_LONGEST = 2_000  # in characters; the time grows with the length and the depth of the condition


def plain_condition(text: str) -> str:
    """Remove the parentheses around a condition, and around the parts that AND joins. A part with an OR keeps its parentheses."""
    if len(text) > _LONGEST or not _is_balanced(text):
        return text
    whole = _bare(text)
    parts, waiting = list[str](), _split(whole)[::-1]
    if len(waiting) == 1:
        return whole
    while waiting:
        part = waiting.pop()
        inner = [part] if _OR in part else _split(_bare(part))
        if len(inner) > 1:
            waiting += reversed(inner)
        else:
            parts += inner
    return _AND.join(parts)


def _bare(text: str) -> str:
    text = text.strip()
    while text.startswith("(") and _closing(text) == len(text) - 1:
        text = text[1:-1].strip()
    return text


def _split(text: str) -> list[str]:
    parts, depth, begin = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and text.startswith(_AND, place):
            parts.append(text[begin:place].strip())
            begin = place + len(_AND)
    return [*parts, text[begin:].strip()]


def _closing(text: str) -> int:
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0:
            return place
    return len(text)


def _is_balanced(text: str) -> bool:
    depth = 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if depth < 0:
            return False
    return depth == 0
