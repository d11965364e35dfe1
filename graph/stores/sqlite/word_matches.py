"""The words of the index that a word of a text may mean, and the expression of FTS5 for them.

Every word in an expression is the code of a word (letters and digits), between quotation marks.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headwater.graph.model import NodeKind
from headwater.graph.search import SearchRequest
from headwater.graph.search.words import allowed_edits, code, edits, facet_code, pieces

_LETTERS = 3
_MOST_CONTAINING = 200  # words that contain a word
_MOST_COMPARED = 1_500  # words that are compared letter by letter
_MOST_SIMILAR = 20


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a text, and for each the other words that count as the same. `forgiven`: some of these have other letters."""

    words: Sequence[str]
    others: Mapping[str, Sequence[str]]
    forgiven: bool

    def all_of(self, kinds: Sequence[NodeKind], chosen: str, *, own: bool) -> str:
        """Return the expression for nodes with each of the words. `own`: at least one is a word of the node itself."""
        parts = [f"{{own place}} : ({self._spellings(word)})" for word in self.words] if len(self.words) > 1 or not own else []
        if own:
            parts.append(f"own : ({' OR '.join(map(self._spellings, self.words))})")
        return _joined([*parts, _of_kinds(kinds), chosen])

    def any_of(self, kinds: Sequence[NodeKind], chosen: str) -> str:
        """Return the expression for nodes with one of the words."""
        return _joined([f"own : ({' OR '.join(map(self._spellings, self.words))})", _of_kinds(kinds), chosen])

    def literally(self, kinds: Sequence[NodeKind], chosen: str) -> str:
        """Return the expression for nodes that have each word literally."""
        return _joined([f"own : ({' AND '.join(_quoted(code(word)) for word in self.words)})", _of_kinds(kinds), chosen])

    def _spellings(self, word: str) -> str:
        return " OR ".join([f"{_quoted(code(word))} *", *map(_quoted, self.others.get(word, ()))])


def chosen_facets(request: SearchRequest, tenant: str | None) -> str:
    """Return the expression for nodes with the chosen facets, or an empty text. `tenant`: only nodes of this tenant."""
    parts = [_any([facet_code("x", tenant)])] if tenant is not None else []
    parts += [_any(facet_code(name, value) for value in values) for name, values in request.chosen() if values]
    return _joined(parts)


def expand(connection: sqlite3.Connection, tenant: str, words: Sequence[str], *, forgiving: bool, is_restricted: bool = False) -> Words:
    """Find other words for those of a text: words that contain them, and words within some typing errors of an unknown word.

    `forgiving`: also of a known word. For a restricted caller, only then: whether a word is known would tell of hidden names.
    """
    others: dict[str, list[str]] = {}
    forgiven = False
    for word in words:
        containing = _containing(connection, tenant, word, _MOST_CONTAINING) if len(word) >= _LETTERS else []
        others[word] = containing
        if forgiving or not (is_restricted or containing or _begins(connection, tenant, word)):
            others[word] = [*containing, *_similar(connection, tenant, word)]
            forgiven = True
    return Words(words, {word: list(dict.fromkeys(found)) for word, found in others.items()}, forgiven)


def _begins(connection: sqlite3.Connection, tenant: str, word: str) -> bool:
    """Whether a known word begins with a word."""
    start = code(word)
    return (
        connection.execute(
            "SELECT 1 FROM word WHERE tenant = ? AND folded >= ? AND folded < ? LIMIT 1", (tenant, start, f"{start}{chr(0x10FFFF)}")
        ).fetchone()
        is not None
    )


def _containing(connection: sqlite3.Connection, tenant: str, part: str, most: int, lengths: tuple[int, int] = (0, 1_000)) -> list[str]:
    part = code(part)
    starts = {*range(0, len(part) - _LETTERS + 1, _LETTERS), len(part) - _LETTERS}
    found = connection.execute(
        "SELECT w.folded FROM word_part CROSS JOIN word AS w ON w.key = word_part.rowid "
        "WHERE word_part MATCH ? AND w.tenant = ? AND instr(w.folded, ?) > 0 AND length(w.folded) BETWEEN ? AND ? LIMIT ?",
        (" AND ".join(_quoted(part[start : start + _LETTERS]) for start in sorted(starts)), tenant, part, *lengths, most),
    )
    return [word for (word,) in found]


def _similar(connection: sqlite3.Connection, tenant: str, word: str) -> list[str]:
    """Return the words within the allowed number of typing errors, nearest first."""
    most = allowed_edits(word)
    if not most or not word.isascii():
        return []
    lengths = (len(word) - most, len(word) + most)
    compared: dict[str, None] = {}
    for piece in pieces(word):
        if len(piece) >= _LETTERS:
            compared.update(dict.fromkeys(_containing(connection, tenant, piece, _MOST_COMPARED, lengths)))
        else:  # the error may be in the rest of a short word
            found = connection.execute(
                "SELECT folded FROM word WHERE tenant = ? AND folded >= ? AND folded < ? AND length(folded) BETWEEN ? AND ? LIMIT ?",
                (tenant, word[0], f"{word[0]}{chr(0x10FFFF)}", *lengths, _MOST_COMPARED),
            )
            compared.update((other, None) for (other,) in found)
    near = [(count, other) for other in compared if (count := edits(word, other, most)) <= most]
    return [other for _, other in sorted(near)[:_MOST_SIMILAR]]


def _of_kinds(kinds: Sequence[NodeKind]) -> str:
    return _any(f"k{kind.value}" for kind in kinds)


def _any(tokens: Iterable[str]) -> str:
    return f"facet : ({' OR '.join(map(_quoted, tokens))})"


def _joined(parts: Iterable[str]) -> str:
    return " AND ".join(f"({part})" for part in parts if part)


def _quoted(token: str) -> str:
    return f'"{token}"'
