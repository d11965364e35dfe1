"""Column lineage out of a plan's description: which source fields, directly or not, and how."""

from __future__ import annotations

from typing import Any

from headwater.spark_listener.lineage.columns import WITHIN, Step, column_accesses, column_lineage

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
            condition = call("&&", condition, conjunct)
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


def test_a_field_of_a_column_is_told_by_its_path_where_the_column_is_a_datasets() -> None:
    street = call("getstructfield", call("getstructfield", attr(1), field="address"), field="street.1")
    numbers = call("getarraystructfields", attr(2), field="n")
    made = call("getstructfield", call("max", attr(1), aggregate=True), field="address")
    aggregate = {"id": 2, "op": "Aggregate", "children": [3], "defines": [{"attr": 12, "expr": call("max", attr(1), aggregate=True)}]}
    found = column_lineage(plan(project(1, 2, street=(11, street), n=(12, numbers)), scan(2, 0, who=1, lines=2), street=11, n=12), SOURCES)
    assert found.columns == {
        "street": {(*FLIGHTS, f"who{WITHIN}address{WITHIN}street.1"): {IDENTITY}},
        "n": {(*FLIGHTS, f"lines{WITHIN}_element{WITHIN}n"): {TRANSFORMATION}},
    }
    of_greatest = call("getstructfield", attr(12), field="address")
    found = column_lineage(plan(project(1, 2, x=(13, of_greatest), y=(14, made)), aggregate, scan(3, 0, who=1), x=13, y=14), SOURCES)
    assert found.columns == {name: {(*FLIGHTS, "who"): {AGGREGATION}} for name in ("x", "y")}  # of a greatest one nobody knows its parts


def test_what_only_a_function_knows_is_made_of_all_that_it_sees_and_says_so() -> None:
    seen = {"id": 1, "op": "MapInPandas", "children": [2], "makes": [{"attr": 11, "name": "x"}], "sees": [1, 2], "reads": [1, 2]}
    found = column_lineage(plan(project(0, 1, y=(12, call("+", attr(11), attr(11)))), seen, scan(2, 0, a=1, b=2), x=11, y=12), SOURCES)
    opaque = Step("DIRECT", "TRANSFORMATION", opaque=True)
    assert found.columns == {name: {(*FLIGHTS, "a"): {opaque}, (*FLIGHTS, "b"): {opaque}} for name in ("x", "y")}
    grouped = {
        "id": 1, "op": "FlatMapGroupsInPandas", "children": [2], "keys": [attr(1)], "whole": True,
        "defines": [
            {"attr": 11, "expr": call("python_udf", attr(1), attr(2), aggregate=True)},
            {"attr": 12, "expr": call("python_udf", truncated=True)},
        ],
    }  # fmt: skip
    found = column_lineage(plan(grouped, scan(2, 0, a=1, b=2), x=11, y=12), SOURCES)
    assert found.columns == {name: {(*FLIGHTS, "a"): {opaque}, (*FLIGHTS, "b"): {opaque}} for name in ("x", "y")}
    assert found.dataset == {(*FLIGHTS, "a"): {Step("INDIRECT", "GROUP_BY")}}
    function = {
        "id": 1, "op": "BatchEvalPythonUDTF", "children": [2], "defines": [{"attr": 11, "expr": call("words", attr(1), opaque=True)}],
    }  # fmt: skip
    found = column_lineage(plan(function, scan(2, 0, a=1, b=2), x=11, b=2), SOURCES)
    assert found.columns == {"x": {(*FLIGHTS, "a"): {opaque}}, "b": {(*FLIGHTS, "b"): {IDENTITY}}}


def test_merge_passes_on_what_its_clauses_set_and_their_conditions_decide() -> None:
    merge = {
        "id": 1, "op": "MergeRows", "children": [2], "reads": [1, 2, 5, 6], "conditions": [call(">", attr(6), attr(2)), call("literal")],
        "defines": [
            {"attr": 11, "expr": call("merge", attr(5), attr(1))},
            {"attr": 12, "expr": call("merge", call("+", attr(6), attr(2)), attr(2))},
        ],
    }  # fmt: skip
    join = {"id": 2, "op": "Join", "children": [3, 4], "how": "rightouter", "reads": [1, 5]}
    found = column_lineage(plan(merge, join, scan(3, 0, key=1, total=2), scan(4, 1, key=5, more=6), key=11, total=12), SOURCES)
    assert found.columns == {
        "key": {(*FLIGHTS, "key"): {IDENTITY}, (*WEATHER, "key"): {IDENTITY}},
        "total": {(*FLIGHTS, "total"): {IDENTITY, TRANSFORMATION}, (*WEATHER, "more"): {TRANSFORMATION}},
    }
    on, when = Step("INDIRECT", "JOIN"), Step("INDIRECT", "CONDITIONAL")
    assert found.dataset == {
        (*FLIGHTS, "key"): {on}, (*WEATHER, "key"): {on}, (*FLIGHTS, "total"): {when}, (*WEATHER, "more"): {when},
    }  # fmt: skip


def test_a_recursion_is_followed_until_no_round_adds_a_column() -> None:
    """Each round moves a column one place on: a, b, c, then the greatest of them."""
    loop = {
        "id": 1, "op": "UnionLoop", "loop": 7, "children": [2, 3],
        "defines": [{"attr": 20 + place, "expr": call("union", attr(10 + place), attr(30 + place))} for place in range(3)],
    }  # fmt: skip
    begins = project(2, 4, a=(10, attr(1)), b=(11, attr(2)), c=(12, attr(3)))
    round_ = project(3, 5, a=(30, attr(41)), b=(31, attr(42)), c=(32, call("+", attr(42), call("literal"))))
    columns = [{"attr": 40 + place, "name": "x"} for place in range(3)]
    reference = {"id": 5, "op": "UnionLoopRef", "loop": 7, "children": [], "columns": columns}
    found = column_lineage(plan(loop, begins, round_, scan(4, 0, a=1, b=2, c=3), reference, a=20, b=21, c=22), SOURCES)
    assert found.columns == {
        "a": {(*FLIGHTS, "a"): {IDENTITY}, (*FLIGHTS, "b"): {IDENTITY}, (*FLIGHTS, "c"): {IDENTITY, TRANSFORMATION}},
        "b": {(*FLIGHTS, "b"): {IDENTITY}, (*FLIGHTS, "c"): {IDENTITY, TRANSFORMATION}},
        "c": {(*FLIGHTS, "c"): {IDENTITY, TRANSFORMATION}},
    }


def test_an_aggregate_that_the_table_answers_is_made_of_the_columns_in_it() -> None:
    columns = {"max(w)": 1, 'SUM("price" * qty)': 2, "count(*)": 3, "count(DISTINCT k)": 4, "k": 5, "MIN(`a b`)": 6}
    sources = [{"source": 0, "columns": [{"name": name} for name in ("w", "price", "qty", "k", "a b", "other")]}]
    found = column_lineage({**plan(scan(1, 0, **columns), **columns), "sources": sources}, SOURCES)
    made = {"max(w)": "w", 'SUM("price" * qty)': "price qty", "count(*)": "", "count(DISTINCT k)": "k", "MIN(`a b`)": "a_b"}
    for column, names in made.items():
        assert found.columns[column] == {(*FLIGHTS, name.replace("_", " ")): {AGGREGATION} for name in names.split()}, column
    assert found.columns["k"] == {(*FLIGHTS, "k"): {IDENTITY}}
    assert found.dataset == {(*FLIGHTS, "k"): {Step("INDIRECT", "GROUP_BY")}}


def test_a_hidden_column_is_made_of_no_column() -> None:
    sources = [{"source": 0, "columns": [{"name": "id"}], "partition_columns": ["day"]}]
    filtered = {"id": 1, "op": "Filter", "children": [2], "condition": call("in", attr(12), call("literal"))}
    read = plan(filtered, scan(2, 0, ID=10, day=11, _file=12), ID=10, day=11, _file=12)
    found = column_lineage({**read, "sources": sources}, SOURCES)
    assert found.columns == {"ID": {(*FLIGHTS, "ID"): {IDENTITY}}, "day": {(*FLIGHTS, "day"): {IDENTITY}}, "_file": {}}
    assert found.dataset == {}
