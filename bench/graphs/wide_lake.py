"""A generated lake of very many datasets, for the map of the whole lake: datasets, jobs and pipelines, without columns and runs.

Each dataset has a namespace (5,000 datasets in each) and a job of its own in a pipeline (250 jobs in each). A job reads up to eight earlier
datasets: most of its own pipeline, some of its namespace, and some of the whole lake. A third of the datasets has an owner (of 500), a
fifth a tag (of 40). The same size gives the same lake.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp, node_id

_NAMESPACE, _PIPELINE = 5_000, 250
_CHUNK, _BATCH = 50_000, 2_500
_STAMP = Stamp("2026-01-01T00:00:00.000000Z", "lake")


def namespace_of(index: int) -> str:
    number = index // _NAMESPACE
    return f"{('s3', 'hdfs', 'postgres', 'kafka')[number % 4]}://lake-{number}"


def dataset_of(index: int) -> str:
    return node_id(NodeKind.DATASET, namespace_of(index), f"mart_{index // _PIPELINE}/table_{index}")


def wide_batches(datasets: int) -> Iterator[GraphBatch]:
    """Yield the lake, 2,500 datasets per batch."""
    for start in range(0, datasets, _CHUNK):
        random = np.random.default_rng(start)
        size = min(_CHUNK, datasets - start)
        wanted = np.minimum(random.zipf(1.9, size), 8)
        kinds, places = random.random((size, 8)), random.random((size, 8))
        for first in range(0, size, _BATCH):
            nodes: list[Node] = []
            edges: list[Edge] = []
            for offset in range(first, min(first + _BATCH, size)):
                index = start + offset
                sources = {_source(index, kinds[offset, number], places[offset, number]) for number in range(wanted[offset]) if index}
                _add(index, sources - {index}, nodes, edges)
            yield GraphBatch(_STAMP, nodes, edges)


def _source(index: int, kind: float, place: float) -> int:
    low = index - index % (_PIPELINE if kind < 0.7 else _NAMESPACE if kind < 0.9 else index)
    return int(low + place * (index - low))


def _add(index: int, sources: set[int], nodes: list[Node], edges: list[Edge]) -> None:
    facts: dict[str, object] = {}
    if index % 3 == 0:
        facts["ownership"] = {"owners": [{"name": f"team-{index // 1_000 % 500}"}]}
    if index % 5 == 0:
        facts["tags"] = {"tags": [{"key": f"tag-{index // 100 % 40}"}]}
    dataset = dataset_of(index)
    job = node_id(NodeKind.JOB, "airflow", f"flow_{index // _PIPELINE}.load_{index}")
    nodes.append(Node(dataset, NodeKind.DATASET, dataset.rpartition(":")[2], facts))
    nodes.append(Node(job, NodeKind.JOB, job.rpartition(":")[2]))
    edges.append(Edge(node_id(NodeKind.PLATFORM, namespace_of(index)), dataset, EdgeKind.CONTAINS))
    edges.append(Edge(node_id(NodeKind.PIPELINE, "airflow", f"flow_{index // _PIPELINE}"), job, EdgeKind.CONTAINS))
    edges.append(Edge(job, dataset, EdgeKind.WRITES))
    edges.extend(Edge(dataset_of(source), job, EdgeKind.READS) for source in sorted(sources))
