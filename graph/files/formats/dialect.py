"""How Spark was told to write or read CSV, and a cell's value by that."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_BLANKS = "".join(map(chr, range(33)))  # what Java's trim takes off
_SEPARATORS = {"\\t": "\t", "\\\\": "\\"}  # as they may be written in an option


@dataclass(frozen=True, slots=True)
class Dialect:
    """How Spark was told to read a CSV file. Names and defaults are its own."""

    separator: str = ","
    quote: str = '"'
    escape: str = "\\"
    null: str = ""
    empty: str = ""
    encoding: str = "utf-8"
    trim_left: bool = False
    trim_right: bool = False
    corrupt: str = "_corrupt_record"  # the column for lines that do not fit, if there is one

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Dialect:
        """From a reader's options."""
        given = {name.lower(): str(value) for name, value in options.items()}
        separator = given.get("sep", given.get("delimiter", ","))
        return cls(
            separator=_SEPARATORS.get(separator, separator),
            quote=given.get("quote", '"'),
            escape=given.get("escape", "\\"),
            null=given.get("nullvalue", ""),
            empty=given.get("emptyvalue", ""),
            encoding=given.get("encoding", given.get("charset", "utf-8")),
            trim_left=given.get("ignoreleadingwhitespace", "false").lower() == "true",
            trim_right=given.get("ignoretrailingwhitespace", "false").lower() == "true",
            corrupt=given.get("columnnameofcorruptrecord", "_corrupt_record"),
        )

    @property
    def cell(self) -> str:
        """The pattern of a cell that is surely one: without quotes, or all of it between two. Group 1: between quotes; 2: without."""
        separator, quote = re.escape(self.separator), re.escape(self.quote)
        if not self.quote:
            return f"()((?:(?!{separator}).)*)"  # group 1 is never a cell's
        inner = f"[^{quote}]|{quote}{quote}" if self.escape == self.quote else f"[^{quote}{re.escape(self.escape)}]"
        return f"{quote}((?:{inner})*){quote}|((?:(?!{separator}|{quote}).)*)"


def value_of(match: re.Match[str], dialect: Dialect) -> str | None:
    """The value of a cell as a pattern found it. Group 1: between quotes; 2: without."""
    between, bare = match[1], match[2]
    if bare is None:
        return between.replace(dialect.quote * 2, dialect.quote) or dialect.empty
    return trimmed(bare, dialect) or None


def trimmed(text: str, dialect: Dialect) -> str:
    """A text without blanks, where the dialect says so."""
    text = text.lstrip(_BLANKS) if dialect.trim_left else text
    return text.rstrip(_BLANKS) if dialect.trim_right else text
