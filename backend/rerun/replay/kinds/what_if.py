"""`what-if`: run the pipeline again with edited records, or with another version of one script."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from headwater.backend.rerun.replay.invocations import Upstream, upstream_of
from headwater.backend.rerun.replay.kinds.kind import ReplayRequest, Sources, Work, require
from headwater.backend.rerun.replay.kinds.source_records import SourceRecords, select_source_records
from headwater.backend.rerun.replay.plan import applications_after, applications_between
from headwater.backend.rerun.replay.starting_point import find_starting_point
from headwater.errors import InvalidQueryError


class WhatIf:
    """Runs the pipeline with edited records, or with another script.

    An edited value keeps the type of its column: Spark casts the new value from text, and the program fails if the cast fails.
    """

    takes = frozenset({"dataset", "where", "rows", "set_values", "patches", "script"})

    async def plan(self, request: ReplayRequest, sources: Sources) -> Work:
        if request.script is not None:
            return await _with_script(request, request.script, sources)
        require(request.dataset, "dataset", "Name the dataset of the records to edit.")
        if request.patches:
            return await _with_patches(request, sources)
        if not request.set_values:
            raise InvalidQueryError("Neither an edit nor a script is given.", field="set", hint="For example: --set 'wind_speed = 9.8'.")
        chosen = await select_source_records(request, sources, "edited", reads_values=True, needs_part=False)
        _check_columns(request, request.set_values, chosen)
        upstream = await upstream_of(sources.graph, sources.tenant, chosen.output)
        values = dict(request.set_values)
        edits = {file: {str(row): values for row in rows} for file, rows in chosen.files.items()}
        applications = applications_between(upstream.flows, chosen.datasets, chosen.output)
        start = await find_starting_point(upstream, applications, sources, trusted=chosen.datasets)
        return Work(output=chosen.output, upstream=upstream, start=start, edits=edits)


def _check_columns(request: ReplayRequest, values: Iterable[str], chosen: SourceRecords) -> None:
    if missing := sorted(set(values) - chosen.columns):
        raise InvalidQueryError(
            f"{request.dataset} has no column {missing[0]!r}.", field="set", hint=f"Its columns are {', '.join(sorted(chosen.columns))}."
        )


async def _with_patches(request: ReplayRequest, sources: Sources) -> Work:
    """Return the work for a patch file. Each record must exist, and two lines must not set the same value."""
    if request.where or request.rows or request.set_values:
        raise InvalidQueryError(
            "A patch file names its records and values itself.", field="patch", hint="Leave out --where, --row and --set."
        )
    edits: dict[str, dict[str, dict[str, str | None]]] = {}
    outputs: dict[str, list[str]] = {}
    for patch in request.patches:
        one = replace(request, patches=(), where=patch.where, rows=() if patch.place is None else (patch.place,))
        chosen = await select_source_records(one, sources, "edited", reads_values=True, needs_part=False)
        _check_columns(request, patch.values, chosen)
        outputs.setdefault(chosen.output, []).extend(chosen.datasets)
        for file, rows in chosen.files.items():
            for row in rows:
                values = edits.setdefault(file, {}).setdefault(str(row), {})
                if twice := sorted(set(values) & set(patch.values)):
                    raise InvalidQueryError(f"Two patches give {twice[0]} of row {row} of {file}.", field="patch")
                values |= patch.values
    if len(outputs) > 1:
        raise InvalidQueryError(f"The patched records reach {', '.join(outputs)}.", field="output", hint="Say which one to replay.")
    output, datasets = next(iter(outputs.items()))
    upstream = await upstream_of(sources.graph, sources.tenant, output)
    applications = applications_between(upstream.flows, datasets, output)
    start = await find_starting_point(upstream, applications, sources, trusted=datasets)
    return Work(output=output, upstream=upstream, start=start, edits=edits)


async def _with_script(request: ReplayRequest, script: Path, sources: Sources) -> Work:
    if request.dataset or request.where or request.rows or request.set_values or request.patches:
        raise InvalidQueryError("A replay has edited records or another script, not both.", field="script")
    if not await asyncio.to_thread(script.is_file):
        raise InvalidQueryError(f"There is no script {script}.", field="script")
    output = await sources.find_dataset(require(request.output, "output", "Name the dataset to make again."), "output")
    upstream = await upstream_of(sources.graph, sources.tenant, output)
    edited = _last_writer(upstream, output)
    applications = applications_after(upstream.flows, edited, output)
    start = await find_starting_point(upstream, applications, sources)
    return Work(output=output, upstream=upstream, start=start, edited=edited, script=script)


def _last_writer(upstream: Upstream, output: str) -> str:
    """Return the application that writes the output, because its script is replaced."""
    writers = sorted({flow.application for flow in upstream.flows if output in flow.writes})
    if len(writers) != 1:
        raise InvalidQueryError(
            f"{len(writers)} programs write {output}, so which of them the script replaces is not clear.",
            field="script", hint="Name an output that one program writes.",
        )  # fmt: skip
    return writers[0]
