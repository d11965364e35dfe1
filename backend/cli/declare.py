"""`headwater declare`: sends a declaration from a file."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from headwater.backend.cli.answers import open_answers
from headwater.backend.cli.options import Home
from headwater.backend.cli.output import emit_json, note
from headwater.backend.cli.prov import contents
from headwater.errors import InvalidInputError

app = typer.Typer(add_completion=False)


@app.command()
def declare(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A declaration as JSON; - reads standard input.")],
    home: Home = None,
) -> None:
    """Declare types, instances, containment, links and descriptions from a file: docs/reference/declarations.md.

    The declaration passes through the log like every event. A declaration that breaks a rule is refused as a whole,
    with the path of the fault. The command prints the log's offset.

    For example:

      headwater declare organisation.json
    """
    text = sys.stdin.buffer.read() if str(file) == "-" else contents(file)
    emit_json({"offset": asyncio.run(_declare(_parsed(text, str(file)), home))})
    note("Durable; the graph has it with the next look.")


async def _declare(document: dict[str, Any], home: Path | None) -> int:
    async with open_answers(home) as answers:
        return await answers.declare(document)


def _parsed(text: bytes, name: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise InvalidInputError(f"{name} is no JSON: {error}.", field="$", hint='Write it as {"descriptions": […]}.') from None
    if not isinstance(document, dict):
        raise InvalidInputError(f"{name} holds no object.", field="$", hint='Write it as {"descriptions": […]}.')
    return document
