"""CSV files read with multiLine: records may span several lines.

A record is cut only if each cell is bare or fully quoted. Any other cell could shift all later records, so the whole file is then refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from headwater.errors import UnsupportedError
from headwater.graph.files.formats.dialect import Dialect, get_value

_MAY_BE_VALUE = re.compile(r"\w")
_BEGINNINGS = frozenset("+-.$\"'(")
_PLAIN_ENCODINGS = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})


class Record(NamedTuple):
    """The cells of a CSV record, and its 1-based first line."""

    line: int
    cells: list[str | None]


def is_multiline(options: Mapping[str, Any]) -> bool:
    return {name.lower(): str(value) for name, value in options.items()}.get("multiline", "false").lower() == "true"


def split_records(text: str, options: Mapping[str, Any], name: str) -> list[Record]:
    """Return the records of a file's text, without header, comments and blank lines. `name` is for messages.

    Raises:
        UnsupportedError: Spark's cut of the text is not certain.
    """
    dialect = Dialect.from_options(options)
    lower_options = {key.lower(): str(value) for key, value in options.items()}
    check_comment(lower_options.get("comment", ""))
    _check_options(text, dialect, lower_options, name)
    end = "\r\n" if "\r" in text else "\n"
    cell, comment = _make_cell_pattern(dialect), lower_options.get("comment", "")
    records: list[Record] = []
    place, line = 0, 1
    while place < len(text):
        if text.startswith(end, place):
            place, line = place + len(end), line + 1
            continue
        if comment and text.startswith(comment, place):
            stop = text.find(end, place)
            place, line = (len(text) if stop < 0 else stop + len(end)), line + 1
            continue
        begin, cells = place, list[str | None]()
        while True:
            match = cell.match(text, place)
            if match is None:
                raise _make_uncertainty_error(name, f"the quotes of a cell in line {line}")
            cells.append(get_value(match, dialect))
            place = match.end()
            if not text.startswith(dialect.separator, place):
                break
            place += len(dialect.separator)
        if place < len(text) and not text.startswith(end, place):
            raise _make_uncertainty_error(name, f"the quotes of a cell in line {line}")
        if len(cells) == 1 and not text[begin:place].strip():
            raise _make_uncertainty_error(name, f"line {line}, which holds blanks alone")
        records.append(Record(line, cells))
        line += text.count("\n", begin, place) + 1
        place += len(end)
    return records[1:] if lower_options.get("header", "false").lower() == "true" else records


def check_comment(comment: str) -> None:
    """Check that a comment mark cannot be the beginning of a value. Otherwise the number of records would reveal values.

    Raises:
        UnsupportedError: a value may begin with the mark.
    """
    if len(comment) > 1 or _MAY_BE_VALUE.search(comment) or comment in _BEGINNINGS:
        raise UnsupportedError(f"Records of a CSV file with comments that begin with {comment!r} cannot be told from comments.")


def _check_options(text: str, dialect: Dialect, lower_options: Mapping[str, str], name: str) -> None:
    if lower_options.get("linesep") is not None:
        raise _make_uncertainty_error(name, "a line separator of one's own")
    if dialect.encoding.lower() not in _PLAIN_ENCODINGS:
        raise _make_uncertainty_error(name, f"the encoding {dialect.encoding}")
    if any(_MAY_BE_VALUE.search(mark) for mark in (dialect.separator, dialect.quote, dialect.escape)):
        raise _make_uncertainty_error(name, "a separator, quote or escape that is a letter or a digit")
    if len(dialect.separator) != 1 or len(dialect.quote) != 1 or dialect.quote == "\0" or len(dialect.escape) > 1:
        raise _make_uncertainty_error(name, "the separator, the quote or the escape character")
    if text.startswith("\ufeff"):
        raise _make_uncertainty_error(name, "the mark of the byte order")
    if "\0" in text:
        raise _make_uncertainty_error(name, "a character of code 0")
    returns = text.count("\r")
    if returns and not returns == text.count("\n") == text.count("\r\n"):
        raise _make_uncertainty_error(name, "lines that end in different ways")


def _make_cell_pattern(dialect: Dialect) -> re.Pattern[str]:
    separator, quote, escape = (re.escape(mark) for mark in (dialect.separator, dialect.quote, dialect.escape))
    inner = f"[^{quote}]|{quote}{quote}" if dialect.escape == dialect.quote else f"[^{quote}{escape}]"
    return re.compile(f"{quote}((?:{inner})*+){quote}|([^{separator}{quote}\\r\\n]*+)")


def _make_uncertainty_error(name: str, subject: str) -> UnsupportedError:
    return UnsupportedError(f"How Spark cut {name} into records is not certain: {subject}.")
