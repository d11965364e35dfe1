"""Makes a home with any number of stored captures, for the suite `captures`.

The home contains one small real pipeline: four jobs over Parquet files of a hundred rows, published as by delivery. The suite traces it.
The other captures are of many jobs: chains of five, one dataset with appends from a quarter of all captures, earlier runs of the pipeline
over other states of the same files, and readers of the table that the pipeline joins with. They are copies of a real capture, with other
names, files and times. Their associations are hard links to the original's, and their data files do not exist.
`AssociationStore.rebuild` makes the catalog. The log has every manifest. The graph has one run of each job over each dataset, which gives
all flows.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from bench.data.cache import kept

ROWS = 100
STEPS = ("raw", "clean", "joined", "scored", "report")
_LATE = 30 * 24 * 3600  # seconds; time of the traced pipeline, after all others
AFTER = 2 * _LATE  # end of a capture that is later than all stored ones
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_LINKS = 20_000  # links to one file; file systems allow some 60,000
_ENTRIES = 1_000  # entries of the log in a transaction
_GROUP = 256  # captures in a transaction of the graph
_CHAIN = 5

Block = tuple[str, int, int]


@dataclass(frozen=True)
class Read:
    """A file that a job reads, with the folder of its dataset."""

    folder: str
    block: Block


def home_of(captures: int) -> Path:
    """Return a home with this number of captures. It is made once and cached, so callers must not change it."""
    return kept(f"captures-{captures}", lambda home: make(home, captures))


def lake() -> Path:
    """Return the folder with the pipeline's files, which all homes share."""
    return kept("captures-lake", _fill_lake)


def make(home: Path, captures: int) -> None:
    """Fill a new home: its associations, log and graph."""
    from headwater.backend.home.settings import DEFAULT_TENANT, load_settings
    from headwater.backend.ingest.log import Draft, EntryKind
    from headwater.backend.projection import capture_stamp, fold, project_capture
    from headwater.backend.workspace import Workspace
    from headwater.graph.records.batches import batched

    def report(what: str) -> None:
        print(f"  {time.perf_counter() - began:6.0f} s: {what}", flush=True)

    began = time.perf_counter()

    async def fill() -> None:
        async with await Workspace.open(load_settings(home=home)) as workspace:
            store = workspace.records
            asked = list(pipeline(lake()))
            for document, segments in asked:
                publish(store, DEFAULT_TENANT, document, segments)
            template = store.table(DEFAULT_TENANT, asked[0][0]["capture"], 0).parent
            documents = [document for document, _ in asked]
            documents += _copied(home / "associations" / DEFAULT_TENANT, template, asked, captures - len(asked))
            report(f"{captures} captures are kept")
            store.rebuild(DEFAULT_TENANT)
            report("they are in the catalog")
            for begin in range(0, len(documents), _ENTRIES):  # like intake, but with fewer transactions
                bodies = [json.dumps(document).encode() for document in documents[begin : begin + _ENTRIES]]
                drafts = [Draft(EntryKind.CAPTURE, hashlib.sha256(body).digest(), body) for body in bodies]
                workspace.log.append(DEFAULT_TENANT, drafts).result()
            report("they are in the log")
            first = {(document["run"]["job"], document["sources"][0]["path"]): document for document in reversed(documents)}
            for group in batched(first.values(), _GROUP):
                batches = [project_capture(document, capture_stamp(document, document["capture"])) for document in group]
                await fold(workspace.graph, DEFAULT_TENANT, batches, offset=0)
            await workspace.graph.apply(DEFAULT_TENANT, [], offset=workspace.log.latest(DEFAULT_TENANT))
            report(f"{len(first)} of them are in the graph")

    asyncio.run(fill())


def _fill_lake(folder: Path) -> None:
    for path in _files(folder):
        _parquet(path, ROWS)


def pipeline(folder: Path) -> Iterator[tuple[dict[str, Any], Mapping[str, bytes]]]:
    """Yield the manifests of four jobs over the files of the lake, with their segments."""
    before, reference, *written = _files(folder)
    for place, (step, out) in enumerate(zip(STEPS[1:], written, strict=True)):
        reads = [Read(str(path.parent), _block(path)) for path in ([before, reference] if step == "joined" else [before])]
        yield capture(f"asked_{step}", reads, str(out.parent), _block(out), _LATE + 60 * place, uuid=_uuid(f"asked/{step}"))
        before = out


def _files(folder: Path) -> list[Path]:
    return [folder / name / "part-00000.parquet" for name in ("asked/raw", "reference", *(f"asked/{step}" for step in STEPS[1:]))]


def capture(
    job: str, reads: Sequence[Read], out: str, made: Block, at: float, *, uuid: str, is_kept: bool = True
) -> tuple[dict[str, Any], Mapping[str, bytes]]:
    """Return the manifest and segment of a job whose n-th row derives from the n-th row of each input file."""
    from headwater.graph.associations import pack
    from headwater.graph.associations.writer import segment

    refs: list[dict[str, Any]] = [{"role": "ref", "operator": place + 1} for place in range(len(reads))]
    top = len(reads) + 1
    known = {"boundary": 0, "stage": 1, "stage_attempt": 0, "partition": 0, "attempt": 1}
    file = {"path": made[0], "length": made[1], "modified": made[2]}
    footer = {"capture": uuid, **known, "columns": refs, "files": [file], "runs": [[0, ROWS]]}
    data = segment([[pack(0, row) for row in range(ROWS)] for _ in reads], footer) if is_kept else b""
    scans = [
        {"id": place + 1, "op": "Scan", "children": [], "source": place, "text": f"Scan {Path(read.folder).name}",
         "columns": [{"attr": place + 1, "name": "n", "type": "bigint"}]}
        for place, read in enumerate(reads)
    ]  # fmt: skip
    children = [scan["id"] for scan in scans]
    joined = {"id": top, "op": "Join", "children": children, "how": "inner", "reads": [1, 2], "text": "Join on n"}
    filtered = {"id": top, "op": "Filter", "children": children, "reads": [1], "text": "Filter on n"}
    name = "b0-s1.0-p0-a1.seg"
    document = {
        "format": 1, "capture": uuid, "run": {"namespace": "bench", "job": job, "runId": _uuid(f"run/{uuid}")},
        "application": {"id": "bench", "name": job, "spark": "4.1.4"}, "execution": 1,
        "started": _time(at - 30), "ended": _time(at), "mode": "active", "status": "complete", "problems": [],
        "sources": [{
            "source": place, "dataset": {"namespace": "file", "name": read.folder}, "path": f"file:{read.folder}", "format": "parquet",
            "options": {}, "columns": [{"name": "n", "type": "bigint"}], "partition_columns": [], "splits": [],
            "files": [{"ordinal": 0, "ordinals": 1, "path": read.block[0], "length": read.block[1], "modified": read.block[2],
                       "partition": {}}],
        } for place, read in enumerate(reads)],
        "operators": [
            {"id": top + 1, "op": "Write", "children": [top], "columns": [1], "text": f"Write {Path(out).name}"},
            joined if len(reads) > 1 else filtered, *scans,
        ],
        "boundaries": [{"boundary": 0, "kind": "sink", "operator": top, "columns": refs}],
        "sink": {
            "boundary": 0, "dataset": {"namespace": "file", "name": out}, "path": f"file:{out}", "format": "parquet", "mode": "overwrite",
            "options": {}, "partition_columns": [], "columns": [{"name": "n", "type": "bigint", "attr": 1}],
        },
        "segments": [{**known, "name": name, "rows": ROWS, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}],
    }  # fmt: skip
    return document, {name: data}


def publish(store: Any, tenant: str, document: Mapping[str, Any], segments: Mapping[str, bytes]) -> None:
    """Stage and publish a capture, as the service does."""
    from headwater.graph.associations import Manifest

    for name, data in segments.items():
        store.stage_segment(tenant, document["capture"], name, data)
    store.publish(tenant, Manifest.from_json(document))


def _copied(root: Path, template: Path, asked: Sequence[tuple[dict[str, Any], Any]], count: int) -> list[dict[str, Any]]:
    drawn = random.Random(1)
    made: list[dict[str, Any]] = []
    tables = [path for path in template.iterdir() if path.suffix == ".parquet"]
    for number in range(count):
        at = float(number)
        job, reads, out, block = _KINDS[_kind(drawn.random())](number, drawn, asked, count)
        document, _ = capture(job, reads, out, block, at, uuid=_uuid(f"copy/{number}"), is_kept=False)
        folder = root / document["capture"][-2:] / document["capture"]
        folder.mkdir(parents=True)
        if number % _LINKS == 0:
            tables = [_own(table, folder / table.name) for table in tables]
        else:
            for table in tables:
                os.link(table, folder / table.name)
        (folder / "manifest.json").write_text(json.dumps(document), encoding="utf-8")
        (folder / "files.json").write_text(json.dumps([[*block, ROWS, 1]]), encoding="utf-8")
        made.append(document)
    return made


def _own(table: Path, target: Path) -> Path:
    target.write_bytes(table.read_bytes())
    return target


Kind = tuple[str, Sequence[Read], str, Block]


def _chained(number: int, drawn: random.Random, _: Any, count: int) -> Kind:
    chain, step = drawn.randrange(max(1, count // 50)), 1 + drawn.randrange(_CHAIN)
    before, out = f"/lake/chain{chain}/step{step - 1}", f"/lake/chain{chain}/step{step}"
    version = drawn.randrange(8)
    made = (f"file:{out}/part-{number}.parquet", 1000 + number, number)
    return f"chain{chain}_step{step}", [Read(before, (f"file:{before}/part-{version}.parquet", 1000 + version, version))], out, made


def _appended(number: int, drawn: random.Random, _: Any, count: int) -> Kind:
    feed = f"/lake/feeds/feed{drawn.randrange(max(1, count // 500))}"
    made = (f"file:/lake/hot/part-{number}.parquet", 2000 + number, number)
    return "ingest_hot", [Read(feed, (f"file:{feed}/part-{number}.parquet", 500, number))], "/lake/hot", made


def _earlier(number: int, drawn: random.Random, asked: Sequence[tuple[dict[str, Any], Any]], _: int) -> Kind:
    """Return an earlier run of a job of the pipeline, over other states of the same files."""
    document = asked[drawn.randrange(len(asked))][0]
    reads = [Read(source["dataset"]["name"], (source["files"][0]["path"], 3000 + number, number)) for source in document["sources"]][:1]
    sink = document["sink"]["dataset"]["name"]
    return document["run"]["job"], reads, sink, (f"file:{sink}/part-00000.parquet", 3000 + number, number)


def _joining(number: int, drawn: random.Random, asked: Sequence[tuple[dict[str, Any], Any]], _: int) -> Kind:
    source = asked[1][0]["sources"][1]
    file = source["files"][0]
    out = f"/lake/enriched{drawn.randrange(200)}"
    read = Read(source["dataset"]["name"], (file["path"], file["length"], file["modified"]))
    return f"enrich{out[14:]}", [read], out, (f"file:{out}/part-{number}.parquet", 4000 + number, number)


_KINDS: Mapping[str, Callable[[int, random.Random, Any, int], Kind]] = {
    "chained": _chained, "appended": _appended, "earlier": _earlier, "joining": _joining
}  # fmt: skip


def _kind(share: float) -> str:
    return "chained" if share < 0.45 else "appended" if share < 0.70 else "earlier" if share < 0.85 else "joining"


def _parquet(path: Path, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"n": list(range(rows))}), path)


def _block(path: Path) -> Block:
    from headwater.graph.records import block_of

    return tuple(block_of(path))  # type: ignore[return-value]


def _uuid(text: str) -> str:
    return str(UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4))


def _time(second: float) -> str:
    return (BEGIN + timedelta(seconds=second)).isoformat().replace("+00:00", "Z")
