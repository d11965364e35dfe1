"""The lineage graph of an answer: the datasets and jobs that the trace passed, and the lineage of the requested column.

The page draws this graph. The graph contains only links that the trace followed, even if the store has other links between two of its
nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from headwater.graph.model import Edge, EdgeKind, Node, NodeKind, node_id, parse_id
from headwater.graph.stores.protocol import Direction, GraphStore, Subgraph
from headwater.graph.trace.answer import TraceAnswer

_COLUMN_LIMIT = 2_000


async def make_path_graph(
    graph: GraphStore, tenant: str, answer: TraceAnswer, *, column: str | None = None, forward: bool = False
) -> Subgraph:
    """Return the nodes and edges of `answer.path`.

    With `column`, also return this column of the selected datasets and the columns that it came from (forward: went into).
    """
    flows = _list_flows(answer)
    jobs = {hop.job for hop in answer.path}
    ends = {end for edge in flows for end in (edge.src, edge.dst)}
    datasets = {entry.dataset for entry in (*answer.selected, *answer.records)} | ends - jobs
    stated_graph = (
        await graph.neighbours(tenant, sorted(jobs), direction=Direction.BOTH, kinds=[EdgeKind.READS, EdgeKind.WRITES]) if jobs else []
    )
    as_stated = {_make_edge_key(edge): edge for edge in stated_graph}
    nodes = await _read_nodes(graph, tenant, sorted(datasets | jobs))
    edges = [as_stated.get(_make_edge_key(edge), edge) for edge in flows]
    if column is None:
        return Subgraph(nodes=nodes, edges=edges, distance={})
    begin = sorted({entry.dataset for entry in answer.selected})
    direction = Direction.DOWNSTREAM if forward else Direction.UPSTREAM
    columns = await _read_columns(graph, tenant, begin, column, datasets, direction=direction, depth=2 * len(answer.path) + 1)
    return Subgraph(nodes=[*nodes, *columns.nodes], edges=[*edges, *columns.edges], distance={}, truncated=columns.truncated)


def make_column_id(dataset: str, column: str) -> str:
    _, parts = parse_id(dataset)
    return node_id(NodeKind.COLUMN, *parts, column)


async def _read_columns(
    graph: GraphStore, tenant: str, begin: Sequence[str], column: str, datasets: Collection[str], *, direction: Direction, depth: int
) -> Subgraph:
    focus = [make_column_id(dataset, column) for dataset in begin]
    column_lineage = await graph.reach(tenant, focus, direction=direction, kinds=[EdgeKind.DERIVES], depth=depth, limit=_COLUMN_LIMIT)
    owner = {node.id: _get_dataset_id(node.id) for node in column_lineage.nodes}
    column_nodes = [node for node in column_lineage.nodes if owner[node.id] in datasets]
    ids = {node.id for node in column_nodes}
    derives = [edge for edge in column_lineage.edges if edge.src in ids and edge.dst in ids]
    contains = [Edge(owner[node.id], node.id, EdgeKind.CONTAINS) for node in column_nodes]
    return Subgraph(nodes=column_nodes, edges=[*derives, *contains], distance={}, truncated=column_lineage.truncated)


async def _read_nodes(graph: GraphStore, tenant: str, ids: Sequence[str]) -> list[Node]:
    """Return the nodes with these ids. A node that is not in the graph gets its id as its name."""
    stored_nodes = {node.id: node for node in await graph.get(tenant, ids)}
    return [stored_nodes.get(identifier) or _make_unstated_node(identifier) for identifier in ids]


def _make_unstated_node(identifier: str) -> Node:
    kind, parts = parse_id(identifier)
    return Node(identifier, NodeKind(kind), parts[-1])


def _list_flows(answer: TraceAnswer) -> list[Edge]:
    flows: dict[tuple[str, str, EdgeKind], Edge] = {}
    for hop in answer.path:
        for edge in (*(Edge(source, hop.job, EdgeKind.READS) for source in hop.inputs), Edge(hop.job, hop.output, EdgeKind.WRITES)):
            flows.setdefault(_make_edge_key(edge), edge)
    return list(flows.values())


def _make_edge_key(edge: Edge) -> tuple[str, str, EdgeKind]:
    return edge.src, edge.dst, edge.kind


def _get_dataset_id(column: str) -> str:
    _, parts = parse_id(column)
    return node_id(NodeKind.DATASET, *parts[:-1])
