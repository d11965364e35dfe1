"""The options with which Spark writes or reads CSV, and the value of a cell under these options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_BLANKS = "".join(map(chr, range(33)))  # characters that Java's trim removes
_SEPARATORS = {"\\t": "\t", "\\\\": "\\"}  # spellings in an option


@dataclass(frozen=True, slots=True)
class Dialect:
    """Spark's options for reading a CSV file. Names and defaults are Spark's."""

    separator: str = ","
    quote: str = '"'
    escape: str = "\\"
    null: str = ""
    empty: str = ""
    encoding: str = "utf-8"
    trim_left: bool = False
    trim_right: bool = False
    corrupt: str = "_corrupt_record"  # the column for lines that do not fit, if it exists

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Dialect:
        lower_options = {name.lower(): str(value) for name, value in options.items()}
        separator = lower_options.get("sep", lower_options.get("delimiter", ","))
        return cls(
            separator=_SEPARATORS.get(separator, separator),
            quote=lower_options.get("quote", '"'),
            escape=lower_options.get("escape", "\\"),
            null=lower_options.get("nullvalue", ""),
            empty=lower_options.get("emptyvalue", ""),
            encoding=lower_options.get("encoding", lower_options.get("charset", "utf-8")),
            trim_left=lower_options.get("ignoreleadingwhitespace", "false").lower() == "true",
            trim_right=lower_options.get("ignoretrailingwhitespace", "false").lower() == "true",
            corrupt=lower_options.get("columnnameofcorruptrecord", "_corrupt_record"),
        )

    @property
    def cell_pattern(self) -> str:
        """Return the pattern of a certain cell: without quotes (group 2), or fully between two quotes (group 1)."""
        separator, quote = re.escape(self.separator), re.escape(self.quote)
        if not self.quote:
            return f"()((?:(?!{separator}).)*)"  # group 1 never matches a cell
        inner = f"[^{quote}]|{quote}{quote}" if self.escape == self.quote else f"[^{quote}{re.escape(self.escape)}]"
        return f"{quote}((?:{inner})*){quote}|((?:(?!{separator}|{quote}).)*)"


def get_value(match: re.Match[str], dialect: Dialect) -> str | None:
    """Return the value of a cell that the pattern matched. Group 1 is the text between quotes, group 2 the text without quotes."""
    quoted_text, bare_text = match[1], match[2]
    if bare_text is None:
        return quoted_text.replace(dialect.quote * 2, dialect.quote) or dialect.empty
    return trim_text(bare_text, dialect) or None


def trim_text(text: str, dialect: Dialect) -> str:
    text = text.lstrip(_BLANKS) if dialect.trim_left else text
    return text.rstrip(_BLANKS) if dialect.trim_right else text
