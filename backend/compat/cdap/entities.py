"""Converts ids of datasets and programs to CDAP's form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headwater.graph.model import EdgeKind, NodeKind, parse_id
from headwater.graph.stores import Direction, GraphStore


def dataset_entity(dataset: str) -> dict[str, str]:
    namespace, name = parse_id(dataset)[1][:2]
    return {"namespace": namespace, "dataset": name, "entity": "DATASET"}


def endpoint(dataset: str) -> dict[str, str]:
    namespace, name = parse_id(dataset)[1][:2]
    return {"namespace": namespace, "name": name}


def program_entity(actor: str, pipeline: str | None) -> dict[str, str]:
    """Convert a job to a program, or a pipeline to a workflow. A job without a pipeline gets an application of its own name."""
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
    """Return the pipeline that contains each job. Of several pipelines, the first by id is used."""
    edges = await graph.neighbours(tenant, jobs, direction=Direction.UPSTREAM, kinds=[EdgeKind.CONTAINS]) if jobs else []
    found: dict[str, str] = {}
    for edge in sorted(edges, key=lambda edge: edge.src):
        if edge.src.startswith(f"{NodeKind.PIPELINE}:"):
            found.setdefault(edge.dst, edge.src)
    return found
