"""Any set of nodes and edges as PROV: a view at chosen levels, whatever it shows and hides.

The meaning of an edge depends on its ends. PROV has words for a run that wrote a block, or read one, but not for coarser levels. A job is a
plan, and a plan neither uses nor makes anything, and a dataset is not made by one job. So all runs of a job are one activity (`hw:Runs`),
which used the job's inputs and influenced its outputs. Every other edge, including lifted ones, is an influence. An influence claims no
more than is known, and closes no circle that PROV-CONSTRAINTS forbids.

A link of a view through masked nodes only states their number (`hw:via`). Between blocks of data, and between columns, the link is a
derivation, whose steps PROV need not know. Between all other nodes it is an influence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from sys import intern

from headwater.graph.model import Edge, EdgeKind, Node, NodeKind
from headwater.graph.prov.describe import describe, describe_partition, node_or_bare, scalars
from headwater.graph.prov.lineage import describe_run
from headwater.graph.prov.statements import About, Statements
from headwater.graph.prov.terms import instant
from headwater.graph.views import VisibleEdge

_DATA = frozenset({NodeKind.DATA, NodeKind.PLATFORM, NodeKind.DATASET, NodeKind.VERSION, NodeKind.PARTITION, NodeKind.COLUMN})
_ACTIVITIES = frozenset({NodeKind.RUN, NodeKind.STAGE, NodeKind.TASK})
_BLOCKS = frozenset({NodeKind.VERSION, NodeKind.PARTITION})
_AGENTS = frozenset({NodeKind.SYSTEM, NodeKind.PIPELINE, NodeKind.ACTOR})


def describe_view(statements: Statements, nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
    """State the nodes of a view and the meaning of the edges between them. An edge may name a node that is not listed."""
    known = {node.id: node for node in nodes}
    for identifier in {end for edge in edges for end in (edge.src, edge.dst)} - known.keys():
        known[identifier] = node_or_bare(identifier, {})
    for _, node in sorted(known.items()):
        describe(statements, node)
    for edge in sorted(edges, key=lambda edge: (edge.kind, edge.src, edge.dst)):
        _describe_edge(statements, edge, known)


def describe_links(statements: Statements, known: Mapping[str, Node], links: Iterable[VisibleEdge]) -> None:
    """State the meaning of the links of a view. `known` are the nodes of the view."""
    for link in links:
        source, target = known[link.src], known[link.dst]
        about = {"weight": link.weight if link.weight > 1 else None, "via": link.via or None, "direct": None if link.direct else False}
        _describe_flow(statements, _flow_of(source, target, direct=link.direct), source, target, about)


def describe_within(statements: Statements, node: Node, containers: Sequence[Node]) -> None:
    """State a node and its containers, innermost first."""
    if node.kind is NodeKind.RUN:
        describe_run(statements, node, containers)
    elif node.kind is NodeKind.PARTITION:
        describe_partition(statements, node, containers)
    else:
        describe(statements, node)
        if node.kind in (NodeKind.STAGE, NodeKind.TASK, NodeKind.OPERATOR) and containers:
            describe_within(statements, containers[0], containers[1:])
            describe_containment(statements, containers[0], node)


def _describe_edge(statements: Statements, edge: Edge, known: Mapping[str, Node]) -> None:
    source, target = known[edge.src], known[edge.dst]
    if edge.kind is EdgeKind.CONTAINS:
        describe_containment(statements, source, target)
    elif edge.kind is EdgeKind.REPLAYS:
        statements.influenced(edge.dst, edge.src, "Replay")
    elif edge.kind is EdgeKind.DERIVES and source.kind is target.kind is NodeKind.COLUMN:
        statements.derived(edge.dst, edge.src, None, derivation_of(edge))
    else:
        about = {} if edge.kind is EdgeKind.CHECKS else edge.properties  # the result of a check may hold values
        _describe_flow(statements, edge.kind, source, target, scalars({"edge": str(edge.kind), **about}))


def _flow_of(source: Node, target: Node, *, direct: bool) -> EdgeKind | None:
    if {source.kind, target.kind} == {NodeKind.COLUMN} or {source.kind, target.kind} <= _BLOCKS:
        return EdgeKind.DERIVES
    if not direct:
        return None
    ends = source.kind in _DATA, target.kind in _DATA
    return {(True, False): EdgeKind.READS, (False, True): EdgeKind.WRITES}.get(ends)


def _describe_flow(statements: Statements, kind: EdgeKind | None, source: Node, target: Node, about: About) -> None:
    if kind is EdgeKind.DERIVES and source.kind in _DATA and target.kind in _DATA:
        statements.derived(target.id, source.id, None, about)
    elif kind is EdgeKind.READS and source.kind in _DATA and target.kind in (_ACTIVITIES | {NodeKind.JOB}):
        statements.used(_activity(statements, target), source.id)
    elif kind is EdgeKind.WRITES and source.kind in _ACTIVITIES and target.kind in _BLOCKS:
        statements.generated(target.id, source.id, instant(source.properties.get("endedAt")))
    elif source.kind is NodeKind.JOB or target.kind is NodeKind.JOB:
        statements.influenced(_activity(statements, target), _activity(statements, source), about=about)
    else:
        statements.influenced(target.id, source.id, about=about)


def describe_containment(statements: Statements, container: Node, child: Node) -> None:
    """State that a container holds a child, with the relation that PROV has for their kinds."""
    if container.kind in _AGENTS:
        if child.kind in _AGENTS:
            statements.on_behalf_of(child.id, container.id)
        elif child.kind is NodeKind.JOB:
            statements.attributed(child.id, container.id)
        elif child.kind in _ACTIVITIES:
            statements.associated(child.id, container.id, None)
    elif container.kind is NodeKind.JOB and child.kind is NodeKind.RUN:
        statements.associated(child.id, None, container.id)
    elif container.kind in _ACTIVITIES and child.kind in _ACTIVITIES:
        statements.started(child.id, container.id)
    elif container.kind is NodeKind.RUN and child.kind is NodeKind.OPERATOR:
        statements.associated(container.id, None, child.id)
    elif container.kind is NodeKind.DATASET and child.kind is NodeKind.VERSION:
        statements.specializes(child.id, container.id)
    elif container.kind in _DATA and child.kind in _DATA:
        statements.member(container.id, child.id)


def derivation_of(edge: Edge) -> dict[str, object]:
    """Return the kinds of the transformations by which one column comes from another."""
    transformations = edge.properties.get("transformations")
    listed = transformations if isinstance(transformations, list) else []
    kinds = [f"{entry.get('type')}/{entry.get('subtype')}" if entry.get("subtype") else str(entry.get("type")) for entry in listed]
    return {"transformation": ", ".join(dict.fromkeys(kinds)) or None}


def _activity(statements: Statements, node: Node) -> str:
    """Return the node that acts in PROV: for a job, the activity of all its runs."""
    if node.kind is not NodeKind.JOB:
        return node.id
    # The parts of an id are encoded alike in every id. Interned, since each link of a job keeps one.
    runs = intern(f"runs{node.id.removeprefix(NodeKind.JOB)}")
    statements.activity(runs, "Runs", f"All runs of {node.name}", None, None)
    statements.associated(runs, None, node.id)
    return runs
