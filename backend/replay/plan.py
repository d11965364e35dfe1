"""Which programs a replay must run again, and in which order: pure functions over flows of data between applications.

Only what lies between the records left out and the output is repeated. Everything else is read where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from headwater.errors import NotFoundError, UnsupportedError


@dataclass(frozen=True, slots=True)
class Flow:
    """What one job of an application run read and wrote, as dataset ids."""

    application: str
    reads: frozenset[str]
    writes: frozenset[str]


def applications_between(flows: Sequence[Flow], sources: Iterable[str], output: str) -> list[str]:
    """Applications to run again, in an order in which each finds what it reads.

    Those with a job downstream of `sources` and upstream of `output`. An application runs whole, so it is ordered by all of its jobs.

    Raises:
        NotFoundError: no flow leads from the sources to the output.
        UnsupportedError: the applications feed each other in a circle.
    """
    affected = _closure(set(sources), [(flow.reads, flow.writes) for flow in flows])
    needed = _closure({output}, [(flow.writes, flow.reads) for flow in flows])
    chosen = {flow.application for flow in flows if flow.reads & affected and flow.writes & needed}
    if not chosen:
        raise NotFoundError(
            f"No recorded run leads from the records left out to {output}.",
            hint="Trace the output first: replay repeats the runs on that path.",
        )
    repeated = [flow for flow in flows if flow.application in chosen]
    order: TopologicalSorter[str] = TopologicalSorter({application: set() for application in sorted(chosen)})
    for reader in repeated:
        before = {writer.application for writer in repeated if writer.writes & reader.reads}
        order.add(reader.application, *sorted(before - {reader.application}))
    try:
        return list(order.static_order())
    except CycleError as error:
        raise UnsupportedError(f"The programs feed each other in a circle: {' → '.join(error.args[1])}.") from error


def _closure(start: set[str], edges: Sequence[tuple[frozenset[str], frozenset[str]]]) -> set[str]:
    reached = set(start)
    grew = True
    while grew:
        grew = False
        for enter, leave in edges:
            if enter & reached and not leave <= reached:
                reached |= leave
                grew = True
    return reached
