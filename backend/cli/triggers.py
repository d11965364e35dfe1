"""`headwater triggers`: actions that a home or a service runs when events happen."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import open_answers
from headwater.backend.cli.lazy_group import NamingGroup
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, emit_json, note
from headwater.backend.cli.trigger_options import actions, conditions, document_of, read_file
from headwater.backend.home.settings import load_settings
from headwater.backend.triggers.callers import parse_time
from headwater.backend.triggers.durations import parse_duration
from headwater.backend.triggers.model import instant
from headwater.errors import InvalidQueryError, NotFoundError

app = typer.Typer(
    cls=NamingGroup, add_completion=False, no_args_is_help=True, help="Run programs, replays and webhooks when something happens."
)
_COLUMNS = ("name", "state", "condition", "action", "last_fired", "last_outcome")
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
Stale = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="With --data: fire when there was no new version for this time, say 24h.", show_default=False),
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
PolicyName = Annotated[
    str | None, typer.Option("--policy", metavar="NAME", help="Fire when something deviates from it; `any` is any.", show_default=False)
]
Rule = Annotated[str | None, typer.Option(metavar="NAME", help="With --policy: this rule only.", show_default=False)]
LeastSeverity = Annotated[
    str | None,
    typer.Option("--severity", help="With --policy: info, warning or error, or what is worse.  [default: info]", show_default=False),
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
    stale: Stale = None,
    cron: Cron = None,
    every: Every = None,
    zone: Zone = None,
    missed: Missed = None,
    job: Job = None,
    state: State = None,
    policy: PolicyName = None,
    rule: Rule = None,
    severity: LeastSeverity = None,
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
        typer.Option(
            metavar="DATASET",
            help="With --replay: the source; @cause is the dataset of the cause. With --report: the dataset.",
            show_default=False,
        ),
    ] = None,
    recapture: Annotated[str | None, typer.Option(metavar="DATASET", help="Recapture a dataset.", show_default=False)] = None,
    webhook: Annotated[str | None, typer.Option(metavar="TARGET", help="Call a webhook of targets.toml.", show_default=False)] = None,
    notify: Annotated[
        str | None, typer.Option(metavar="TARGET", help="Send a text to a target of targets.toml.", show_default=False)
    ] = None,
    text: Annotated[str | None, typer.Option(help="With --notify: the text.", show_default=False)] = None,
    report: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="Write a report: retention, deviations, or lineage or impact of --dataset.", show_default=False),
    ] = None,
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
    """Create a trigger. Earlier events do not fire it.

    For example:

      headwater triggers create refresh --data raw/events --where "amount > 1000" --replay refresh --dataset @cause

      headwater triggers create alert --job report --state failed --notify team

      headwater triggers create both --when '{"all_of": {"of": ["refresh", "alert"], "within": "1h"}}' --webhook scheduler
    """
    stated = document_of(
        name=name, file=file,
        when=conditions(
            data=data, where=where, failed_check=failed_check, stale=stale, cron=cron, every=every, zone=zone, missed=missed,
            job=job, state=state, policy=policy, rule=rule, severity=severity, manual=manual, when=when,
        ),
        do=actions(
            run=run, namespace=namespace, replay=replay, output=output, dataset=dataset, recapture=recapture, webhook=webhook,
            notify=notify, text=text, report=report, do=do,
        ),
        limits={"concurrent": concurrent, "cool_down": cool_down, "chain": chain},
    )  # fmt: skip
    made = _ask(home, "create", definition=stated)
    if format is Format.JSON:
        emit_json(made)
    else:
        note(f"The trigger {made['name']} will {made['action']} {made['condition']}.")


@app.command("list")
def list_triggers(format: OutputFormat = Format.TABLE, home: Home = None) -> None:
    """List the triggers with their last causes and outcomes."""
    found = _ask(home, "list")
    if format is Format.JSON:
        emit_json(found)
        return
    rows = [
        {**one, "state": one["state"].lower(), "last_fired": one["lastFiredAt"], "last_outcome": _last(one["history"])} for one in found
    ]
    emit(rows, columns=_COLUMNS, format=format, empty="There are no triggers. `headwater triggers create -h` says how one is made.")


@app.command()
def show(
    name: Name,
    first: Annotated[int, typer.Option(min=1, max=1_000, help="Most causes to show.")] = 20,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Show a trigger: its definition, and its last causes with their outcomes."""
    found = _ask(home, "show", name=name, first=first)
    if found is None:
        raise NotFoundError(f"There is no trigger {name!r}.", hint="`headwater triggers list` names them.")
    if format is Format.JSON:
        emit_json(found)
        return
    reason = f" ({found['reason']})" if found["reason"] else ""
    about = f"The trigger {found['name']} of {found['owner']} is {found['state'].lower()}{reason}."
    note(f"{about} It will {found['action']} {found['condition']}.")
    emit([_row(cause) for cause in found["history"]], columns=_ENTRIES, format=format, empty="It has not fired yet.")


@app.command()
def fire(
    name: Name,
    key: Annotated[str | None, typer.Option(help="A key fires the trigger once, however often it is used.", show_default=False)] = None,
    home: Home = None,
) -> None:
    """Fire a trigger by hand, whatever its condition. The running service of the home runs the action."""
    cause = _ask(home, "fire", name=name, key=key)
    if cause["execution"] is None:
        note(f"The trigger {name} did not fire: {cause['reason']}.")
        return
    note(f"The trigger {name} fired: execution {cause['execution']['id']}. `headwater triggers show {name}` shows the outcome.")
    if _waits_for_a_service(home):
        note("No service of this home is running, so it waits. `headwater serve` starts one.")


@app.command()
def pause(
    name: Name, reason: Annotated[str | None, typer.Option(help="Shown in the list.", show_default=False)] = None, home: Home = None
) -> None:
    """Pause a trigger. Events until it is resumed do not fire it."""
    _ask(home, "pause", name=name, reason=reason)
    note(f"The trigger {name} is paused.")


@app.command()
def resume(name: Name, home: Home = None) -> None:
    """Start a paused or stopped trigger again. Whoever does so becomes its owner."""
    _ask(home, "resume", name=name)
    note(f"The trigger {name} is active.")


@app.command()
def remove(name: Name, home: Home = None) -> None:
    """Remove a trigger with its history."""
    _ask(home, "remove", name=name)
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
    if (name is None) == (file is None):
        raise InvalidQueryError("Name a trigger, or a file with one.", field="name", hint="`headwater triggers list` names them.")
    ended = parse_time(until, "until") if until else time.time()
    began = parse_time(since, "since") if since else ended - parse_duration(last, "last")
    definition = read_file(file) if file else None
    found = _ask(home, "test", since=instant(began), until=instant(ended), name=name, definition=definition)
    if format is Format.JSON:
        emit_json(found)
        return
    emit(
        [_row(cause) for cause in found["causes"]],
        columns=("at", "outcome", "cause", "result"),
        format=format,
        empty="It would not have fired.",
    )
    for line in found["notes"]:
        note(line)


_TRIGGER = "id name state reason condition action owner createdAt lastFiredAt definition"
_CAUSE = "id at outcome reason depth facts execution { id state attempts createdAt startedAt endedAt result error }"
_DOCUMENTS = {
    "create": f"mutation ($definition: JSON!) {{ found: createTrigger(definition: $definition) {{ {_TRIGGER} }} }}",
    "list": f"query {{ found: triggers {{ {_TRIGGER} history(first: 5) {{ {_CAUSE} }} }} }}",
    "show": f"""query ($name: String!, $first: Int!) {{
      found: trigger(name: $name) {{ {_TRIGGER} history(first: $first) {{ {_CAUSE} }} }} }}""",
    "fire": f"mutation ($name: String!, $key: String) {{ found: fireTrigger(name: $name, key: $key) {{ {_CAUSE} }} }}",
    "pause": "mutation ($name: String!, $reason: String) { found: pauseTrigger(name: $name, reason: $reason) { name } }",
    "resume": "mutation ($name: String!) { found: resumeTrigger(name: $name) { name } }",
    "remove": "mutation ($name: String!) { found: removeTrigger(name: $name) { name } }",
    "test": f"""query ($since: String!, $until: String, $name: String, $definition: JSON) {{
      found: testTrigger(since: $since, until: $until, name: $name, definition: $definition) {{
        causes {{ {_CAUSE} }} entries notes }} }}""",
}


def _ask(home: Path | None, verb: str, **variables: Any) -> Any:
    async def ask() -> Any:
        async with open_answers(home) as answers:
            return (await answers.ask(_DOCUMENTS[verb], **variables))["found"]

    return asyncio.run(ask())


def _waits_for_a_service(home: Path | None) -> bool:
    """Whether executions of a home wait because no service runs them."""
    if home is None and os.environ.get("HEADWATER_URL"):
        return False
    settings = load_settings(home=home)
    return settings.ingest_log is None and settings.folder.service() is None


def _last(history: list[dict[str, Any]]) -> str | None:
    if not history:
        return None
    latest = history[0]
    return str((latest["execution"] or {}).get("state") or latest["outcome"]).lower()


def _row(cause: dict[str, Any]) -> dict[str, Any]:
    execution = cause["execution"] or {}
    state = execution.get("state")
    return {
        "at": cause["at"], "outcome": cause["outcome"].lower(), "state": state.lower() if state else None, "cause": cause["id"],
        "result": cause["reason"] or execution.get("error") or execution.get("result"),
    }  # fmt: skip
