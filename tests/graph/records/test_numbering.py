"""Groups numbered anew when they are kept: what refers to what stays as it was recorded, in memory and by the database."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.graph.associations import NONE, Manifest
from headwater.graph.associations.segment import Segment
from headwater.graph.associations.writer import segment
from headwater.graph.records import compact as compacting
from headwater.graph.records import group_numbers

CAPTURE = "00000000-0000-4000-8000-000000000001"
HASHES = [-(2**63) + 1, -(2**62), -7, 0, 3, 2**40, 2**62, 2**63 - 1]  # few, so that groups meet
SCAN, LOWER, LIMIT, UPPER = 4, 3, 2, 1
BOUNDARIES = [
    {"boundary": 0, "kind": "group", "operator": LOWER, "columns": [{"role": "key"}, {"role": "ref", "operator": SCAN}]},
    {"boundary": 1, "kind": "check", "operator": LOWER, "columns": [{"role": "key"}, {"role": "check"}]},
    {"boundary": 2, "kind": "group", "operator": LIMIT, "columns": [{"role": "key"}, {"role": "check"}, {"role": "ref", "operator": SCAN}]},
    {
        "boundary": 3,
        "kind": "group",
        "operator": UPPER,
        "columns": [{"role": "key"}, {"role": "ref", "operator": LOWER}, {"role": "partition", "operator": LIMIT}],
    },
    {"boundary": 5, "kind": "check", "operator": UPPER, "columns": [{"role": "key"}, {"role": "check"}]},
    {"boundary": 4, "kind": "sink", "operator": UPPER, "columns": [{"role": "ref", "operator": UPPER}, {"role": "ref", "operator": LOWER}]},
]
KEYS = st.sampled_from(HASHES)
MAYBE = st.sampled_from([NONE, *HASHES])
ROWS = {
    0: st.tuples(KEYS, st.integers(0, 40)),
    1: st.tuples(KEYS, st.integers(0, 1)),
    2: st.tuples(KEYS, st.integers(0, 1), st.integers(0, 40)),
    3: st.tuples(KEYS, MAYBE, MAYBE),
    4: st.tuples(MAYBE, KEYS),
    5: st.tuples(KEYS, st.just(0)),
}
RECORDED = st.fixed_dictionaries({number: st.lists(rows, min_size=1, max_size=25) for number, rows in ROWS.items()})


def kept(recorded: dict[int, list[tuple[int, ...]]], parts: int) -> dict[int, list[tuple[int, ...]]]:
    """The kept tables of a recording, each boundary in so many segments."""
    segments, entries = [], []
    for boundary in BOUNDARIES:
        number, rows = boundary["boundary"], recorded[boundary["boundary"]]
        for part in range(parts):
            own = rows[part::parts]
            if own:
                name = f"b{number}-s1.0-p{part}-a{part + 1}.seg"
                footer = {"capture": CAPTURE, "boundary": number, "stage": 1, "stage_attempt": 0, "partition": part, "attempt": part + 1}
                footer["columns"] = boundary["columns"]
                if boundary["kind"] == "sink":
                    footer |= {"files": [{"path": f"file:/out/{part}", "length": 1, "modified": 1}], "runs": [[0, len(own)]]}
                segments.append(Segment.open(name, segment([list(column) for column in zip(*own, strict=True)], footer)))
                entries.append({**footer, "name": name, "rows": len(own), "bytes": 1, "sha256": "0"})
    manifest = Manifest.from_json(
        {
            "format": 2, "capture": CAPTURE, "run": {"namespace": "n", "job": "j", "runId": "r"},
            "application": {"id": "a", "name": "a", "spark": "4"}, "started": "s", "ended": "e", "mode": "active", "status": "complete",
            "problems": [], "sources": [], "boundaries": BOUNDARIES, "segments": entries,
            "operators": [{"id": n, "op": "Aggregate" if n < SCAN else "Range", "children": [n + 1] if n < SCAN else [], "text": ""}
                          for n in range(1, 5)],
            "sink": {"boundary": 4, "dataset": {"namespace": "n", "name": "d"}, "path": "file:/out", "format": "parquet", "mode": "append"},
        }
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        compacting.compact(manifest, segments, Path(folder) / "kept")
        tables = {number: pq.read_table(Path(folder) / "kept" / f"b{number}.parquet") for number in ROWS}
    for number, table in tables.items():
        rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        by = 2 if number == 4 else len(table.columns)
        assert [row[:by] for row in rows] == sorted(row[:by] for row in rows)
    return {number: list(zip(*(column.to_pylist() for column in table.columns), strict=True)) for number, table in tables.items()}


def ways(recorded: dict[int, list[tuple[int, ...]]]) -> tuple[list[object], ...]:
    """The inputs of a row of the sink, along every reference, and the groups with two keys."""
    sink, upper, lower = recorded[4], recorded[3], recorded[0]
    limit = recorded[2]

    def below(group: int) -> list[int]:
        return sorted(ref for key, ref in lower if key == group)

    def partition(group: int) -> list[tuple[int, int]]:
        return sorted((checked, ref) for key, checked, ref in limit if key == group)

    def above(group: int) -> list[object]:
        made = [((second == NONE, below(second)), (limited == NONE, partition(limited))) for key, second, limited in upper if key == group]
        return sorted(made)

    doubled = {key for key, checked in recorded[1] if len({other for same, other in recorded[1] if same == key}) > 1}
    return tuple([(first == NONE, above(first), below(second), second in doubled) for first, second in sink])


@pytest.mark.parametrize("in_memory", [True, False])
@settings(max_examples=25, deadline=None)
@given(RECORDED, st.integers(1, 3))
def test_each_row_refers_to_what_it_referred_to(in_memory, recorded, parts) -> None:
    with pytest.MonkeyPatch.context() as patched:
        if not in_memory:
            patched.setattr(compacting, "_IN_MEMORY", 0)
        made = kept(recorded, parts)
    sink = sorted(made[4])
    placed = [row for part in range(parts) for row in recorded[4][part::parts]]
    made[4] = [row[2:] for row in sink]
    made[2] = [(key, checked, ref) for key, ref, checked in made[2]]
    assert ways(made) == ways({**recorded, 4: placed})


def test_numbers_follow_the_rows_that_refer_to_groups() -> None:
    sink = [(HASHES[7], 0), (HASHES[1], 0), (NONE, 0), (HASHES[7], 0), (HASHES[4], 0)]
    recorded = {0: [(0, 1)], 1: [(0, 1)], 2: [(0, 0, 1)], 3: [(key, 0, NONE) for key in HASHES], 4: sink, 5: [(key, 0) for key in HASHES]}
    made = kept(recorded, 1)
    assert [row[2] for row in made[4]] == [0, 1, NONE, 0, 2]
    assert [row[0] for row in made[3]] == [0, 1, 2]


def test_more_groups_than_fit_keep_their_hashes(monkeypatch) -> None:
    monkeypatch.setattr(group_numbers, "_MOST", 1)
    upper = [(0, 3, -7), (3, NONE, 3)]
    made = kept({0: [(3, 1), (3, 2)], 1: [(3, 1)], 2: [(-7, 0, 1), (3, 0, 2)], 3: upper, 4: [(0, 3), (3, 3)], 5: [(0, 0), (3, 0)]}, 1)
    assert made[3] == [(0, 0, -7), (3, NONE, 3)]  # one group below, two above
    assert made[4] == [(0, 0, 0, 0), (0, 1, 3, 0)]
    assert [row[0] for row in made[2]] == [-7, 3]


def test_keys_that_are_whole_numbers_stay(monkeypatch) -> None:
    without = [boundary for boundary in BOUNDARIES if boundary["boundary"] != 5]
    monkeypatch.setattr(f"{__name__}.BOUNDARIES", without)
    monkeypatch.delitem(ROWS, 5)
    recorded = {0: [(3, 1)], 1: [(3, 1)], 2: [(-7, 0, 1)], 3: [(0, 3, -7), (3, NONE, 3)], 4: [(3, 3), (0, 3)]}
    assert [row[2] for row in kept(recorded, 1)[4]] == [3, 0]


@settings(max_examples=15, deadline=None)
@given(RECORDED, st.integers(1, 3), st.sampled_from([1, 4, 1_000]))
def test_groups_whose_records_come_in_order_are_kept_alike_in_one_go_and_in_runs(recorded, parts, at_once) -> None:
    for number in (0, 2):
        recorded[number] = sorted(recorded[number], key=lambda row: (row[-1], *row[1:-1]))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(compacting, "_AT_ONCE", at_once)
        patched.setattr(compacting, "_IN_RUNS", at_once)
        made = kept(recorded, parts)
    assert made == kept(recorded, parts)
