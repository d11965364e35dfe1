"""Two worlds that differ in the values of one column alone, in files of the same names, sizes and times; and the answers to an analyst."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from headwater.backend.access.masks import Mask
from headwater.backend.questions.masked_answers import MaskedQuestions
from headwater.errors import HeadwaterError
from headwater.graph.model import EdgeKind, GraphBatch, NodeKind, Stamp, node_id
from headwater.graph.model.elements import Edge, Node
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.trace.answer import RowOrder, TraceRequest
from headwater.graph.trace.questions import DirectQuestions, RowsRequest
from tests.graph.jobs import TENANT, Job, Relation

WORLDS = (["s900", "s100", "s500"], ["s200", "s800", "s300"])
BY_NAME, BY_TAG = Mask(columns=("salary",)), Mask(tag="pii")
_TIME_NS = 1_700_000_000 * 10**9
_ELAPSED = "elapsed_ms"


@dataclass(frozen=True)
class Claim:
    """How a producer's manifest says that a file is read."""

    format: str
    columns: Sequence[str]
    options: Mapping[str, str] = field(default_factory=dict)
    partitions: Sequence[str] = ()


@dataclass(frozen=True)
class File:
    """A file of three people; `text` is a template for each line of a text."""

    name: str
    kind: str
    columns: Sequence[str] = ("id", "salary", "city")
    header: str | None = None
    text: str = "{id},{salary},{city}"


def people(salaries: Sequence[str]) -> list[dict[str, str]]:
    """Three people."""
    return [{"id": f"i{number}", "salary": salary, "city": "Ulm"} for number, salary in enumerate(salaries)]


def write(folder: Path, file: File, salaries: Sequence[str]) -> Path:
    """Write a file of a world, at a time that is the same in all."""
    folder.mkdir(parents=True, exist_ok=True)
    path, rows = folder / file.name, people(salaries)
    if file.kind == "text":
        lines = [*([file.header] if file.header is not None else []), *(file.text.format(**row) for row in rows)]
        path.write_text("".join(f"{line}\n" for line in lines))
    elif file.kind == "avro":
        fields = [{"name": column, "type": "string"} for column in file.columns]
        with path.open("wb") as out:
            fastavro.writer(out, {"type": "record", "name": "person", "fields": fields}, rows, sync_marker=b"0123456789abcdef")
    else:
        _write_columns(path, file, rows)
    os.utime(path, ns=(_TIME_NS, _TIME_NS))
    return path


def _write_columns(path: Path, file: File, rows: Sequence[Mapping[str, str]]) -> None:
    """A column of another name than those of people, but for case, has their salaries; `person` is a struct of them."""
    values: list[Any] = []
    for column in file.columns:
        own = column.lower().rstrip("0123456789_") if column.lower() not in rows[0] else column.lower()
        if column == "person":
            values.append(pa.array([{"salary": row["salary"]} for row in rows]))
        else:
            values.append(pa.array([row.get(own, row["salary"]) for row in rows]))
    if file.kind == "parquet":
        fields = [pa.field(name, column.type) for name, column in zip(file.columns, values, strict=True)]
        if file.header == "ids":
            fields = [one.with_metadata({"PARQUET:field_id": str(number)}) for number, one in enumerate(fields, 1)]
        pq.write_table(pa.Table.from_arrays(values, schema=pa.schema(fields)), path, compression="none", use_dictionary=False)
    else:
        orc.write_table(pa.Table.from_arrays(values, names=[*file.columns]), path)


class World:
    """A home in which producers said some things of a folder, asked as an analyst who may not see salaries."""

    def __init__(self, root: Path, claims: Sequence[Claim], known: Sequence[str] = (), tagged: Sequence[str] = (), below: str = "") -> None:
        """`below`: the folder of the files in that of the dataset whose columns are known."""
        self._root, self._claims, self._known, self._tagged = root, claims, known, tagged
        self._table = root.parent / "lake" / "people"
        self.lake = self._table / below

    async def tell(self, files: Sequence[Path], mask: Mask, *, thorough: bool) -> str:
        """All answers, one a line; with `thorough`, to many more questions."""
        store = AssociationStore(self._root / "associations", sources=ANYWHERE)
        graph = SqliteStore(str(self._root / "graph.db"))
        await graph.open()
        try:
            for clock, claim in enumerate(self._claims, 1):
                self._send(store, claim, files, clock)
            await self._state(graph)
            questions = MaskedQuestions(DirectQuestions(graph, store), graph, store, [mask])
            return "\n".join([line async for line in self._answers(questions, files, thorough=thorough)])
        finally:
            await graph.close()
            store.close()

    def _send(self, store: AssociationStore, claim: Claim, files: Sequence[Path], clock: int) -> None:
        job = Job(store, "claim", clock, run=f"00000000-0000-0000-0000-{clock:012d}", capture=f"00000000-0000-0000-0001-{clock:012d}")
        names = {name: (place, "string") for place, name in enumerate((*claim.columns, *claim.partitions), 1)}
        job.attrs = len(names)
        job.operators[1] = {
            "id": 1, "op": "Scan", "children": [], "source": 0, "text": "Scan",
            "columns": [{"attr": attr, "name": name, "type": kind} for name, (attr, kind) in names.items()],
        }  # fmt: skip
        blocks = [{"path": f"file:{path}", "length": path.stat().st_size, "modified": _TIME_NS // 1_000_000} for path in files]
        job.sources.append({
            "source": 0, "dataset": {"namespace": "file", "name": str(self.lake)}, "path": f"file:{self.lake}", "format": claim.format,
            "options": dict(claim.options), "columns": [{"name": name, "type": "string"} for name in names],
            "partition_columns": [*claim.partitions], "splits": [],
            "files": [{"ordinal": n, "ordinals": 1, **block, "partition": {}} for n, block in enumerate(blocks)],
        })  # fmt: skip
        job.write(Relation(1, names, [], [1]), self._root.parent / "out", "parquet", list(names), files=1)

    async def _state(self, graph: SqliteStore) -> None:
        dataset = node_id(NodeKind.DATASET, "file", str(self._table))
        nodes, edges = [Node(dataset, NodeKind.DATASET, "people")], []
        for name in self._known:
            column = node_id(NodeKind.COLUMN, "file", str(self._table), name)
            nodes.append(Node(column, NodeKind.COLUMN, name, properties={"tag:pii": {}} if name in self._tagged else {}))
            edges.append(Edge(dataset, column, EdgeKind.CONTAINS))
        await graph.apply(TENANT, [GraphBatch(Stamp.at("2026-01-01T00:00:00Z", "1"), nodes=nodes, edges=edges)])

    async def _answers(self, questions: MaskedQuestions, files: Sequence[Path], *, thorough: bool) -> AsyncIterator[str]:
        dataset = node_id(NodeKind.DATASET, "file", str(self.lake))
        yield await _told(questions.rows(TENANT, RowsRequest(dataset)))
        stated = {name for claim in self._claims for name in (*claim.columns, *claim.partitions)}
        for name in sorted({*stated, "Salary_1", *(["salary", "id", "person"] if thorough else [])}):
            for descending, first in product((False, True), (1, 50)) if thorough else [(True, 50)]:
                yield await _told(questions.rows(TENANT, RowsRequest(dataset, order=RowOrder(name, descending), first=first)))
            quoted = '"' + name.replace('"', '""') + '"'
            predicates = [f"{quoted} > 's4'", f"length({quoted}) > 12", f"{quoted} IS NULL", f"{quoted} LIKE '%s9%'"]
            for where in predicates if thorough else predicates[:1]:
                yield await _told(questions.rows(TENANT, RowsRequest(dataset, where=where)))
                if thorough:
                    yield await _told(questions.trace(TENANT, TraceRequest(dataset=dataset, where=where, forward=True)))
        yield await _told(questions.rows(TENANT, RowsRequest(dataset, first=1, offset=1)))
        for path in files:
            for row in range(5) if thorough else (1, 4):
                yield await _told(questions.trace(TENANT, TraceRequest(dataset=dataset, rows=[(f"file:{path}", row)], forward=True)))


async def _told(answer: Awaitable[Any]) -> str:
    try:
        found = asdict(await answer)
        found.pop(_ELAPSED, None)
        return json.dumps(found, default=str, sort_keys=True)
    except HeadwaterError as error:
        return f"{type(error).__name__}: {error.message} {error.hint}"
