"""Cells of CSV files and tables."""

from __future__ import annotations

import json
import re
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the last four are full-width forms
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?inf(?:inity)?")


def cell_text(value: Any) -> str:
    """Return a value as text: nothing for null, JSON for lists and objects."""
    if value is None or value == []:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (dict, list, tuple)) else str(value)


def inert(value: Any) -> str:
    """Return a CSV cell that a spreadsheet does not read as a formula. A text that looks like a formula gets an apostrophe in front.

    A carriage return becomes a line feed, because the CSV writer does not quote it, and the text after it would begin a new cell.
    """
    text = cell_text(value).replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text
