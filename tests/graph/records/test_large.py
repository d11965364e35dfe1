"""Captures that do not fit in memory: they are kept as those that do, within bounds, whatever their rows are."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench import keeping
from headwater.errors import InvalidCaptureError
from headwater.graph.associations import Manifest
from headwater.graph.associations.segment import Segment
from headwater.graph.records import compact as compacting
from headwater.graph.records import disk_sort

ROWS = 24_000
TINY = {"_IN_MEMORY": 0, "_IN_RUNS": 1, "_PART": 1, "_ROW_GROUP": 700}
_LIMITED = """
import sys
from bench import keeping
from headwater.graph.records import compact
compact._IN_MEMORY, compact._IN_RUNS, compact._PART, compact._MEMORY = 200_000, 200_000, 400_000, ((128, 1),)
keeping.main(["--keep", sys.argv[1]])
"""
_LARGE, _OWN_MEGABYTES = 6_000_000, 220


def opened(folder: Path) -> tuple[Manifest, list[Segment]]:
    manifest = Manifest.from_json(json.loads((folder / "manifest.json").read_text()))
    return manifest, [Segment.open(entry.name, folder / entry.name) for entry in manifest.segments]


def tables(folder: Path, draft: Path) -> list[pa.Table]:
    manifest, segments = opened(folder)
    compacting.compact(manifest, segments, draft)
    assert sorted(path.name for path in draft.iterdir() if path.is_dir()) in ([], ["spill"])
    return [pq.read_table(draft / f"b{boundary.boundary}.parquet") for boundary in manifest.boundaries]


@pytest.mark.parametrize("case", sorted(keeping.CASES))
def test_what_does_not_fit_is_kept_as_what_does(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_BLOCK": 300, "_SEGMENT": 7_000, "_LARGE": 5_000}.items():
        monkeypatch.setattr(keeping, name, value)
    keeping.make(tmp_path, case, ROWS)
    whole = tables(tmp_path, tmp_path / "whole")
    for name, value in TINY.items():
        monkeypatch.setattr(compacting, name, value)
    assert tables(tmp_path, tmp_path / "limited") == whole
    assert sum(table.num_rows for table in whole) >= (0 if case == "hashes" else ROWS // keeping._WIDE)


# Unbounded, it takes 350 MB and more of its own.
@pytest.mark.parametrize("case", ["window", "large groups"])
def test_memory_does_not_grow_with_the_capture(case: str, tmp_path: Path) -> None:
    keeping.make(tmp_path, case, _LARGE)
    kept = subprocess.run([sys.executable, "-c", _LIMITED, str(tmp_path)], check=True, capture_output=True)
    found: dict[str, Any] = json.loads(kept.stdout)
    assert found["own_megabytes"] < _OWN_MEGABYTES, found


def test_a_capture_that_the_disk_has_no_room_for_is_refused_before_it_fills_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keeping.make(tmp_path, "wide groups", ROWS)
    monkeypatch.setattr(compacting, "_IN_MEMORY", 0)
    monkeypatch.setattr(disk_sort, "_LEFT_FREE", shutil.disk_usage(tmp_path).free)
    with pytest.raises(InvalidCaptureError, match="MB of disk"):
        compacting.compact(*opened(tmp_path), tmp_path / "kept")


def test_what_is_too_much_for_its_bounds_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keeping.make(tmp_path, "wide groups", 50 * ROWS)
    monkeypatch.setattr(compacting, "_IN_MEMORY", 0)
    monkeypatch.setattr(compacting, "_MEMORY", ((1, 1),))
    with pytest.raises(InvalidCaptureError, match="cannot be sorted in 1 MB"):
        compacting.compact(*opened(tmp_path), tmp_path / "kept")
    monkeypatch.setattr(compacting, "_MEMORY", ((1, 1), (256, 1)))
    compacting.compact(*opened(tmp_path), tmp_path / "again")
    assert pq.read_metadata(tmp_path / "again" / "b0.parquet").num_rows == 50 * ROWS // keeping._WIDE


def test_damage_of_a_large_segment_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keeping.make(tmp_path, "wide groups", 20 * ROWS)
    manifest, segments = opened(tmp_path)
    last = next(segment for segment in segments if segment.footer.boundary == 0)
    content = bytearray((tmp_path / last.name).read_bytes())
    content[last.end - 9] ^= 1
    (tmp_path / last.name).write_bytes(content)
    for name, value in TINY.items():
        monkeypatch.setattr(compacting, name, value)
    with pytest.raises(InvalidCaptureError, match="does not match its checksum"):
        compacting.compact(manifest, segments, tmp_path / "kept")
