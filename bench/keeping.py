"""Time and memory of the service for keeping a large capture: its associations are sorted and numbered, in a process of its own.

python -m bench.keeping [--rows 10000000] [--cases groups,shuffled]

Each case has `--rows` associations: references of rows of one boundary.

- *in order*: each row of the output refers to the next row of the scan. *shuffled*: to any, as after a sort.
- *groups*: rows of a scan go into groups by the hash of their key, in random order, ten to a group; a row of the output refers to a group.
- *skew*: the same with half of all rows in one group. *large groups*: with a million rows to a group, or a tenth of all.
- *wide*: rows of twenty inputs each, such as those of many joins. *wide groups*: rows of groups with as many, in no order.
- *window*: rows of one partition, in one task, with their ranks. *hashes*: two hashes for each group, nearly none of them kept.

Peak memory is that of the process with its modules. Own memory excludes mapped files.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import file_digest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa

from headwater.graph.associations.segment import BLOCK, COLUMN, LENGTH, MAGIC, ROWS

_SEGMENT = 5_000_000  # number of longs of a task
_BLOCK = 65_536
_LOOK_SECONDS = 0.02
_EACH = 10  # number of rows of a group
_WIDE = 20  # number of references of a row
_LARGE = 1_000_000
_STEP = 2_654_435_761  # a prime; multiplication by it permutes the numbers below another number
_ATTRS = {"k": 1, "v": 2}
_KEY: Mapping[str, Any] = {"role": "key"}
_CHECK: Mapping[str, Any] = {"role": "check"}
_TO_SCAN: Mapping[str, Any] = {"role": "ref", "operator": 1}
_TO_GROUP: Mapping[str, Any] = {"role": "ref", "operator": 2}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--keep", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.keep:
        print(json.dumps(keep(Path(options.keep))))
        return
    for case in options.cases.split(","):
        with TemporaryDirectory(prefix="headwater-keeping-") as folder:
            make(Path(folder), case, options.rows)
            command = [sys.executable, "-m", "bench.keeping", "--keep", folder]
            found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        print(json.dumps({"case": case, "associations": options.rows, **found}), flush=True)


def keep(folder: Path) -> dict[str, float]:
    """Store the capture in a folder, in the store `associations` below it. Returns the time, memory and sizes."""
    import duckdb  # noqa: F401  # loading it is no part of keeping

    from headwater.graph.associations import Manifest
    from headwater.graph.records import ANYWHERE, AssociationStore

    manifest = Manifest.from_json(json.loads((folder / "manifest.json").read_text()))
    store = AssociationStore(folder / "associations", sources=ANYWHERE)
    loaded, most = peak(), _OwnMemory()
    began, processor = time.perf_counter(), time.process_time()
    for entry in manifest.segments:
        store.stage_segment("default", manifest.capture, entry.name, folder / entry.name)
    store.publish("default", manifest)
    found = {"seconds": time.perf_counter() - began, "processor_seconds": time.process_time() - processor}
    store.close()
    kept = sum(path.stat().st_size for path in (folder / "associations" / "default").rglob("*.parquet"))
    return {name: round(value, 1) for name, value in found.items()} | {
        "peak_megabytes": peak(), "own_megabytes": most.megabytes, "before_megabytes": loaded, "kept_megabytes": kept // 1_000_000,
        "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip


def peak(process: int | str = "self") -> int:
    """Return the peak memory of a process in megabytes. Unlike `getrusage`, memory of the parent process does not count."""
    stated = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text(encoding="ascii"))
    return int(stated[1]) // 1000 if stated else 0


class _OwnMemory(threading.Thread):
    """Watches the memory of this process without mapped files, which the system may reclaim."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.megabytes = 0
        self.start()

    def run(self) -> None:
        while True:
            stated = re.search(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
            self.megabytes = max(self.megabytes, int(stated[1]) // 1000 if stated else 0)
            time.sleep(_LOOK_SECONDS)


Values = Callable[[Any], Sequence[Any]]  # from row numbers to columns


class Rows(NamedTuple):
    """The rows of a boundary in a case."""

    kind: str
    columns: Sequence[Mapping[str, Any]]
    rows: int
    values: Values
    segment: int = _SEGMENT  # number of longs of a segment


def _any(numbers: Any, count: int) -> Any:
    """Return a permutation of the numbers below `count`, at these positions."""
    return numbers % count * (_STEP % count or 1) % count


def _hash(numbers: Any) -> Any:
    """Return the finalizer of splitmix64, which gives each number another hash."""
    value = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (value ^ (value >> np.uint64(31))).view(np.int64)


def _in_groups(rows: int, group: Callable[[Any], Any], groups: int) -> list[Rows]:
    return [
        Rows("group", [_KEY, _TO_SCAN], rows, lambda at: [_hash(group(at)), at]),
        Rows("check", [_KEY, _CHECK], groups, lambda at: [_hash(at), _hash(at + groups)]),
        Rows("sink", [_TO_GROUP], groups, lambda at: [_hash(_any(at, groups))]),
    ]


def _groups(rows: int) -> list[Rows]:
    groups = max(1, rows // (_EACH + 1))
    return _in_groups(rows - groups, lambda at: _any(at, rows) % groups, groups)


def _skew(rows: int) -> list[Rows]:
    groups = max(2, rows // (_EACH + 1))
    return _in_groups(rows, lambda at: np.where(at % 2 == 0, 0, _any(at, rows) % groups), groups)


def _large_groups(rows: int) -> list[Rows]:
    groups = max(1, rows // min(_LARGE, max(1, rows // _EACH)))
    return _in_groups(rows, lambda at: _any(at, rows) % groups, groups)


def _wide_groups(rows: int) -> list[Rows]:
    count = max(1, rows // _WIDE)
    groups = max(1, count // _EACH)
    columns = [_KEY, _CHECK, *[_TO_SCAN] * _WIDE]

    def values(at: Any) -> list[Any]:
        group = _any(at, count) % groups
        return [_hash(group), _hash(group + count), *(_any(at + place, count) for place in range(_WIDE))]

    return [Rows("group", columns, count, values), Rows("sink", [_TO_GROUP], groups, lambda at: [_hash(_any(at, groups))])]


def _wide(rows: int) -> list[Rows]:
    count = max(1, rows // _WIDE)
    return [Rows("sink", [_TO_SCAN] * _WIDE, count, lambda at: [_any(at + place, count) for place in range(_WIDE)])]


def _window(rows: int) -> list[Rows]:
    columns = [_KEY, _TO_SCAN, {"role": "rank"}]
    few = max(1, rows // _EACH)
    partition = Rows("window", columns, rows, lambda at: [np.zeros_like(at), _any(at, rows), at // few], 3 * rows)
    return [partition, Rows("sink", [_TO_GROUP], few, lambda at: [at])]


def _hashes(rows: int) -> list[Rows]:
    check = Rows("check", [_KEY, _CHECK], rows, lambda at: [_hash(_any(at, rows)), _hash(at)])
    return [check, Rows("sink", [_TO_SCAN], 1, lambda at: [at])]


CASES: Mapping[str, Callable[[int], list[Rows]]] = {
    "in order": lambda rows: [Rows("sink", [_TO_SCAN], rows, lambda at: [at])],
    "shuffled": lambda rows: [Rows("sink", [_TO_SCAN], rows, lambda at: [_any(at, rows)])],
    "groups": _groups,
    "skew": _skew,
    "large groups": _large_groups,
    "wide": _wide,
    "wide groups": _wide_groups,
    "window": _window,
    "hashes": _hashes,
}


File = Callable[[str, int], Mapping[str, Any]]  # from a name and a number of rows to the file's entry in a manifest


def _made_up(name: str, rows: int) -> Mapping[str, Any]:
    """Return the description of a file that does not exist, because storing a capture reads no files."""
    del rows
    return {"path": f"file:/{name}", "length": 1, "modified": 1}


def make(folder: Path, case: str, rows: int, file: File = _made_up) -> None:
    """Write the manifest and the segments of a capture. `file` describes the files that it read and wrote, `in/…` and `out/…`."""
    capture = str(uuid4())
    entries: list[dict[str, Any]] = []
    boundaries: list[dict[str, Any]] = []
    for number, part in enumerate(made := CASES[case](rows)):
        operator = 3 if part.kind == "sink" else 2
        boundaries.append({"boundary": number, "kind": part.kind, "operator": operator, "columns": part.columns})
        entries += _segments(folder, capture, number, part, file)
    attributes = [{"attr": attr, "name": name, "type": "bigint"} for name, attr in _ATTRS.items()]
    scan = {"id": 1, "op": "Scan", "children": [], "source": 0, "columns": attributes}
    group = {"id": 2, "op": "Aggregate", "children": [1], "keys": [{"fn": "attr", "attr": 1, "type": "bigint", "name": "k"}], "boundary": 0}
    top = {"id": 3, "op": "Write", "children": [2 if len(made) > 1 else 1]}
    moment = "2026-01-01T00:00:00Z"
    source = file("in/a.parquet", rows)
    place = source["path"].removesuffix("/in/a.parquet")
    manifest = {
        "format": 1, "capture": capture, "run": {"namespace": "bench", "job": case, "runId": str(uuid4())},
        "application": {"id": "app", "name": "bench", "spark": "4.1.4"}, "started": moment, "ended": moment, "mode": "active",
        "status": "complete", "problems": [], "operators": [top, *([group] if len(made) > 1 else []), scan], "boundaries": boundaries,
        "sources": [{
            "source": 0, "dataset": {"namespace": "file", "name": f"{place.removeprefix('file:')}/in"}, "path": f"{place}/in",
            "format": "parquet", "options": {},
            "columns": [{"name": name, "type": "bigint"} for name in _ATTRS], "partition_columns": [], "splits": [],
            "files": [{"ordinal": 0, "ordinals": 1, "partition": {}, **source}],
        }],
        "sink": {
            "boundary": len(made) - 1, "dataset": {"namespace": "file", "name": f"{place.removeprefix('file:')}/out"},
            "path": f"{place}/out", "format": "parquet",
            "mode": "overwrite", "options": {}, "columns": attributes, "partition_columns": [],
        },
        "segments": entries,
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))


def _segments(folder: Path, capture: str, boundary: int, rows: Rows, written: File) -> Iterator[dict[str, Any]]:
    each = max(1, rows.segment // len(rows.columns))
    for task, begin in enumerate(range(0, rows.rows, each)):
        count = min(each, rows.rows - begin)
        name = f"b{boundary}-s1.0-p{task}-a{task}.seg"
        known = {"boundary": boundary, "stage": 1, "stage_attempt": 0, "partition": task, "attempt": task, "rows": count}
        footer = {**known, "capture": capture, "columns": rows.columns}
        if rows.kind == "sink":
            footer |= {"files": [written(f"out/part-{task:05}.parquet", count)], "runs": [[0, count]]}
        text = json.dumps(footer, separators=(",", ":")).encode()
        with (folder / name).open("w+b") as file:
            file.write(MAGIC)
            for first in range(begin, begin + count, _BLOCK):
                file.write(_block(rows.values(np.arange(first, min(first + _BLOCK, begin + count), dtype=np.int64))))
            file.write(b"".join([LENGTH.pack(0), text, LENGTH.pack(len(text)), MAGIC]))
            length = file.tell()
            file.seek(0)
            digest = file_digest(file, "sha256").hexdigest()
        yield {**known, "name": name, "bytes": length, "sha256": digest}


def _block(columns: Sequence[Any]) -> bytes:
    plain = b"".join(COLUMN.pack(8, 0, 0) + column.astype("<i8").tobytes() for column in columns)
    raw = ROWS.pack(len(columns[0]), len(columns)) + plain
    packed: bytes = pa.Codec("zstd", compression_level=1).compress(raw, asbytes=True)
    return BLOCK.pack(len(raw), len(packed), zlib.crc32(packed)) + packed


if __name__ == "__main__":
    main()
