"""OpenLineage events like those of a scheduler's jobs: START and COMPLETE of each run, with schemas, all different.

`home_of` makes a home whose log contains such events, projected. It is cached, because making it takes minutes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from bench.data.cache import kept

_JOBS, _DATASETS, _COLUMNS = 200, 1_000, 12
_AT_ONCE = 1_000
_PRODUCER = "https://example.org/scheduler"


def events(first: int, count: int) -> Iterator[bytes]:
    """Yield the events from a number on as JSON. The same number gives the same event."""
    for number in range(first, first + count):
        yield json.dumps(_event(number), separators=(",", ":")).encode()


def home_of(count: int) -> Path:
    """Return a home whose log and graph have the first `count` events. Callers must copy it before they change it."""

    def make(folder: Path) -> None:
        asyncio.run(_fill(folder / "home", count))

    return kept(f"events-home-{count}", make) / "home"


async def _fill(home: Path, count: int) -> None:
    from headwater.backend.home.settings import DEFAULT_TENANT, load_settings
    from headwater.backend.workspace import Workspace

    async with await Workspace.open(load_settings(home=home)) as workspace:
        for first in range(0, count, _AT_ONCE):
            body = b"[" + b",".join(events(first, min(_AT_ONCE, count - first))) + b"]"
            report = await asyncio.to_thread(workspace.events.submit(DEFAULT_TENANT, body).result)
            if report.rejected or report.duplicates:
                raise RuntimeError(f"{len(report.rejected)} events were refused, {report.duplicates} were known")
        await workspace.projector.catch_up()


def _event(number: int) -> dict[str, Any]:
    run, is_end = divmod(number, 2)
    job = run % _JOBS
    event: dict[str, Any] = {
        "eventType": "COMPLETE" if is_end else "START",
        "eventTime": f"20{run // 31_536_000 % 100:02d}-{run // 2_419_200 % 12 + 1:02d}-{run // 86_400 % 28 + 1:02d}"
        f"T{run // 3600 % 24:02d}:{run // 60 % 60:02d}:{run % 60:02d}.{is_end}00Z",
        "producer": _PRODUCER,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": str(UUID(int=0x5EED << 96 | run))},
        "job": {"namespace": "scheduler", "name": f"pipeline_{job // 20}.job_{job}"},
        "inputs": [_dataset((job * 7 + place) % _DATASETS) for place in range(2)],
        "outputs": [_dataset((job * 7 + 11) % _DATASETS)],
    }
    return event


def _dataset(number: int) -> dict[str, Any]:
    fields = [{"name": f"column_{column}", "type": "string" if column % 3 else "double"} for column in range(_COLUMNS)]
    facet = {"_producer": _PRODUCER, "_schemaURL": "https://openlineage.io/spec/facets/1-1-1/SchemaDatasetFacet.json", "fields": fields}
    return {"namespace": "s3://lake", "name": f"tables/t{number}", "facets": {"schema": facet}}
