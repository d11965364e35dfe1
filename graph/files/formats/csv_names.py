"""Checks that the columns of a CSV file are those that its first line names.

The service uses it to hide columns by name. A manifest may state a wrong separator, quote or header, which moves values into a column of
another name. So the names are certain only if the first line of the file has them, and if every line has as many cells by all usual rules.
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
from headwater.graph.files.compression import unpack_file
from headwater.graph.files.formats.dialect import Dialect
from headwater.graph.files.formats.multiline import is_multiline, split_records
from headwater.graph.files.lines import LineRules, find_lines, find_positions, read_whole_text
from headwater.graph.files.read_files import ReadFile
from headwater.graph.files.shapes import Shape

CutFunction = Callable[[str, Dialect], Sequence[str | None]]

_MARKS = str.maketrans("", "", "\"'\\")
_SEPARATORS = frozenset(",;\t|\x01")
_ENCODINGS = frozenset({"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin1", "windows-1252"})
_QUOTES = (('"', "\\"), ('"', '"'), ("'", "\\"), ("'", "'"))  # pairs of quote and escape character
# A certain name has no character that may be a separator or a quote, and does not begin like a number.
_NAME = re.compile(r"[^\W\d](?:[^\x00-\x1f,;:|^~\"'`\\{}\[\]<>=]*[^\x00-\x20,;:|^~\"'`\\{}\[\]<>=])?")


def find_names(file: ReadFile, shape: Shape, cut_line: CutFunction) -> ColumnNames:
    """Return the column names of a file. They are uncertain if the file's first line does not confirm the shape's names.

    `cut_line` cuts a line in the way that answers do.
    """
    names, options = [name for name, _ in shape.columns], dict(shape.options)
    shape_names = frozenset({*names, *(name for name, _ in shape.partitions)})
    dialect = Dialect.from_options(options)
    if not _is_usual(dialect, options) or len(names) < 2 or len({name.casefold() for name in names}) < len(names):
        return UNCERTAIN
    try:
        content = unpack_file(file.stored)
        header = _read_first_line(content)
        if header is None:  # an empty file has no values
            return ColumnNames(is_certain=True, may_be_renamed=True, file_names=shape_names)
        if (
            [cell or "" for cell in cut_line(header, dialect)] != names
            or not _is_even(header, dialect, len(names), cut_line)
            or not all(map(_NAME.fullmatch, names))
        ):
            return UNCERTAIN
        if is_multiline(options):
            is_even = all(
                len(record.cells) == len(names) for record in split_records(read_whole_text(file.stored), options, file.stored.name)
            )
        else:
            is_even = _has_even_lines(content, dialect, len(names), _get_comment(options), cut_line)
    except (OSError, UnsupportedError, UnicodeDecodeError):
        return UNCERTAIN
    # If the shape has columns that the first line lacks, the line may not be a header.
    return ColumnNames(is_even, may_be_renamed=True, file_names=shape_names) if is_even else UNCERTAIN


def _is_usual(dialect: Dialect, options: Mapping[str, Any]) -> bool:
    return (
        dialect.separator in _SEPARATORS
        and dialect.quote == '"'
        and dialect.escape in ("\\", '"')
        and dialect.encoding.lower() in _ENCODINGS
        and _get_comment(options) in ("", "#")
    )


def _get_comment(options: Mapping[str, Any]) -> str:
    return {name.lower(): str(value) for name, value in options.items()}.get("comment", "")


def _read_first_line(content: mmap | bytes) -> str | None:
    """Return the first line of a file. None if the file is empty.

    Raises:
        UnicodeDecodeError: the line is not text.
    """
    if not len(content):
        return None
    end = min(place if (place := content.find(mark)) >= 0 else len(content) for mark in (b"\n", b"\r"))
    return bytes(content[:end]).removeprefix(b"\xef\xbb\xbf").decode()


def _has_even_lines(content: mmap | bytes, dialect: Dialect, width: int, comment: str, cut_line: CutFunction) -> bool:
    """Return whether each line that is a record has the same number of cells, however it is quoted."""
    lines = find_lines(content, LineRules(blank=False, header=False, comment=comment.encode()))
    begins, ends = lines.begins, lines.ends
    quotes = np.sort(np.concatenate([find_positions(content, ord(quote)) for quote in "\"'"]))
    quoted = np.searchsorted(quotes, ends) > np.searchsorted(quotes, begins)
    cuts = find_positions(content, ord(dialect.separator))
    counts = np.searchsorted(cuts, ends) - np.searchsorted(cuts, begins) + 1
    if np.any(counts[~quoted] != width):
        return False
    return all(_is_even(line.decode("utf-8", "replace"), dialect, width, cut_line) for line in lines.read(np.flatnonzero(quoted)))


def _is_even(line: str, dialect: Dialect, width: int, cut_line: CutFunction) -> bool:
    """Return whether a line has this number of cells for the reader, and no other usual dialect merges its cells differently."""
    cells = _find_cells(line, dialect)
    if cells is None or len(cells) != width:
        return False
    answer_cells = cut_line(line, replace(dialect, null="\0", empty=""))
    if [_is_bare(line[begin:end]) for begin, end in cells] != [_is_bare(cell or "") for cell in answer_cells]:
        return False
    other_cells = [
        cells_of_dialect
        for quote, escape in _QUOTES
        if (cells_of_dialect := _find_cells(line, replace(dialect, quote=quote, escape=escape))) is not None
    ]
    return all(cells_of_dialect == cells or len(cells_of_dialect) == line.count(dialect.separator) + 1 for cells_of_dialect in other_cells)


def _is_bare(cell: str) -> str:
    return cell.translate(_MARKS).strip()


def _find_cells(line: str, dialect: Dialect) -> list[tuple[int, int]] | None:
    """Return the bounds of the cells of a line if each is bare or fully quoted, otherwise None."""
    pattern, cells, place = _make_pattern(dialect.separator, dialect.quote, dialect.escape), list[tuple[int, int]](), 0
    while (match := pattern.match(line, place)) is not None:
        cells.append(match.span())
        place = match.end() + 1
        if place > len(line):
            return cells
        if line[match.end()] != dialect.separator:
            return None
    return None


@cache
def _make_pattern(separator: str, quote: str, escape: str) -> re.Pattern[str]:
    separator, quote, escape = re.escape(separator), re.escape(quote), re.escape(escape)
    inner = f"[^{quote}]|{quote}{quote}" if escape == quote else f"[^{quote}{escape}]|{quote}{quote}|{escape}."
    return re.compile(f"{quote}(?:{inner})*+{quote}|[^{separator}{quote}]*+", re.DOTALL)
