"""The relation below derived rows in DuckDB: the rows of nested loops, for every join that is allowed there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.graph.associations import Application, Expression, Manifest, Operator, RunName
from headwater.graph.associations.behaviours import assumed
from headwater.graph.duck.sql import Untranslatable
from headwater.graph.trace.plan import Plan
from headwater.graph.trace.recompute.relation import RelationTranslator, make_relation
from headwater.graph.trace.translate import Translator

LEFT, RIGHT = 1, 2  # the scans; left has the attributes 11 and 12, right 21 and 22, by the names k and v
NUMBERS = st.one_of(st.none(), st.integers(0, 3))
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=6)

Row = tuple[int | None, int | None]
Pair = tuple[int | None, int | None]  # the numbers of a left and of a right record


def _operator(**fields: Any) -> Operator:
    """An operator that states what the table says of its name."""
    behaviour, optional = assumed(fields["op"], fields.get("how"))
    return Operator(**fields, stated=str(behaviour), optional=optional)


def _scan(scan: int) -> Operator:
    columns = tuple({"attr": 10 * scan + place, "name": name, "type": "bigint"} for place, name in ((1, "k"), (2, "v")))
    return _operator(id=scan, op="Scan", source=scan, columns=columns)


def _attr(attr: int) -> Expression:
    return Expression(fn="attr", attr=attr, type="bigint")


def _compare(fn: str, *args: Expression) -> Expression:
    return Expression(fn=fn, args=args, type="boolean")


KEYS = _compare("=", _attr(11), _attr(21))
SMALL = {attr: _compare("<", _attr(attr), Expression(fn="literal", value="2", type="bigint")) for attr in (12, 22)}


def _plan(*operators: Operator) -> Plan:
    """A plan of two scans and what stands above them, the highest first."""
    return Plan(
        Manifest(
            format=2, capture="6f1b0d5e-0000-4000-8000-000000000000", run=RunName(namespace="n", job="j", run_id="r"),
            application=Application(id="a", name="a", spark="4.1"), started="", ended="", mode="lazy", status="complete", problems=(),
            sources=(), operators=(*operators, _scan(LEFT), _scan(RIGHT)), boundaries=(), segments=(),
        )
    )  # fmt: skip


def _found(plan: Plan, tables: dict[int, list[Row]]) -> list[tuple[Any, ...]]:
    """The references of each row, by DuckDB; a side that does not go on has none."""
    top = plan.operators[plan.manifest.operators[0].id]
    relation = make_relation(plan, RelationTranslator(plan, [scan for scan in plan.upstream(top) if scan.op == "Scan"]), top)
    defined = ", ".join(f"v{scan} AS ({_values(scan, rows)})" for scan, rows in tables.items())
    shown = ", ".join(f"v{scan}.ref" if f"v{scan}" in relation.sql else "NULL" for scan in tables)
    found = duckdb.execute(f"WITH {defined} SELECT {shown} FROM {relation.sql}{relation.format_conditions}").fetchall()
    return sorted(found, key=repr)


def _values(scan: int, rows: list[Row]) -> str:
    listed = [(number, *("NULL" if value is None else value for value in row)) for number, row in enumerate(rows)]
    columns = ", ".join(f"CAST(c{place} AS BIGINT) AS {name}" for place, name in enumerate(("ref", f"a{scan}1", f"a{scan}2")))
    made = ", ".join(f"({', '.join(map(str, row))})" for row in [("NULL", "NULL", "NULL"), *listed])
    return f"SELECT {columns} FROM (VALUES {made}) t(c0, c1, c2) WHERE c0 IS NOT NULL"


def _joined(how: str, left: Iterable[int], right: Iterable[int], equal: Callable[[int, int], bool]) -> list[Pair]:
    rows: list[Pair] = []
    for mine in left:
        matches: list[Pair] = [(mine, other) for other in right if equal(mine, other)]
        if how == "left semi":
            rows += [(mine, None)] if matches else []
        elif how == "left anti":
            rows += [] if matches else [(mine, None)]
        else:
            rows += matches or ([(mine, None)] if how == "left outer" else [])
    return sorted(rows, key=repr)


def _small(value: int | None) -> bool:
    return value is not None and value < 2


@pytest.mark.parametrize("how", ["inner", "left outer", "left semi", "left anti"])
@settings(max_examples=60)
@given(left=ROWS, right=ROWS, filtered=st.sets(st.sampled_from(["left", "right", "above"])))
def test_a_join_has_the_rows_of_nested_loops(how: str, left: list[Row], right: list[Row], filtered: set[str]) -> None:
    above = [_operator(id=9, op="Filter", children=(8,), condition=SMALL[12])] if "above" in filtered else []
    sides = {"left": (LEFT, 12), "right": (RIGHT, 22)}
    filters = [_operator(id=scan + 5, op="Filter", children=(scan,), condition=SMALL[attr])
               for side, (scan, attr) in sides.items() if side in filtered]  # fmt: skip
    below = tuple(scan + 5 if side in filtered else scan for side, (scan, _) in sides.items())
    join = _operator(id=8, op="Join", children=below, how=how, condition=KEYS)
    kept = [n for n, (_, v) in enumerate(left) if "left" not in filtered or _small(v)]
    others = [n for n, (_, v) in enumerate(right) if "right" not in filtered or _small(v)]
    rows = _joined(how, kept, others, lambda mine, other: left[mine][0] is not None and left[mine][0] == right[other][0])
    expected = [row for row in rows if "above" not in filtered or _small(left[row[0] or 0][1])]
    assert _found(_plan(*above, join, *filters), {LEFT: left, RIGHT: right}) == expected


@settings(max_examples=60)
@given(left=ROWS, right=ROWS)
def test_what_an_outer_join_lacks_is_null_in_a_filter_above_it(left: list[Row], right: list[Row]) -> None:
    join = _operator(id=8, op="Join", children=(LEFT, RIGHT), how="left outer", condition=KEYS)
    absent = _operator(id=9, op="Filter", children=(8,), condition=_compare("isnull", _attr(22)))
    rows = _joined("left outer", range(len(left)), range(len(right)), lambda a, b: left[a][0] is not None and left[a][0] == right[b][0])
    expected = [row for row in rows if row[1] is None or right[row[1]][1] is None]
    assert _found(_plan(absent, join), {LEFT: left, RIGHT: right}) == expected


@pytest.mark.parametrize("how", ["left semi", "left anti"])
def test_columns_above_a_join_that_gives_its_left_side_alone_are_not_those_of_its_right_side(how: str) -> None:
    again = _operator(id=3, op="Scan", source=3, columns=_scan(RIGHT).columns)  # the same table, by the same numbers
    kept = _operator(id=7, op="Join", children=(LEFT, RIGHT), how=how, condition=KEYS)
    join = _operator(id=8, op="Join", children=(7, 3), how="inner", condition=_compare("=", _attr(12), _attr(21)))
    plan = _plan(_operator(id=9, op="Filter", children=(8,), condition=SMALL[22]), join, kept, again)
    translator = RelationTranslator(plan, [scan for scan in plan.operators.values() if scan.op == "Scan"])
    relation = make_relation(plan, translator, plan.operators[9])
    exists, small = relation.conditions
    assert relation.sql == "(v1 JOIN v3 ON (v1.a12 = v3.a21))"
    assert exists.endswith("EXISTS (SELECT 1 FROM v2 WHERE (v1.a11 = v2.a21))")
    assert small.startswith("(v3.a22 <")
    assert {scan: set(attrs) for scan, attrs in translator.needed.items()} == {1: {11, 12}, 2: {21}, 3: {21, 22}}


def test_a_projection_adds_nothing_and_its_columns_are_those_below() -> None:
    made = Operator.from_json({
        "id": 7, "op": "Project", "behaviour": "defines", "children": [LEFT],
        "defines": [{"attr": 30, "name": "w", "type": "bigint", "expr": {"fn": "attr", "attr": 12, "type": "bigint"}}],
    }, "$")  # fmt: skip
    kept = _operator(id=9, op="Filter", children=(7,), condition=_compare("isnotnull", _attr(30)))
    assert _found(_plan(kept, made), {LEFT: [(1, 1), (2, None), (None, 3)]}) == [(0,), (2,)]


@pytest.mark.parametrize(
    "operator",
    [
        _operator(id=8, op="Join", children=(LEFT, RIGHT), how="full outer", condition=KEYS, text="Join FullOuter"),
        _operator(id=8, op="Join", children=(LEFT, RIGHT), how="right outer", condition=KEYS, text="Join RightOuter"),
        _operator(id=8, op="Join", children=(LEFT, RIGHT), how="inner", text="Join Inner"),
        _operator(id=8, op="Join", children=(LEFT, RIGHT), how="existence", condition=KEYS, text="Join Existence"),
        _operator(id=8, op="Union", children=(LEFT, RIGHT), text="Union"),
        _operator(id=8, op="GlobalLimit", children=(LEFT,), text="GlobalLimit 3"),
        _operator(id=8, op="Filter", children=(LEFT,), text="Filter of nothing that is known"),
    ],
    ids=lambda operator: operator.text,
)
def test_what_it_cannot_say_is_refused_by_its_text(operator: Operator) -> None:
    with pytest.raises(Untranslatable, match=operator.text):
        make_relation(plan := _plan(operator), RelationTranslator(plan, [_scan(LEFT), _scan(RIGHT)]), operator)


def test_what_was_left_out_of_an_expression_is_told_in_words() -> None:
    with pytest.raises(Untranslatable, match="a value in it was left out"):
        Translator(_plan(_scan(LEFT)), {}).translate(Expression(fn="truncated"), _scan(LEFT))
