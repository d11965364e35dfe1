"""Lineage in time: the flows that existed at an instant, or in a window.

An edge has the times of its first and last statement, with the runs. Between these times it counts as existing. At an instant, a flow
exists if it had been stated by then, and its job had not dropped it. A job drops a flow if a later run, known at the instant, states flows
on the same side (inputs or outputs) without it. A flow without a time always counts as existing, and the answer states the number of such
flows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from headwater.graph.model import EdgeKind
from headwater.graph.model.instants import shown_instant
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.views.request import MAX_REACHED, ViewRequest

Side = tuple[str, bool]  # an actor, and whether the flow leaves it


@dataclass(frozen=True, slots=True)
class Flow:
    """An edge between an actor and data. `first` and `last` are `{time} {run}`, or empty if unknown."""

    src: str
    dst: str
    kind: EdgeKind
    first: str
    last: str

    @property
    def side(self) -> Side:
        """Return the actor of the flow, and whether the flow leaves the actor."""
        return (self.src, True) if self.kind is EdgeKind.WRITES or self.src.startswith(("job:", "run:")) else (self.dst, False)


async def in_time(
    graph: GraphStore, tenant: str, request: ViewRequest, flows: Sequence[Flow], notes: list[str], *, kinds: Sequence[EdgeKind] = ()
) -> list[bool]:
    """Return for each flow whether it existed at the requested time.

    `kinds` are the edges in which actors state their flows; reads and writes by default.
    """
    timeless = sum(1 for flow in flows if not flow.first)
    if timeless:
        notes.append(
            f"{timeless:,} flows have no time and count as always there: they were kept before times were, are inferred, "
            "or also come from what you may not see."
        )
    if request.as_of is None:
        return [not flow.first or within(flow, request.since, request.until) for flow in flows]
    actors = sorted({flow.side[0] for flow in flows})
    asked = tuple(kinds) or (EdgeKind.READS, EdgeKind.WRITES)
    around = await graph.cone(tenant, actors, direction=Direction.BOTH, kinds=asked, depth=1, limit=MAX_REACHED, facts=True)
    stated = [Flow(around.ids[src], around.ids[dst], *facts) for (src, dst), facts in zip(around.edges, around.facts, strict=True)]
    latest = latest_statements(stated, request.as_of)
    return [not flow.first or is_current(flow, request.as_of, latest) for flow in flows]


def silence(request: ViewRequest, flows: Sequence[Flow], there: Sequence[bool], focus: Collection[str]) -> list[str]:
    """Return a note if the focus has no flow at the requested time, because all of its flows were stated later or earlier."""
    near = [(flow, stays) for flow, stays in zip(flows, there, strict=True) if flow.src in focus or flow.dst in focus]
    if not near or any(stays for _, stays in near):
        return []
    times = [(time_of(flow.first), time_of(flow.last)) for flow, _ in near if flow.first]
    if not times:
        return []
    first, last = shown_instant(min(begin for begin, _ in times)), shown_instant(max(end for _, end in times))
    end = request.as_of or request.until
    if end is not None and end < min(begin for begin, _ in times):
        return [f"At {shown_instant(end)} nothing had read or written the focus yet: the first run that did is of {first}."]
    if request.since is not None and max(end for _, end in times) < request.since:
        return [f"Since {shown_instant(request.since)} nothing has read or written the focus: the last run that did is of {last}."]
    return [f"Nothing read or wrote the focus then: the runs that are known to are from {first} to {last}."]


def within(flow: Flow, since: str | None, until: str | None) -> bool:
    """Return whether the time between the first and last statement of a flow overlaps a window."""
    return (until is None or time_of(flow.first) <= until) and (since is None or time_of(flow.last) >= since)


def latest_statements(flows: Iterable[Flow], instant: str) -> dict[Side, str]:
    """Return the last statement by the instant for each side of each actor, as far as edges show it."""
    latest: dict[Side, str] = {}
    for flow in flows:
        for statement in (flow.first, flow.last):
            if statement and time_of(statement) <= instant and statement > latest.get(flow.side, ""):
                latest[flow.side] = statement
    return latest


def is_current(flow: Flow, instant: str, latest: Mapping[Side, str]) -> bool:
    if time_of(flow.first) > instant:
        return False
    newest = latest.get(flow.side, "")
    return newest <= flow.last or run_of(newest) == run_of(flow.last)


def time_of(statement: str) -> str:
    return statement.partition(" ")[0]


def run_of(statement: str) -> str:
    return statement.partition(" ")[2]
