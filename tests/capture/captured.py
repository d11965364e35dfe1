"""Sessions of `headwater.capture` in a home of a test, and what is asked of it afterwards."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headwater.backend.home.settings import load_settings
from headwater.backend.workspace import Workspace, deliver_spool
from headwater.graph.dataflow import Dataflow, reconstruct
from headwater.graph.trace import Semantics, TraceAnswer, TraceRequest


@dataclass
class Taken:
    """The entries that a session spooled."""

    manifests: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)


def spooled(home: Path) -> Taken:
    """Return the remaining entries that the sessions of a home have spooled."""
    found = Taken()
    for log in (home / "spool").glob("*/log"):
        for line in log.read_text().splitlines():
            item = json.loads(line.split(" ", 1)[1])
            (found.manifests if item["kind"] == "capture" else found.events).append(item["body"])
    return found


def taken(home: Path) -> None:
    """Deliver the spool of a home. No entry may be refused."""
    delivered = deliver_spool(home)
    assert (delivered.refused, delivered.damaged, delivered.pending) == ((), 0, 0)


def traced(
    home: Path,
    dataset: str | Path,
    rows: Iterable[tuple[str | Path, int]],
    *,
    forward: bool = False,
    witness: bool = False,
    values: bool = False,
    to: str | None = None,
) -> TraceAnswer:
    """A trace, as the command line asks for it."""

    async def ask() -> TraceAnswer:
        async with await Workspace.open(load_settings(home=home)) as workspace:
            return await workspace.trace(
                "default",
                TraceRequest(
                    dataset=str(dataset), rows=[(str(path), row) for path, row in rows], forward=forward, to=to, values=values,
                    semantics=Semantics.WITNESS if witness else Semantics.INFLUENCE,
                ),
            )  # fmt: skip

    taken(home)
    return asyncio.run(ask())


def reconstructed(home: Path, container: str) -> Dataflow:
    """The dataflow inside a container."""

    async def ask() -> Dataflow:
        async with await Workspace.open(load_settings(home=home)) as workspace:
            return await reconstruct(workspace.graph, "default", container)

    taken(home)
    return asyncio.run(ask())


def places(answer: TraceAnswer) -> set[tuple[str, int | None]]:
    """The records of an answer by the last part of their file's name, and row."""
    return {((record.file or record.dataset).rsplit("/", 1)[-1], record.row) for record in answer.records}
