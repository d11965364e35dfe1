"""`refresh`: after a source changed, run again only the programs that depend on it.

Each program that reads the change runs again, so the result is that of a full run. Aggregates over the changed source are computed file by
file if Spark's plan allows it. Files that an earlier refresh has read are then not read again (see `partial_results`).
"""

from __future__ import annotations

from headwater.backend.rerun.replay.invocations import downstream_of, upstream_of
from headwater.backend.rerun.replay.kinds.kind import ReplayRequest, Sources, Work, file_prefix, require
from headwater.backend.rerun.replay.plan import applications_between, in_order
from headwater.backend.rerun.replay.starting_point import find_starting_point
from headwater.errors import NotFoundError


class Refresh:
    """Runs the programs that depend on a changed source. If the request names an output, only the programs before the output run."""

    takes = frozenset({"dataset"})

    async def plan(self, request: ReplayRequest, sources: Sources) -> Work:
        changed = await sources.find_dataset(require(request.dataset, "dataset", "Name the source that changed."), "dataset")
        if request.output is not None:
            output = await sources.find_dataset(request.output, "output")
            upstream = await upstream_of(sources.graph, sources.tenant, output)
            applications = applications_between(upstream.flows, [changed], output)
        else:
            upstream = await downstream_of(sources.graph, sources.tenant, changed)
            applications = in_order(upstream.flows, {flow.application for flow in upstream.flows})
            if not applications:
                raise NotFoundError(f"No recorded run reads {changed}.", hint="There is nothing to refresh.")
            output = upstream.writes(applications[-1])[0] if upstream.writes(applications[-1]) else changed
        start = await find_starting_point(upstream, applications, sources, trusted=[changed])
        outputs = list(dict.fromkeys(dataset for one in start.applications for dataset in upstream.writes(one)))
        notes = ["By the recorded lineage, outputs of other programs read nothing of the change. They are left as they are."]
        return Work(output=output, outputs=outputs, upstream=upstream, start=start, changed=[file_prefix(changed)], notes=notes)
