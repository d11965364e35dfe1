"""A manifest of the shadow as one of the first run: real files in the place of the compared ones, and nothing else of the shadow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.rerun.recapture.file_pairs import Pair, State
from headwater.backend.rerun.recapture.manifest_rewriter import Rewriting
from headwater.backend.rerun.recapture.original_run import OriginalRun
from headwater.errors import InvalidCaptureError
from headwater.graph.associations.segment import Footer

SHADOW = "/home/me/.head water/replays/1/data"
RUN = OriginalRun(
    "dataset:file:/lake/out", "run:0190a6f2-0000-7000-8000-00000000000a", ("team", "job.out"), "run:0190a6f2-0000-7000-8000-00000000000b",
    "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "2026-01-01T00:00:09Z",
)  # fmt: skip


def pair(again: str, real: str, number: int) -> Pair:
    """Two files of the same length; the second run wrote later."""
    before, now = State(number, (number + 1_000) * 1_000_000, 1), State(number, number * 1_000_000, 2)
    return Pair(Path(SHADOW + again), real, Path(real), before, now)


PAIRS = [
    pair("/lake/mid/part-00000-b.parquet", "/lake/mid/part-00000-a.parquet", 5),
    pair("/lake/out/k=x y/part-00000-b.parquet", "/lake/out/k=x y/part-00000-a.parquet", 7),
]
OUT = {"path": f"file:{SHADOW}/lake/out/k=x y/part-00000-b.parquet", "length": 7, "modified": 1007}
MID = {"ordinal": 0, "path": f"file:{SHADOW}/lake/mid/part-00000-b.parquet", "length": 5, "modified": 1005, "partition": {}}
RAW = {"ordinal": 0, "path": "file:/raw/t.csv", "length": 3, "modified": 30, "partition": {}}


def manifest(**changes: Any) -> dict[str, Any]:
    segment = {"name": "b0-s1.0-p0-a3.seg", "boundary": 0, "rows": 2, "sha256": "aa"}
    return {
        "format": 3, "capture": "c", "run": {"namespace": "default", "job": "other", "runId": "r"}, "started": "S", "ended": "E",
        "status": "complete", "problems": [],
        "sources": [
            {"source": 0, "path": f"file:{SHADOW}/lake/mid", "dataset": {"namespace": "file", "name": f"{SHADOW}/lake/mid"}, "files": [MID],
             "splits": [{"ordinal": 0, "path": MID["path"], "start": 0, "length": 5}], "options": {"path": f"{SHADOW}/lake/mid"}},
            {"source": 1, "path": "file:/raw/t.csv", "dataset": {"namespace": "file", "name": "/raw/t.csv"}, "files": [RAW]},
        ],
        "operators": [{"id": 0, "text": f"Write file:{SHADOW}/lake/out"}], "boundaries": [],
        "sink": {"boundary": 0, "path": f"file:{SHADOW}/lake/out", "dataset": {"namespace": "file", "name": f"{SHADOW}/lake/out"}},
        "segments": [segment, {**segment, "name": "b1-s0.0-p0-a1.seg", "boundary": 1}],
        **changes,
    }  # fmt: skip


def footer(*files: dict[str, Any]) -> dict[str, Footer]:
    parts = {"capture": "c", "boundary": 0, "stage": 1, "stage_attempt": 0, "partition": 0, "attempt": 3, "rows": 2, "columns": []}
    return {"b0-s1.0-p0-a3.seg": Footer.from_json({**parts, "files": list(files), "runs": [[0, 2]]})}


def test_every_place_of_the_shadow_becomes_the_real_one() -> None:
    found = Rewriting(Path(SHADOW), PAIRS).manifest(manifest(), footer(OUT), RUN)
    assert SHADOW not in json.dumps(found)
    assert found["run"] == {"namespace": "team", "job": "job.out", "runId": "0190a6f2-0000-7000-8000-00000000000a"}
    assert (found["started"], found["ended"], found["recaptured"]) == (RUN.started, RUN.ended, {"started": "S", "ended": "E"})
    mid, raw = found["sources"]
    assert mid["files"] == [{**MID, "path": "file:/lake/mid/part-00000-a.parquet", "modified": 5}]
    assert mid["splits"][0]["path"] == "file:/lake/mid/part-00000-a.parquet"
    assert (mid["path"], mid["dataset"]["name"], mid["options"]) == ("file:/lake/mid", "/lake/mid", {"path": "/lake/mid"})
    assert raw["files"] == [RAW]
    assert (found["sink"]["path"], found["sink"]["dataset"]["name"]) == ("file:/lake/out", "/lake/out")
    sink, other = found["segments"]
    assert sink["files"] == [{"path": "file:/lake/out/k=x y/part-00000-a.parquet", "length": 7, "modified": 7}]
    assert (sink["runs"], sink["sha256"]) == ([[0, 2]], "aa")
    assert "files" not in other


def test_a_file_is_found_by_its_own_name_alone() -> None:
    other = {**OUT, "path": OUT["path"].replace(" ", "%20")}
    with pytest.raises(InvalidCaptureError, match="no file that was compared"):
        Rewriting(Path(SHADOW), PAIRS).manifest(manifest(), footer(other), RUN)


def test_files_that_the_manifest_states_go_before_those_of_the_footer() -> None:
    segments = [{"name": "b0-s1.0-p0-a3.seg", "boundary": 0, "files": [OUT], "runs": [[0, 2]]}]
    found = Rewriting(Path(SHADOW), PAIRS).manifest(manifest(segments=segments), {}, RUN)
    assert found["segments"][0]["files"][0]["modified"] == 7


@pytest.mark.parametrize(
    "file",
    [
        {**OUT, "path": f"file:{SHADOW}/lake/out/part-00009"},
        {**OUT, "path": f"file:{SHADOW}/lake/../../../etc/passwd"},
        {**OUT, "path": "file:/lake/out/k=x y/part-00000-a.parquet"},
        {**OUT, "length": 8},
        {**OUT, "modified": 7},
    ],
)
def test_a_sinks_file_that_was_not_compared_is_refused(file: dict[str, Any]) -> None:
    with pytest.raises(InvalidCaptureError, match="is no file that was compared"):
        Rewriting(Path(SHADOW), PAIRS).manifest(manifest(), footer(file), RUN)


def test_a_source_of_the_shadow_that_was_not_compared_is_refused() -> None:
    (mid, raw) = manifest()["sources"]
    sources = [{**mid, "files": [{**MID, "modified": 1}]}, raw]
    with pytest.raises(InvalidCaptureError, match="is no file that was compared"):
        Rewriting(Path(SHADOW), PAIRS).manifest(manifest(sources=sources), footer(OUT), RUN)


def test_a_segment_that_names_no_file_is_refused() -> None:
    with pytest.raises(InvalidCaptureError, match="does not name its files"):
        Rewriting(Path(SHADOW), PAIRS).manifest(manifest(), {}, RUN)


def test_a_dataset_beside_the_shadow_is_none_of_it() -> None:
    rewriting = Rewriting(Path(SHADOW), PAIRS)
    assert rewriting.dataset({"namespace": "file", "name": f"{SHADOW}2/lake/out"}) is None
    assert rewriting.dataset({"namespace": "file", "name": f"{SHADOW}/lake/out"}) == ("file", "/lake/out")
