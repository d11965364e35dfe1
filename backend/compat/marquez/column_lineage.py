"""`GET /api/v1/column-lineage`: lineage of the columns of a dataset or job, or of one column, in both directions.

As in Marquez, both `inEdges` and `outEdges` begin at the node, and `inEdges` lead to the columns from which the node derives.
Clients of Marquez rely on this.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Query

from headwater.backend.compat.marquez.dataset_shape import input_field
from headwater.backend.compat.marquez.nodes import node_name, node_of
from headwater.backend.compat.marquez.request import Ask, MarquezRequest, subject_router
from headwater.backend.projection.facets import text
from headwater.errors import InvalidQueryError
from headwater.graph.model import Edge, EdgeKind, Node, NodeKind, node_id, parse_id
from headwater.graph.stores import Direction
from headwater.graph.stores.protocol import Subgraph

router = subject_router()

_MOST_COLUMNS = 1_000  # limit of columns at which the lineage begins
_MOST = 5_000  # limit of nodes in an answer

NodeId = Annotated[
    str, Query(alias="nodeId", description="dataset:NAMESPACE:NAME, datasetField:NAMESPACE:NAME:FIELD or job:NAMESPACE:NAME.")
]
Depth = Annotated[int, Query(ge=0, le=100, description="How many steps deep.")]
Downstream = Annotated[bool, Query(alias="withDownstream", description="Also what derives from them.")]


@router.get("/column-lineage")
async def get_column_lineage(ask: Ask, name: NodeId, depth: Depth = 20, downstream: Downstream = False) -> dict[str, Any]:
    """Return the lineage of columns: `{"graph": […], "truncated"}`, the nodes in order of their ids. Columns without lineage are left out.

    `truncated` is the number of columns that were found but left out, the furthest ones.
    """
    node = await node_of(ask, name, (NodeKind.DATASET, NodeKind.COLUMN, NodeKind.JOB))
    columns = await _columns(ask, node)
    direction = Direction.BOTH if downstream else Direction.UPSTREAM
    reached = await ask.graph.reach(ask.tenant, columns, direction=direction, kinds=[EdgeKind.DERIVES], depth=depth, limit=_MOST)
    return {"graph": _nodes(reached), "truncated": reached.truncated} | ({"hidden": True} if reached.hidden else {})


async def _columns(ask: MarquezRequest, node: Node) -> list[str]:
    """Return the columns of a dataset, the columns that a job writes, or the named column.

    Raises:
        InvalidQueryError: the number of columns exceeds the limit.
    """
    if node.kind is NodeKind.COLUMN:
        return [node.id]
    if node.kind is NodeKind.JOB:
        edges = await ask.graph.neighbours(ask.tenant, [node.id], direction=Direction.DOWNSTREAM, kinds=[EdgeKind.ACCESSES])
        columns = sorted(edge.dst for edge in edges)
    else:
        listing = await ask.graph.listed(ask.tenant, node_id(NodeKind.COLUMN, *parse_id(node.id)[1], ""), first=_MOST_COLUMNS + 1)
        columns = [column.id for column in listing.nodes]
    if len(columns) > _MOST_COLUMNS:
        raise InvalidQueryError(f"{node.id} has more than {_MOST_COLUMNS:,} columns.", field="nodeId", hint="Ask about one of them.")
    return columns


def _nodes(reached: Subgraph) -> list[dict[str, Any]]:
    columns = {node.id: node for node in reached.nodes if node.kind is NodeKind.COLUMN}
    into: dict[str, list[Edge]] = {}
    out: dict[str, list[Edge]] = {}
    for edge in sorted(reached.edges, key=lambda edge: (edge.src, edge.dst)):
        if edge.src in columns and edge.dst in columns:
            into.setdefault(edge.dst, []).append(edge)
            out.setdefault(edge.src, []).append(edge)
    nodes = [
        {
            "id": node_name(column),
            "type": "DATASET_FIELD",
            "data": _data(columns[column], into.get(column, ())),
            "inEdges": [{"origin": node_name(column), "destination": node_name(edge.src)} for edge in into.get(column, ())],
            "outEdges": [{"origin": node_name(column), "destination": node_name(edge.dst)} for edge in out.get(column, ())],
        }
        for column in columns
        if column in into or column in out
    ]
    return sorted(nodes, key=lambda node: str(node["id"]))


def _data(column: Node, into: Sequence[Edge]) -> dict[str, Any]:
    namespace, dataset, field = parse_id(column.id)[1]
    inputs = [input_field(edge.src, edge.properties) for edge in into]
    return {
        "namespace": namespace,
        "dataset": dataset,
        "datasetVersion": None,
        "field": field,
        "fieldType": text(column.properties.get("type")) or "",
        "transformationDescription": next((one["transformationDescription"] for one in inputs), None),
        "transformationType": next((one["transformationType"] for one in inputs), None),
        "inputFields": [{**one, "datasetVersion": None} for one in inputs],
    }
