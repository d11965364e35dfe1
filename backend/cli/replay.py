"""`headwater replay`: runs a pipeline again with other records or programs, and shows the rows that differ."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.display_names import dataset_of
from headwater.backend.cli.machine_user import machine_user
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, count, emit, emit_json, note, progress
from headwater.backend.cli.replay_options import replay_request
from headwater.backend.cli.replay_stops import ask_at_stop
from headwater.backend.cli.trace_command import reference
from headwater.backend.home.settings import DEFAULT_TENANT, load_settings
from headwater.backend.rerun.replay import Replay, ReplayRequest, ReplayState
from headwater.backend.rerun.replay.commit import KINDS as COMMITTED_KINDS
from headwater.backend.rerun.replay.dry_run import DryRun
from headwater.backend.rerun.replay.model import Limits
from headwater.backend.rerun.replay.service import KEEP_DAYS
from headwater.backend.workspace import Workspace
from headwater.errors import HeadwaterError, InvalidQueryError, NotFoundError, UnsupportedError
from headwater.graph.model.ids import dataset_name

app = typer.Typer(add_completion=False)
_SAME = {"exclusive": "The output is the same without those records.", "selective": "Each chosen row is the same from those records alone."}


@app.command()
def replay(
    output: Annotated[str | None, typer.Argument(metavar="[OUTPUT]", help="The dataset to make again: a path, a name or an id.")] = None,
    identifier: Annotated[
        str | None,
        typer.Argument(metavar="[ID]", help="After `cancel`, `approve`, `commit` or `undo`: an earlier replay."),
    ] = None,
    without: Annotated[
        str | None, typer.Option(metavar="DATASET", help="The dataset of the records to leave out.", show_default=False)
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            help="A SQL predicate (DuckDB) that selects records: those to leave out or edit. For selective: rows of OUTPUT.",
            show_default=False,
        ),
    ] = None,
    row: Annotated[list[str] | None, typer.Option(help="A record as FILE:N, N from 0; may be repeated.", show_default=False)] = None,
    kind: Annotated[
        str | None, typer.Option(help="exclusive, selective, verify, what-if, refresh or step. Other options imply it.", show_default=False)
    ] = None,
    edit: Annotated[
        str | None, typer.Option(metavar="DATASET", help="what-if: the dataset of the records to edit.", show_default=False)
    ] = None,
    set_values: Annotated[
        list[str] | None, typer.Option("--set", help="what-if: a new value, as 'wind_speed = 9.8'; may be repeated.", show_default=False)
    ] = None,
    patch: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="what-if: new values of records of --edit, as CSV or JSON Lines.", show_default=False),
    ] = None,
    key: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="A key column of the patch file; may be repeated.", show_default=False)
    ] = None,
    script: Annotated[
        Path | None, typer.Option(help="what-if: a script to run in place of the one that writes OUTPUT.", show_default=False)
    ] = None,
    changed: Annotated[str | None, typer.Option(metavar="DATASET", help="refresh: the source that changed.", show_default=False)] = None,
    commit: Annotated[
        bool,
        typer.Option("--commit", help="Put the result in the place of the real data. `headwater replay undo ID` puts the old data back."),
    ] = False,
    keep: Annotated[float, typer.Option(min=0, metavar="DAYS", help="After a commit, keep the old data for these days.")] = KEEP_DAYS,
    time_limit: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="End the replay after this time.", show_default=False)
    ] = None,
    disk_limit: Annotated[
        int | None, typer.Option(min=0, metavar="BYTES", help="End the replay when it has written more.", show_default=False)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would run, and run nothing.")] = False,
    show: Annotated[str | None, typer.Option(metavar="ID", help="Show an earlier replay.", show_default=False)] = None,
    earlier: Annotated[bool, typer.Option("--list", help="List earlier replays.")] = False,
    remove: Annotated[str | None, typer.Option(metavar="ID", help="Delete an earlier replay and its folder.", show_default=False)] = None,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Run a pipeline again, into a shadow folder, and compare.

    It runs without chosen records (exclusive), on only the records behind chosen rows (selective), with edited records or another script
    (what-if), after a source changed (refresh), or as it was (verify). The data that the programs made is never touched.

    A program is run only if it is registered on this home, which `headwater run` and `headwater jobs register` do, and only if its script
    is still what was registered.

    For example:

      headwater replay out/report --without raw/weather.csv --where "wind_speed > 1000"
      headwater replay out/report --edit raw/weather.csv --set "wind_speed = 9.8" --where "wind_speed > 1000"
      headwater replay out/report --kind selective --where "origin = 'EWR'"
    """
    if earlier or show or remove:
        asyncio.run(_look(home, show, remove, format))
        return
    if identifier is not None:
        if output not in ("cancel", "approve", "commit", "undo"):
            hint = "Only `cancel ID`, `approve ID`, `commit ID` and `undo ID` take two."
            raise InvalidQueryError(f"{identifier!r} is one name too many.", hint=hint)
        asyncio.run(_act_on(home, output, identifier, keep))
        return
    chosen, request = replay_request(
        output=output, without=without, edit=edit, changed=changed, where=where, rows=[reference(text) for text in row or ()],
        set_values=set_values or (), script=script, kind=kind, patch=patch, keys=key or (),
    )  # fmt: skip
    if os.environ.get("HEADWATER_URL") and home is None:
        raise UnsupportedError("A replay starts programs on this machine; it works on a home.", hint="Name one with --home.")
    if commit and chosen not in COMMITTED_KINDS:
        raise InvalidQueryError(f"A replay of the kind {chosen} cannot be committed.", hint=f"These can: {', '.join(COMMITTED_KINDS)}.")
    if dry_run:
        _print_dry_run(asyncio.run(_plan(home, chosen, request, commits=commit)), format)
        return
    done = asyncio.run(_run(home, chosen, request, Limits(seconds=time_limit, disk_bytes=disk_limit), commits=commit))
    if done.state is ReplayState.FAILED:
        raise HeadwaterError(done.error or "The replay failed.")
    _print(done, format)
    if commit:
        asyncio.run(_act_on(home, "commit", done.id, keep))


async def _act_on(home: Path | None, action: str, identifier: str, keep: float) -> None:
    async with await Workspace.open(load_settings(home=home)) as workspace:
        replays = workspace.replays()
        if action == "cancel":
            await replays.cancel(DEFAULT_TENANT, identifier)
            note(f"The replay {identifier} is being cancelled.")
            return
        if action == "approve":
            approval = await replays.approve(DEFAULT_TENANT, identifier, by=machine_user())
            note(f"{approval.by} approved the commit of the replay {identifier}.")
            return
        if action == "undo":
            undone = await replays.undo(DEFAULT_TENANT, identifier)
            note(f"The old data of {', '.join(one.place for one in undone.folders)} is back.")
            for line in undone.notes:
                note(line)
            return
        made = await replays.commit(DEFAULT_TENANT, identifier, keep_days=keep, by=machine_user())
        for one in made.folders:
            note(f"{one.place} now holds the result of the replay. Its old data is in {one.old} until {made.kept_until}.")
            for sentence in one.notes:
                note(sentence)
        for line in made.notes:
            note(line)
        if made.folders:
            note(f"`headwater replay undo {identifier}` puts the old data back.")
        else:
            note("No output differs, so nothing was replaced.")


async def _plan(home: Path | None, kind: str, request: ReplayRequest, *, commits: bool) -> DryRun:
    async with await Workspace.open(load_settings(home=home)) as workspace:
        await workspace.take_in()
        return await workspace.replays().dry_run(DEFAULT_TENANT, kind=kind, request=request, commits=commits)


async def _run(home: Path | None, kind: str, request: ReplayRequest, limits: Limits, *, commits: bool) -> Replay:
    async with await Workspace.open(load_settings(home=home)) as workspace:
        await workspace.take_in()
        replays = workspace.replays()
        planned = await replays.plan_kind(DEFAULT_TENANT, kind=kind, request=request, limits=limits, by=machine_user(), commits=commits)
        note(f"{_records(planned)}running {count(len(planned.steps), 'program')} again, into {planned.shadow}")
        if kind == "step":
            return await replays.run(planned, ask_at_stop)
        with progress() as bars:
            bar = bars.add_task("replaying", total=len(planned.steps))
            return await replays.run(planned, _teller(bars, bar))


def _records(planned: Replay) -> str:
    verbs = {"Leaving {} out; ": planned.exclude, "Keeping {}; ": planned.keep, "Editing {}; ": planned.edits}
    numbers = {verb: sum(map(len, files.values())) for verb, files in verbs.items()}
    return "".join(verb.format(count(number, "record")) for verb, number in numbers.items() if number)


def _print_dry_run(found: DryRun, format: Format) -> None:
    if format is Format.JSON:
        emit_json(found.model_dump(mode="json"))
        return
    rows = [{"job": step.job, "script": step.script, "seconds": step.seconds} for step in found.steps]
    emit(rows, columns=["job", "script", "seconds"], format=format, title=f"A replay of the kind {found.kind} would run")
    note(f"Starts at: {', '.join(found.starts) or 'nothing, the programs read no dataset'}.")
    note(f"Records: {found.excluded} left out, {found.kept} kept, {found.edited} edited.")
    note(f"Time: {'unknown, not all programs were replayed before' if found.seconds is None else f'about {found.seconds} s'}.")
    note(f"Disk: about {found.disk_bytes} bytes, {found.disk_free} are free.")
    for line in found.notes:
        note(line)


def _teller(bars: Any, bar: Any) -> Callable[[Replay], None]:
    def changed(now: Replay) -> None:
        running = next((step.job for step in now.steps if step.state is ReplayState.RUNNING), "comparing")
        bars.update(bar, completed=sum(step.state is ReplayState.COMPLETE for step in now.steps), description=running)

    return changed


async def _look(home: Path | None, show: str | None, remove: str | None, format: Format) -> None:
    async with await Workspace.open(load_settings(home=home)) as workspace:
        replays = workspace.replays()
        wanted = show or remove
        if wanted is None:
            _print_list(await replays.list(DEFAULT_TENANT, 100), format)
            return
        found = await replays.get(DEFAULT_TENANT, wanted)
        if found is None:
            raise NotFoundError(f"There is no replay {wanted}.", hint="`headwater replay --list` names them.")
        if remove:
            await replays.remove(DEFAULT_TENANT, remove)
            note(f"Removed replay {remove} and its folder.")
        else:
            _print(found, format)


def _print_list(found: Any, format: Format) -> None:
    rows = [
        {"id": one.id, "state": one.state.value, "started": one.started_at, "output": dataset_name(one.output), "differing": one.differing}
        for one in found
    ]
    empty = "No replay has been made on this home; headwater replay -h says how one is."
    emit(rows, columns=["id", "state", "started", "output", "differing"], format=format, empty=empty)


def _print(done: Replay, format: Format) -> None:
    if format is Format.JSON:
        emit_json(done.model_dump(mode="json", exclude={"tenant", "process"}))
        return
    for line in done.notes:
        note(line)
    if not done.differences:
        note(_SAME.get(done.kind, "The output is the same."))
        return
    amount = "1 row of {} differs" if done.differing == 1 else f"{done.differing} rows of {{}} differ"
    title = amount.format(dataset_of(dataset_name(done.output)))
    for change in done.differences:
        before, after = change.before or {}, change.after or {}
        names = dict.fromkeys((*before, *after))
        rows = [
            {"column": name, "before": before.get(name), "after": after.get(name), "": "≠" if name in change.columns else ""}
            for name in names
        ]
        emit(rows, columns=["column", "before", "after", ""], format=format, title=title)
    if len(done.differences) < done.differing:
        note(f"{len(done.differences)} of {done.differing} are shown; all are in {done.shadow}")
