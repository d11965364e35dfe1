"""The witness of `first`, `last`, `any_value` and `dropDuplicates` is the row that the engine took, in every mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.graph.trace import Semantics
from headwater.spark_listener.capture import Bridge
from tests.jvm import PATIENTLY
from tests.spark_listener.capture.conftest import Captured

pytestmark = pytest.mark.spark

ROWS = [
    {"id": n, "k": n % 3, "n": f"n{n % 3}", "s": None if n % 4 == 0 else f"s{n}", "v": n * 37 % 11, "e": f"e{n % 2}"} for n in range(40)
]
Write = Callable[[DataFrame], Captured]


@pytest.fixture(params=["active", "lazy"])
def written(
    request: pytest.FixtureRequest, spark: SparkSession, table: Any, segments: Path, tmp_path: Path
) -> Iterator[Callable[[str], Captured]]:
    """Run a query over ROWS in a mode."""
    session, number = spark.newSession(), iter(range(100))
    session.read.parquet(table("rows", ROWS, files=4)).createOrReplaceTempView("rows")
    session.read.parquet(table("names", [{"id": 100 + n, "n": f"n{n}", "w": f"w{n}"} for n in range(2)])).createOrReplaceTempView("names")
    bridge = Bridge.install(session, mode=request.param, segments=str(segments), budget=float("inf") if request.param == "lazy" else 0.0)

    def run(query: str) -> Captured:
        out = tmp_path / f"out{next(number)}"
        session.sql(query).write.parquet(str(out))
        assert bridge.flush(PATIENTLY)
        (end,) = [event for event in bridge.drain(1000) if event["event"] == "query_end" and event["plan"] and event["plan"]["sink"]]
        assert end["capture"]["status"] == "complete", end["capture"]["problems"]
        return Captured(end, out, None)

    yield run
    bridge.close()


@pytest.mark.parametrize("keys", ["k", "n", "n, e"])
def test_the_row_that_first_took_is_the_witness(written: Callable[[str], Captured], traced: Any, keys: str) -> None:
    captured = written(f"SELECT {keys}, first(id) f, any_value(v) a, first(s) s FROM rows GROUP BY {keys}")
    found = traced(captured, "f", semantics=Semantics.WITNESS)
    assert found.said == set()
    assert all(ids == [frozenset({taken})] for (taken,), ids in found.ids.items())
    assert len(found.ids) == len({tuple(row[key] for key in keys.split(", ")) for row in ROWS})


def test_all_rows_of_the_key_are_the_influence(written: Callable[[str], Captured], traced: Any) -> None:
    found = traced(written("SELECT k, first(id) f FROM rows GROUP BY k"), "k")
    assert found.ids == {(k,): [frozenset(row["id"] for row in ROWS if row["k"] == k)] for k in range(3)}


def test_each_way_to_choose_has_its_own_row(written: Callable[[str], Captured], traced: Any) -> None:
    by_text = {row["s"]: row["id"] for row in ROWS if row["s"]}
    captured = written(
        "SELECT k, first(s, true) a, last(s, true) b, last(id) c, first(id) FILTER (WHERE v > 5) d, first(id) FILTER (WHERE v > 100) e, "
        "concat(first(s, true), last(s, true)) g FROM rows GROUP BY k"
    )
    for column in ("a", "b"):
        found = traced(captured, column, semantics=Semantics.WITNESS, column=column)
        assert found == ({(text,): [frozenset({by_text[text]})] for (text,) in found.ids}, set())
    for column in ("c", "d"):
        found = traced(captured, column, semantics=Semantics.WITNESS, column=column)
        assert found == ({(taken,): [frozenset({taken})] for (taken,) in found.ids}, set())
    none = traced(captured, "k", semantics=Semantics.WITNESS, column="e")
    assert none == ({(k,): [frozenset({k})] for k in range(3)}, set())  # nothing passes: the group's first row
    both = traced(captured, "a", "b", semantics=Semantics.WITNESS, column="g")
    assert both == ({(a, b): [frozenset({by_text[a], by_text[b]})] for a, b in both.ids}, set())


def test_a_chosen_row_of_a_join_is_of_both_sides(written: Callable[[str], Captured], traced: Any) -> None:
    captured = written("SELECT k, first(r.id) f, first(w) w FROM rows r LEFT JOIN names USING (n) GROUP BY k")
    found = traced(captured, "f", "w", semantics=Semantics.WITNESS)
    expected = {(f, w): [frozenset({f} if w is None else {f, 100 + int(w[1:])})] for f, w in found.ids}
    assert found == (expected, set())
    assert any(w is None for _, w in expected)


@pytest.mark.parametrize("counted", ["count(DISTINCT v) n", "count(DISTINCT v) n, count(DISTINCT e) m"])
def test_distinct_values_next_to_it_change_no_choice(written: Callable[[str], Captured], traced: Any, counted: str) -> None:
    captured = written(f"SELECT k, e, first(id) f, {counted} FROM rows GROUP BY ROLLUP (k, e)")
    found = traced(captured, "f", semantics=Semantics.WITNESS, column="f")
    assert found == ({(taken,): [frozenset({taken})] * len(rows) for (taken,), rows in found.ids.items()}, set())
    assert sum(map(len, found.ids.values())) == 10


def test_a_chosen_row_may_be_a_group(written: Callable[[str], Captured], traced: Any) -> None:
    captured = written("SELECT k, first(i) j FROM (SELECT k, v, first(id) i FROM rows GROUP BY k, v) GROUP BY k")
    found = traced(captured, "j", semantics=Semantics.WITNESS)
    assert found == ({(taken,): [frozenset({taken})] for (taken,) in found.ids}, set())


def test_the_witness_of_an_empty_cell_of_a_pivot_is_the_first_record_of_its_row(written: Callable[[str], Captured], traced: Any) -> None:
    captured = written("SELECT * FROM (SELECT n, e, v FROM rows) PIVOT (sum(v) AS t FOR e IN ('e0', 'e1', 'e7'))")
    cells = {"e7": {n: {n} for n in range(3)}}
    cells |= {e: {n: {row["id"] for row in ROWS if (row["k"], row["e"]) == (n, e)} for n in range(3)} for e in ("e0", "e1")}
    for column, of_row in cells.items():
        found = traced(captured, "n", semantics=Semantics.WITNESS, column=column)
        assert found == ({(f"n{n}",): [frozenset(ids)] for n, ids in of_row.items()}, set()), column


def test_the_row_that_drop_duplicates_kept(spark: SparkSession, table: Any, write: Write, traced: Any) -> None:
    captured = write(spark.read.parquet(table("rows", ROWS, files=4)).dropDuplicates(["n", "e"]))
    found = traced(captured, "id", semantics=Semantics.WITNESS)
    assert found == ({(taken,): [frozenset({taken})] for (taken,) in found.ids}, set())
    assert len(found.ids) == 6
