"""Fields within columns, out of Spark's text of a type."""

from __future__ import annotations

import pytest

from headwater.spark_listener.lineage.nested import fields_of


def test_structs_arrays_and_maps_are_told_by_what_they_hold() -> None:
    (street, lines, prices) = fields_of("struct<street:string,lines:array<struct<n:decimal(10,2)>>,prices:map<string,int>>")
    assert street == {"name": "street", "type": "string", "fields": []}
    (element,) = lines["fields"]
    assert (element["name"], element["fields"][0]) == ("_element", {"name": "n", "type": "decimal(10,2)", "fields": []})
    assert [(field["name"], field["type"]) for field in prices["fields"]] == [("key", "string"), ("value", "int")]


@pytest.mark.parametrize("text", ["int", "decimal(10,2)", "struct<a:b:int>", "struct<a<b:int>", "struct<a,b:int>", "array<", "struct<>"])
def test_what_has_no_fields_or_cannot_be_told_apart_has_none(text: str) -> None:
    assert fields_of(text) == []


def test_a_type_may_be_deep() -> None:
    assert fields_of("array<" * 200 + "int" + ">" * 200)
