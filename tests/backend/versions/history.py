"""A dataset with a random history: runs that replace it or add to it, and consumers that read it, as captures and as a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from headwater.backend.ingest.intake.declarations import check_form
from headwater.backend.projection.declaration import declaration_stamp, project_declaration
from headwater.backend.versions.collector import Collector
from headwater.backend.versions.compaction.compactor import Compactor
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp, node_id
from headwater.graph.records import AssociationStore, DataRoots, ReplacedData
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.trace import Semantics, TraceAnswer, TraceRequest, trace
from tests.backend.versions.plain_merge import COLUMNS, PlainMerge
from tests.captured import project_captures
from tests.graph.jobs import TENANT, Job, Row, write_csv

_OPTIONS = {"header": "true", "nullvalue": "NA"}


class Declared:
    """Declarations that a collector made."""

    def __init__(self) -> None:
        self.documents: list[Mapping[str, Any]] = []

    async def declare(self, tenant: str, document: Mapping[str, Any]) -> int:
        assert tenant == TENANT
        self.documents.append(document)
        return len(self.documents)


@dataclass
class History:
    """The dataset `root/out` with block files `run<n>-00000.parquet`. A base leaves the files before it, which no reader takes any more."""

    root: Path
    store: AssociationStore
    graph: SqliteStore
    clock: int = 0
    blocks: list[tuple[str, str]] = field(default_factory=list)  # (mode, name of the file)
    read: dict[str, int] = field(default_factory=dict)  # consumer → the number of blocks that were there when it read
    outputs: dict[str, Path] = field(default_factory=dict)
    declared: Declared = field(default_factory=Declared)

    @classmethod
    async def open(cls, root: Path) -> History:
        graph = SqliteStore(str(root / "graph.db"))
        await graph.open()
        sources = DataRoots(None, replaced=ReplacedData(root / "versions"))
        return cls(root, AssociationStore(root / "associations", sources=sources), graph)

    async def close(self) -> None:
        await self.graph.close()
        self.store.close()

    @property
    def out(self) -> Path:
        return self.root / "out"

    @property
    def dataset(self) -> str:
        return node_id("dataset", "file", str(self.out))

    @property
    def base(self) -> int:
        """The place of the last base among the blocks."""
        return max((place for place, (mode, _) in enumerate(self.blocks) if mode == "base"), default=0)

    def collector(self, channels: Sequence[str] = ()) -> Collector:
        return Collector(self.root / "versions", self.graph, self.store, self.declared, self.root / "audit.jsonl", channels)

    def compactor(self) -> Compactor:
        return Compactor(self.root / "versions", self.graph, self.store, self.collector(), PlainMerge(self.store, self.clock))

    async def compact(self, *, trash_days: float = 7.0) -> None:
        """Merge the current version. Consumers that had read it completely have read the merged block."""
        await self.settle()
        self.clock += 1
        done = await self.compactor().compact(self.dataset, by="ann", trash_days=trash_days)
        assert done.journal is not None
        await self.settle()
        self.note_merge([Path(file.path).name for file in done.journal.merged_files])

    def note_merge(self, names: Sequence[str]) -> None:
        """Add the merged block to the history."""
        (name,) = names
        self.read = {consumer: count + (count == len(self.blocks)) for consumer, count in self.read.items()}
        self.blocks.append(("base", name))

    async def rows(self) -> list[tuple[Any, ...]]:
        """The trace of each row of the current version, in any order of the rows."""
        found = []
        for _, name in self.blocks[self.base :]:
            for row in range(pq.read_metadata(self.out / name).num_rows):
                request = TraceRequest(dataset=str(self.out), rows=[(str(self.out / name), row)])
                found.append(told(await trace(self.graph, self.store, TENANT, request)))
        return sorted(found, key=repr)

    def write(self, mode: str, rows: Sequence[Sequence[Any]]) -> Job:
        """Add a block of rows that a run copied from a file of its own."""
        self.clock += 1
        raw = write_csv(self.root / "raw" / f"{self.clock}.csv", list(COLUMNS), rows)
        said = {"mode": "overwrite" if mode == "base" else "append"}
        job = Job(self.store, "writer", self.clock, part=f"run{self.clock}", said=said)
        job.write(job.scan(raw, "csv", COLUMNS, _OPTIONS), self.out, "parquet", list(COLUMNS), files=1)
        self.blocks.append((mode, f"run{self.clock}-00000.parquet"))
        return job

    def consume(self, consumer: str, mode: str) -> Job | None:
        """Read the current version (`all`, `group`), or what came since the last reading (`new`), into an output of its own."""
        self.clock += 1
        since = max(self.base, self.read.get(consumer, 0)) if mode == "new" else self.base
        names = [name for _, name in self.blocks[since:]]
        if not names:
            return None
        job = Job(self.store, consumer, self.clock, part=f"run{self.clock}", said={"mode": "append" if mode == "new" else "overwrite"})
        scan = job.scan(self.out, "parquet", COLUMNS, only=names)
        out = self.outputs.setdefault(consumer, self.root / consumer)
        if mode == "group":
            call = job.aggregation("max", job.attr(scan, "v"))
            made = job.aggregate(scan, ["k"], {"x": (call, _greatest, "int")})
            job.write(made, out, "parquet", ["k", "x"], files=1)
        else:
            job.write(scan, out, "parquet", list(COLUMNS), files=1)
        self.read[consumer] = len(self.blocks)
        return job

    async def settle(self) -> None:
        """Put all captures into the graph, each by a run that completed."""
        await project_captures(self.graph, self.store)
        batches = []
        for entry in self.store.catalog.captures(TENANT):
            manifest = self.store.manifest(TENANT, entry.capture)
            run, job = node_id("run", manifest.run.run_id), node_id("job", manifest.run.namespace, manifest.run.job)
            about = {"state": "COMPLETE", "startedAt": Stamp.at(manifest.started, "").time, "endedAt": Stamp.at(manifest.ended, "").time}
            nodes = [Node(job, NodeKind.JOB, manifest.run.job), Node(run, NodeKind.RUN, manifest.run.run_id, about)]
            batches.append(
                GraphBatch(Stamp.at(manifest.ended, f"end {run}"), nodes, [Edge(job, run, EdgeKind.CONTAINS)], by=manifest.run.run_id)
            )
        await self.graph.apply(TENANT, batches)

    async def hold(self, node: str, reason: str) -> None:
        """Declare a legal hold."""
        await self.describe(node, "legalHold", reason)

    async def describe(self, node: str, aspect: str, value: str) -> None:
        """Declare an aspect of a node."""
        described = [{"id": node, "aspect": aspect, "value": value}]
        declaration = check_form({"by": "ann", "descriptions": described}).declaration
        await self.graph.apply(TENANT, [project_declaration(declaration, declaration_stamp(declaration, value))])

    def files(self) -> set[str]:
        """The names of the block files that are there."""
        return {path.name for path in self.out.iterdir()}

    async def traces(self) -> dict[tuple[str, str, str], tuple[Any, ...]]:
        """The traces of every row of the outputs and of the current version, to the end and to the dataset."""
        found: dict[tuple[str, str, str], tuple[Any, ...]] = {}
        places = [path for out in self.outputs.values() for path in sorted(out.iterdir())]
        for semantics in Semantics:
            for path in places:
                for to in (None, self.dataset):
                    answer = await self._trace(path.parent, path, semantics, to)
                    found[path.name, str(semantics), str(to)] = told(answer)
            for _, name in self.blocks[self.base :]:
                found[name, str(semantics), ""] = told(await self._trace(self.out, self.out / name, semantics, None))
        return found

    async def _trace(self, dataset: Path, path: Path, semantics: Semantics, to: str | None) -> TraceAnswer:
        rows = [(str(path), row) for row in range(pq.read_metadata(path).num_rows)]
        column = None
        if semantics is Semantics.WITNESS:
            column = "x" if "x" in pq.read_schema(path).names else "v"
        request = TraceRequest(dataset=str(dataset), rows=rows, semantics=semantics, column=column, to=to, values=to is None)
        return await trace(self.graph, self.store, TENANT, request)


def _greatest(rows: Sequence[Row]) -> int | None:
    return max((row.values["v"] for row in rows if row.values["v"] is not None), default=None)


def told(answer: TraceAnswer) -> tuple[Any, ...]:
    """What an answer says, without times."""
    records = [(record.dataset, record.file, record.row, str(record.grain), dict(record.values)) for record in answer.records]
    return answer.exact, records, [str(item) for item in answer.incomplete], answer.total
