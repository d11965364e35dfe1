"""Finds the version that each table had before the run that a replay repeats, from the versions in the graph and the table's own log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from headwater.backend.rerun.replay.invocations import Upstream
from headwater.backend.rerun.replay.kinds.kind import Sources, place_of
from headwater.backend.rerun.replay.model import Replay, TableBase
from headwater.backend.rerun.replay.starting_point import began_at
from headwater.errors import HeadwaterError, SourceChangedError, UnsupportedError
from headwater.graph.records import Look
from headwater.graph.versions.blocks import list_blocks

LAYERS = {"Delta": "delta", "Iceberg": "iceberg"}  # the modules that know the kinds of tables


def load_layer(kind: str) -> Any:
    """Return the module of a kind of tables. It loads DuckDB, which a service without replays does not need."""
    return import_module(f"{__package__}.{LAYERS[kind]}")


async def find_bases(upstream: Upstream, application: str, sources: Sources) -> list[TableBase]:
    """Return the base of each table that an application run wrote, and the present state of each table of Iceberg that it only read.

    Raises:
        UnsupportedError: the versions that the run wrote are unknown, gone from the log, or mixed with those of another program.
    """
    look = sources.roots.look()
    bases = []
    for dataset in upstream.writes(application):
        kind = await asyncio.to_thread(_kind, dataset, look)
        if kind in LAYERS:
            written = await _versions_written(dataset, application, sources)
            if kind == "Delta":
                bases.append(await asyncio.to_thread(load_layer(kind).find_base, dataset, place_of(dataset), written, look))
            else:
                began = await began_at(application, sources)
                bases.append(await asyncio.to_thread(load_layer("Iceberg").find_base, dataset, place_of(dataset), written, began, look))
    read = [dataset for dataset in upstream.reads(application) if await asyncio.to_thread(_kind, dataset, look) == "Iceberg"]
    return bases + [await asyncio.to_thread(load_layer("Iceberg").find_current, dataset, place_of(dataset), look) for dataset in read]


def refuse_later_writes(replay: Replay, dataset: str) -> None:
    """Check that no other program wrote to a table after the run that the replay repeats.

    Raises:
        SourceChangedError: a later version has other data. A commit would remove it.
    """
    for base in (base for step in replay.steps for base in step.tables if base.dataset == dataset and base.later):
        raise SourceChangedError(
            f"{dataset} has {base.later}, written after the run that the replay repeats, and a commit would remove it.",
            hint="Replay the latest run that wrote the table.",
        )


async def _versions_written(dataset: str, application: str, sources: Sources) -> Sequence[int]:
    blocks = await list_blocks(sources.graph, sources.tenant, dataset)
    runs = {run.id: run for run in await sources.graph.get(sources.tenant, sorted({block.run for block in blocks}))}
    names = [
        block.snapshot
        for block in blocks
        if block.run in runs and str(runs[block.run].properties.get("parentRun") or block.run) == application
    ]
    if not names or not all(name is not None and name.isdecimal() for name in names):
        raise UnsupportedError(
            f"The run that a replay would repeat did not report which version of the table {dataset} it wrote.",
            hint="Run the program once with `headwater run`, with capture on.",
        )
    return [int(name) for name in names if name is not None]


def _kind(dataset: str, look: Look) -> str | None:
    from headwater.backend.rerun.replay.table_files import find_table_kind  # loads DuckDB

    with suppress(HeadwaterError, OSError):  # the program is refused when it writes there
        return find_table_kind(place_of(dataset), look)
    return None
