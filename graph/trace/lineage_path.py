"""The lineage graph of an answer: the datasets and jobs that the trace passed, and the requested column's lineage.

For the page, which draws it. The graph must hold no link that the trace did not follow, even if the store has one between two of its nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from headwater.graph.model import Edge, EdgeKind, Node, NodeKind, node_id, parse_id
from headwater.graph.stores.protocol import Direction, GraphStore, Subgraph
from headwater.graph.trace.answer import TraceAnswer

_COLUMN_LIMIT = 2_000


async def path_graph(graph: GraphStore, tenant: str, answer: TraceAnswer, *, column: str | None = None, forward: bool = False) -> Subgraph:
    """Return the nodes and edges of `answer.path`.

    With `column`, add that column of the selected datasets and its sources (forward: products).
    """
    flows = _flows(answer)
    jobs = {hop.job for hop in answer.path}
    ends = {end for edge in flows for end in (edge.src, edge.dst)}
    datasets = {entry.dataset for entry in (*answer.selected, *answer.records)} | ends - jobs
    stated = await graph.neighbours(tenant, sorted(jobs), direction=Direction.BOTH, kinds=[EdgeKind.READS, EdgeKind.WRITES]) if jobs else []
    as_stated = {_key(edge): edge for edge in stated}
    nodes = await _nodes(graph, tenant, sorted(datasets | jobs))
    edges = [as_stated.get(_key(edge), edge) for edge in flows]
    if column is None:
        return Subgraph(nodes=nodes, edges=edges, distance={})
    begin = sorted({entry.dataset for entry in answer.selected})
    direction = Direction.DOWNSTREAM if forward else Direction.UPSTREAM
    columns = await _columns(graph, tenant, begin, column, datasets, direction=direction, depth=2 * len(answer.path) + 1)
    return Subgraph(nodes=[*nodes, *columns.nodes], edges=[*edges, *columns.edges], distance={}, truncated=columns.truncated)


def column_id(dataset: str, column: str) -> str:
    """Return the id of a column of the dataset with the id `dataset`."""
    _, parts = parse_id(dataset)
    return node_id(NodeKind.COLUMN, *parts, column)


async def _columns(
    graph: GraphStore, tenant: str, begin: Sequence[str], column: str, datasets: Collection[str], *, direction: Direction, depth: int
) -> Subgraph:
    """Return the lineage of the column within the datasets of the path, with edges from each dataset to its columns."""
    focus = [column_id(dataset, column) for dataset in begin]
    reached = await graph.reach(tenant, focus, direction=direction, kinds=[EdgeKind.DERIVES], depth=depth, limit=_COLUMN_LIMIT)
    owner = {node.id: _dataset_of(node.id) for node in reached.nodes}
    kept = [node for node in reached.nodes if owner[node.id] in datasets]
    ids = {node.id for node in kept}
    derives = [edge for edge in reached.edges if edge.src in ids and edge.dst in ids]
    contains = [Edge(owner[node.id], node.id, EdgeKind.CONTAINS) for node in kept]
    return Subgraph(nodes=kept, edges=[*derives, *contains], distance={}, truncated=reached.truncated)


async def _nodes(graph: GraphStore, tenant: str, ids: Sequence[str]) -> list[Node]:
    """Return the nodes. A node that no event has stated gets its id as its name."""
    known = {node.id: node for node in await graph.get(tenant, ids)}
    return [known.get(identifier) or _unstated(identifier) for identifier in ids]


def _unstated(identifier: str) -> Node:
    kind, parts = parse_id(identifier)
    return Node(identifier, NodeKind(kind), parts[-1])


def _flows(answer: TraceAnswer) -> list[Edge]:
    """Return every flow of the path once, in the order of the path."""
    flows: dict[tuple[str, str, EdgeKind], Edge] = {}
    for hop in answer.path:
        for edge in (*(Edge(source, hop.job, EdgeKind.READS) for source in hop.inputs), Edge(hop.job, hop.output, EdgeKind.WRITES)):
            flows.setdefault(_key(edge), edge)
    return list(flows.values())


def _key(edge: Edge) -> tuple[str, str, EdgeKind]:
    return edge.src, edge.dst, edge.kind


def _dataset_of(column: str) -> str:
    _, parts = parse_id(column)
    return node_id(NodeKind.DATASET, *parts[:-1])
