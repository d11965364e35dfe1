"""Selects the reached nodes that a view shows: between two nodes, the ends of the lineage, or by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headwater.errors import InvalidQueryError
from headwater.graph.model import NodeKind
from headwater.graph.views.answer import Levels
from headwater.graph.views.atoms import Adjacency, Atoms, spread
from headwater.graph.views.components import components
from headwater.graph.views.levels import Zoom, kind_of, levels_among
from headwater.graph.views.request import ACTORS, DATA, ViewRequest


def between(
    request: ViewRequest, zoom: Zoom, ids: Sequence[str], reached: Mapping[int, int], after: Adjacency, before: Adjacency
) -> set[int]:
    """Return the atoms on a path between the two sides. An end counts even without a path.

    Raises:
        InvalidQueryError: a side is not in the lineage.
    """
    sides = []
    for named in request.between or ():
        found = {atom for atom in reached if not set(named).isdisjoint(zoom.chain(ids[atom]))}
        if not found:
            raise InvalidQueryError(
                f"{', '.join(named)} is not in this lineage.", field="between", hint="Ask for more depth, or for both directions."
            )
        sides.append(found)
    onwards, back = _within(after, reached), _within(before, reached)
    kept = sides[0] | sides[1]
    for one, other in (sides, sides[::-1]):
        kept |= spread(one, onwards).keys() & spread(other, back).keys()
    return kept


def end_points(node_of: Mapping[int, str], after: Adjacency, before: Adjacency) -> set[str]:
    """Return the nodes at which the lineage begins or ends: no node outside of their own cycle leads to them, or follows them."""
    found: set[str] = set()
    for steps in (_within(after, node_of), _within(before, node_of)):
        for component in components(node_of, steps.__getitem__):
            members = set(component)
            if all(other in members for atom in component for other in steps[atom]):
                found |= {node_of[atom] for atom in component}
    return found


def asked_for(request: ViewRequest, zoom: Zoom, atoms: Atoms, node_of: Mapping[int, str]) -> set[str]:
    """Return the nodes that the request names. They are never hidden."""
    asked = {node_of[atom] for atom in atoms.focus if atom in node_of}
    if request.between:
        named = {*request.between[0], *request.between[1]}
        asked |= {node for atom, node in node_of.items() if not named.isdisjoint(zoom.chain(atoms.ids[atom]))}
    return asked


def levels_of(identifiers: Iterable[str], zoom: Zoom) -> Levels:
    found = levels_among(identifiers, zoom)
    return Levels([level for level in DATA if level in found], [level for level in ACTORS if level in found])


def refuse_missing_levels(request: ViewRequest, zoom: Zoom, identifiers: Iterable[str], shown: Iterable[str]) -> None:
    """Refuse a level at which no reached node is.

    Raises:
        InvalidQueryError: the message lists the levels that exist.
    """
    nodes = list(shown)
    for name, level, levels in (("data", request.data, DATA), ("actors", request.actors, ACTORS)):
        # The graph has only some tasks of a run with thousands. Its stage represents the others.
        if any(node.startswith(f"{level}:") for node in nodes):
            continue
        kinds = {kind_of(node) for node in nodes}
        if kinds.isdisjoint(levels) or (level is NodeKind.TASK and NodeKind.STAGE in kinds):
            continue
        found = levels_of(identifiers, zoom)
        there = found.data if name == "data" else found.actors
        if level not in there:
            raise InvalidQueryError(f"This lineage has no {level}.", field=name, hint=f"Its levels of {name} are: {', '.join(there)}.")


def not_there(request: ViewRequest, zoom: Zoom, identifiers: Iterable[str]) -> list[str]:
    """Return the nodes in `open` that are not in the lineage."""
    if not request.open:
        return []
    known = {each for identifier in identifiers for each in zoom.chain(identifier)}
    return [identifier for identifier in request.open if identifier not in known]


def _within(steps: Adjacency, kept: Mapping[int, object]) -> Adjacency:
    return [[other for other in following if other in kept] for following in steps]
