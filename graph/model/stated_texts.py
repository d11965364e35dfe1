"""Checks the texts that people state about nodes, before they are in the log.

Entries that are in the log already are never checked again, because a rebuilt graph must contain all of them. A removal may name any text:
producers state what they like, and people must be able to remove it.
"""

from __future__ import annotations

import unicodedata

from headwater.errors import InvalidInputError
from headwater.graph.model.declaration import Aspect, Declaration

LONGEST_NAME = 200  # characters of an owner, a tag or a term
LONGEST_TEXT = 20_000  # characters of a description
_LONGEST_OTHER = 2_000
_LINES = "\n\t"
_UNSEEN = ("Cc", "Cs", "Zl", "Zp")  # controls, halves of characters, ends of lines
# These turn the direction of the text that follows, so that a name looks like another name. Right-to-left scripts do not need them.
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_LONGEST: dict[Aspect, int] = {
    Aspect.OWNER: LONGEST_NAME, Aspect.STEWARD: LONGEST_NAME, Aspect.TAG: LONGEST_NAME, Aspect.TERM: LONGEST_NAME,
    Aspect.BROADER: LONGEST_NAME,
    Aspect.DESCRIPTION: LONGEST_TEXT, Aspect.RETENTION: _LONGEST_OTHER, Aspect.LEGAL_HOLD: _LONGEST_OTHER,
}  # fmt: skip


def check_texts(declaration: Declaration) -> None:
    """Check the texts of all descriptions.

    Raises:
        InvalidInputError: a text is too long, blank, or has a character that nobody sees; `field` is its path.
    """
    if declaration.by and (fault := find_fault(declaration.by, LONGEST_NAME)) is not None:
        raise InvalidInputError(f"$.by is no name: {fault}.", field="$.by", hint="Change the text.")
    for index, description in enumerate(declaration.descriptions):
        longest = _LONGEST.get(description.aspect)
        if longest is not None and not description.removed:
            fault = find_fault(description.value, longest, lines=description.aspect is Aspect.DESCRIPTION)
            if fault is not None:
                field = f"$.descriptions[{index}].value"
                raise InvalidInputError(f"{field} is no {description.aspect}: {fault}.", field=field, hint="Change the text.")


def find_fault(text: str, longest: int, *, lines: bool = False) -> str | None:
    r"""Return what is wrong with a text that people will read, or None. `lines`: the text may have several lines.

    >>> find_fault("gold", 10), find_fault("two\nlines", 10)
    (None, 'it contains U+000A, which is not shown')
    """
    if len(text) > longest:
        return f"it has {len(text):,} characters, and {longest:,} are the most"
    if not text.strip():
        return "it is blank"
    if text != text.strip() and not lines:
        return "it begins or ends with a space"
    for character in text:
        if character in _TURNS:
            return f"it contains U+{ord(character):04X}, which changes the direction of the text after it"
        if unicodedata.category(character) in _UNSEEN and not (lines and character in _LINES):
            return f"it contains U+{ord(character):04X}, which is not shown"
    return None
