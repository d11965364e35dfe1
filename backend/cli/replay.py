"""`headwater replay`: run a pipeline again without chosen records, and show what comes out differently."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.display_names import dataset_name, dataset_of
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, emit_json, note, progress
from headwater.backend.cli.trace_command import reference
from headwater.backend.home.settings import DEFAULT_TENANT, load_settings
from headwater.backend.rerun.replay import Replay, ReplayState
from headwater.backend.workspace import Workspace
from headwater.errors import HeadwaterError, InvalidQueryError, NotFoundError, UnsupportedError

app = typer.Typer(add_completion=False)


@app.command()
def replay(
    output: Annotated[str | None, typer.Argument(metavar="[OUTPUT]", help="The dataset to make again: a path, a name or an id.")] = None,
    without: Annotated[
        str | None, typer.Option(metavar="DATASET", help="The dataset of the records to leave out.", show_default=False)
    ] = None,
    where: Annotated[
        str | None, typer.Option(help="Leave out the records that this SQL predicate (DuckDB) selects.", show_default=False)
    ] = None,
    row: Annotated[list[str] | None, typer.Option(help="A record as FILE:N, N from 0; may be repeated.", show_default=False)] = None,
    show: Annotated[str | None, typer.Option(metavar="ID", help="Show an earlier replay.", show_default=False)] = None,
    earlier: Annotated[bool, typer.Option("--list", help="List earlier replays.")] = False,
    remove: Annotated[str | None, typer.Option(metavar="ID", help="Delete an earlier replay and its folder.", show_default=False)] = None,
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Run a pipeline again without chosen records, into a shadow folder, and compare.

    The programs between those records and OUTPUT run unchanged; the data that they made is never touched. A program is run only if it is
    registered on this home, which `headwater run` and `headwater jobs register` do, and only if its script is still what was registered.

    For example:

      headwater replay out/report --without raw/weather.csv --where "wind_speed > 1000"
    """
    if earlier or show or remove:
        asyncio.run(_look(home, show, remove, format))
        return
    if output is None or without is None or (where is None and not row):
        parts = {
            "OUTPUT, the dataset to make again": output,
            "--without, the dataset of the records to leave out": without,
            "--where or --row, which records those are": where or row,
        }
        raise InvalidQueryError(
            f"A replay lacks {'; '.join(part for part, given in parts.items() if not given)}.",
            hint='For example: headwater replay out/report --without raw/weather.csv --where "wind_speed > 1000". '
            "--list, --show and --remove are about earlier replays.",
        )
    if os.environ.get("HEADWATER_URL") and home is None:
        raise UnsupportedError("A replay starts programs on this machine; it works on a home.", hint="Name one with --home.")
    done = asyncio.run(_run(home, output, without, where, [reference(text) for text in row or ()]))
    if done.state is ReplayState.FAILED:
        raise HeadwaterError(done.error or "The replay failed.")
    _print(done, format)


async def _run(home: Path | None, output: str, without: str, where: str | None, rows: list[tuple[str, int]]) -> Replay:
    async with await Workspace.open(load_settings(home=home)) as workspace:
        await workspace.take_in()
        replays = workspace.replays()
        planned = await replays.plan(DEFAULT_TENANT, without, where, rows, output)
        count = sum(len(numbers) for numbers in planned.exclude.values())
        note(f"Leaving {count} record{'s' if count != 1 else ''} out; running {len(planned.steps)} programs again, into {planned.shadow}")
        with progress() as bars:
            bar = bars.add_task("replaying", total=len(planned.steps))
            return await replays.run(planned, _teller(bars, bar))


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
    if not done.differences:
        note("The output is the same without those records.")
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
