"""`step`: stops before each program, and shows its input records and the previous output. The user edits records, continues, or ends.

Jobs within one program run together, because the unit is the program. The module `stops` does the work at a stop.
"""

from __future__ import annotations

from headwater.backend.rerun.replay.invocations import upstream_of
from headwater.backend.rerun.replay.kinds.kind import ReplayRequest, Sources, Work, require
from headwater.backend.rerun.replay.plan import in_order
from headwater.backend.rerun.replay.starting_point import find_starting_point
from headwater.errors import NotFoundError


class Step:
    """Runs all programs upstream of the output, one after the other. Records can be dropped or edited at each stop."""

    takes: frozenset[str] = frozenset()

    async def plan(self, request: ReplayRequest, sources: Sources) -> Work:
        output = await sources.find_dataset(require(request.output, "output", "Name the dataset to make again."), "output")
        upstream = await upstream_of(sources.graph, sources.tenant, output)
        applications = in_order(upstream.flows, {flow.application for flow in upstream.flows})
        if not applications:
            raise NotFoundError(f"No recorded run wrote {output}.", hint="Run its program with `headwater run`.")
        return Work(output=output, upstream=upstream, start=await find_starting_point(upstream, applications, sources))
