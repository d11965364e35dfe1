"""`headwater recapture`: runs the program that wrote a dataset again. If the files are identical, their record lineage is stored."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer

from headwater.backend.cli.answers import open_answers, shown_key
from headwater.backend.cli.options import Home, OutputFormat
from headwater.backend.cli.output import Format, emit, emit_json, note, progress
from headwater.backend.home.settings import DEFAULT_TENANT, load_settings
from headwater.backend.rerun.recapture.service import Recaptured
from headwater.backend.rerun.replay.replayed_places import place_named
from headwater.backend.workspace import Workspace
from headwater.client import Client
from headwater.errors import HeadwaterError
from headwater.graph.model import NodeKind, node_id, parse_id
from headwater.graph.model.ids import dataset_name

app = typer.Typer(add_completion=False)


@app.command()
def recapture(
    output: Annotated[str, typer.Argument(metavar="OUTPUT", help="A dataset that the program wrote: a path, a name or an id.")],
    format: OutputFormat = Format.TABLE,
    home: Home = None,
) -> None:
    """Find the input records of a dataset after it was written: run its program again, and compare.

    For datasets that were written without record lineage (mode coarse, RDD programs in mode lazy). The program runs
    unchanged, with record capture on, into a shadow folder. The data that it made is never touched. The new record
    lineage becomes the lineage of the run that wrote OUTPUT if the program wrote the same files and its inputs have
    not changed since. Otherwise nothing is kept, and the command names the file that differs.

    The program must be registered on this home, by `headwater run` or `headwater jobs register`, and its script must
    be unchanged since. If HEADWATER_URL names a service and no home is named, the service runs a program of its own
    home.

    For example:

      headwater recapture out/counts
    """
    dataset = asyncio.run(_find(home, output))
    url = os.environ.get("HEADWATER_URL")
    _print(_ask(url, dataset) if url and home is None else asyncio.run(_run(home, dataset)), format)


async def _find(home: Path | None, output: str) -> str:
    async with open_answers(home) as answers:
        found = (await answers.find(output, NodeKind.DATASET)).id
    namespace, name = parse_id(found)[1]
    place = place_named(found, output)
    return node_id(NodeKind.DATASET, namespace, f"{name.rstrip('/')}/{place}") if place else found


def _ask(url: str, dataset: str) -> Recaptured:
    with progress() as bars:
        bars.add_task(f"{url} runs the program again", total=None)
        done = Client(url, shown_key()).recapture(dataset)
    if done.error is not None:
        raise HeadwaterError(done.error)
    return Recaptured(done.outputs, done.files, done.left)


async def _run(home: Path | None, dataset: str) -> Recaptured:
    async with await Workspace.open(load_settings(home=home)) as workspace:
        recaptures = workspace.recaptures()
        plan = await recaptures.plan(DEFAULT_TENANT, dataset)
        note(f"Running {plan.invocation.script} again, as on {plan.run.began}; its real data is not touched.")
        with progress() as bars:
            bars.add_task("running and comparing", total=None)
            done = await recaptures.run(DEFAULT_TENANT, plan)
        await workspace.settle()
        return done


def _print(done: Recaptured, format: Format) -> None:
    names = [dataset_name(dataset) for dataset in done.outputs]
    left = {dataset_name(dataset): reason for dataset, reason in done.left.items()}
    if format is Format.JSON:
        emit_json({"outputs": names, "files": done.files, "left": left})
        return
    compared = "1 file has" if done.files == 1 else f"{done.files:,} files have"
    emit([{"dataset": name} for name in names], columns=["dataset"], format=format, title="Record lineage is kept now")
    note(f"{compared} the same bytes as before; `headwater trace` answers with records.")
    for name, reason in left.items():
        note(f"nothing is kept of {name}: {reason}", label="warning")
