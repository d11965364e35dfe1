"""The change of a lineage between two instants: two views, compared at the requested levels and under the masks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headwater.errors import InvalidQueryError
from headwater.graph.model import Node, NodeKind, bare_name
from headwater.graph.model.instants import instant_of
from headwater.graph.stores.protocol import GraphStore
from headwater.graph.views.levels import kind_of
from headwater.graph.views.request import ViewRequest
from headwater.graph.views.viewing import View, view

Ends = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Difference:
    """Nodes and links that a lineage has at only one of two instants. `kept` counts the links that it has at both."""

    before: str
    after: str
    nodes_added: Sequence[Node]
    nodes_removed: Sequence[Node]
    edges_added: Sequence[Ends]
    edges_removed: Sequence[Ends]
    kept: int
    notes: Sequence[str]


async def difference(graph: GraphStore, tenant: str, request: ViewRequest, *, before: str, after: str) -> Difference:
    """Return the additions to a view and the removals from it, between two instants. A date means its end, in UTC.

    Raises:
        InvalidQueryError: neither instant has the requested levels, or the first is not before the second.
    """
    first, second = instant_of(before, "before", end=True), instant_of(after, "after", end=True)
    if first >= second:
        raise InvalidQueryError(f"{before} is not before {after}.", field="before", hint="Give the earlier instant first.")
    notes: list[str] = []
    old, new = [await _at(graph, tenant, request, instant) for instant in (first, second)]
    if isinstance(old, InvalidQueryError) and isinstance(new, InvalidQueryError):
        raise new
    for instant, found in ((first, old), (second, new)):
        notes += (
            [f"As of {instant}: {found}"]
            if isinstance(found, InvalidQueryError)
            else [f"As of {instant}: {note}" for note in _notes(found)]
        )
    nodes = [set() if isinstance(found, InvalidQueryError) else set(found.node_ids()) for found in (old, new)]
    edges = [set() if isinstance(found, InvalidQueryError) else found.all_edges() for found in (old, new)]
    return Difference(
        before=first,
        after=second,
        nodes_added=await _nodes(graph, tenant, nodes[1] - nodes[0]),
        nodes_removed=await _nodes(graph, tenant, nodes[0] - nodes[1]),
        edges_added=sorted(edges[1] - edges[0]),
        edges_removed=sorted(edges[0] - edges[1]),
        kept=len(edges[0] & edges[1]),
        notes=list(dict.fromkeys(notes)),
    )


async def _at(graph: GraphStore, tenant: str, request: ViewRequest, instant: str) -> View | InvalidQueryError:
    """Return the view at an instant. If the instant has no node at a requested level, return the error."""
    try:
        return await view(graph, tenant, replace(request, as_of=instant, since=None, until=None, after=None))
    except InvalidQueryError as error:
        return error


def _notes(found: View) -> list[str]:
    beyond = found.totals.beyond
    cut = [f"At least {beyond:,} more nodes lie beyond the depth asked for, and are not compared."] if beyond else []
    return [*found.notes, *cut]


async def _nodes(graph: GraphStore, tenant: str, ids: set[str]) -> list[Node]:
    known = {node.id: node for node in await graph.get(tenant, sorted(ids))}
    return [known.get(identifier) or Node(identifier, NodeKind(kind_of(identifier)), bare_name(identifier)) for identifier in sorted(ids)]
