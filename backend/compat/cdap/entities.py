"""Datasets and programs as CDAP names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headwater.graph.model import EdgeKind, NodeKind, parse_id
from headwater.graph.stores import Direction, GraphStore


def dataset_entity(dataset: str) -> dict[str, str]:
    """A dataset, of its node's id."""
    namespace, name = parse_id(dataset)[1][:2]
    return {"namespace": namespace, "dataset": name, "entity": "DATASET"}


def endpoint(dataset: str) -> dict[str, str]:
    """A dataset as operations name it."""
    namespace, name = parse_id(dataset)[1][:2]
    return {"namespace": namespace, "name": name}


def program_entity(actor: str, pipeline: str | None) -> dict[str, str]:
    """A job in its pipeline, or a pipeline: a workflow. A job of no pipeline is an application of its own."""
    kind, (namespace, name) = parse_id(actor)
    application = parse_id(pipeline)[1][1] if pipeline else name
    program_type = "WORKFLOW" if kind == NodeKind.PIPELINE else "SPARK"
    return {
        "namespace": namespace,
        "application": application,
        "version": "-SNAPSHOT",
        "type": program_type,
        "program": name,
        "entity": "PROGRAM",
    }


async def pipelines_of(graph: GraphStore, tenant: str, jobs: Sequence[str]) -> Mapping[str, str]:
    """The pipeline that contains each job, where one does; of several the first by id."""
    edges = await graph.neighbours(tenant, jobs, direction=Direction.UPSTREAM, kinds=[EdgeKind.CONTAINS]) if jobs else []
    found: dict[str, str] = {}
    for edge in sorted(edges, key=lambda edge: edge.src):
        if edge.src.startswith(f"{NodeKind.PIPELINE}:"):
            found.setdefault(edge.dst, edge.src)
    return found
