"""The parts of the truth checks that need no Spark."""

from collections import Counter
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.spark.arm import counts
from bench.truth.check import Finding
from bench.truth.plans import Executed, differences
from bench.truth.run import summary
from bench.truth.values import comparable, written


def test_doubles_are_compared_to_ten_digits_and_decimals_by_value():
    assert comparable([0.1 + 0.2, -0.0, float("nan"), None]) == comparable([0.3, 0.0, float("nan"), None])
    assert comparable([1.000000001]) != comparable([1.000000002])
    assert comparable([Decimal("1.50"), date(2020, 1, 1)]) == comparable([Decimal("1.5"), date(2020, 1, 1)])


def test_rows_are_named_by_file_and_place(tmp_path):
    for number, values in enumerate(([1, 2], [3])):
        pq.write_table(pa.table({"a": values}), tmp_path / f"part-{number}.parquet")
    assert [(row.file.name, row.row, row.values) for row in written(tmp_path)] == [
        ("part-0.parquet", 0, (1,)), ("part-0.parquet", 1, (2,)), ("part-1.parquet", 0, (3,)),
    ]  # fmt: skip


def _executed(*operators, read=10):
    return Executed(Counter(operators), Counter(["PushedFilters: [IsNotNull(a)]"]), Counter([("Scan parquet", read)]))


def test_plans_that_differ_say_in_what():
    assert differences(_executed("SortMergeJoin"), _executed("SortMergeJoin")) == []
    assert differences(_executed("SortMergeJoin"), _executed("BroadcastHashJoin", read=20)) == [
        "operator only without capture: SortMergeJoin ×1",
        "operator only with capture: BroadcastHashJoin ×1",
        "read only without capture: ('Scan parquet', 10) ×1",
        "read only with capture: ('Scan parquet', 20) ×1",
    ]


@pytest.mark.parametrize("doubt", [{"wrong": ["x"]}, {"told": ["superset"]}, {"status": "refused"}])
def test_only_what_is_captured_right_and_said_to_be_exact_counts_as_exact(doubt):
    sound = Finding("q1", status="complete", rows=3, traced=2)
    doubtful = Finding("q2", **({"status": "complete"} | doubt))
    assert (sound.exact, doubtful.exact) == (True, False)
    assert summary([sound, doubtful])["exact"] == 1


def test_an_association_with_two_references_counts_as_one_association():
    manifest = {
        "boundaries": [
            {"boundary": 0, "columns": [{"role": "ref"}, {"role": "ref"}]},
            {"boundary": 1, "columns": [{"role": "key"}, {"role": "ref"}]},
        ],
        "segments": [{"boundary": 0, "rows": 3, "bytes": 50}, {"boundary": 1, "rows": 10, "bytes": 20}],
        "sources": [{"files": [{"path": "a", "length": 100}]}, {"files": [{"path": "a", "length": 100}, {"path": "b", "length": 50}]}],
    }
    assert counts(manifest) == {"associations": 13.0, "references": 16.0, "spooled_bytes": 70.0, "input_bytes": 150.0}
