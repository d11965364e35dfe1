"""Column lineage out of a plan's description: which source fields, directly or not, and how."""

from __future__ import annotations

from typing import Any

from headwater.spark_listener.lineage.columns import Step, column_accesses, column_lineage

FLIGHTS, WEATHER = ("file", "/flights"), ("file", "/weather")
SOURCES = {0: [FLIGHTS], 1: [WEATHER]}
IDENTITY, TRANSFORMATION, AGGREGATION = (Step("DIRECT", word) for word in ("IDENTITY", "TRANSFORMATION", "AGGREGATION"))


def attr(number: int) -> dict[str, Any]:
    return {"fn": "attr", "attr": number}


def call(name: str, *args: Any, **more: Any) -> dict[str, Any]:
    return {"fn": name, "args": list(args), **more}


def scan(identifier: int, source: int, **columns: int) -> dict[str, Any]:
    return {
        "id": identifier,
        "op": "Scan",
        "children": [],
        "source": source,
        "columns": [{"attr": a, "name": n} for n, a in columns.items()],
    }


def project(identifier: int, child: int, **expressions: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    defines = [{"attr": number, "name": name, "expr": expression} for name, (number, expression) in expressions.items()]
    return {"id": identifier, "op": "Project", "children": [child], "defines": defines}


def plan(*operators: dict[str, Any], **columns: int) -> dict[str, Any]:
    return {"operators": list(operators), "sink": {"columns": [{"name": n, "attr": a} for n, a in columns.items()]}}


def test_what_passes_through_is_identity_and_what_is_computed_is_transformation() -> None:
    found = column_lineage(
        plan(project(1, 2, double=(11, call("+", attr(1), attr(2)))), scan(2, 0, delay=1, air=2), delay=1, double=11), SOURCES
    )
    assert found.columns["delay"] == {(*FLIGHTS, "delay"): {IDENTITY}}
    assert found.columns["double"] == {(*FLIGHTS, "delay"): {TRANSFORMATION}, (*FLIGHTS, "air"): {TRANSFORMATION}}


def test_the_strongest_word_stands_over_several_steps() -> None:
    aggregate = {
        "id": 1,
        "op": "Aggregate",
        "children": [2],
        "keys": [attr(3)],
        "defines": [{"attr": 20, "expr": call("sum", attr(11), aggregate=True)}],
    }
    found = column_lineage(
        plan(aggregate, project(2, 3, x=(11, call("*", attr(1), attr(1)))), scan(3, 0, delay=1, origin=3), total=20, origin=3), SOURCES
    )
    assert found.columns["total"] == {(*FLIGHTS, "delay"): {AGGREGATION}}
    assert found.columns["origin"] == {(*FLIGHTS, "origin"): {IDENTITY}}
    assert found.dataset == {(*FLIGHTS, "origin"): {Step("INDIRECT", "GROUP_BY")}}


def test_joins_filters_and_sorts_decide_about_rows() -> None:
    join = {"id": 1, "op": "Join", "children": [2, 4], "how": "inner", "reads": [1, 5]}
    sort = {"id": 0, "op": "Sort", "children": [1], "reads": [6]}
    keep = {"id": 2, "op": "Filter", "children": [3], "reads": [2]}
    found = column_lineage(plan(sort, join, keep, scan(3, 0, hour=1, month=2), scan(4, 1, hour=5, wind=6), wind=6), SOURCES)
    assert found.columns["wind"] == {(*WEATHER, "wind"): {IDENTITY}}
    assert found.dataset == {
        (*FLIGHTS, "hour"): {Step("INDIRECT", "JOIN")},
        (*FLIGHTS, "month"): {Step("INDIRECT", "FILTER")},
        (*WEATHER, "hour"): {Step("INDIRECT", "JOIN")},
        (*WEATHER, "wind"): {Step("INDIRECT", "SORT")},
    }


def test_a_scalar_subquery_flows_into_a_column_and_decides_about_rows() -> None:
    greatest = {
        "id": 4,
        "op": "Aggregate",
        "children": [5],
        "keys": [],
        "defines": [{"attr": 30, "expr": call("max", attr(5), aggregate=True)}],
    }
    shown = {**project(1, 2, over=(11, call("-", attr(1), attr(30)))), "subqueries": [6]}
    keep = {"id": 2, "op": "Filter", "children": [3], "reads": [1], "condition": call("<", attr(1), attr(31)), "subqueries": [8]}
    least = {
        "id": 9,
        "op": "Aggregate",
        "children": [5],
        "keys": [],
        "defines": [{"attr": 31, "expr": call("min", attr(6), aggregate=True)}],
    }
    subqueries = [{"id": 6, "op": "ScalarSubquery", "children": [4]}, {"id": 8, "op": "ScalarSubquery", "children": [9]}]
    found = column_lineage(
        plan(shown, keep, scan(3, 0, delay=1), greatest, least, scan(5, 1, wind=5, hour=6), *subqueries, over=11), SOURCES
    )
    assert found.columns["over"] == {(*FLIGHTS, "delay"): {TRANSFORMATION}, (*WEATHER, "wind"): {AGGREGATION}}
    decides = Step("INDIRECT", "FILTER")
    assert found.dataset == {(*FLIGHTS, "delay"): {decides}, (*WEATHER, "hour"): {decides}}


def test_a_condition_decides_about_its_column_and_its_values_flow_into_it() -> None:
    chosen = call("case", call(">", attr(1), call("literal")), attr(2), attr(3))
    found = column_lineage(plan(project(1, 2, x=(11, chosen)), scan(2, 0, a=1, b=2, c=3), x=11), SOURCES)
    assert found.columns["x"] == {
        (*FLIGHTS, "a"): {Step("INDIRECT", "CONDITIONAL")},
        (*FLIGHTS, "b"): {TRANSFORMATION},
        (*FLIGHTS, "c"): {TRANSFORMATION},
    }


def test_a_window_lists_its_partition_and_order_with_the_column() -> None:
    window = {
        "id": 1, "op": "Window", "children": [2], "partition": [attr(1)], "order": [{"expr": attr(2)}],
        "defines": [{"attr": 11, "expr": call("max", attr(3), aggregate=True)}, {"attr": 12, "expr": call("row_number")}],
    }  # fmt: skip
    found = column_lineage(plan(window, scan(2, 1, origin=1, hour=2, wind=3), gust=11, n=12), SOURCES)
    aside = {(*WEATHER, "origin"): {Step("INDIRECT", "WINDOW")}, (*WEATHER, "hour"): {Step("INDIRECT", "WINDOW")}}
    assert found.columns["gust"] == {**aside, (*WEATHER, "wind"): {AGGREGATION}}
    assert found.columns["n"] == aside


def test_a_union_passes_its_branches_through() -> None:
    union = {
        "id": 1, "op": "Union", "children": [2, 3], "defines": [{"attr": 11, "name": "hour", "expr": call("union", attr(1), attr(5))}],
    }  # fmt: skip
    found = column_lineage(plan(union, scan(2, 0, hour=1), scan(3, 1, hour=5), hour=11), SOURCES)
    assert found.columns["hour"] == {(*FLIGHTS, "hour"): {IDENTITY}, (*WEATHER, "hour"): {IDENTITY}}


def test_a_rank_is_made_of_its_order_alone() -> None:
    window = {
        "id": 1, "op": "Window", "children": [2], "partition": [attr(1)], "order": [{"expr": attr(2)}],
        "defines": [{"attr": 11, "expr": call("rank", attr(2))}],
    }  # fmt: skip
    found = column_lineage(plan(window, scan(2, 1, origin=1, hour=2), place=11), SOURCES)
    assert found.columns["place"] == {(*WEATHER, name): {Step("INDIRECT", "WINDOW")} for name in ("origin", "hour")}


def test_what_may_be_null_decides_about_what_stands_in_for_it() -> None:
    found = column_lineage(plan(project(1, 2, x=(11, call("coalesce", attr(1), attr(2)))), scan(2, 0, a=1, b=2), x=11), SOURCES)
    assert found.columns["x"] == {
        (*FLIGHTS, "a"): {TRANSFORMATION, Step("INDIRECT", "CONDITIONAL")},
        (*FLIGHTS, "b"): {TRANSFORMATION},
    }


def test_both_references_of_a_common_table_expression_have_its_columns() -> None:
    defined = {"id": 4, "op": "CTERelationDef", "children": [5], "columns": [{"attr": 1, "name": "a"}]}
    references = [
        {"id": number, "op": "CTERelationRef", "children": [4], "columns": [{"attr": attribute, "name": "a"}]}
        for number, attribute in ((2, 21), (3, 31))
    ]
    join = {"id": 1, "op": "Join", "children": [2, 3], "reads": [21, 31]}
    found = column_lineage(plan(join, *references, defined, scan(5, 0, a=1), left=21, right=31), SOURCES)
    assert found.columns == {name: {(*FLIGHTS, "a"): {IDENTITY}} for name in ("left", "right")}


def test_hashes_and_counts_mask_what_they_read() -> None:
    found = column_lineage(plan(project(1, 2, h=(11, call("sha2", attr(1)))), scan(2, 0, name=1), h=11), SOURCES)
    assert found.columns["h"] == {(*FLIGHTS, "name"): {Step("DIRECT", "TRANSFORMATION", masking=True)}}


def test_what_the_plan_does_not_describe_is_left_out() -> None:
    found = column_lineage(plan({"id": 1, "op": "Mystery", "children": [2]}, scan(2, 0, a=1), a=1, b=77), SOURCES)
    assert found.columns == {"a": {(*FLIGHTS, "a"): {IDENTITY}}, "b": {}}


def test_a_query_for_the_driver_says_which_columns_it_reads_and_how() -> None:
    described = {
        "operators": [
            project(1, 2, double=(11, call("+", attr(1), attr(1)))),
            {"id": 2, "op": "Filter", "children": [3], "reads": [2, 1]},
            scan(3, 0, delay=1, month=2, unread=3),
        ],
        "output": [{"attr": 11, "name": "double"}, {"attr": 11, "name": "double"}],
    }
    assert column_accesses(described, SOURCES) == {
        (*FLIGHTS, "delay"): {"TRANSFORMATION", "FILTER"},
        (*FLIGHTS, "month"): {"FILTER"},
    }


def test_that_a_column_of_a_join_is_not_null_is_no_filter_of_its_own() -> None:
    def steps(*conjuncts: dict[str, Any]) -> dict[str, set[str]]:
        condition = conjuncts[0]
        for conjunct in conjuncts[1:]:
            condition = call("and", condition, conjunct)
        plan = {
            "operators": [
                {"id": 0, "op": "Write", "children": [1]},
                {"id": 1, "op": "Join", "children": [2, 4], "condition": call("=", attr(1), attr(3))},
                {"id": 2, "op": "Filter", "children": [3], "condition": condition},
                scan(3, 0, key=1, wind=2),
                scan(4, 1, key=3),
            ],
            "sink": {"columns": []},
        }
        found = column_lineage(plan, SOURCES).dataset
        return {f"{field[1]}.{field[2]}": {step.subtype for step in steps} for field, steps in found.items()}

    joined = {"/flights.key": {"JOIN"}, "/weather.key": {"JOIN"}}
    assert steps(call("isnotnull", attr(1))) == joined
    assert steps(call("isnotnull", attr(1)), call("isnotnull", attr(2))) == {**joined, "/flights.wind": {"FILTER"}}
    assert steps(call("isnotnull", attr(1)), call(">", attr(1), call("literal"))) == {**joined, "/flights.key": {"FILTER", "JOIN"}}
    assert steps(call("isnotnull", call("f", attr(1)))) == {**joined, "/flights.key": {"FILTER", "JOIN"}}
    assert steps(call("or", call("isnotnull", attr(1)), call("isnotnull", attr(2)))) == {
        **joined, "/flights.key": {"FILTER", "JOIN"}, "/flights.wind": {"FILTER"},
    }  # fmt: skip
