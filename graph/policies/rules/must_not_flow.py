"""`must_not_flow`: no data of the nodes in `from` may reach those in `to`, over any number of jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.graph.policies.checked_graph import CheckedGraph
from headwater.graph.policies.deviation import Deviation
from headwater.graph.policies.matcher import Selectors
from headwater.graph.policies.rules.rule import Heading, read_parts, read_selectors, read_ways, shown
from headwater.graph.views.fields import Way


@dataclass(frozen=True, slots=True)
class ForbiddenFlow:
    """No path may lead from a source to a target. With `through`, only paths that avoid those nodes are forbidden."""

    sources: Selectors
    targets: Selectors
    through: Selectors
    ways: Way

    @property
    def groups(self) -> Sequence[Selectors]:
        return [self.sources, self.targets, *([self.through] if self.through else [])]

    def deviations(self, heading: Heading, checked: CheckedGraph) -> Iterator[Deviation]:
        for source in checked.find(self.sources):
            yield from self._from(source, heading, checked)

    def _from(self, source: str, heading: Heading, checked: CheckedGraph) -> Iterator[Deviation]:
        known: set[str] = set()
        for node, found in checked.paths(source, self.targets, ways=self.ways, through=self.through):
            if found.nodes[1:2] == (node,) and node in checked.graph.columns.get(source, ()):
                continue  # a column of the source itself
            target = checked.match(self.targets, node)
            if target is None or target in known or target == source:
                continue
            known.add(target)
            avoided = f" without {' or '.join(map(str, self.through))}" if self.through else ""
            may = "flows" if found.certain else "may flow"
            message = f"Data of the {shown(source)} {may} to the {shown(target)}{avoided}."
            yield heading.deviation(target, message, source=source, path=found.nodes, since=found.since, certain=found.certain)


def parse(stated: Any, place: str) -> ForbiddenFlow:
    parts = read_parts(stated, place, needs=("from", "to"), accepts=("ways",))
    sources, targets = (read_selectors(parts[name], f"{place}.{name}") for name in ("from", "to"))
    return ForbiddenFlow(sources, targets, (), read_ways(parts.get("ways"), f"{place}.ways"))
