"""What every command prints, and where: answers on standard output, all else on standard error.

For people (tables) and scripts (JSON, CSV). Standard output must hold nothing but the answer, so that it can be piped.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum, StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

from headwater.errors import ConfigurationError, HeadwaterError, InvalidInputError, NotFoundError, UnavailableError, UnsupportedError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


class Format(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class ExitCode(IntEnum):
    """The exit codes of every command; `headwater run` gives those of the script instead."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    NOT_FOUND = 3
    UNAVAILABLE = 4
    UNSUPPORTED = 5
    INTERRUPTED = 130


def exit_code_for(error: HeadwaterError) -> ExitCode:
    """The exit code that stands for an error."""
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
    """End the process with a message, a hint and an exit code where an error of ours is raised; HEADWATER_DEBUG shows its traceback."""
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
    """Print rows, in the order of `columns`. JSON keeps every key of a row, table and CSV only the columns.

    `empty` is said to a person in place of a table without rows.
    """
    if format is Format.JSON:
        emit_json([dict(row) for row in rows])
    elif format is Format.CSV:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_cell(row.get(column)) for column in columns] for row in rows)
    elif rows or empty is None:
        _table(rows, columns=columns, title=title)
    else:
        note(empty)


def emit_json(value: Any) -> None:
    """Print one JSON document. What JSON lacks (dates, decimals) becomes text."""
    json.dump(value, sys.stdout, ensure_ascii=False, indent=2, default=str)
    sys.stdout.write("\n")


def note(text: str) -> None:
    """Tell the person at the terminal something that is not the answer."""
    console().print(text, highlight=False, soft_wrap=True)


def report(error: HeadwaterError) -> None:
    """Say what went wrong and what to do, in red where there is colour."""
    from rich.markup import escape

    console().print(f"[bold red]error:[/] {escape(error.message)}", highlight=False, soft_wrap=True)
    if error.hint:
        console().print(f"[yellow]hint:[/]  {escape(error.hint)}", highlight=False, soft_wrap=True)


@contextmanager
def progress(*, disable: bool = False) -> Iterator[Progress]:
    """Progress bars on standard error for long work; none where it is not a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    bars = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*bars, console=console(), transient=True, disable=disable or not sys.stderr.isatty()) as shown:
        yield shown


@cache
def console() -> Console:
    """The console on standard error."""
    from rich.console import Console

    return Console(stderr=True, emoji=False)  # an id like actor:x:y holds what rich would take for one


def _table(rows: Sequence[Mapping[str, Any]], *, columns: Sequence[str], title: str | None) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(row.get(column))) for column in columns))
    Console().print(table)


def _cell(value: Any) -> str:
    if value is None or value == []:
        return ""
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (dict, list, tuple)) else str(value)
