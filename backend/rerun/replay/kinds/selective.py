"""`selective`: run the pipeline again on only the records that a trace of chosen output rows finds."""

from __future__ import annotations

from headwater.backend.rerun.replay.invocations import upstream_of
from headwater.backend.rerun.replay.kinds.kind import ReplayRequest, Sources, Work, file_prefix, require, rows_by_file
from headwater.backend.rerun.replay.plan import applications_between
from headwater.errors import InvalidQueryError, UnsupportedError
from headwater.graph.trace import Grain, TraceRequest

_LIMIT = 1_000_000  # limit of traced records; the scans of the replay look them up in memory


class Selective:
    """If a trace finds no single records of a dataset, the dataset is read as a whole, and a note says this."""

    takes = frozenset({"where", "rows"})

    async def plan(self, request: ReplayRequest, sources: Sources) -> Work:
        output = require(request.output, "output", "Name the dataset of the rows to make again.")
        if request.where is None and not request.rows:
            raise InvalidQueryError("No row of the output is chosen.", field="where", hint='Choose rows with --where "…" or --row FILE:N.')
        trace = TraceRequest(dataset=output, where=request.where, rows=request.rows, limit=_LIMIT, values=False, selected_values=False)
        answer = await sources.trace(trace)
        if not answer.selected:
            raise InvalidQueryError(f"No row of {output} was selected.", field="where", hint="Look at the rows first: `headwater trace`.")
        if answer.total > len(answer.records):
            raise UnsupportedError(
                f"The chosen rows come from {answer.total:,} records, more than {_LIMIT:,}.", hint="Choose fewer rows, or use `verify`."
            )
        coarse = {record.dataset for record in answer.records if record.grain is not Grain.RECORD}
        exact = [record for record in answer.records if record.dataset not in coarse]
        datasets = list(dict.fromkeys(record.dataset for record in answer.records))
        if not exact:
            raise UnsupportedError(
                f"The trace of {output} finds no single records, so nothing smaller than the whole pipeline can run.",
                hint="Use --kind verify to run all of it again.",
            )
        target = answer.selected[0].dataset
        upstream = await upstream_of(sources.graph, sources.tenant, target)
        notes = [f"{dataset} is read as a whole: the trace knows no single records of it." for dataset in sorted(coarse)]
        notes += [f"The trace may lack records: {entry.what}: {entry.reason}" for entry in answer.incomplete if entry.effect == "missing"]
        return Work(
            output=target, upstream=upstream, applications=applications_between(upstream.flows, datasets, target),
            keep=rows_by_file(exact, "kept"), restrict=sorted({file_prefix(record.dataset) for record in exact}),
            chosen=rows_by_file(answer.selected, "compared"), notes=notes,
        )  # fmt: skip
