"""The containment model: nodes, edges and their ids."""

from headwater.graph.model.elements import Block, Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp
from headwater.graph.model.ids import bare_name, kind_of, node_id, parse_id, run_key, run_uuid

__all__ = [
    "Block",
    "Edge",
    "EdgeKind",
    "GraphBatch",
    "Node",
    "NodeKind",
    "Stamp",
    "bare_name",
    "kind_of",
    "node_id",
    "parse_id",
    "run_key",
    "run_uuid",
]
