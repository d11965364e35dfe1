"""`verify`: run the pipeline again unchanged, and compare every dataset that it writes."""

from __future__ import annotations

from headwater.backend.rerun.replay.invocations import upstream_of
from headwater.backend.rerun.replay.kinds.kind import ReplayRequest, Sources, Work, require
from headwater.backend.rerun.replay.plan import in_order
from headwater.backend.rerun.replay.starting_point import find_starting_point
from headwater.errors import NotFoundError


class Verify:
    """Runs all programs upstream of the output again, even if their existing results could be used."""

    takes: frozenset[str] = frozenset()

    async def plan(self, request: ReplayRequest, sources: Sources) -> Work:
        output = await sources.find_dataset(require(request.output, "output", "Name the dataset to verify."), "output")
        upstream = await upstream_of(sources.graph, sources.tenant, output)
        applications = in_order(upstream.flows, {flow.application for flow in upstream.flows})
        if not applications:
            raise NotFoundError(f"No recorded run wrote {output}.", hint="Run its program with `headwater run`.")
        outputs = [dataset for application in applications for dataset in upstream.writes(application)]
        start = await find_starting_point(upstream, applications, sources)
        return Work(output=output, outputs=list(dict.fromkeys(outputs)), upstream=upstream, start=start)
