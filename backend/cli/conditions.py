"""A condition as people write it: without the parentheses in which Spark nests the parts of an AND.

Only what says the same is changed. In a condition, text of the program stands unquoted, parentheses too; where those
do not match, it is left as it is.
"""

from __future__ import annotations

_AND, _OR = " AND ", " OR "
_LONGEST = 2_000  # characters: nobody reads more, and each parenthesis within another costs one look at all of them


def plain_condition(text: str) -> str:
    """Return the condition without parentheses around all of it, or around parts that AND joins.

    A part with an OR keeps its own.
    """
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
    """Return the text without the parentheses around all of it."""
    text = text.strip()
    while text.startswith("(") and _closing(text) == len(text) - 1:
        text = text[1:-1].strip()
    return text


def _split(text: str) -> list[str]:
    """Return the parts between the ANDs that are outside parentheses."""
    parts, depth, begin = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and text.startswith(_AND, place):
            parts.append(text[begin:place].strip())
            begin = place + len(_AND)
    return [*parts, text[begin:].strip()]


def _closing(text: str) -> int:
    """Return the position of the parenthesis that closes the first one."""
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
