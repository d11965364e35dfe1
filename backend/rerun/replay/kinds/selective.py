"""`selective`: run the pipeline again on only the records that a trace of chosen output rows finds."""

from __future__ import annotations

from headwater.backend.rerun.replay.invocations import upstream_of
from headwater.backend.rerun.replay.kinds.kind import ReplayRequest, Sources, Work, file_prefix, require, rows_by_file
from headwater.backend.rerun.replay.plan import StartingPoint, applications_between
from headwater.backend.rerun.replay.starting_point import find_starting_point
from headwater.errors import InvalidQueryError, UnsupportedError
from headwater.graph.trace import Grain, TraceAnswer, TraceRequest

_LIMIT = 1_000_000  # limit of traced records; the scans of the replay look them up in memory


class Selective:
    """Runs the pipeline on only the records behind chosen output rows.

    If a trace finds no single records of a dataset, the whole dataset is read, and a note reports this.
    """

    takes = frozenset({"where", "rows"})

    async def plan(self, request: ReplayRequest, sources: Sources) -> Work:
        output = require(request.output, "output", "Name the dataset of the rows to make again.")
        if request.where is None and not request.rows:
            raise InvalidQueryError("No row of the output is chosen.", field="where", hint='Choose rows with --where "…" or --row FILE:N.')
        start = await _latest_start(output, sources)
        answers = [await _trace(request, output, end, sources) for end in (start.datasets if start else [None])]
        records = [record for answer in answers for record in answer.records]
        selected = answers[0].selected
        coarse = {record.dataset for record in records if record.grain is not Grain.RECORD}
        exact = [record for record in records if record.dataset not in coarse]
        if not exact:
            raise UnsupportedError(
                f"The trace of {output} finds no single records, so nothing smaller than the whole pipeline can run.",
                hint="Use --kind verify to run all of it again.",
            )
        target = selected[0].dataset
        upstream = await upstream_of(sources.graph, sources.tenant, target)
        if start is None:
            datasets = list(dict.fromkeys(record.dataset for record in records))
            applications = applications_between(upstream.flows, datasets, target)
            start = await find_starting_point(upstream, applications, sources)
            if changed := [record.dataset for record in exact if record.dataset not in start.datasets or record.dataset in start.changed]:
                raise UnsupportedError(
                    f"{changed[0]} has changed since the run that read it, and the trace leads to its records.",
                    hint="Run the pipeline again, and replay that run. Or use --kind verify to run all of it again.",
                )
        notes = [f"{dataset} is read as a whole: the trace knows no single records of it." for dataset in sorted(coarse)]
        missing = [entry for answer in answers for entry in answer.incomplete if entry.effect == "missing"]
        notes += dict.fromkeys(f"The trace may lack records: {entry.what}: {entry.reason}" for entry in missing)
        return Work(
            output=target, upstream=upstream, start=start, keep=rows_by_file(exact, "kept"),
            restrict=sorted({file_prefix(record.dataset) for record in exact}), chosen=rows_by_file(selected, "compared"), notes=notes,
        )  # fmt: skip


async def _latest_start(output: str, sources: Sources) -> StartingPoint | None:
    """Return the starting point right before the output; None if the replay starts at sources that no program wrote."""
    try:
        target = await sources.find_dataset(output, "output")
    except InvalidQueryError:  # a partition, or a path in the dataset: the trace knows these
        return None
    upstream = await upstream_of(sources.graph, sources.tenant, target)
    writers = {flow.application for flow in upstream.flows if target in flow.writes}
    start = await find_starting_point(upstream, writers, sources, selects=True)
    return start if start.written_datasets(upstream.flows) else None


async def _trace(request: ReplayRequest, output: str, end: str | None, sources: Sources) -> TraceAnswer:
    """Trace the chosen rows back to the dataset `end`, or to their sources.

    Raises:
        InvalidQueryError: no row is selected.
        UnsupportedError: the rows come from too many records.
    """
    answer = await sources.trace(
        TraceRequest(dataset=output, where=request.where, rows=request.rows, to=end, limit=_LIMIT, values=False, selected_values=False)
    )
    if not answer.selected:
        raise InvalidQueryError(f"No row of {output} was selected.", field="where", hint="Look at the rows first: `headwater trace`.")
    if answer.total > len(answer.records):
        raise UnsupportedError(
            f"The chosen rows come from {answer.total:,} records, more than {_LIMIT:,}.", hint="Choose fewer rows, or use `verify`."
        )
    return answer
