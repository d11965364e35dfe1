"""`headwater audit`: who asked the service what."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from headwater.backend.audit_lines import Entry, Wanted, latest
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, note
from headwater.backend.home import Home as HomeFolder
from headwater.errors import InvalidQueryError

app = typer.Typer(add_completion=False)

_COLUMNS = ("at", "who", "from", "what", "on", "records", "decision", "reason")
Text = str | None


def _asked(what: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(help=what, show_default=False)
    return option


@app.command()
def audit(
    last: Annotated[int, typer.Option("--last", "-n", min=1, help="Maximum number of lines.")] = 50,
    who: Annotated[Text, _asked("Only of this key or session, or part of its name: key:3f…, session:…, nobody.")] = None,
    dataset: Annotated[Text, _asked("Only about this dataset or node: part of its id, name or path.")] = None,
    decision: Annotated[Text, _asked("Only what was allowed, refused or failed.")] = None,
    since: Annotated[Text, _asked("Only from this instant (ISO 8601).")] = None,
    until: Annotated[Text, _asked("Only until this instant (ISO 8601).")] = None,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """List the latest lines of the audit log: who read records, exported, declared, started a replay, or was refused.

    The service writes it, to the file `audit.jsonl` of its home. Commands that work on a home without the service are not in it.

    Example: headwater audit --dataset report --decision refused
    """
    wanted = Wanted(who, dataset, decision, _instant(since, "since"), _instant(until, "until"))
    found = latest(HomeFolder.at(home).audit, wanted, last)
    emit([_row(entry, format) for entry in found.entries], columns=_COLUMNS, format=format, empty="Nothing of that is in the audit log.")
    if found.damaged:
        note(f"[yellow]warning:[/] {found.damaged} line(s) cannot be read: the service ended, or its disk was full, while it wrote them.")


def _row(entry: Entry, format: Format) -> Entry:
    return entry if format is Format.JSON else {**entry, "on": "\n".join(map(str, entry.get("on", ())))}


def _instant(text: str | None, name: str) -> datetime | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError as error:
        raise InvalidQueryError(f"{text!r} is no instant.", field=name, hint="Write it as 2026-01-31T12:00:00Z.") from error
