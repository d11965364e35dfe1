"""`GET /api/v1/lineage`: the jobs and datasets upstream and downstream of a node, with their edges.

Marquez also returns other jobs that read a source of the node. Such jobs are not lineage of the node, and are left out here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Query
from starlette.responses import Response

from headwater.backend.compat.marquez.dataset_shape import bodies_of_datasets
from headwater.backend.compat.marquez.job_shape import bodies_of_jobs
from headwater.backend.compat.marquez.nodes import node_name, node_of
from headwater.backend.compat.marquez.request import Ask, MarquezRequest, answer, subject_router
from headwater.graph.model import EdgeKind, Node, NodeKind
from headwater.graph.stores import Direction
from headwater.graph.stores.protocol import Subgraph

router = subject_router()

NodeId = Annotated[str, Query(alias="nodeId", description="dataset:NAMESPACE:NAME or job:NAMESPACE:NAME.")]
Depth = Annotated[int, Query(ge=0, le=100, description="How many jobs deep, either way.")]

_MOST = 2_000  # limit of nodes in an answer, each with its runs or fields


@router.get("/lineage")
async def get_lineage(ask: Ask, name: NodeId, depth: Depth = 20) -> Response:
    """Return the lineage of a dataset or job, upstream and downstream: `{"graph": […], "truncated"}`, the nodes in order of their ids.

    `truncated` is the number of nodes that were found but left out, the furthest ones. The answer has `hidden` if some
    nodes are in namespaces that the caller may not read.
    """
    node = await node_of(ask, name, (NodeKind.DATASET, NodeKind.JOB))
    # The furthest jobs list their datasets, too. The jobs of the dataset itself are not counted.
    hops = 2 * depth + (2 if node.kind is NodeKind.DATASET else 1)
    reached = await ask.graph.reach(
        ask.tenant, [node.id], direction=Direction.BOTH, kinds=[EdgeKind.READS, EdgeKind.WRITES], depth=hops, limit=_MOST
    )
    hidden = {"hidden": True} if reached.hidden else {}
    return await answer({"graph": await _nodes(ask, reached), "truncated": reached.truncated} | hidden)


async def _nodes(ask: MarquezRequest, reached: Subgraph) -> list[dict[str, Any]]:
    jobs = [node for node in reached.nodes if node.kind is NodeKind.JOB]
    datasets = [node for node in reached.nodes if node.kind is NodeKind.DATASET]
    about = dict(zip([job.id for job in jobs], await bodies_of_jobs(ask, jobs), strict=True))
    about |= dict(zip([dataset.id for dataset in datasets], await bodies_of_datasets(ask, datasets), strict=True))
    return nodes_with_edges([*jobs, *datasets], [(edge.src, edge.dst) for edge in reached.edges], about)


def nodes_with_edges(nodes: Sequence[Node], edges: Sequence[tuple[str, str]], about: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Convert nodes to Marquez's form, with the edges between them."""
    names = {node.id: node_name(node.id) for node in nodes}
    into: dict[str, list[dict[str, str]]] = {node.id: [] for node in nodes}
    out: dict[str, list[dict[str, str]]] = {node.id: [] for node in nodes}
    for src, dst in sorted(set(edges)):
        if src in names and dst in names:
            edge = {"origin": names[src], "destination": names[dst]}
            out[src].append(edge)
            into[dst].append(edge)
    bodies = [
        {"id": names[node.id], "type": _TYPES[node.kind], "data": about[node.id], "inEdges": into[node.id], "outEdges": out[node.id]}
        for node in nodes
    ]
    return sorted(bodies, key=lambda node: str(node["id"]))


_TYPES = {NodeKind.JOB: "JOB", NodeKind.DATASET: "DATASET", NodeKind.COLUMN: "DATASET_FIELD"}
