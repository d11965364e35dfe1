"""`headwater import prov`: provenance that other tools wrote, taken in as lineage."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import open_answers
from headwater.backend.cli.lazy import NamingGroup
from headwater.backend.cli.options import Home
from headwater.backend.cli.output import emit_json, note
from headwater.backend.cli.prov import Notation, contents
from headwater.graph.prov import ProvFormat

app = typer.Typer(cls=NamingGroup, add_completion=False, no_args_is_help=True, help="Import lineage that other tools wrote.")


@app.callback()
def _group() -> None:
    """Import lineage that other tools wrote."""


@app.command()
def prov(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A PROV document in any notation.")],
    notation: Notation = None,
    home: Home = None,
) -> None:
    """Import a PROV document: entities as datasets and versions, activities as runs of jobs, agents as applications and owners.

    It goes through the log like every event: durable when acknowledged, once however often it is sent, there again after a rebuild. A
    document that is malformed or breaks a constraint is refused with its line and clause, and kept as a dead letter. Prints what it states
    and, by kind of statement, what the graph has no place for.

    For example:

      headwater import prov workflow.provn
    """
    emit_json(asyncio.run(_import(contents(file), notation, home)))
    note("Durable; the graph has it with the next look.")


async def _import(body: bytes, notation: ProvFormat | None, home: Path | None) -> dict[str, Any]:
    async with open_answers(home) as answers:
        return await answers.take_prov(body, notation)
