"""`headwater admin audit`: who sent which request to the service."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated

import typer

from headwater.backend.audit.chain import ChainHead, Verified
from headwater.backend.audit.lines import Entry, Wanted
from headwater.backend.audit.reader import AuditLines, audit_of
from headwater.backend.cli.admin_client import ServiceAudit, service_named
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, emit_json, note
from headwater.backend.home.quick_settings import settings_of
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
    verify: Annotated[bool, typer.Option("--verify", help="Check that no line was changed or removed, instead of listing.")] = False,
    head: Annotated[Text, _asked("With --verify: a head that was printed earlier, which must still be there.")] = None,
    this_home: Annotated[
        bool, typer.Option("--this-home", help="Where replicas share a log: only what this home's service wrote.")
    ] = False,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """List the latest lines of the audit log: who read records, exported, declared, started a replay, or was refused.

    Each line holds a digest of the line before it. --verify follows these links and prints the digest of the last
    line, the head. Keep the head elsewhere. A later --verify with --head shows that nothing up to that line was
    changed since. The command ends with 1 if a link is broken.

    If HEADWATER_URL names a service and no home is named, the command asks the service, with a key that has the scope
    `audit`.

    The service writes the log to the file `audit.jsonl` of its home. Commands that work on a home without the service
    are not in the log.

    Replicas copy their logs to the database that they share (HEADWATER_INGEST_LOG). The command then lists and
    verifies the lines of all replicas. Each replica has a chain and a head of its own.

    Example: headwater admin audit --dataset report --decision refused
    """
    service = service_named(home)
    log = audit_of(settings_of(home), own=this_home) if service is None else ServiceAudit(service)
    if verify or head is not None:
        _verify(log, head, format)
        return
    wanted = Wanted(who, dataset, decision, _instant(since, "since"), _instant(until, "until"))
    found = log.latest(wanted, last)
    emit([_row(entry, format) for entry in found.entries], columns=_COLUMNS, format=format, empty="No line of the audit log matches.")
    if found.damaged:
        note(f"{found.damaged} line(s) cannot be read: the service ended, or its disk was full, while it wrote them.", label="warning")


def _verify(log: AuditLines, head: str | None, format: Format) -> None:
    found = log.verify(head=head)
    is_missing = head is not None and not found.has_head
    if format is Format.JSON:
        emit_json({**asdict(found), "has_head": found.has_head if head is not None else None})
    else:
        _tell(found)
    if is_missing:
        note("the head that was given is the digest of no line: that line, or one before it, was changed or removed.", label="error")
    for one in found.breaks:
        note(f"{one.file}:{one.line}: {one.reason}.", label="error")
    if found.broken > len(found.breaks):
        note(f"and {found.broken - len(found.breaks)} more.", label="error")
    if found.broken or is_missing:
        raise typer.Exit(1)


def _tell(found: Verified) -> None:
    if not found.lines:
        typer.echo("There is no line in the audit log yet.")
        return
    typer.echo(f"{found.lines} line(s), {found.first} to {found.last}.")
    if found.older:
        typer.echo(f"{found.older} of them are older than the links; only the first link vouches for them.")
    if found.begins_after is not None and not found.broken:
        typer.echo("Lines before them were removed with full files, as HEADWATER_AUDIT_FILES says.")
    if found.damaged:
        typer.echo(f"{found.damaged} of them cannot be read: the service ended, or its disk was full, while it wrote them.")
    if not found.broken:
        typer.echo("No line was changed or removed in between.")
    if not found.chains:
        typer.echo(f"head: {found.head}")
    for chain in found.chains:
        typer.echo(_of_chain(chain))


def _of_chain(chain: ChainHead) -> str:
    how = "its service ended" if chain.ended else "its service is at work, or ended without a word"
    return f"chain {chain.chain} of {chain.host}: {chain.lines} line(s) until {chain.last}; {how}. head: {chain.head}"


def _row(entry: Entry, format: Format) -> Entry:
    return entry if format is Format.JSON else {**entry, "on": "\n".join(map(str, entry.get("on", ())))}


def _instant(text: str | None, name: str) -> datetime | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError as error:
        raise InvalidQueryError(f"{text!r} is no instant.", field=name, hint="Write it as 2026-01-31T12:00:00Z.") from error
