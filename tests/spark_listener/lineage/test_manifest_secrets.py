"""Literals of a manifest that are secrets go, and their texts with them; all that a trace finds records by stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.spark_listener.lineage import manifest_secrets
from headwater.spark_listener.lineage.manifest_secrets import without_secret_literals

PASSWORD = {"fn": "attr", "attr": 1, "name": "password", "type": "string"}
NAME = {"fn": "attr", "attr": 2, "name": "name", "type": "string"}


def literal(value: str) -> dict[str, Any]:
    return {"fn": "literal", "value": value, "type": "string"}


def call(fn: str, *args: dict[str, Any]) -> dict[str, Any]:
    return {"fn": fn, "args": list(args), "type": "boolean"}


def filtered(condition: dict[str, Any], sql: str, **more: Any) -> dict[str, Any]:
    operator = {"id": 0, "op": "Filter", "behaviour": "filter", "text": f"Filter {sql}", "condition": {**condition, "sql": sql}}
    return {"operators": [operator], "boundaries": [], **more}


def test_what_is_compared_with_a_column_of_a_secret_s_name_goes_and_what_stands_beside_it_stays() -> None:
    condition = call("and", call("=", PASSWORD, literal("hunter2")), call("=", NAME, literal("ann")))
    (operator,) = without_secret_literals(filtered(condition, "password = 'hunter2' AND name = 'ann'"))["operators"]
    assert "hunter2" not in json.dumps(operator)
    hidden, kept = operator["condition"]["args"]
    assert hidden["args"] == [PASSWORD, {"fn": "truncated", "truncated": True, "args": [], "type": "string"}]
    assert kept == call("=", NAME, literal("ann"))
    assert (operator["behaviour"], operator["text"]) == ("filter", "Filter [redacted]")


def test_lists_calls_and_columns_that_are_made_are_looked_through() -> None:
    for condition in (
        call("in", PASSWORD, literal("x"), literal("hunter2")),
        call("or", call("=", call("upper", PASSWORD), literal("hunter2")), call("isnull", NAME)),
        call("=", NAME, literal("postgres://u:hunter2@h/d")),
        call("=", {"fn": "getstructfield", "field": "api_key", "args": [NAME]}, literal("hunter2")),
        call("inset", PASSWORD),  # its values stand in the text alone
    ):
        assert "hunter2" not in json.dumps(without_secret_literals(filtered(condition, "… 'hunter2'"))), condition
    made = {"attr": 3, "name": "token", "type": "string", "expr": {**literal("hunter2"), "sql": "'hunter2'"}}
    other = {"attr": 4, "name": "kind", "type": "string", "expr": {**literal("plain"), "sql": "'plain'"}}
    project = {"id": 0, "op": "Project", "text": "Project ['hunter2' AS token#3]", "defines": [made, other]}
    (operator,) = without_secret_literals({"operators": [project], "boundaries": []})["operators"]
    assert "hunter2" not in json.dumps(operator)
    assert operator["defines"][1] == other


def test_an_operator_without_secrets_is_as_it_was_and_columns_of_a_secret_s_name_are_compared() -> None:
    plain = filtered(call("and", call("=", NAME, literal("ann")), call("isnotnull", PASSWORD)), "name = 'ann' AND password IS NOT NULL")
    assert without_secret_literals(plain) == plain
    joined = call("=", PASSWORD, {**PASSWORD, "attr": 7})
    (operator,) = without_secret_literals(filtered(joined, "a.password = b.password"))["operators"]
    assert operator["condition"]["args"] == joined["args"]


def test_conditions_by_which_groups_are_found_again_stay_and_their_texts_do_not() -> None:
    manifest = filtered(
        call("=", PASSWORD, literal("hunter2")), "password = 'hunter2'", boundaries=[{"boundary": 0, "derived": {"seconds": 1}}]
    )
    (operator,) = without_secret_literals(manifest)["operators"]
    assert operator["condition"]["args"] == [PASSWORD, literal("hunter2")]
    assert "hunter2" not in operator["text"] + operator["condition"]["sql"]


def test_numbers_beside_a_column_that_counts_stay_and_texts_go() -> None:
    tokens, token = {"fn": "attr", "attr": 1, "name": "tokens", "type": "bigint"}, {"fn": "attr", "attr": 2, "name": "token", "type": "int"}
    few = {"fn": "literal", "value": "4", "type": "bigint"}
    condition = call("<", tokens, few)
    (operator,) = without_secret_literals(filtered(condition, "tokens < 4"))["operators"]
    assert operator["condition"]["args"] == condition["args"]
    (operator,) = without_secret_literals(filtered(call("=", tokens, literal("hunter2")), "tokens = 'hunter2'"))["operators"]
    assert "hunter2" not in json.dumps(operator)
    for makes, column in (("n", token), ("password", NAME)):
        made = {"attr": 3, "name": makes, "type": "boolean", "expr": call("=", column, {**few, "value": "987654"})}
        project = {"id": 0, "op": "Project", "text": "", "defines": [made]}
        assert "987654" not in json.dumps(without_secret_literals({"operators": [project], "boundaries": []}))


def test_conditions_of_matches_lose_their_secrets_too() -> None:
    recorded = {"fn": "attr", "attr": 5, "name": "(b.token > 'hunter2')", "type": "boolean"}
    compared = call("or", recorded, call("=", PASSWORD, literal("hunter3")), call("<", NAME, {**NAME, "attr": 7}))
    boundary = {"boundary": 0, "kind": "match", "compared": compared}
    (clean,) = without_secret_literals({"operators": [], "boundaries": [boundary]})["boundaries"]
    assert "hunter" not in json.dumps(clean)
    assert clean["compared"]["args"][0] == {**recorded, "name": "[redacted]"}
    assert clean["compared"]["args"][2] == compared["args"][2]


_PARTS = (
    "password",
    "apikey",
    "Token",
    "to\u212aen",
    "pa\u017f\u017fword",
    "passes",
    "&&",
    "name",
    "-phunter2",
    "x\n-px",
    "s3://u:hunter2@b/d",
    "AKIA0123456789ABCDEF",
    "\\",
    '"',
    "ann",
    ";",
    "7",
)
_TEXTS = st.lists(st.sampled_from(_PARTS), min_size=1, max_size=3).map("".join)
_COLUMNS = st.builds(lambda name: {"fn": "attr", "attr": 1, "name": name, "type": "string"}, _TEXTS)
_LITERALS = st.builds(lambda value: {"fn": "literal", "value": value, "type": "string"}, _TEXTS | st.integers(0, 9))
_EXPRESSIONS = st.recursive(
    _COLUMNS | _LITERALS, lambda inner: st.builds(call, st.sampled_from(("=", "and", "&&", "upper")), inner, inner), max_leaves=4
)


@given(condition=_EXPRESSIONS, sql=_TEXTS)
def test_a_manifest_without_words_of_secrets_is_what_the_whole_search_would_leave(condition: dict[str, Any], sql: str) -> None:
    manifest = filtered(condition, sql)
    with pytest.MonkeyPatch.context() as patch:
        quick = without_secret_literals(manifest)
        patch.setattr(manifest_secrets, "_may_hold_secret", lambda _: True)
        assert quick == without_secret_literals(manifest)


def test_a_manifest_without_operators_or_with_values_that_json_lacks_has_the_same_form() -> None:
    assert without_secret_literals({"status": "complete"})["operators"] == []
    assert without_secret_literals({"operators": [{"id": 0, "value": b"x"}]})["operators"] == [{"id": 0, "value": b"x"}]
