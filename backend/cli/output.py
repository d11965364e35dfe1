"""The output of every command. Answers go to standard output, and everything else to standard error.

Answers are tables for people, and JSON or CSV for scripts. Standard output contains nothing but the answer, because it can be piped.
"""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum, StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

from headwater.backend.csv_cells import cell_text, inert
from headwater.errors import ConfigurationError, HeadwaterError, InvalidInputError, NotFoundError, UnavailableError, UnsupportedError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all control characters except tabs and line feeds
_WIDE = 2_000  # limit of a table's width in characters


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class ExitCode(IntEnum):
    """The exit codes of every command. `headwater run` ends with the exit code of the script instead."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    NOT_FOUND = 3
    UNAVAILABLE = 4
    UNSUPPORTED = 5
    INTERRUPTED = 130


def exit_code_for(error: HeadwaterError) -> ExitCode:
    by_type: tuple[tuple[type[HeadwaterError], ExitCode], ...] = (
        (InvalidInputError, ExitCode.USAGE),
        (ConfigurationError, ExitCode.USAGE),
        (NotFoundError, ExitCode.NOT_FOUND),
        (UnavailableError, ExitCode.UNAVAILABLE),
        (UnsupportedError, ExitCode.UNSUPPORTED),
    )
    return next((code for kind, code in by_type if isinstance(error, kind)), ExitCode.FAILURE)


@contextmanager
def telling_errors() -> Iterator[None]:
    """Turn an error of Headwater into a message, a hint and an exit code. HEADWATER_DEBUG shows its traceback."""
    try:
        yield
    except HeadwaterError as error:
        if os.environ.get("HEADWATER_DEBUG"):
            raise
        report(error)
        sys.exit(exit_code_for(error))
    except KeyboardInterrupt:
        note("Interrupted.")
        sys.exit(ExitCode.INTERRUPTED)


def emit(
    rows: Sequence[Mapping[str, Any]], *, columns: Sequence[str], format: Format, title: str | None = None, empty: str | None = None
) -> None:
    """Print rows. JSON contains every key of a row; table and CSV contain only `columns`, in this order.

    `empty` is printed instead of a table without rows.
    """
    if format is Format.JSON:
        emit_json([dict(row) for row in rows])
    elif format is Format.CSV:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(map(inert, columns))
        writer.writerows([inert(row.get(column)) for column in columns] for row in rows)
    elif rows or empty is None:
        _table(rows, columns=columns, title=title)
    else:
        note(empty)


def emit_json(value: Any) -> None:
    """Print one JSON document. Types that JSON lacks (dates, decimals) become text."""
    json.dump(value, sys.stdout, ensure_ascii=False, indent=2, default=str)
    sys.stdout.write("\n")


def note(text: str, *, label: str = "") -> None:
    """Show a message on standard error. `label` is its kind: warning, note, error.

    Markup in the text is not interpreted, because the names of nodes in it are untrusted.
    """
    from rich.text import Text

    line = Text.assemble((f"{label}: ", "red" if label == "error" else "yellow"), text) if label else Text(text)
    console().print(line, highlight=False, soft_wrap=True)


def count(number: int, noun: str) -> str:
    """Return a number with its noun, as in "1 row" or "2,000 rows"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def report(error: HeadwaterError) -> None:
    """Show the message and the hint of an error, in red if the terminal has colours."""
    from rich.text import Text

    console().print(Text.assemble(("error:", "bold red"), f" {error.message}"), highlight=False, soft_wrap=True)
    if error.hint:
        console().print(Text.assemble(("hint:", "yellow"), f"  {error.hint}"), highlight=False, soft_wrap=True)


@contextmanager
def progress(*, disable: bool = False) -> Iterator[Progress]:
    """Return progress bars on standard error. They are invisible if standard error is not a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    bars = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*bars, console=console(), transient=True, disable=disable or not sys.stderr.isatty()) as shown:
        yield shown


@cache
def console() -> Console:
    return screen(stderr=True)


def screen(*, stderr: bool = False) -> Console:
    """Return a console that shows control characters as text. Untrusted names could move the cursor of a terminal."""
    return _screen_type()(stderr=stderr, emoji=False)  # an id like actor:x:y holds what rich would take for an emoji


def whole_lines() -> Console:
    """Return a console that neither wraps nor cuts lines, for files and other programs."""
    console = screen()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDE
    return console


@cache
def _screen_type() -> type[Console]:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class Screen(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(_CONTROL.sub(_written_out, segment.text), segment.style)

    return Screen


def _written_out(found: re.Match[str]) -> str:
    return f"\\x{ord(found[0]):02x}"


def _table(rows: Sequence[Mapping[str, Any]], *, columns: Sequence[str], title: str | None) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for column in columns:
        table.add_column(Text(column), overflow="fold")
    for row in rows:
        table.add_row(*(Text(_shown(row.get(column))) for column in columns))
    console = whole_lines()
    if title is not None:  # printed above the table, because a narrow table would wrap a title of its own
        console.print(Text(title, style="italic"), soft_wrap=True)
    console.print(table)


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return cell_text(value)
