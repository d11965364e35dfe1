"""Rows of a capture without references from other rows are left out of its tables, and all others are kept."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from headwater.graph.associations import NONE, Manifest
from headwater.graph.associations.segment import Segment
from headwater.graph.associations.writer import segment
from headwater.graph.records import compact as compacting
from headwater.graph.records import reached_rows

CAPTURE = "00000000-0000-4000-8000-000000000001"
SINK, GROUP, JOIN, LEFT, RIGHT = 1, 2, 3, 4, 5
Rows = Sequence[tuple[int, ...]]


def ref(operator: int) -> dict[str, Any]:
    return {"role": "ref", "operator": operator}


def boundary(number: int, kind: str, operator: int, *columns: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"boundary": number, "kind": kind, "operator": operator, "columns": list(columns), **more}


def kept(folder: Path, boundaries: Sequence[Mapping[str, Any]], rows: Mapping[int, Rows]) -> dict[int, list[tuple[int, ...]]]:
    """Return the rows of the kept tables, by boundary. Each boundary has two segments."""
    segments, entries = [], []
    for each in boundaries:
        number = each["boundary"]
        for part in range(2):
            own = rows.get(number, ())[part::2]
            if not own:
                continue
            name = f"b{number}-s1.0-p{part}-a{part}.seg"
            footer = {"capture": CAPTURE, "boundary": number, "stage": 1, "stage_attempt": 0, "partition": part, "attempt": part}
            footer["columns"] = each["columns"]
            if each["kind"] == "sink":
                footer |= {"files": [{"path": f"file:/out/{part}", "length": 1, "modified": 1}], "runs": [[0, len(own)]]}
            segments.append(Segment.open(name, segment([list(column) for column in zip(*own, strict=True)], footer)))
            entries.append({**footer, "name": name, "rows": len(own), "bytes": 1, "sha256": "0"})
    manifest = Manifest.from_json(
        {
            "format": 2, "capture": CAPTURE, "run": {"namespace": "n", "job": "j", "runId": "r"},
            "application": {"id": "a", "name": "a", "spark": "4"}, "started": "s", "ended": "e", "mode": "active", "status": "complete",
            "problems": [], "sources": [], "boundaries": list(boundaries), "segments": entries,
            "operators": [{"id": n, "op": "Range", "children": [], "text": ""} for n in range(1, 6)],
            "sink": {"boundary": 0, "dataset": {"namespace": "n", "name": "d"}, "path": "file:/out", "format": "parquet", "mode": "append"},
        }
    )  # fmt: skip
    compacting.compact(manifest, segments, folder / "kept")
    tables = {
        each["boundary"]: pq.read_table(folder / "kept" / f"b{each['boundary']}.parquet") for each in boundaries if "derived" not in each
    }
    return {number: list(zip(*(column.to_pylist() for column in table.columns), strict=True)) for number, table in tables.items()}


KEYED = [
    boundary(0, "sink", SINK, ref(GROUP)),
    boundary(1, "group", GROUP, {"role": "key"}, ref(LEFT)),
    boundary(2, "chosen", GROUP, {"role": "key"}, ref(LEFT)),
]
KEYED_ROWS = {0: [(70,), (90,), (NONE,)], 1: [(70, 1), (80, 2), (90, 3), (70, 4), (60, 5)], 2: [(60, 5), (70, 1), (80, 2), (90, 3)]}


@pytest.mark.parametrize("in_memory", [True, False])
def test_groups_that_reach_no_row_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: bool) -> None:
    if not in_memory:
        monkeypatch.setattr(compacting, "_IN_MEMORY", 0)
    made = kept(tmp_path, KEYED, KEYED_ROWS)
    assert made[1] == [(70, 1), (70, 4), (90, 3)]
    assert made[2] == [(70, 1), (90, 3)]


def test_with_too_many_references_all_rows_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reached_rows, "_MOST", 2)
    made = kept(tmp_path, KEYED, KEYED_ROWS)
    assert made[1] == sorted(KEYED_ROWS[1])
    assert made[2] == sorted(KEYED_ROWS[2])


def test_rows_stay_if_nothing_can_refer_to_them(tmp_path: Path) -> None:
    alone = [boundary(0, "sink", SINK, ref(LEFT)), KEYED[1]]
    assert kept(tmp_path, alone, {0: [(1,)], 1: KEYED_ROWS[1]})[1] == sorted(KEYED_ROWS[1])


def test_rows_of_a_semi_join_and_their_matches_are_followed(tmp_path: Path) -> None:
    boundaries = [
        boundary(3, "match", JOIN, {"role": "key"}, {"role": "value"}, {"role": "nulls"}, ref(RIGHT)),
        boundary(2, "semi", JOIN, {"role": "key"}, {"role": "value"}, {"role": "nulls"}, ref(LEFT)),
        boundary(1, "group", GROUP, {"role": "key"}, ref(JOIN)),
        boundary(0, "sink", SINK, ref(GROUP)),
    ]
    first, second = 0, 1 << 40  # rows are named by the attempt that wrote them, and their place
    rows = {
        0: [(70,)],
        1: [(70, first + 1), (80, second), (70, second + 1)],
        2: [(10, 1, 0, 1), (20, 2, 0, 2), (30, 3, 0, 3), (40, 4, 0, 4)],  # 10 and 30 are rows 0 and 1 of attempt 0
        3: [(10, 5, 0, 5), (30, 6, 0, 6), (40, 7, 0, 7), (30, 8, 0, 8), (20, 9, 0, 9)],
    }
    made = kept(tmp_path, boundaries, rows)
    assert made[1] == [(70, first + 1), (70, second + 1)]
    assert [row[:2] for row in made[2]] == [(first + 1, 30), (second + 1, 40)]
    assert [(row[0], row[1]) for row in made[3]] == [(30, 6), (30, 8), (40, 7)]


def test_rows_of_a_window_stay_because_frames_reach_them(tmp_path: Path) -> None:
    boundaries = [boundary(0, "sink", SINK, ref(JOIN)), boundary(1, "window", JOIN, {"role": "key"}, ref(LEFT))]
    made = kept(tmp_path, boundaries, {0: [(0,)], 1: [(7, 1), (7, 2), (7, 3), (7, 4)]})
    assert [row[3] for row in made[1]] == [1, 3, 2, 4]


def test_rows_stay_if_a_trace_computes_references_to_them_again(tmp_path: Path) -> None:
    derived = boundary(3, "group", SINK, {"role": "key"}, ref(GROUP), derived={"estimate_ms": 1.0})
    made = kept(tmp_path, [*KEYED, derived], KEYED_ROWS)
    assert made[1] == sorted(KEYED_ROWS[1])


CHECKED = [
    boundary(0, "sink", SINK, ref(GROUP)),
    boundary(2, "check", GROUP, {"role": "key"}, {"role": "check"}, {"role": "value", "attr": 0}, {"role": "nulls"}),
    boundary(1, "group", GROUP, {"role": "key"}, ref(LEFT), derived={"estimate_ms": 1.0}),
]


def test_hashes_of_groups_that_are_found_again_become_numbers(tmp_path: Path) -> None:
    made = kept(tmp_path, CHECKED, {0: [(2**62,), (-(2**62),)], 2: [(-(2**62), 11, 5, 0), (2**61, 12, 6, 0), (2**62, 13, 7, 0)]})
    assert sorted((group, file) for file, _, group in made[0]) == [(0, 0), (1, 1)]
    assert made[2] == [(0, 0, 7, 0), (1, 0, 5, 0)]  # each group has one second hash, which is not needed


def test_second_hashes_stay_where_two_keys_share_the_first(tmp_path: Path) -> None:
    rows = [(-(2**62), 11, 5, 0), (2**62, 12, 6, 0), (2**62, 13, 7, 0), (2**62, 12, 6, 0)]
    made = kept(tmp_path, CHECKED, {0: [(2**62,), (-(2**62),)], 2: rows})
    assert made[2] == [(0, 12, 6, 0), (0, 12, 6, 0), (0, 13, 7, 0), (1, 0, 5, 0)]
