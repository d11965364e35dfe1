"""`headwater triggers`: what a home or a service does by itself when something happens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.audit.log import append_line
from headwater.backend.cli.lazy_group import NamingGroup
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, emit_json, note
from headwater.backend.cli.trigger_options import actions, conditions, document_of, lines_of
from headwater.backend.home.settings import DEFAULT_TENANT, load_settings
from headwater.backend.triggers.actions import Site
from headwater.backend.triggers.document import entry_document, trigger_document
from headwater.backend.triggers.durations import parse_duration
from headwater.backend.triggers.owners import HOME
from headwater.backend.triggers.service import Entry, Triggers
from headwater.backend.triggers.store import open_store
from headwater.backend.workspace import Workspace
from headwater.errors import InvalidQueryError

app = typer.Typer(
    cls=NamingGroup, add_completion=False, no_args_is_help=True, help="Run programs, replays and webhooks when something happens."
)
_COLUMNS = ("name", "state", "condition", "action", "last_fired_at", "last_outcome")
_ENTRIES = ("at", "outcome", "state", "cause", "result")
Name = Annotated[str, typer.Argument(metavar="NAME", help="The trigger.")]

Data = Annotated[str | None, typer.Option(metavar="DATASET", help="Fire when it has a new version.", show_default=False)]
Where = Annotated[
    str | None, typer.Option(help="With --data: a SQL predicate (DuckDB) that one of the new rows must fulfil.", show_default=False)
]
FailedCheck = Annotated[
    str | None,
    typer.Option(metavar="CHECK", help="With --data: fire when this check fails, or `any`, in place of a new version.", show_default=False),
]
Cron = Annotated[str | None, typer.Option(help='Fire at the times of a cron expression, as "0 6 * * 1-5".', show_default=False)]
Every = Annotated[str | None, typer.Option(metavar="TIME", help="Fire at a regular distance, as 15m.", show_default=False)]
Zone = Annotated[str | None, typer.Option(help="With --cron: the time zone.  [default: UTC]", show_default=False)]
Missed = Annotated[
    str | None,
    typer.Option(help="With --cron or --every: after a pause of the service, skip, once or all.  [default: once]", show_default=False),
]
Job = Annotated[str | None, typer.Option(metavar="JOB", help="Fire on a state of its runs.", show_default=False)]
State = Annotated[
    str | None, typer.Option(help="With --job: started, completed, failed or aborted.  [default: completed]", show_default=False)
]
Manual = Annotated[bool, typer.Option("--manual", help="Fire by hand only.")]
When = Annotated[str | None, typer.Option(metavar="JSON", help="Any condition, as in a file.", show_default=False)]
File = Annotated[Path | None, typer.Option(help="A JSON or TOML file with the whole trigger.", show_default=False)]


@app.callback()
def _group() -> None:
    """Run programs, replays, webhooks and notifications when something happens. `headwater serve` drives the triggers of its home.

    Example: headwater triggers create nightly --cron "0 2 * * *" --zone Europe/Berlin --run report
    """


@app.command()
def create(
    name: Name,
    data: Data = None,
    where: Where = None,
    failed_check: FailedCheck = None,
    cron: Cron = None,
    every: Every = None,
    zone: Zone = None,
    missed: Missed = None,
    job: Job = None,
    state: State = None,
    manual: Manual = False,
    when: When = None,
    run: Annotated[str | None, typer.Option(metavar="JOB", help="Run the registered program of a job.", show_default=False)] = None,
    namespace: Annotated[str | None, typer.Option(help="With --run: the job's namespace.  [default: default]", show_default=False)] = None,
    replay: Annotated[
        str | None, typer.Option(metavar="KIND", help="Replay: refresh, verify, exclusive, selective or what-if.", show_default=False)
    ] = None,
    output: Annotated[
        str | None, typer.Option(metavar="DATASET", help="With --replay: the dataset to make again.", show_default=False)
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(metavar="DATASET", help="With --replay: the source; @cause is the dataset of the cause.", show_default=False),
    ] = None,
    recapture: Annotated[str | None, typer.Option(metavar="DATASET", help="Recapture a dataset.", show_default=False)] = None,
    webhook: Annotated[str | None, typer.Option(metavar="TARGET", help="Call a webhook of targets.toml.", show_default=False)] = None,
    notify: Annotated[
        str | None, typer.Option(metavar="TARGET", help="Send a text to a target of targets.toml.", show_default=False)
    ] = None,
    text: Annotated[str | None, typer.Option(help="With --notify: the text.", show_default=False)] = None,
    do: Annotated[str | None, typer.Option(metavar="JSON", help="Any action, as in a file.", show_default=False)] = None,
    concurrent: Annotated[int | None, typer.Option(help="Most executions at once.  [default: 1]", show_default=False)] = None,
    cool_down: Annotated[
        str | None, typer.Option(metavar="TIME", help="Fire at most once in this time, as 10m.", show_default=False)
    ] = None,
    chain: Annotated[int | None, typer.Option(help="Most causes in a chain.  [default: 10]", show_default=False)] = None,
    file: File = None,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Create a trigger. What happened before does not fire it.

    For example:

      headwater triggers create refresh --data raw/events --where "amount > 1000" --replay refresh --dataset @cause

      headwater triggers create alert --job report --state failed --notify team

      headwater triggers create both --when '{"all_of": {"of": ["refresh", "alert"], "within": "1h"}}' --webhook scheduler
    """
    stated = document_of(
        name=name, file=file,
        when=conditions(
            data=data, where=where, failed_check=failed_check, cron=cron, every=every, zone=zone, missed=missed, job=job, state=state,
            manual=manual, when=when,
        ),
        do=actions(
            run=run, namespace=namespace, replay=replay, output=output, dataset=dataset, recapture=recapture, webhook=webhook,
            notify=notify, text=text, do=do,
        ),
        limits={"concurrent": concurrent, "cool_down": cool_down, "chain": chain},
    )  # fmt: skip
    made = asyncio.run(_create(home, stated))
    if format is Format.JSON:
        emit_json(made)
    else:
        note(f"The trigger {made['name']} will {made['action']} {made['condition']}.")


@app.command("list")
def list_triggers(format: OutputFormat = Format.TABLE, home: Home = None) -> None:
    """List the triggers with their last causes and outcomes."""
    found = asyncio.run(_list(home))
    if format is Format.JSON:
        emit_json(found)
        return
    rows = [{**one, "last_outcome": _last(one["history"])} for one in found]
    emit(rows, columns=_COLUMNS, format=format, empty="There are no triggers. `headwater triggers create -h` says how one is made.")


@app.command()
def show(
    name: Name,
    first: Annotated[int, typer.Option(min=1, max=1_000, help="Most causes to show.")] = 20,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Show a trigger: its definition, and its last causes with their outcomes."""
    found = asyncio.run(_show(home, name, first))
    if format is Format.JSON:
        emit_json(found)
        return
    reason = f" ({found['reason']})" if found["reason"] else ""
    about = f"The trigger {found['name']} of {found['owner']} is {found['state']}{reason}."
    note(f"{about} It will {found['action']} {found['condition']}.")
    emit(lines_of(found["history"]), columns=_ENTRIES, format=format, empty="It has not fired yet.")


@app.command()
def fire(
    name: Name,
    key: Annotated[str | None, typer.Option(help="A key fires the trigger once, however often it is used.", show_default=False)] = None,
    home: Home = None,
) -> None:
    """Fire a trigger by hand, whatever its condition. The running service of the home runs the action."""
    asyncio.run(_fire(home, name, key))


@app.command()
def pause(
    name: Name, reason: Annotated[str | None, typer.Option(help="Shown in the list.", show_default=False)] = None, home: Home = None
) -> None:
    """Pause a trigger. What happens until it is resumed does not fire it."""
    asyncio.run(_change(home, name, "trigger.pause", reason))
    note(f"The trigger {name} is paused.")


@app.command()
def resume(name: Name, home: Home = None) -> None:
    """Start a paused or stopped trigger again. Whoever does so becomes its owner."""
    asyncio.run(_change(home, name, "trigger.resume"))
    note(f"The trigger {name} is active.")


@app.command()
def remove(name: Name, home: Home = None) -> None:
    """Remove a trigger with its history."""
    asyncio.run(_change(home, name, "trigger.remove"))
    note(f"Removed the trigger {name}.")


@app.command("test")
def rehearse(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="The trigger; or describe one with --file.", show_default=False)
    ] = None,
    last: Annotated[str, typer.Option(metavar="TIME", help="The period before now, as 30d.")] = "30d",
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Beginning of the period, in place of --last.", show_default=False)
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="End of the period.  [default: now]", show_default=False)] = None,
    file: File = None,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Show when a trigger would have fired in the past. Nothing runs.

    For example: headwater triggers test refresh --last 30d
    """
    from headwater.backend.cli.trigger_options import read_file

    if (name is None) == (file is None):
        raise InvalidQueryError("Name a trigger, or a file with one.", field="name", hint="`headwater triggers list` names them.")
    end = _time(until, "until") if until else time.time()
    begin = _time(since, "since") if since else end - parse_duration(last, "last")
    found = asyncio.run(_test(home, name, read_file(file) if file else None, begin, end))
    if format is Format.JSON:
        emit_json(found)
        return
    rows = [{"at": one["at"], "outcome": one["outcome"], "cause": one["cause"], "result": one["reason"]} for one in found["causes"]]
    emit(rows, columns=("at", "outcome", "cause", "result"), format=format, empty="It would not have fired.")
    for line in found["notes"]:
        note(line)


@asynccontextmanager
async def _opened(home: Path | None) -> AsyncIterator[tuple[Workspace, Triggers]]:
    settings = load_settings(home=home)
    async with await Workspace.open(settings) as workspace:
        store = open_store(settings)
        try:
            yield workspace, Triggers(store, Site(workspace))
        finally:
            store.close()


async def _create(home: Path | None, stated: dict[str, Any]) -> dict[str, Any]:
    async with _opened(home) as (workspace, triggers):
        await workspace.take_in()
        _audit(workspace, "trigger.create", str(stated.get("name")))
        return trigger_document(await triggers.create(DEFAULT_TENANT, stated, HOME))


async def _list(home: Path | None) -> list[dict[str, Any]]:
    async with _opened(home) as (_, triggers):
        return [
            {**trigger_document(one), "history": [entry_document(entry) for entry in await triggers.history(one, first=5)]}
            for one in await triggers.all(DEFAULT_TENANT)
        ]


async def _show(home: Path | None, name: str, first: int) -> dict[str, Any]:
    async with _opened(home) as (_, triggers):
        found = await triggers.get(DEFAULT_TENANT, name)
        return {**trigger_document(found), "history": [entry_document(entry) for entry in await triggers.history(found, first=first)]}


async def _fire(home: Path | None, name: str, key: str | None) -> None:
    async with _opened(home) as (workspace, triggers):
        _audit(workspace, "trigger.fire_by_hand", name)
        cause = await triggers.fire(DEFAULT_TENANT, name, key=key, by="home")
        if cause.execution is None:
            note(f"The trigger {name} did not fire: {cause.reason}.")
            return
        note(f"The trigger {name} fired: execution {cause.execution}. `headwater triggers show {name}` shows the outcome.")
        if workspace.home.service() is None and workspace.settings.ingest_log is None:
            note("No service of this home is running, so it waits. `headwater serve` starts one.")


async def _change(home: Path | None, name: str, what: str, reason: str | None = None) -> None:
    async with _opened(home) as (workspace, triggers):
        _audit(workspace, what, name)
        if what == "trigger.pause":
            await triggers.pause(DEFAULT_TENANT, name, reason=reason)
        elif what == "trigger.resume":
            await triggers.resume(DEFAULT_TENANT, name, HOME)
        else:
            await triggers.remove(DEFAULT_TENANT, name)


async def _test(home: Path | None, name: str | None, stated: dict[str, Any] | None, since: float, until: float) -> dict[str, Any]:
    async with _opened(home) as (workspace, triggers):
        await workspace.take_in()
        found = await triggers.test(DEFAULT_TENANT, since=since, until=until, name=name, document=stated)
        causes = [entry_document(Entry(cause, None)) for cause in found.causes]
        return {"causes": causes, "entries": found.entries, "notes": list(found.notes)}


def _audit(workspace: Workspace, what: str, name: str) -> None:
    append_line(
        workspace.home.audit, {"who": "home", "tenant": DEFAULT_TENANT, "what": what, "on": [f"trigger {name}"], "decision": "allowed"}
    )


def _last(history: list[dict[str, Any]]) -> str | None:
    if not history:
        return None
    latest = history[0]
    return str((latest["execution"] or {}).get("state") or latest["outcome"])


def _time(text: str, field: str) -> float:
    try:
        stated = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidQueryError(f"{text!r} is not a time.", field=field, hint="Write it as 2026-02-28 or 2026-02-28T06:00:00Z.") from None
    return (stated if stated.tzinfo else stated.replace(tzinfo=UTC)).timestamp()
