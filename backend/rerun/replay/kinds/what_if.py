"""`what-if`: run the pipeline again with edited records, or with another version of one script."""

from __future__ import annotations

import asyncio
from pathlib import Path

from headwater.backend.rerun.replay.invocations import Upstream, upstream_of
from headwater.backend.rerun.replay.kinds.kind import ReplayRequest, Sources, Work, require
from headwater.backend.rerun.replay.kinds.source_age import notes_on_newer_sources
from headwater.backend.rerun.replay.kinds.source_records import select_source_records
from headwater.backend.rerun.replay.plan import applications_after, applications_between
from headwater.errors import InvalidQueryError


class WhatIf:
    """See `Kind`. An edit keeps the type of its column: Spark casts the new value from text, and the program fails if it cannot."""

    takes = frozenset({"dataset", "where", "rows", "set_values", "script"})

    async def plan(self, request: ReplayRequest, sources: Sources) -> Work:
        """See `Kind`."""
        if request.script is not None:
            return await _with_script(request, request.script, sources)
        require(request.dataset, "dataset", "Name the dataset of the records to edit.")
        if not request.set_values:
            raise InvalidQueryError("Neither an edit nor a script is given.", field="set", hint="For example: --set 'wind_speed = 9.8'.")
        chosen = await select_source_records(request, sources, "edited", reads_values=True, needs_part=False)
        if missing := sorted(set(request.set_values) - chosen.columns):
            raise InvalidQueryError(
                f"{request.dataset} has no column {missing[0]!r}.",
                field="set",
                hint=f"Its columns are {', '.join(sorted(chosen.columns))}.",
            )
        upstream = await upstream_of(sources.graph, sources.tenant, chosen.output)
        values = dict(request.set_values)
        edits = {file: {str(row): values for row in rows} for file, rows in chosen.files.items()}
        applications = applications_between(upstream.flows, chosen.datasets, chosen.output)
        return Work(output=chosen.output, upstream=upstream, applications=applications, edits=edits)


async def _with_script(request: ReplayRequest, script: Path, sources: Sources) -> Work:
    if request.dataset or request.where or request.rows or request.set_values:
        raise InvalidQueryError("A replay has edited records or another script, not both.", field="script")
    if not await asyncio.to_thread(script.is_file):
        raise InvalidQueryError(f"There is no script {script}.", field="script")
    output = await sources.find_dataset(require(request.output, "output", "Name the dataset to make again."), "output")
    upstream = await upstream_of(sources.graph, sources.tenant, output)
    edited = _last_writer(upstream, output)
    applications = applications_after(upstream.flows, edited, output)
    notes = await notes_on_newer_sources(upstream, applications, sources)
    return Work(output=output, upstream=upstream, applications=applications, edited=edited, script=script, notes=notes)


def _last_writer(upstream: Upstream, output: str) -> str:
    """Return the application that writes the output: its script is the one to replace."""
    writers = sorted({flow.application for flow in upstream.flows if output in flow.writes})
    if len(writers) != 1:
        raise InvalidQueryError(
            f"{len(writers)} programs write {output}, so which of them the script replaces is not clear.",
            field="script", hint="Name an output that one program writes.",
        )  # fmt: skip
    return writers[0]
