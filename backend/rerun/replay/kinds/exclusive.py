"""`exclusive`: run the pipeline again without chosen records."""

from __future__ import annotations

from headwater.backend.rerun.replay.invocations import upstream_of
from headwater.backend.rerun.replay.kinds.kind import ReplayRequest, Sources, Work, require
from headwater.backend.rerun.replay.kinds.source_records import select_source_records
from headwater.backend.rerun.replay.plan import applications_between
from headwater.backend.rerun.replay.starting_point import find_starting_point


class Exclusive:
    takes = frozenset({"dataset", "where", "rows"})

    async def plan(self, request: ReplayRequest, sources: Sources) -> Work:
        require(request.dataset, "dataset", "Name the dataset of the records to leave out.")
        chosen = await select_source_records(request, sources, "left out")
        upstream = await upstream_of(sources.graph, sources.tenant, chosen.output)
        applications = applications_between(upstream.flows, chosen.datasets, chosen.output)
        start = await find_starting_point(upstream, applications, sources, trusted=chosen.datasets)
        return Work(output=chosen.output, upstream=upstream, start=start, exclude=chosen.files)
