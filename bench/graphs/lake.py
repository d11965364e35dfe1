"""A generated lake: a graph of any size in the shape of a real one, for the graph suite.

A twentieth of the nodes are datasets, each written by a job of its own that reads earlier ones. The inputs of a job and the readers of a
dataset follow a power law (few hubs, a long tail). Most reads stay within a domain. Every dataset has columns and
versions, every job runs, and the flows of runs and columns repeat those of jobs and datasets: three edges a node. The same size and
seed give the same lake.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp, node_id

_COLUMNS, _RUNS = 8, 5
_DOMAIN = 250  # datasets
_STAMP = Stamp("2026-01-01T00:00:00.000000Z", "lake")
_TYPES = ("long", "string", "double", "timestamp", "decimal(18,2)", "date", "boolean", "integer")
_BATCH = 100  # datasets with their jobs, columns, runs and versions


@dataclass(frozen=True)
class Lake:
    """A generated lake. `reads[i]` are the datasets that the job of dataset `i` reads, all smaller than `i`."""

    reads: Sequence[Sequence[int]]

    @classmethod
    def of(cls, nodes: int, *, seed: int = 1) -> Lake:
        """Generate a lake with about this number of nodes, and three times as many edges."""
        random = np.random.default_rng(seed)
        datasets = nodes // (2 + _COLUMNS + 2 * _RUNS)
        wanted = np.minimum(random.zipf(1.82, datasets), 80)
        near = random.random((datasets, 80)) < 0.6
        where = random.power(0.6, (datasets, 80))
        reads: list[list[int]] = []
        for index in range(datasets):
            low = index - index % _DOMAIN
            chosen = {
                int(low + place * (index - low)) if close else int(place * index)
                for place, close in zip(where[index, : wanted[index]], near[index], strict=False)
            }
            reads.append(sorted(source for source in chosen if source < index))
        return cls(reads)

    def dataset(self, index: int) -> str:
        return node_id(NodeKind.DATASET, *self._dataset(index))

    def job(self, index: int) -> str:
        """Return the id of the job that writes a dataset."""
        return node_id(NodeKind.JOB, *self._job(index))

    def batches(self) -> Iterator[GraphBatch]:
        """Yield the whole lake, a hundred datasets per batch."""
        for start in range(0, len(self.reads), _BATCH):
            nodes: list[Node] = []
            edges: list[Edge] = []
            for index in range(start, min(start + _BATCH, len(self.reads))):
                nodes += self._nodes(index)
                edges += self._edges(index)
            yield GraphBatch(_STAMP, nodes, edges)

    def foci(self, reached: int, *, depth: int, count: int) -> list[str]:
        """Return the datasets whose upstream within `depth` hops is nearest to `reached` nodes."""
        sizes = sorted((abs(self._upstream(index, depth) - reached), index) for index in range(len(self.reads)) if self.reads[index])
        return [self.dataset(index) for _, index in sizes[:count]]

    def whole(self, reached: int, *, count: int, candidates: int) -> list[str]:
        """Return those of the last `candidates` datasets whose whole upstream is nearest to `reached` nodes."""
        last = range(max(0, len(self.reads) - candidates), len(self.reads))
        sizes = sorted((abs(self._upstream(index, 2 * len(self.reads)) - reached), index) for index in last)
        return [self.dataset(index) for _, index in sizes[:count]]

    def _upstream(self, start: int, depth: int) -> int:
        """Count the datasets and jobs within `depth` hops upstream, including the start. From dataset to dataset are two hops."""
        hops = {start: 0}
        queue = deque([start])
        jobs = 0
        while queue:
            at = queue.popleft()
            if hops[at] == depth:
                continue
            jobs += 1
            for source in self.reads[at] if hops[at] + 2 <= depth else ():
                if source not in hops:
                    hops[source] = hops[at] + 2
                    queue.append(source)
        return len(hops) + jobs

    def _nodes(self, index: int) -> Iterator[Node]:
        namespace, name = self._dataset(index)
        fields = [{"name": f"c{column}", "type": _TYPES[column]} for column in range(_COLUMNS)]
        schema = {
            "_producer": "https://example.org/spark",
            "_schemaURL": "https://openlineage.io/spec/facets/1-1-1/SchemaDatasetFacet.json",
        }
        yield Node(self.dataset(index), NodeKind.DATASET, name, {"schema": schema | {"fields": fields}})
        yield Node(self.job(index), NodeKind.JOB, self._job(index)[1], {"lastRun": self._run(index, _RUNS - 1)})
        for column in range(_COLUMNS):
            about = {"type": _TYPES[column], "ordinal": column}
            yield Node(node_id(NodeKind.COLUMN, namespace, name, f"c{column}"), NodeKind.COLUMN, f"c{column}", about)
        for turn in range(_RUNS):
            began, ended = f"2026-01-{turn + 1:02}T00:00:00.000000Z", f"2026-01-{turn + 1:02}T00:05:00.000000Z"
            run = self._run(index, turn)
            yield Node(run, NodeKind.RUN, run.partition(":")[2], {"state": "COMPLETE", "startedAt": began, "endedAt": ended})
            yield Node(self._version(index, turn), NodeKind.VERSION, run.partition(":")[2], {"block": "base", "writtenAt": ended})

    def _edges(self, index: int) -> Iterator[Edge]:
        namespace, name = self._dataset(index)
        dataset, job = self.dataset(index), self.job(index)
        yield Edge(node_id(NodeKind.PLATFORM, namespace), dataset, EdgeKind.CONTAINS)
        yield Edge(node_id(NodeKind.SYSTEM, "airflow"), self._pipeline(index), EdgeKind.CONTAINS)
        yield Edge(self._pipeline(index), job, EdgeKind.CONTAINS)
        yield Edge(job, dataset, EdgeKind.WRITES)
        for source in self.reads[index]:
            yield Edge(self.dataset(source), job, EdgeKind.READS)
        for column in range(_COLUMNS):
            identifier = node_id(NodeKind.COLUMN, namespace, name, f"c{column}")
            yield Edge(dataset, identifier, EdgeKind.CONTAINS)
            for source in self.reads[index][column % 3 : column % 3 + 2]:
                derived = node_id(NodeKind.COLUMN, *self._dataset(source), f"c{(column + source) % _COLUMNS}")
                yield Edge(derived, identifier, EdgeKind.DERIVES, {"transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}]})
        for turn in range(_RUNS):
            run, version = self._run(index, turn), self._version(index, turn)
            yield Edge(job, run, EdgeKind.CONTAINS)
            yield Edge(dataset, version, EdgeKind.CONTAINS)
            yield Edge(run, version, EdgeKind.WRITES)
            for source in self.reads[index]:
                yield Edge(self._version(source, turn), run, EdgeKind.READS)

    def _dataset(self, index: int) -> tuple[str, str]:
        return f"s3://lake-{index // _DOMAIN % 20}", f"domain_{index // _DOMAIN}/mart/table_{index}"

    def _job(self, index: int) -> tuple[str, str]:
        return "airflow", f"domain_{index // _DOMAIN}.load_table_{index}"

    def _pipeline(self, index: int) -> str:
        return node_id(NodeKind.PIPELINE, "airflow", f"domain_{index // _DOMAIN}")

    def _run(self, index: int, turn: int) -> str:
        return node_id(NodeKind.RUN, f"01900000-0000-7000-8{turn:03}-{index:012}")

    def _version(self, index: int, turn: int) -> str:
        return node_id(NodeKind.VERSION, *self._dataset(index), f"01900000-0000-7000-8{turn:03}-{index:012}")
