"""The records of a group in a witness, function by function.

A function that is not evaluated keeps the whole group, and the answer says so.
"""

import pytest

from headwater.graph.trace import Semantics
from tests.graph.jobs import Job, Row, write_csv
from tests.graph.trace.conftest import records
from tests.graph.trace.small import COLUMNS, RAW, grouped


@pytest.mark.parametrize(
    ("fn", "distinct", "expected"),
    [("max", False, {2}), ("min", False, {0}), ("count", True, {0, 2}), ("sum", False, {0, 2, 3, 5}), ("count", False, {0, 2, 3, 5})],
)
async def test_each_function_takes_its_rows(store, ask, raw, tmp_path, fn, distinct, expected) -> None:
    grouped(store, raw, tmp_path / "out", fn, distinct=distinct)
    answer = await ask(dataset=str(tmp_path / "out"), where="k = 'a'", column="x", semantics=Semantics.WITNESS)
    assert {row for _, row in records(answer)} == expected
    assert answer.exact


@pytest.mark.parametrize("fn", ["first", "any_value"])
async def test_the_engines_free_choice_is_a_superset_and_said(store, ask, raw, tmp_path, fn) -> None:
    grouped(store, raw, tmp_path / "out", fn)
    answer = await ask(dataset=str(tmp_path / "out"), where="k = 'a'", column="x", semantics=Semantics.WITNESS)
    assert {row for _, row in records(answer)} == {0, 2, 3, 5}
    assert not answer.exact
    assert [(entry.effect, fn in entry.what) for entry in answer.incomplete] == [("superset", True)]


async def test_an_argument_that_is_not_evaluated_leaves_the_whole_group_and_names_the_operator(store, ask, raw, tmp_path) -> None:
    job = Job(store, "udf", 9)
    scan = job.scan(raw, "csv", COLUMNS, RAW)
    call = {"fn": "python_udf", "name": "twice", "args": [job.attr(scan, "v")], "type": "int", "sql": "twice(v)"}
    doubled = job.project(scan, {"w": (lambda v: v["v"] and 2 * v["v"], call, "int")})
    job.write(
        job.aggregate(doubled, ["k"], {"x": (job.aggregation("max", job.attr(doubled, "w")), len, "bigint")}),
        tmp_path / "out",
        "parquet",
        ["k", "x"],
    )
    answer = await ask(dataset=str(tmp_path / "out"), where="k = 'a'", column="x", semantics=Semantics.WITNESS)
    assert {row for _, row in records(answer)} == {0, 2, 3, 5}
    assert not answer.exact
    assert "twice(v)" in answer.incomplete[0].reason
    assert (await ask(dataset=str(tmp_path / "out"), where="k = 'a'")).exact


async def test_expressions_below_an_outer_join_are_null_where_the_side_is_missing(store, ask, tmp_path) -> None:
    """`max(coalesce(v, 100))` of the right side, defined below the join: an unmatched row has null, not 100."""
    left = write_csv(tmp_path / "l.csv", ["g", "id"], [["x", 1], ["x", 2], ["x", 3]])
    right = write_csv(tmp_path / "r.csv", ["rid", "v"], [[1, 5], [2, 7]])
    job = Job(store, "outer", 9)
    a = job.scan(left, "csv", {"g": "string", "id": "int"}, RAW)
    b = job.scan(right, "csv", {"rid": "int", "v": "int"}, RAW)
    call = job.function("coalesce", job.attr(b, "v"), job.literal(100, "int"), kind="int")
    filled = job.project(b, {"w": (lambda v: 100 if v["v"] is None else v["v"], call, "int")})
    joined = job.join(a, filled, [("id", "rid")], "left")
    most = job.aggregation("max", job.attr(joined, "w"))
    job.write(
        job.aggregate(joined, ["g"], {"x": (most, lambda rows: max(r.values["w"] or 0 for r in rows), "int")}),
        tmp_path / "out",
        "parquet",
        ["g", "x"],
    )
    answer = await ask(dataset=str(tmp_path / "out"), column="x", semantics=Semantics.WITNESS)
    assert records(answer) == {("l.csv", 1), ("r.csv", 1)}
    assert answer.exact


@pytest.mark.parametrize("numbered", [False, True])
async def test_ties_and_inner_aggregates_take_the_first_source_record(store, ask, tmp_path, monkeypatch, numbered) -> None:
    """max(sum) over groups: both groups of `a` sum to 6; the one with the earlier record is taken, and all of it."""
    monkeypatch.setattr(Job, "second_hashes", numbered)
    source = write_csv(tmp_path / "t.csv", ["k", "g", "v"], [["a", "q", 1], ["a", "p", 6], ["a", "q", 5], ["a", "r", 2]])
    job = Job(store, "nested", 9)
    scan = job.scan(source, "csv", {"k": "string", "g": "string", "v": "int"}, RAW)

    def total(rows: list[Row]) -> int:
        return sum(row.values["v"] for row in rows)

    sums = job.aggregate(scan, ["k", "g"], {"s": (job.aggregation("sum", job.attr(scan, "v")), total, "bigint")})
    most = job.aggregate(sums, ["k"], {"x": (job.aggregation("max", job.attr(sums, "s")), len, "bigint")})
    job.write(most, tmp_path / "out", "parquet", ["k", "x"])
    answer = await ask(dataset=str(tmp_path / "out"), column="x", semantics=Semantics.WITNESS)
    assert {row for _, row in records(answer)} == {0, 2}
    assert answer.exact
