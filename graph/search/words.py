"""The words of names, descriptions and questions, in the one form that indexes of all stores hold.

A word has no capital letters and no accents. An index gets ASCII only, because stores differ in what they take for a letter. Any other word
is the hexadecimal text of its UTF-8, which keeps beginnings: the code of `Straß` begins the code of `Straße`.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise

LONGEST = 40  # characters of a word; the rest is ignored
_RUN = re.compile(r"[^\W_]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_HEX = "q0x"  # begins the code of a word with other letters than ASCII


def plain(text: str) -> str:
    """Return a text without capital letters and accents."""
    if text.isascii():
        return text.lower()
    bare = "".join(letter for letter in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(letter))
    return bare.casefold().encode("utf-8", "replace").decode()


def words_of(text: str, most: int, *, whole: bool = True, parts: bool = True) -> list[str]:
    """Return the first words of a text, each once. The parts of `dailyOrders` and `orders2024` are words too.

    Without `whole`, words with parts are left out, and without `parts`, the parts.
    """
    found: dict[str, None] = {}
    for run in _RUN.finditer(text):
        inside = _PART.findall(run[0]) if parts and run[0].isascii() else []
        if whole or len(inside) < 2:
            found[plain(run[0])[:LONGEST]] = None
        if len(inside) > 1:
            found.update((part.lower()[:LONGEST], None) for part in inside)
        if len(found) >= most:
            break
    # A letter may become several words, or none, without its accents.
    return [word for word in found if word.isalnum()][:most]


def code(word: str) -> str:
    """Return the form of a word in an index: ASCII letters and digits."""
    return word if word.isascii() else _HEX + word.encode().hex()


def codes(words: Iterable[str]) -> str:
    """Return words as a text of their codes."""
    return " ".join(map(code, words))


@lru_cache(1 << 14)
def facet_code(name: str, value: str) -> str:
    """Return the word that stands for a value of a facet. Values may be long, so the word is a digest."""
    return name + hashlib.blake2b(value.encode("utf-8", "replace"), digest_size=8).hexdigest()


def edits(one: str, other: str, most: int) -> int:
    """Return the number of edits between two words, `most + 1` if there are more. Two swapped neighbours are one edit."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        before, last, row = row, before, [place]
        for index, against in enumerate(other, 1):
            cost = min(before[index] + 1, row[index - 1] + 1, before[index - 1] + (letter != against))
            if place > 1 and index > 1 and letter == other[index - 2] and one[place - 2] == against:
                cost = min(cost, last[index - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


def allowed_edits(word: str) -> int:
    """Return the number of typing errors that are forgiven in a word."""
    return 0 if len(word) < 4 or word.isdigit() else 1 if len(word) < 8 else 2


def pieces(word: str) -> Iterator[str]:
    """Yield parts of a word of which each word within `allowed_edits` contains at least one, if they have three letters.

    Two swapped letters may lie in two parts, so the parts of the word with these letters swapped back are yielded as well.
    """
    count = allowed_edits(word) + 1
    bounds = [round(place * len(word) / count) for place in range(count + 1)]
    spellings = [word]
    for bound in bounds[1:-1]:
        spellings += [f"{each[: bound - 1]}{each[bound]}{each[bound - 1]}{each[bound + 1 :]}" for each in spellings]
    yield from dict.fromkeys(spelling[begin:end] for spelling in spellings for begin, end in pairwise(bounds))
