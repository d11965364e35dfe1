"""Measures a PROV export of a million derivations: time and memory of `headwater export prov`.

One capture is made by hand, without Spark: a job that read a Parquet file of a million records and wrote a row per key. It is sent to a
home through the ordinary intake. A case is the export of one record trace in one notation, in a separate process, whose peak memory the
kernel reports. A derivation is one (written row, read record) pair. The derivations in the document are counted after the clock has
stopped.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.suite import SECONDS, Arm, Measure, Plan, Sample, Statistic, Suite

_CAPTURE, _RUN = "0198a1b2-0000-7000-8000-00000000c001", "0198a1b2-0000-7000-8000-00000000d001"
_KEYS = 1_000
_TARGET_SECONDS, _TARGET_MIB = 60.0, 200.0
_MEMORY = "peak_mib"
# Case → the notation, and a text that appears once in every derivation and nowhere else.
_CASES: Mapping[str, tuple[str, bytes]] = {
    "1 M derivations as PROV-JSON": ("json", b'"prov:generatedEntity"'),
}


class ProvSuite:
    """Seconds and peak memory of exports."""

    def __init__(self, records: int) -> None:
        self._records = records
        targets: dict[str, float | None] = {"json": _TARGET_SECONDS * 1000}
        self.plan = Plan(
            name="prov",
            arms=("export", "control"),
            baseline="export",
            control="control",
            cases=tuple(_CASES),
            measures=[
                *(
                    Measure(name=case, cases=(case,), arm="export", statistic=Statistic.P50, target=targets.get(notation))
                    for case, (notation, _) in _CASES.items()
                ),
                *(
                    Measure(
                        name=f"{case}, memory", cases=(case,), arm="export", statistic=Statistic.MEDIAN, quantity=_MEMORY, unit="MiB",
                        target=_TARGET_MIB if notation == "json" else None,
                    )
                    for case, (notation, _) in _CASES.items()
                ),
            ],
            rounds=3,
            warm_up=0,
        )  # fmt: skip

    def prepare(self, folder: Path) -> None:
        manifest, segments = capture(folder / "data", self._records)
        asyncio.run(take_in(folder / "home", manifest, segments))

    def arm(self, name: str, folder: Path) -> Arm:
        return _ExportArm(folder, name, self._records)


class _ExportArm:
    def __init__(self, folder: Path, name: str, records: int) -> None:
        self._folder = folder
        self._output = folder / f"{name}.prov"
        self._records = records

    def run(self, case: str, turn: int) -> Sample:  # noqa: ARG002  # the same document in every round
        notation, mark = _CASES[case]
        command = [sys.executable, "-m", "headwater", "export", "prov", str(self._folder / "data" / "out"), "--where", "true"]
        began = time.perf_counter()
        process = subprocess.Popen([*command, "--home", str(self._folder / "home"), "--format", notation, "-o", str(self._output)])
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        found = _count(self._output, mark) if process.returncode == 0 else 0
        # In addition, one of the run's blocks derives from the other.
        if found < self._records:
            raise RuntimeError(f"{case}: exit code {process.returncode}, and {found} derivations of {self._records}")
        return {SECONDS: seconds, _MEMORY: usage.ru_maxrss / 1024, "bytes": float(self._output.stat().st_size)}

    def close(self) -> None:
        self._output.unlink(missing_ok=True)


def capture(folder: Path, records: int) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the manifest of a job that counted `records` rows by key, and its segments. Its files are in `folder`."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from headwater.graph.associations import pack
    from headwater.graph.associations.writer import segment
    from headwater.graph.records import block_of

    read, written = folder / "in" / "part-0.parquet", folder / "out" / "part-0.parquet"
    keys = np.arange(records) % _KEYS
    for path, table in ((read, {"key": keys}), (written, {"key": np.arange(_KEYS), "count": np.bincount(keys)})):
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table(table), path)
    reading, made = block_of(read), block_of(written)
    columns: list[dict[str, Any]] = [{"role": "key"}, {"role": "ref", "operator": 1}]
    group = [(keys + 1).tolist(), [pack(0, row) for row in range(records)]]
    footers: list[tuple[int, list[list[int]], dict[str, Any]]] = [
        (0, group, {"columns": columns}),
        (1, [list(range(1, _KEYS + 1))], {
            "columns": [{"role": "ref", "operator": 2}], "runs": [[0, _KEYS]],
            "files": [{"path": made.path, "length": made.length, "modified": made.modified}],
        }),
    ]  # fmt: skip
    segments: dict[str, bytes] = {}
    entries = []
    for boundary, longs, more in footers:
        known = {"boundary": boundary, "stage": 1, "stage_attempt": 0, "partition": 0, "attempt": boundary}
        name = f"b{boundary}-s1.0-p0-a{boundary}.seg"
        segments[name] = segment(longs, {"capture": _CAPTURE, **known, **more})
        entries.append({**known, "name": name, "rows": len(longs[0]), "bytes": len(segments[name])})
    key = {"fn": "attr", "attr": 1, "type": "bigint", "name": "key"}
    count = {"fn": "count", "args": [], "type": "bigint", "aggregate": True, "distinct": False, "sql": "count(1)"}
    manifest: dict[str, Any] = {
        "format": 1, "capture": _CAPTURE, "run": {"namespace": "bench", "job": "count", "runId": _RUN},
        "application": {"id": "bench", "name": "count", "spark": "4.1.4"}, "execution": 1,
        "started": "2026-01-01T00:00:00Z", "ended": "2026-01-01T00:01:00Z", "mode": "active", "status": "complete", "problems": [],
        "sources": [{
            "source": 0, "dataset": {"namespace": "file", "name": str(read.parent)}, "path": f"file:{read.parent}", "format": "parquet",
            "options": {}, "columns": [{"name": "key", "type": "bigint"}], "partition_columns": [], "splits": [],
            "files": [{
                "ordinal": 0, "ordinals": 1, "path": reading.path, "length": reading.length, "modified": reading.modified, "partition": {},
            }],
        }],
        "operators": [
            {"id": 3, "op": "Write", "children": [2], "columns": [1, 2], "text": "Write out"},
            {"id": 2, "op": "Aggregate", "children": [1], "keys": [key], "text": "Aggregate by key", "boundary": 0,
             "defines": [{"attr": 2, "name": "count", "type": "bigint", "expr": count}]},
            {"id": 1, "op": "Scan", "children": [], "source": 0, "text": "Scan in",
             "columns": [{"attr": 1, "name": "key", "type": "bigint"}]},
        ],
        "boundaries": [
            {"boundary": 0, "kind": "group", "operator": 2, "columns": columns},
            {"boundary": 1, "kind": "sink", "operator": 2, "columns": [{"role": "ref", "operator": 2}]},
        ],
        "sink": {
            "boundary": 1, "dataset": {"namespace": "file", "name": str(written.parent)}, "path": f"file:{written.parent}",
            "format": "parquet", "mode": "overwrite", "options": {}, "partition_columns": [],
            "columns": [{"name": "key", "type": "bigint", "attr": 1}, {"name": "count", "type": "bigint", "attr": 2}],
        },
        "segments": entries,
    }  # fmt: skip
    return manifest, segments


async def take_in(home: Path, manifest: dict[str, Any], segments: Mapping[str, bytes]) -> None:
    from hashlib import sha256

    from headwater.backend.home.settings import DEFAULT_TENANT, load_settings
    from headwater.backend.workspace import Workspace

    entries = [{**entry, "sha256": sha256(segments[entry["name"]]).hexdigest()} for entry in manifest["segments"]]
    async with await Workspace.open(load_settings(home=home)) as workspace:
        for name, data in segments.items():
            workspace.records.stage_segment(DEFAULT_TENANT, manifest["capture"], name, data)
        workspace.captures.submit(DEFAULT_TENANT, json.dumps({**manifest, "segments": entries}).encode())
        if waiting := await workspace.settle():
            raise RuntimeError(f"{waiting} entries were not projected")


def _count(path: Path, mark: bytes) -> int:
    """Return the number of times that a mark appears in a file, read in pieces."""
    found, rest = 0, b""
    with path.open("rb") as file:
        while piece := file.read(1 << 22):
            text = rest + piece
            found += text.count(mark)
            rest = text[-(len(mark) - 1) :]
    return found


def suite(scale: float | None = None) -> Suite:
    return ProvSuite(max(_KEYS, round(1_000_000 * (1.0 if scale is None else scale))))
