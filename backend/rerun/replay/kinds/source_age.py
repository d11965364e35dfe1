"""Finds sources that are newer than the runs that read them. They may explain differences in a replay."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

from headwater.backend.rerun.replay.invocations import Upstream
from headwater.backend.rerun.replay.kinds.kind import Sources, place_of
from headwater.errors import HeadwaterError


async def notes_on_newer_sources(upstream: Upstream, applications: Sequence[str], sources: Sources) -> list[str]:
    """Return a sentence for each source of some applications with a file that was written after the application began."""
    runs = await sources.graph.get(sources.tenant, applications)
    began = {run.id: str(run.properties.get("startedAt") or run.properties.get("endedAt") or "") for run in runs}
    made = {dataset for flow in upstream.flows if flow.application in applications for dataset in flow.writes}
    notes: dict[str, str] = {}
    for flow in upstream.flows:
        if not (start := began.get(flow.application)):
            continue
        for dataset in sorted(flow.reads - made):
            written = await asyncio.to_thread(_last_write, dataset, sources)
            if written is not None and written > datetime.fromisoformat(start).timestamp() * 1000:
                notes[dataset] = f"{dataset} was written after the run that read it began, so a difference may come from there."
    return list(notes.values())


def _last_write(dataset: str, sources: Sources) -> int | None:
    """Return the latest modification time of a dataset's files (ms), or None if it is unknown."""
    with suppress(HeadwaterError, OSError):
        return max((block.modified for block in sources.roots.look().listed(place_of(dataset)) or ()), default=None)
    return None
