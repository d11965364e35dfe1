"""Whether the columns of a CSV file are surely those that its first line names.

For whoever hides columns by name. A manifest may state any separator, quote or header, and so move values into a column of another name.
So the names are certain only if the file has them in its first line, and if every line has as many cells by all usual rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from mmap import mmap
from typing import Any

import numpy as np

from headwater.errors import UnsupportedError
from headwater.graph.files.column_names import UNCERTAIN, ColumnNames
from headwater.graph.files.compression import unpacked
from headwater.graph.files.formats.dialect import Dialect
from headwater.graph.files.formats.multiline import is_multiline, records_of
from headwater.graph.files.lines import LineRules, find_lines, positions, text_of
from headwater.graph.files.reader import ReadFile
from headwater.graph.files.shapes import Shape

Cut = Callable[[str, Dialect], Sequence[str | None]]

_MARKS = str.maketrans("", "", "\"'\\")
_SEPARATORS = frozenset(",;\t|\x01")
_ENCODINGS = frozenset({"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin1", "windows-1252"})
_QUOTES = (('"', "\\"), ('"', '"'), ("'", "\\"), ("'", "'"))  # with the escape character
# A name that is surely one: it has no character that may be a separator or a quote, and does not begin as a number does.
_NAME = re.compile(r"[^\W\d](?:[^\x00-\x1f,;:|^~\"'`\\{}\[\]<>=]*[^\x00-\x20,;:|^~\"'`\\{}\[\]<>=])?")


def find_names(file: ReadFile, shape: Shape, cut: Cut) -> ColumnNames:
    """The names of a file's columns; uncertain if the file does not prove those of the shape. `cut` is how lines are cut for an answer."""
    names, options = [name for name, _ in shape.columns], dict(shape.options)
    known = frozenset({*names, *(name for name, _ in shape.partitions)})
    dialect = Dialect.of(options)
    if not _is_usual(dialect, options) or len(names) < 2 or len({name.casefold() for name in names}) < len(names):
        return UNCERTAIN
    try:
        content = unpacked(file.stored)
        header = _first_line(content)
        if header is None:  # an empty file has no values
            return ColumnNames(is_certain=True, may_be_renamed=True, known=known)
        if (
            [cell or "" for cell in cut(header, dialect)] != names
            or not _is_even(header, dialect, len(names), cut)
            or not all(map(_NAME.fullmatch, names))
        ):
            return UNCERTAIN
        if is_multiline(options):
            is_even = all(len(record.cells) == len(names) for record in records_of(text_of(file.stored), options, file.stored.name))
        else:
            is_even = _has_even_lines(content, dialect, len(names), _comment(options), cut)
    except (OSError, UnsupportedError, UnicodeDecodeError):
        return UNCERTAIN
    # Another producer may know columns of these files that the first line lacks: then it may be no header.
    return ColumnNames(is_even, may_be_renamed=True, known=known) if is_even else UNCERTAIN


def _is_usual(dialect: Dialect, options: Mapping[str, Any]) -> bool:
    return (
        dialect.separator in _SEPARATORS
        and dialect.quote == '"'
        and dialect.escape in ("\\", '"')
        and dialect.encoding.lower() in _ENCODINGS
        and _comment(options) in ("", "#")
    )


def _comment(options: Mapping[str, Any]) -> str:
    return {name.lower(): str(value) for name, value in options.items()}.get("comment", "")


def _first_line(content: mmap | bytes) -> str | None:
    """The first line of a file; None if it has none.

    Raises:
        UnicodeDecodeError: it is no text.
    """
    if not len(content):
        return None
    end = min(place if (place := content.find(mark)) >= 0 else len(content) for mark in (b"\n", b"\r"))
    return bytes(content[:end]).removeprefix(b"\xef\xbb\xbf").decode()


def _has_even_lines(content: mmap | bytes, dialect: Dialect, width: int, comment: str, cut: Cut) -> bool:
    """Whether each line that is a record has as many cells, however it is quoted."""
    lines = find_lines(content, LineRules(blank=False, header=False, comment=comment.encode()))
    begins, ends = lines.begins, lines.ends
    quotes = np.sort(np.concatenate([positions(content, ord(quote)) for quote in "\"'"]))
    quoted = np.searchsorted(quotes, ends) > np.searchsorted(quotes, begins)
    cuts = positions(content, ord(dialect.separator))
    counts = np.searchsorted(cuts, ends) - np.searchsorted(cuts, begins) + 1
    if np.any(counts[~quoted] != width):
        return False
    return all(_is_even(line.decode("utf-8", "replace"), dialect, width, cut) for line in lines.read(np.flatnonzero(quoted)))


def _is_even(line: str, dialect: Dialect, width: int, cut: Cut) -> bool:
    """Whether a line has as many cells, the reader cuts it there, and no other usual dialect merges other cells of it."""
    cells = _cells(line, dialect)
    if cells is None or len(cells) != width:
        return False
    shown = cut(line, replace(dialect, null="\0", empty=""))
    if [_bare(line[begin:end]) for begin, end in cells] != [_bare(cell or "") for cell in shown]:
        return False
    merged = [other for quote, escape in _QUOTES if (other := _cells(line, replace(dialect, quote=quote, escape=escape))) is not None]
    return all(other == cells or len(other) == line.count(dialect.separator) + 1 for other in merged)


def _bare(cell: str) -> str:
    return cell.translate(_MARKS).strip()


def _cells(line: str, dialect: Dialect) -> list[tuple[int, int]] | None:
    """Where the cells of a line begin and end if each is bare, or all of it stands between quotes; else None."""
    pattern, found, place = _pattern(dialect.separator, dialect.quote, dialect.escape), list[tuple[int, int]](), 0
    while (match := pattern.match(line, place)) is not None:
        found.append(match.span())
        place = match.end() + 1
        if place > len(line):
            return found
        if line[match.end()] != dialect.separator:
            return None
    return None


@cache
def _pattern(separator: str, quote: str, escape: str) -> re.Pattern[str]:
    separator, quote, escape = re.escape(separator), re.escape(quote), re.escape(escape)
    inner = f"[^{quote}]|{quote}{quote}" if escape == quote else f"[^{quote}{escape}]|{quote}{quote}|{escape}."
    return re.compile(f"{quote}(?:{inner})*+{quote}|[^{separator}{quote}]*+", re.DOTALL)
