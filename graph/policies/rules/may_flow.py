"""`may_flow`: only data of the nodes in `from` may flow directly, over one job, into those in `to`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.graph.model import NodeKind, kind_of
from headwater.graph.policies.checked_graph import CheckedGraph
from headwater.graph.policies.deviation import Deviation
from headwater.graph.policies.flow_graph import Step
from headwater.graph.policies.matcher import Selectors
from headwater.graph.policies.rules.rule import Heading, read_parts, read_selectors, read_ways, shown
from headwater.graph.policies.selector import dataset_of
from headwater.graph.views.fields import Way


@dataclass(frozen=True, slots=True)
class AllowedFlow:
    """A target may get data only from the sources, and from itself. A source may also be the job that writes the target."""

    sources: Selectors
    targets: Selectors
    ways: Way

    @property
    def groups(self) -> Sequence[Selectors]:
        return [self.sources, self.targets]

    def deviations(self, heading: Heading, checked: CheckedGraph) -> Iterator[Deviation]:
        known: dict[tuple[str, str], Deviation] = {}
        for node in checked.graph.nodes:
            if kind_of(node) is NodeKind.JOB:
                continue
            for step in checked.graph.steps(node, self.ways):
                for deviation in self._of_step(node, step, heading, checked):
                    before = known.get((deviation.source, deviation.target))
                    if before is None or (deviation.certain and not before.certain):
                        known[deviation.source, deviation.target] = deviation
        yield from (known[key] for key in sorted(known))

    def _of_step(self, node: str, step: Step, heading: Heading, checked: CheckedGraph) -> Iterator[Deviation]:
        reached = step.node if step.node is not None else step.job
        target = checked.match(self.targets, reached) if reached else None
        if reached is None or target is None or dataset_of(reached) == dataset_of(node):
            return
        if checked.match(self.sources, node) is not None or (step.job is not None and checked.fits(self.sources, step.job)):
            return
        source = node if kind_of(target) is NodeKind.COLUMN else dataset_of(node)
        may_be_column = kind_of(node) is NodeKind.DATASET and any(selector.kinds == {NodeKind.COLUMN} for selector in self.sources)
        is_certain = step.certain and not may_be_column
        may = "flows" if is_certain else "may flow"
        message = (
            f"Data of the {shown(source)} {may} to the {shown(target)}, which may only get data from {' or '.join(map(str, self.sources))}."
        )
        path = [each for each in (node, step.job, step.node) if each is not None]
        yield heading.deviation(target, message, source=source, path=path, since=step.since, certain=is_certain)


def parse(stated: Any, place: str) -> AllowedFlow:
    parts = read_parts(stated, place, needs=("from", "to"), accepts=("ways",))
    sources, targets = (read_selectors(parts[name], f"{place}.{name}") for name in ("from", "to"))
    return AllowedFlow(sources, targets, read_ways(parts.get("ways"), f"{place}.ways"))
