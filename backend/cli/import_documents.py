"""`headwater import`: imports PROV documents and OpenLineage events of other tools as lineage."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import open_answers
from headwater.backend.cli.event_files import event_batches
from headwater.backend.cli.lazy_group import NamingGroup
from headwater.backend.cli.options import Home
from headwater.backend.cli.output import ExitCode, emit_json, note
from headwater.backend.cli.prov import Notation, contents
from headwater.graph.prov import ProvFormat

app = typer.Typer(cls=NamingGroup, add_completion=False, no_args_is_help=True, help="Import lineage that other tools wrote.")


@app.callback()
def _group() -> None:
    """Import lineage from other tools."""


@app.command()
def prov(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A PROV document in any notation.")],
    notation: Notation = None,
    home: Home = None,
) -> None:
    """Import a PROV document: entities as datasets and versions, activities as runs of jobs, agents as applications and owners.

    The document passes through the log like every event. It is durable once it is acknowledged, counts once if it is
    sent twice, and survives a rebuild. A document that is malformed or breaks a constraint is refused with its line
    and clause, and kept as a dead letter. The command prints what the document states, and the number of statements
    of each kind that the graph cannot hold.

    For example:

      headwater import prov workflow.provn
    """
    emit_json(asyncio.run(_import(contents(file), notation, home)))
    note("Durable; the graph has it with the next look.")


@app.command()
def openlineage(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Events: one a line, one in all, or an array; plain or gzip (.gz).")],
    home: Home = None,
) -> None:
    """Import OpenLineage events from files, as a transport of the kind `file` writes them, or as other backends export them.

    Each event passes through the log like one that is sent. It is durable once it is acknowledged, and counts once if
    it is imported twice. The command names a refused event by its file and line, keeps it as a dead letter, and
    accepts the others. It ends with 1 if any event was refused.

    For example:

      headwater import openlineage events.jsonl older/*.jsonl.gz
    """
    if not asyncio.run(_import_events(files, home)):
        raise typer.Exit(ExitCode.FAILURE)


async def _import_events(files: list[Path], home: Path | None) -> bool:
    found = {"accepted": 0, "duplicates": 0, "rejected": 0}
    async with open_answers(home) as answers:
        for file in files:
            for batch in event_batches(file):
                report = await answers.take_events(batch.body)
                found["accepted"] += report["accepted"]
                found["duplicates"] += report["duplicates"]
                found["rejected"] += len(report["rejected"]) + report.get("more_rejected", 0)
                for refused in report["rejected"]:
                    at = batch.places[refused["index"]] if refused["index"] < len(batch.places) else batch.places[0]
                    note(f"{at}: {refused['message']}", label="refused")
    emit_json(found)
    return not found["rejected"]


async def _import(body: bytes, notation: ProvFormat | None, home: Path | None) -> dict[str, Any]:
    async with open_answers(home) as answers:
        return await answers.take_prov(body, notation)
