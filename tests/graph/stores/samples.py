"""Small graphs for the contract suite."""

from __future__ import annotations

from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp, node_id

FLOWS = [EdgeKind.READS, EdgeKind.WRITES]


def stamp(second: int, key: str = "k") -> Stamp:
    return Stamp(f"2026-01-01T00:00:{second:02}.000000Z", key)


def dataset(name: str) -> str:
    return node_id(NodeKind.DATASET, "file", name)


def job(name: str) -> str:
    return node_id(NodeKind.JOB, "flights", name)


def column(name: str, field: str) -> str:
    return node_id(NodeKind.COLUMN, "file", name, field)


def node(identifier: str, name: str = "", **properties: object) -> Node:
    kind = NodeKind(identifier.split(":", 1)[0])
    return Node(identifier, kind, name or identifier.rsplit(":", 1)[-1], properties)


def reads(source: str, by: str) -> Edge:
    return Edge(dataset(source), job(by), EdgeKind.READS)


def writes(by: str, target: str) -> Edge:
    return Edge(job(by), dataset(target), EdgeKind.WRITES)


def contains(container: str, child: str) -> Edge:
    return Edge(container, child, EdgeKind.CONTAINS)


# weather, flights → enrich → enriched → report → out; weather → hourly → hours → report
PIPELINE = GraphBatch(
    stamp(1),
    edges=[
        reads("weather", "enrich"),
        reads("flights", "enrich"),
        writes("enrich", "enriched"),
        reads("enriched", "report"),
        reads("weather", "hourly"),
        writes("hourly", "hours"),
        reads("hours", "report"),
        writes("report", "out"),
    ],
)
