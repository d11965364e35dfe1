"""CSV read with multiLine: records that may go over several lines, as Spark's parser cuts a file.

A record is cut here only where the cut is certain: cells are bare, or quotes stand around the whole of them. What stands otherwise would
shift every record behind it, so the file is then refused as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from headwater.errors import UnsupportedError
from headwater.graph.files.formats.dialect import Dialect, value_of

_MAY_BE_VALUE = re.compile(r"\w")
_BEGINNINGS = frozenset("+-.$\"'(")
_PLAIN_ENCODINGS = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})


class Record(NamedTuple):
    """The cells of a record, and the line, from 1, with which it begins."""

    line: int
    cells: list[str | None]


def is_multiline(options: Mapping[str, Any]) -> bool:
    """Whether a reader's options say that records may go over several lines."""
    return {name.lower(): str(value) for name, value in options.items()}.get("multiline", "false").lower() == "true"


def records_of(text: str, options: Mapping[str, Any], name: str) -> list[Record]:
    """The records of a file's text, without header, comments and blank lines; `name` is for messages.

    Raises:
        UnsupportedError: how Spark cut the text is not certain.
    """
    dialect = Dialect.of(options)
    given = {key.lower(): str(value) for key, value in options.items()}
    check_comment(given.get("comment", ""))
    _check(text, dialect, given, name)
    end = "\r\n" if "\r" in text else "\n"
    cell, comment = _cell(dialect), given.get("comment", "")
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
                raise _uncertain(name, f"the quotes of a cell in line {line}")
            cells.append(value_of(match, dialect))
            place = match.end()
            if not text.startswith(dialect.separator, place):
                break
            place += len(dialect.separator)
        if place < len(text) and not text.startswith(end, place):
            raise _uncertain(name, f"the quotes of a cell in line {line}")
        if len(cells) == 1 and not text[begin:place].strip():
            raise _uncertain(name, f"line {line}, which holds blanks alone")
        records.append(Record(line, cells))
        line += text.count("\n", begin, place) + 1
        place += len(end)
    return records[1:] if given.get("header", "false").lower() == "true" else records


def check_comment(comment: str) -> None:
    """See that no line is left out for what its first value begins with: the number of records would tell of the values.

    Raises:
        UnsupportedError: a comment may begin as a value does.
    """
    if len(comment) > 1 or _MAY_BE_VALUE.search(comment) or comment in _BEGINNINGS:
        raise UnsupportedError(f"Records of a CSV file with comments that begin with {comment!r} cannot be told from comments.")


def _check(text: str, dialect: Dialect, given: Mapping[str, str], name: str) -> None:
    """See that the text and the options are of the kind that is cut for certain."""
    if given.get("linesep") is not None:
        raise _uncertain(name, "a line separator of one's own")
    if dialect.encoding.lower() not in _PLAIN_ENCODINGS:
        raise _uncertain(name, f"the encoding {dialect.encoding}")
    if any(_MAY_BE_VALUE.search(one) for one in (dialect.separator, dialect.quote, dialect.escape)):
        raise _uncertain(name, "a separator, quote or escape that is a letter or a digit")
    if len(dialect.separator) != 1 or len(dialect.quote) != 1 or dialect.quote == "\0" or len(dialect.escape) > 1:
        raise _uncertain(name, "the separator, the quote or the escape character")
    if text.startswith("\ufeff"):
        raise _uncertain(name, "the mark of the byte order")
    if "\0" in text:
        raise _uncertain(name, "a character of code 0")
    returns = text.count("\r")
    if returns and not returns == text.count("\n") == text.count("\r\n"):
        raise _uncertain(name, "lines that end in different ways")


def _cell(dialect: Dialect) -> re.Pattern[str]:
    """A cell that is surely one. Group 1: between quotes; 2: without."""
    separator, quote, escape = (re.escape(one) for one in (dialect.separator, dialect.quote, dialect.escape))
    inner = f"[^{quote}]|{quote}{quote}" if dialect.escape == dialect.quote else f"[^{quote}{escape}]"
    return re.compile(f"{quote}((?:{inner})*+){quote}|([^{separator}{quote}\\r\\n]*+)")


def _uncertain(name: str, what: str) -> UnsupportedError:
    return UnsupportedError(f"How Spark cut {name} into records is not certain: {what}.")
