"""How long the service takes to keep a large capture, and how much memory: its associations sorted and numbered, in a process of its own.

python -m bench.keeping [--rows 10000000] [--cases groups,shuffled]

*groups*: rows of a scan go into groups by the hash of their key, in random order, ten to a group; a row of the output refers to a
group. *shuffled*: each row of the output refers to a row of the scan, in random order, as after a sort. *in order*: the same, without
the sort. Each has as many associations as `--rows` says. Peak memory is that of the process, with what it has loaded; of its own is what
no file stands behind.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from headwater.graph.associations.segment import BLOCK, COLUMN, LENGTH, MAGIC, ROWS

_CASES = ("in order", "shuffled", "groups")
_SEGMENT = 5_000_000  # rows of a task
_BLOCK = 65_536
_LOOK_SECONDS = 0.02
_EACH = 10  # rows of a group
_ATTRS = {"k": 1, "v": 2}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line a case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--cases", default=",".join(_CASES))
    parser.add_argument("--keep", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.keep:
        print(json.dumps(_keep(Path(options.keep))))
        return
    for case in options.cases.split(","):
        with TemporaryDirectory(prefix="headwater-keeping-") as folder:
            _make(Path(folder), case, options.rows)
            command = [sys.executable, "-m", "bench.keeping", "--keep", folder]
            found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        print(json.dumps({"case": case, "associations": options.rows, **found}), flush=True)


def _keep(folder: Path) -> dict[str, float]:
    import duckdb  # noqa: F401  # loading it is no part of keeping

    from headwater.graph.associations import Manifest
    from headwater.graph.records import ANYWHERE, AssociationStore

    manifest = Manifest.from_json(json.loads((folder / "manifest.json").read_text()))
    store = AssociationStore(folder / "associations", sources=ANYWHERE)
    loaded, most = _peak(), _OwnMemory()
    began, processor = time.perf_counter(), time.process_time()
    for entry in manifest.segments:
        store.stage_segment("default", manifest.capture, entry.name, folder / entry.name)
    store.publish("default", manifest)
    found = {"seconds": time.perf_counter() - began, "processor_seconds": time.process_time() - processor}
    store.close()
    kept = sum(path.stat().st_size for path in (folder / "associations" / "default").rglob("*.parquet"))
    return {name: round(value, 1) for name, value in found.items()} | {
        "peak_megabytes": _peak(), "own_megabytes": most.megabytes, "before_megabytes": loaded, "kept_megabytes": kept // 1_000_000,
        "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip


def _peak() -> int:
    """The most memory that this process has had, in megabytes: not of what it was made from, as `getrusage` says it."""
    stated = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    return int(stated[1]) // 1000 if stated else 0


class _OwnMemory(threading.Thread):
    """Watches how much memory this process has beside the files that it maps, which the system may take from it."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.megabytes = 0
        self.start()

    def run(self) -> None:
        while True:
            stated = re.search(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
            self.megabytes = max(self.megabytes, int(stated[1]) // 1000 if stated else 0)
            time.sleep(_LOOK_SECONDS)


def _make(folder: Path, case: str, rows: int) -> None:
    """Write the manifest and the segments of a capture."""
    capture, rnd = str(uuid4()), np.random.default_rng(7)
    grouped = case == "groups"
    written = rows // (_EACH + 1) if grouped else rows
    scanned = rows - written if grouped else rows
    order = np.arange(scanned, dtype=np.int64) if case == "in order" else rnd.permutation(scanned)
    hashes = rnd.integers(-(2**63), 2**63 - 1, written if grouped else 0)
    entries: list[dict[str, Any]] = []
    boundaries: list[dict[str, Any]] = []
    if grouped:
        columns = [{"role": "key"}, {"role": "ref", "operator": 1}]
        boundaries.append({"boundary": 0, "kind": "group", "operator": 2, "columns": columns})
        entries += _segments(folder, capture, 0, columns, [hashes[order % written], np.arange(scanned, dtype=np.int64)])
    sink = len(boundaries)
    columns = [{"role": "ref", "operator": 2 if grouped else 1}]
    boundaries.append({"boundary": sink, "kind": "sink", "operator": 3, "columns": columns})
    entries += _segments(folder, capture, sink, columns, [hashes if grouped else order])
    attributes = [{"attr": attr, "name": name, "type": "bigint"} for name, attr in _ATTRS.items()]
    scan = {"id": 1, "op": "Scan", "children": [], "source": 0, "columns": attributes}
    group = {"id": 2, "op": "Aggregate", "children": [1], "keys": [{"fn": "attr", "attr": 1, "type": "bigint", "name": "k"}], "boundary": 0}
    top = {"id": 3, "op": "Write", "children": [2 if grouped else 1]}
    moment = "2026-01-01T00:00:00Z"
    manifest = {
        "format": 1, "capture": capture, "run": {"namespace": "bench", "job": case, "runId": str(uuid4())},
        "application": {"id": "app", "name": "bench", "spark": "4.1.4"}, "started": moment, "ended": moment, "mode": "active",
        "status": "complete", "problems": [], "operators": [top, *([group] if grouped else []), scan], "boundaries": boundaries,
        "sources": [{
            "source": 0, "dataset": {"namespace": "file", "name": "/in"}, "path": "file:/in", "format": "parquet", "options": {},
            "columns": [{"name": name, "type": "bigint"} for name in _ATTRS], "partition_columns": [], "splits": [],
            "files": [{"ordinal": 0, "ordinals": 1, "path": "file:/in/a.parquet", "length": 1, "modified": 1, "partition": {}}],
        }],
        "sink": {
            "boundary": sink, "dataset": {"namespace": "file", "name": "/out"}, "path": "file:/out", "format": "parquet",
            "mode": "overwrite", "options": {}, "columns": attributes, "partition_columns": [],
        },
        "segments": entries,
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))


def _segments(folder: Path, capture: str, boundary: int, columns: Sequence[Any], values: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """The segments of a boundary, one a task."""
    for task, begin in enumerate(range(0, len(values[0]), _SEGMENT)):
        part = [column[begin : begin + _SEGMENT] for column in values]
        name = f"b{boundary}-s1.0-p{task}-a{task}.seg"
        known = {"boundary": boundary, "stage": 1, "stage_attempt": 0, "partition": task, "attempt": task}
        footer = {**known, "capture": capture, "columns": columns, "rows": len(part[0])}
        if not any(column["role"] == "key" for column in columns):
            file = {"path": f"file:/out/part-{task}.parquet", "length": 1, "modified": 1}
            footer |= {"files": [file], "runs": [[0, len(part[0])]]}
        text = json.dumps(footer, separators=(",", ":")).encode()
        data = b"".join([MAGIC, *_blocks(part), LENGTH.pack(0), text, LENGTH.pack(len(text)), MAGIC])
        (folder / name).write_bytes(data)
        yield {**known, "name": name, "rows": len(part[0]), "bytes": len(data), "sha256": sha256(data).hexdigest()}


def _blocks(columns: Sequence[Any]) -> Iterator[bytes]:
    codec = pa.Codec("zstd", compression_level=1)
    for begin in range(0, len(columns[0]), _BLOCK):
        part = [column[begin : begin + _BLOCK] for column in columns]
        plain = b"".join(COLUMN.pack(8, 0, 0) + column.astype("<i8").tobytes() for column in part)
        raw = ROWS.pack(len(part[0]), len(part)) + plain
        packed = codec.compress(raw, asbytes=True)
        yield BLOCK.pack(len(raw), len(packed), zlib.crc32(packed)) + packed


if __name__ == "__main__":
    main()
