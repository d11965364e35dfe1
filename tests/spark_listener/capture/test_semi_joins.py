"""Semi-joins, anti-joins and existence joins: all matches of the row, by every strategy; of an absence, the left side alone."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.graph.trace import Semantics

pytestmark = pytest.mark.spark

Row = dict[str, Any]
Ids = dict[tuple[Any, ...], list[frozenset[str]]]


def left_rows() -> list[Row]:
    return [{"id": f"l{i:02}", "k": None if i % 13 == 0 else i % 9, "v": i, "d": [0.0, -0.0, math.nan, None][i % 4]} for i in range(40)]


def right_rows() -> list[Row]:
    return [{"id": f"r{i:02}", "k": None if i % 7 == 0 else i % 6, "w": i, "d": [0.0, math.nan, 1.5][i % 3]} for i in range(20)]


def equal(left: Row, right: Row) -> bool:
    return left["k"] is not None and left["k"] == right["k"]


def matching(holds: Callable[[Row, Row], bool] = equal, *, kept: Callable[[Row, bool], bool] = lambda _, found: found) -> tuple[Ids, Ids]:
    """Influence and witness of the left rows that are kept, by their `v`."""
    influence: Ids = defaultdict(list)
    witness: Ids = defaultdict(list)
    for left in left_rows():
        matches = [right["id"] for right in right_rows() if holds(left, right)]
        if kept(left, bool(matches)):
            influence[(left["v"],)].append(frozenset({left["id"], *matches}))
            witness[(left["v"],)].append(frozenset({left["id"], *matches[:1]}))
    return dict(influence), dict(witness)


@pytest.fixture
def tables(spark: SparkSession, table: Any) -> None:
    spark.read.parquet(table("left", left_rows())).createOrReplaceTempView("l")
    spark.read.parquet(table("right", right_rows())).createOrReplaceTempView("r")


@pytest.mark.parametrize("aqe", [True, False])
@pytest.mark.parametrize("strategy", ["broadcast", "merge", "shuffle_hash"])
@pytest.mark.usefixtures("tables")
def test_all_matches_had_influence(spark: SparkSession, write: Any, traced: Any, conf: Any, strategy: str, aqe: bool) -> None:
    conf(adaptive__enabled=aqe, autoBroadcastJoinThreshold=-1)
    captured = write(spark.table("l").join(spark.table("r").hint(strategy), "k", "left_semi").select("v"))
    influence, witness = matching()
    assert captured.ids("v") == influence
    assert traced(captured, "v") == (influence, set())
    assert traced(captured, "v", semantics=Semantics.WITNESS) == (witness, set())


CONDITIONS: dict[str, Callable[[Row, Row], bool]] = {
    "l.k = r.k and l.v <> r.w": lambda a, b: equal(a, b) and a["v"] != b["w"],
    "l.k <=> r.k and l.v < r.w": lambda a, b: a["k"] == b["k"] and a["v"] < b["w"],
    "l.v + 5 < r.w": lambda a, b: a["v"] + 5 < b["w"],
    "l.d = r.d and l.k <> r.k": lambda a, b: same(a["d"], b["d"]) and None not in (a["k"], b["k"]) and a["k"] != b["k"],
    "l.k = r.k and substr(l.id, 3) <> substr(r.id, 3)": lambda a, b: equal(a, b) and a["id"][2:] != b["id"][2:],
    "l.k = r.k and not (l.d <=> r.d)": lambda a, b: equal(a, b) and not (same(a["d"], b["d"]) or a["d"] is b["d"]),
    "l.k = r.k and (l.v > 30 or r.w > 12 or l.k is null)": lambda a, b: equal(a, b) and (a["v"] > 30 or b["w"] > 12),
}


def same(left: float | None, right: float | None) -> bool:
    return left is not None and right is not None and (left == right or (math.isnan(left) and math.isnan(right)))


@pytest.mark.parametrize("broadcast", [True, False])
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.usefixtures("tables")
def test_conditions_beyond_the_keys(spark: SparkSession, write: Any, traced: Any, conf: Any, condition: str, broadcast: bool) -> None:
    conf(autoBroadcastJoinThreshold="10MB" if broadcast else -1)
    captured = write(spark.sql(f"select v from l where exists (select * from r where {condition})"))
    influence, witness = matching(CONDITIONS[condition])
    assert traced(captured, "v") == (influence, set())
    assert traced(captured, "v", semantics=Semantics.WITNESS) == (witness, set())


def test_conditions_over_every_type_that_is_recorded(spark: SparkSession, table: Any, write: Any, traced: Any) -> None:
    first = date(2020, 1, 1)
    rows = [
        {
            "id": f"x{i:02}",
            "g": i % 2,
            "n": i,
            "day": first + timedelta(days=7 * i % 10),
            "price": Decimal(i * 7 % 10) / 4,
            "flag": i % 3 == 0,
        }
        for i in range(16)
    ]
    rows += [{"id": f"y{i}", "g": i % 2, "n": i, "day": None, "price": None, "flag": None} for i in range(3)]
    spark.read.parquet(table("typed", rows)).selectExpr("*", "cast(day as timestamp) as moment").createOrReplaceTempView("typed")
    for column in ("day", "price", "moment", "flag"):
        captured = write(
            spark.sql(f"select id, n from typed a where exists (select * from typed b where a.g = b.g and a.{column} < b.{column})")
        )
        name = "day" if column == "moment" else column
        expected = {
            (row["id"],): [frozenset({row["id"], *found})]
            for row in rows
            if (found := [o["id"] for o in rows if o["g"] == row["g"] and None not in (row[name], o[name]) and row[name] < o[name]])
        }
        assert traced(captured, "id") == (expected, set()), column


@pytest.mark.usefixtures("tables")
def test_a_condition_that_is_not_recorded_gives_all_rows_of_equal_keys_and_says_so(spark: SparkSession, write: Any, traced: Any) -> None:
    captured = write(spark.sql("select v from l where exists (select * from r where l.k = r.k and concat(l.id, r.id) > 'l1')"))
    assert [problem["kind"] for problem in captured.capture["problems"]] == ["superset"]
    influence, said = traced(captured, "v")
    assert {effect for _, effect in said} == {"superset"}
    true, _ = matching(lambda a, b: equal(a, b) and a["id"] + b["id"] > "l1")
    wide, _ = matching()
    assert influence == {key: wide[key] for key in true}


@pytest.mark.parametrize(
    "query", ["v not in (select w from r)", "not exists (select * from r where r.k = l.k)", "v not in (select k from r)"]
)
@pytest.mark.usefixtures("tables")
def test_of_an_absence_the_left_side_is_listed(spark: SparkSession, write: Any, traced: Any, query: str) -> None:
    captured = write(spark.sql(f"select v from l where {query}"))
    assert len(captured.capture["boundaries"]) == 1  # the right side costs nothing
    kept = {
        "v not in (select w from r)": lambda row, _: row["v"] >= 20,
        "not exists (select * from r where r.k = l.k)": lambda _, found: not found,
        "v not in (select k from r)": lambda *_: False,  # a null among them
    }[query]
    expected = {key: [frozenset({f"l{key[0]:02}"})] for key in matching(kept=kept)[0]}
    assert captured.ids("v") == expected
    assert traced(captured, "v", semantics=Semantics.WITNESS) == (expected, set())
    assert any("anti" in operator.get("how", "") for operator in captured.capture["operators"])


EXISTENCE: dict[str, Callable[[Row, Row], bool]] = {
    "exists (select * from r where r.k = l.k)": equal,
    "exists (select * from r where r.k = l.k and r.w <> l.v)": CONDITIONS["l.k = r.k and l.v <> r.w"],
    "k in (select k from r)": equal,
}


@pytest.mark.parametrize("broadcast", [True, False])
@pytest.mark.parametrize("exists", EXISTENCE)
@pytest.mark.usefixtures("tables")
def test_existence_under_or(spark: SparkSession, write: Any, traced: Any, conf: Any, exists: str, broadcast: bool) -> None:
    conf(autoBroadcastJoinThreshold="10MB" if broadcast else -1)
    captured = write(spark.sql(f"select v from l where v > 20 or {exists}"))
    influence, witness = matching(EXISTENCE[exists], kept=lambda row, found: row["v"] > 20 or found)
    assert traced(captured, "v") == (influence, set())
    sufficient = {key: [frozenset({f"l{key[0]:02}"})] if key[0] > 20 else rows for key, rows in witness.items()}
    assert traced(captured, "v", semantics=Semantics.WITNESS) == (sufficient, set())


@pytest.mark.usefixtures("tables")
def test_of_two_that_exist_a_witness_needs_one(spark: SparkSession, write: Any, traced: Any) -> None:
    captured = write(
        spark.sql("select v from l where v < 30 and (k in (select k from r) or exists (select * from r where r.w = l.v and r.w > 3))")
    )
    expected: Ids = {}
    for row in (row for row in left_rows() if row["v"] < 30):
        by_key = [other["id"] for other in right_rows() if equal(row, other)]
        by_value = [other["id"] for other in right_rows() if other["w"] == row["v"] and other["w"] > 3]
        if by_key or by_value:
            expected[(row["v"],)] = [frozenset({row["id"], *by_key, *by_value})]
    assert traced(captured, "v") == (expected, set())
    found, said = traced(captured, "v", semantics=Semantics.WITNESS)
    assert said == set()
    assert all(len(ids) == 2 for (ids,) in found.values())  # the row, and one match of either
    assert all(found[key][0] <= expected[key][0] for key in found)


@pytest.mark.usefixtures("tables")
def test_existence_as_a_column_and_its_absence_under_or(spark: SparkSession, write: Any, traced: Any) -> None:
    captured = write(spark.sql("select v, exists (select * from r where r.k = l.k) as e from l"))
    influence, witness = matching(kept=lambda *_: True)
    assert traced(captured, "v") == (influence, set())
    assert traced(captured, "v", semantics=Semantics.WITNESS) == (witness, set())
    alone = {(v,): [frozenset({f"l{v:02}"})] for v in range(40)}
    assert traced(captured, "v", semantics=Semantics.WITNESS, column="v") == (alone, set())
    captured = write(spark.sql("select v from l where v > 20 or not exists (select * from r where r.k = l.k)"))
    kept, _ = matching(kept=lambda row, found: row["v"] > 20 or not found)
    assert traced(captured, "v") == ({key: alone[key] for key in kept}, set())


@pytest.mark.usefixtures("tables")
def test_semi_joins_under_and_over_aggregates(spark: SparkSession, write: Any, traced: Any) -> None:
    captured = write(
        spark.sql(
            "select k, count(*) n from l where exists (select * from r where r.k = l.k and r.w <> l.v) "
            "and k in (select k from r group by k having sum(w) > 20) group by k"
        )
    )
    inner, _ = matching(CONDITIONS["l.k = r.k and l.v <> r.w"])
    sums: dict[int, int] = defaultdict(int)
    for row in right_rows():
        sums[row["k"]] += row["w"]
    expected: dict[tuple[int], frozenset[str]] = {}
    for left in left_rows():
        if (left["v"],) in inner and sums[left["k"]] > 20:
            group = frozenset(right["id"] for right in right_rows() if right["k"] == left["k"])
            expected[(left["k"],)] = expected.get((left["k"],), frozenset()) | inner[(left["v"],)][0] | group
    assert traced(captured, "k") == ({key: [ids] for key, ids in expected.items()}, set())


@pytest.mark.usefixtures("tables")
def test_intersect_and_except(spark: SparkSession, write: Any, traced: Any) -> None:
    both = {row["k"] for row in left_rows()} & {row["k"] for row in right_rows()}
    captured = write(spark.sql("select k from l intersect select k from r"))
    of_left = {k: [row["id"] for row in left_rows() if row["k"] == k] for k in {row["k"] for row in left_rows()}}
    of_right = {k: [row["id"] for row in right_rows() if row["k"] == k] for k in both}
    assert traced(captured, "k") == ({(k,): [frozenset(of_left[k] + of_right[k])] for k in both}, set())
    witness = {(k,): [frozenset({of_left[k][0], of_right[k][0]})] for k in both}
    assert traced(captured, "k", semantics=Semantics.WITNESS) == (witness, set())
    captured = write(spark.sql("select k from l except select k from r"))
    assert traced(captured, "k") == ({(k,): [frozenset(of_left[k])] for k in of_left.keys() - both}, set())


@pytest.mark.usefixtures("tables")
def test_intersect_all_and_except_all(spark: SparkSession, write: Any, traced: Any) -> None:
    of_left = {k: [row["id"] for row in left_rows() if row["k"] == k] for k in {row["k"] for row in left_rows()}}
    of_right = {k: [row["id"] for row in right_rows() if row["k"] == k] for k in {row["k"] for row in right_rows()}}
    captured = write(spark.sql("select k from l intersect all select k from r"))
    times = {k: min(len(of_left[k]), len(of_right[k])) for k in of_left.keys() & of_right.keys()}
    assert traced(captured, "k") == ({(k,): [frozenset(of_left[k] + of_right[k])] * n for k, n in times.items()}, set())
    witness = {(k,): [frozenset({of_left[k][0], of_right[k][0]})] * n for k, n in times.items()}
    assert traced(captured, "k", semantics=Semantics.WITNESS) == (witness, set())
    captured = write(spark.sql("select k from l except all select k from r"))
    left_over = {k: n for k in of_left if (n := len(of_left[k]) - len(of_right.get(k, ()))) > 0}
    assert traced(captured, "k") == ({(k,): [frozenset(of_left[k])] * n for k, n in left_over.items()}, set())
    witness = {(k,): [frozenset({of_left[k][0]})] * n for k, n in left_over.items()}
    assert traced(captured, "k", semantics=Semantics.WITNESS) == (witness, set())


@pytest.mark.usefixtures("tables")
def test_exists_without_correlation_lists_what_was_read_and_says_that_more_was_there(spark: SparkSession, write: Any, traced: Any) -> None:
    captured = write(spark.sql("select v from l where v < 3 and exists (select * from r where w > 10)"))
    found, said = traced(captured, "v")
    assert {effect for _, effect in said} == {"missing"}
    assert all(len(ids) == 2 and f"l{key[0]:02}" in ids for key, (ids,) in found.items())


@pytest.mark.usefixtures("tables")
def test_the_columns_of_a_witness_go_through_a_semi_join(spark: SparkSession, write: Any, traced: Any) -> None:
    captured = write(spark.sql("select k, max(v) m from l where exists (select * from r where r.k = l.k and r.w <> l.v) group by k"))
    inner, first = matching(CONDITIONS["l.k = r.k and l.v <> r.w"])
    greatest: dict[int, int] = {}
    for row in left_rows():
        if (row["v"],) in inner:
            greatest[row["k"]] = max(row["v"], greatest.get(row["k"], -1))
    expected = {(k,): first[(v,)] for k, v in greatest.items()}
    assert traced(captured, "k", semantics=Semantics.WITNESS, column="m") == (expected, set())
