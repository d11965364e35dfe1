"""Orders the programs that a replay must run again. All functions are pure, over flows of data between applications.

A replay repeats only the programs between the excluded records and the output. All other data is read from its real place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from headwater.errors import NotFoundError, UnsupportedError


@dataclass(frozen=True, slots=True)
class Flow:
    """The datasets (ids) that one job of an application run read and wrote. `run` is the run of the job; empty: none is known."""

    application: str
    reads: frozenset[str]
    writes: frozenset[str]
    run: str = ""


@dataclass(frozen=True, slots=True)
class StartingPoint:
    """The applications that run, in order, and the datasets that they read from their places.

    `changed` says of datasets why their data is not the data that the run read, though no known program could write them again.
    """

    applications: Sequence[str]
    datasets: Sequence[str]
    changed: Mapping[str, str] = field(default_factory=dict)

    def written_datasets(self, flows: Sequence[Flow]) -> list[str]:
        """Return the datasets that programs wrote, which are not run again."""
        written = {dataset for flow in flows for dataset in flow.writes}
        return [dataset for dataset in self.datasets if dataset in written]

    def notes(self, flows: Sequence[Flow]) -> list[str]:
        """Return sentences about the starting point."""
        notes = [f"The replay starts at {dataset}: its data is the data that the run read." for dataset in self.written_datasets(flows)]
        return notes + [f"{dataset} {reason}, so a difference may come from there." for dataset, reason in self.changed.items()]


def applications_between(flows: Sequence[Flow], sources: Iterable[str], output: str) -> list[str]:
    """Return the applications to run again, each after the applications that write its inputs.

    These applications have a job downstream of `sources` and upstream of `output`. An application runs as a whole, so all of its jobs
    determine its position.

    Raises:
        NotFoundError: no flow leads from the sources to the output.
        UnsupportedError: the applications form a cycle.
    """
    affected = _closure(set(sources), [(flow.reads, flow.writes) for flow in flows])
    needed = _closure({output}, [(flow.writes, flow.reads) for flow in flows])
    chosen = {flow.application for flow in flows if flow.reads & affected and flow.writes & needed}
    if not chosen:
        raise NotFoundError(
            f"No recorded run leads from the records left out to {output}.",
            hint="Trace the output first: replay repeats the runs on that path.",
        )
    return in_order(flows, chosen)


def applications_after(flows: Sequence[Flow], application: str, output: str) -> list[str]:
    """Return an application, and the applications between its outputs and `output`, in order.

    Raises:
        UnsupportedError: the applications form a cycle.
    """
    made = {dataset for flow in flows if flow.application == application for dataset in flow.writes}
    affected = _closure(made, [(flow.reads, flow.writes) for flow in flows])
    needed = _closure({output}, [(flow.writes, flow.reads) for flow in flows])
    return in_order(flows, {application} | {flow.application for flow in flows if flow.reads & affected and flow.writes & needed})


def in_order(flows: Sequence[Flow], chosen: Collection[str]) -> list[str]:
    """Return the chosen applications, each after the applications that write its inputs.

    Raises:
        UnsupportedError: the applications form a cycle.
    """
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
