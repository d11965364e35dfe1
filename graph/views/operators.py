"""Replaces runs by the operators of their plans. Data enters at the scans of its dataset, goes up the plan, and leaves at its root.

A run without a known plan stays as it is. It also stays for an input without a scan in the plan.
"""

from __future__ import annotations

from collections.abc import Collection

from headwater.graph.model import EdgeKind, NodeKind
from headwater.graph.stores.protocol import Direction, GraphStore
from headwater.graph.views.atoms import Atoms
from headwater.graph.views.levels import Zoom, kind_of
from headwater.graph.views.request import ViewRequest


async def open_runs(graph: GraphStore, tenant: str, request: ViewRequest, atoms: Atoms) -> None:
    """Replace each run that is shown by its operators."""
    zoom = Zoom(request, atoms.parents)
    runs = [
        identifier
        for identifier in atoms.ids
        if kind_of(identifier) is NodeKind.RUN and level_of(request, zoom, identifier) is NodeKind.OPERATOR
    ]
    inside = await graph.neighbours(tenant, runs, direction=Direction.DOWNSTREAM, kinds=[EdgeKind.CONTAINS])
    of_run: dict[str, list[str]] = {}
    for edge in inside:
        if kind_of(edge.dst) is NodeKind.OPERATOR:
            of_run.setdefault(edge.src, []).append(edge.dst)
    known = {node.id: node for node in await graph.get(tenant, [each for operators in of_run.values() for each in operators])}
    numbers = {identifier: number for number, identifier in enumerate(atoms.ids)}
    plans = {numbers[run]: _Plan(atoms, zoom) for run in of_run}
    for run, operators in of_run.items():
        for operator in sorted(operators):
            about = known[operator].properties
            plans[numbers[run]].add(operator, about.get("dataset"), about.get("children") or ())
    atoms.edges = [step for src, dst in atoms.edges for step in _through(plans, src, dst)]
    for plan in plans.values():
        atoms.edges += plan.steps()
    atoms.focus += [root for number in atoms.focus if number in plans for root in plans[number].all()]
    atoms.parents = {**atoms.parents, **{operator: [run] for run, operators in of_run.items() for operator in operators}}


def level_of(request: ViewRequest, zoom: Zoom, run: str) -> NodeKind:
    """Return the level at which a run is shown: the level of its innermost opened container."""
    return next((request.open[each] for each in zoom.chain(run) if each in request.open), request.actors)


def _through(plans: dict[int, _Plan], src: int, dst: int) -> list[tuple[int, int]]:
    """Return a flow into a run as flows into its scans, and a flow out of a run as flows out of its root."""
    if dst in plans:
        return [(src, scan) for scan in plans[dst].scans_of(src)] or [(src, dst), *((dst, root) for root in plans[dst].roots())]
    if src in plans:
        return [(root, dst) for root in plans[src].roots()]
    return [(src, dst)]


class _Plan:
    """The operators of one run, as atoms."""

    def __init__(self, atoms: Atoms, zoom: Zoom) -> None:
        self._atoms = atoms
        self._zoom = zoom
        self._numbers: dict[str, int] = {}
        self._scans: dict[str, list[int]] = {}
        self._children: list[tuple[str, Collection[str]]] = []

    def add(self, operator: str, dataset: object, children: Collection[str]) -> None:
        """Add an operator. `dataset` is the dataset that it scans, if it is a scan."""
        self._numbers[operator] = len(self._atoms.ids)
        self._atoms.ids.append(operator)
        self._children.append((operator, children))
        if isinstance(dataset, str):
            self._scans.setdefault(dataset, []).append(self._numbers[operator])

    def scans_of(self, data: int) -> list[int]:
        chain = self._zoom.chain(self._atoms.ids[data])
        return [scan for container in chain for scan in self._scans.get(container, ())]

    def roots(self) -> list[int]:
        read = {child for _, children in self._children for child in children}
        return [number for operator, number in self._numbers.items() if operator not in read]

    def steps(self) -> list[tuple[int, int]]:
        steps = [(child, operator) for operator, children in self._children for child in children if child in self._numbers]
        return [(self._numbers[child], self._numbers[operator]) for child, operator in steps]

    def all(self) -> list[int]:
        return list(self._numbers.values())
