"""Data contracts: hostile and wrong documents, and what a check says about a dataset in a graph."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from headwater.errors import HeadwaterError, InvalidInputError, UnsupportedError
from headwater.graph.contracts import Contract, Outcome, check_contract, read_contract, statements_of
from headwater.graph.contracts.data_types import fits_logical, fits_physical
from headwater.graph.quality import outcome_of
from tests.backend.events import run_event
from tests.backend.projection.events import Graph, graph_of

_TODAY = date(2026, 1, 10)
_NOW = datetime(2026, 1, 10, tzinfo=UTC)


def contract(table: Mapping[str, Any] | None = None, **parts: Any) -> dict[str, Any]:
    tables = [{"name": "out", **(table or {})}]
    return {"apiVersion": "v3.1.0", "kind": "DataContract", "id": "c", "version": "1", "status": "active", "schema": tables, **parts}


def _read(table: Mapping[str, Any] | None = None, **parts: Any) -> Contract:
    return read_contract(contract(table, **parts), _TODAY)


def test_a_text_is_read_as_its_document() -> None:
    known = contract({"properties": [{"name": "a", "required": True}]})
    assert read_contract(yaml.safe_dump(known), _TODAY) == read_contract(json.dumps(known), _TODAY) == read_contract(known, _TODAY)


@pytest.mark.parametrize("text", ["", "- a", "a: &b 1", "kind: !!python/name:os.system", "a: [", "x" * 300_000])
def test_a_text_that_is_no_plain_document_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        read_contract(text, _TODAY)


_WRONG: dict[str, tuple[Any, str]] = {
    "no object": ([], "$"),
    "another kind": (contract(kind="Policy"), "$.kind"),
    "no table": (contract(schema=[]), "$.schema"),
    "tables that are no list": (contract(schema={"a": 1}), "$.schema"),
    "a table that is no object": (contract(schema=["a"]), "$.schema[0]"),
    "a table without a name": (contract(schema=[{}]), "$.schema[0].name"),
    "two tables of one name": (contract(schema=[{"name": "a"}, {"name": "a"}]), "$.schema"),
    "a column twice": (contract({"properties": [{"name": "a"}, {"name": "A"}]}), "$.schema[0].properties[1]"),
    "a type that is no text": (contract({"properties": [{"name": "a", "logicalType": []}]}), "$.schema[0].properties[0].logicalType"),
    "a flag that is no flag": (contract({"properties": [{"name": "a", "required": "yes"}]}), "$.schema[0].properties[0].required"),
    "two comparisons": (contract({"quality": [{"metric": "rowCount", "mustBe": 1, "mustNotBe": 2}]}), "$.schema[0].quality[0]"),
    "a limit that is no number": (
        contract({"quality": [{"metric": "rowCount", "mustBeLessThan": "many"}]}), "$.schema[0].quality[0].mustBeLessThan",
    ),
    "a limit that is no number at all": (
        contract({"quality": [{"metric": "rowCount", "mustBeLessThan": float("nan")}]}), "$.schema[0].quality[0].mustBeLessThan",
    ),
    "a range that is reversed": (
        contract({"quality": [{"metric": "rowCount", "mustBeBetween": [2, 1]}]}), "$.schema[0].quality[0].mustBeBetween",
    ),
    "an age of no table": (contract(slaProperties=[{"property": "latency", "value": 1, "element": "in.a"}]), "$.slaProperties[0].element"),
    "an age of no unit": (contract(slaProperties=[{"property": "latency", "value": 1, "unit": "moons"}]), "$.slaProperties[0]"),
    "an endless age": (contract(slaProperties=[{"property": "latency", "value": 1e12, "unit": "d"}]), "$.slaProperties[0]"),
    "tags that are no texts": (contract({"tags": [1]}), "$.schema[0].tags"),
    "a long name": (contract({"properties": [{"name": "a" * 2_001}]}), "$.schema[0].properties[0].name"),
    "too many tables": (contract(schema=[{"name": str(n)} for n in range(201)]), "$.schema"),
    "too many columns": (contract({"properties": [{"name": str(n)} for n in range(5_001)]}), "$.schema"),
}  # fmt: skip


@pytest.mark.parametrize("name", _WRONG)
def test_a_wrong_document_is_refused_with_the_place_of_its_fault(name: str) -> None:
    document, place = _WRONG[name]
    with pytest.raises(InvalidInputError) as caught:
        read_contract(document, _TODAY)
    assert caught.value.field == place
    assert caught.value.hint


def test_fields_in_fields_have_a_limit() -> None:
    inner: dict[str, Any] = {"name": "a"}
    for _ in range(50):
        inner = {"name": "a", "properties": [inner]}
    with pytest.raises(InvalidInputError, match="levels"):
        _read({"properties": [inner]})


@pytest.mark.parametrize("version", ["v2.2.2", "v4.0.0", "3.1.0", "v3.1", "latest"])
def test_another_version_of_the_standard_is_refused(version: str) -> None:
    with pytest.raises(UnsupportedError, match=version):
        read_contract(contract(apiVersion=version), _TODAY)


def test_both_forms_of_a_team_are_read_without_those_who_left() -> None:
    members = [
        {"username": "ann", "role": "Data Owner"}, {"username": "bob", "role": "owner", "dateOut": "2026-01-09"},
        {"username": "eve", "role": "steward", "dateOut": date(2026, 1, 11)},
    ]  # fmt: skip
    for team in (members, {"members": members}):
        found = _read(team=team)
        assert (found.owners, found.stewards) == (("ann",), ("eve",))


def test_columns_of_a_common_key_may_repeat_their_values() -> None:
    alone = _read({"properties": [{"name": "a", "primaryKey": True}]}).tables[0].columns
    both = _read({"properties": [{"name": "a", "primaryKey": True}, {"name": "b", "primaryKey": True}]}).tables[0].columns
    assert [(column.required, column.unique) for column in (*alone, *both)] == [(True, True), (True, False), (True, False)]


@pytest.mark.parametrize(
    ("stated", "logical", "fits"),
    [("long", "integer", True), ("LONG", "number", True), ("decimal(10,2)", "integer", False), ("struct<a:int>", "object", True),
     ("array<string>", "array", True), ("string", "date", False), ("geometry", "string", None), ("int", "colour", None),
     ("timestamp_ntz", "timestamp", True)],
)  # fmt: skip
def test_logical_types(stated: str, logical: str, fits: bool | None) -> None:
    assert fits_logical(stated, logical) is fits


@pytest.mark.parametrize(
    ("stated", "physical", "fits"),
    [("bigint", "LONG", True), ("decimal(10,2)", "NUMERIC(10, 2)", True), ("decimal(10,2)", "decimal(12,2)", False),
     ("string", "VARCHAR(2)", None), ("int", "bigint", False), ("bigint", "INT8", None), ("int", "geometry", None),
     ("array<int>", "array<string>", False)],
)  # fmt: skip
def test_physical_types(stated: str, physical: str, fits: bool | None) -> None:
    assert fits_physical(stated, physical) is fits


_FIELDS = [
    {"name": "Id", "type": "long"}, {"name": "email", "type": "string"},
    {"name": "place", "type": "struct<city:string>", "fields": [{"name": "city", "type": "string"}]},
    {"name": "rest", "type": "map<string,int>"},
]  # fmt: skip


def _written(number: int, at: str, **metrics: Any) -> dict[str, Any]:
    facets: dict[str, Any] = {"schema": {"fields": _FIELDS}}
    output: dict[str, Any] = {"namespace": "lake", "name": "out", "facets": facets, "outputFacets": {"outputStatistics": {"rowCount": 10}}}
    if metrics:
        facets["dataQualityMetrics"] = {"rowCount": 10, "columnMetrics": metrics}
    return run_event(number, outputs=[output], eventTime=at)


async def _outcomes(graph: Graph, found: Contract, **checked: Any) -> dict[str, Outcome]:
    permitted = checked.get("permitted", dict)
    clauses = await check_contract(graph.store, graph.tenant, found, checked.get("named", {}), permitted, _NOW)
    return {f"{clause.column or ''}: {clause.demand}": clause.outcome for clause in clauses}


_DEMANDS = {
    "properties": [
        {"name": "id", "logicalType": "integer", "physicalType": "BIGINT", "required": True, "unique": True},
        {"name": "email", "logicalType": "date", "required": True},
        {"name": "place", "properties": [{"name": "city", "logicalType": "string"}, {"name": "zip"}]},
        {"name": "rest", "properties": [{"name": "key"}]}, {"name": "gone", "properties": [{"name": "inner"}]},
    ],
    "quality": [
        {"metric": "rowCount", "mustBeBetween": [1, 10]}, {"metric": "rowCount", "mustBeGreaterThan": 10},
        {"type": "sql", "name": "sums", "query": "SELECT 1", "mustBe": 1}, {"metric": "rowCount", "mustBe": "10"},
    ],
}  # fmt: skip


async def test_each_clause_is_kept_broken_or_unknown(tmp_path: Path) -> None:
    columns = {"Id": {"nullCount": 0, "distinctCount": 10}, "email": {"nullCount": 2}}
    async with graph_of(tmp_path, _written(1, "2026-01-09T00:00:00Z", **columns)) as graph:
        ages = [{"property": "latency", "value": 36, "unit": "h"}, {"property": "retention", "value": 1, "unit": "y"}]
        found = _read(_DEMANDS, slaProperties=ages)
        assert found.ignored == ("retention",)
        kept, broken, unknown = Outcome
        assert await _outcomes(graph, found) == {
            ": the last write is at most 36 hours old": kept, ": rowCount must be between [1, 10]": kept,
            ": rowCount must be greater than 10": broken, ": sums": unknown, ": rowCount must be 10": unknown,
            "id: the column exists": kept, "id: the logical type is integer": kept, "id: the type is BIGINT": kept,
            "id: there are no nulls": kept, "id: no value is repeated": kept,
            "email: the column exists": kept, "email: the logical type is date": broken, "email: there are no nulls": broken,
            "place: the column exists": kept, "place.city: the column exists": kept, "place.city: the logical type is string": kept,
            "place.zip: the column exists": broken, "rest: the column exists": kept, "rest.key: the field exists": unknown,
            "gone: the column exists": broken,
        }  # fmt: skip
        late = await check_contract(graph.store, graph.tenant, found, {}, dict, _NOW + timedelta(hours=13))
        assert late[0].outcome is Outcome.BROKEN


async def test_results_from_before_the_last_write_prove_nothing(tmp_path: Path) -> None:
    first = _written(1, "2026-01-08T00:00:00Z", Id={"nullCount": 0})
    async with graph_of(tmp_path, first, _written(2, "2026-01-09T00:00:00Z")) as graph:
        found = await check_contract(graph.store, graph.tenant, _read({"properties": [{"name": "id", "required": True}]}), {}, dict, _NOW)
        assert [(clause.outcome, clause.detail) for clause in found][1:] == [
            (Outcome.UNKNOWN, "The last results are older than the last write.")
        ]


async def test_a_caller_who_may_not_know_values_learns_no_count(tmp_path: Path) -> None:
    async with graph_of(tmp_path, _written(1, "2026-01-09T00:00:00Z", Id={"nullCount": 0, "distinctCount": 10})) as graph:
        wanted = _read(
            {"properties": [{"name": "id", "required": True, "unique": True, "quality": [{"metric": "nullValues", "mustBe": 0}]}]}
        )
        outcomes = await _outcomes(graph, wanted, permitted=outcome_of)
        assert list(outcomes.values()) == [Outcome.KEPT, *[Outcome.UNKNOWN] * 3]


async def test_a_dataset_that_is_not_known_breaks_the_contract_and_is_not_described(tmp_path: Path) -> None:
    async with graph_of(tmp_path, _written(1, "2026-01-09T00:00:00Z")) as graph:
        wanted = _read({"physicalName": "elsewhere", "name": "nowhere", "tags": ["pii"]})
        assert await _outcomes(graph, wanted) == {": the dataset exists": Outcome.BROKEN}
        assert ": the dataset exists" not in await _outcomes(graph, wanted, named={"nowhere": "dataset:lake:out"})
        with pytest.raises(HeadwaterError, match="elsewhere"):
            await statements_of(graph.store, graph.tenant, wanted, {})
        with pytest.raises(HeadwaterError, match="no table other"):
            await check_contract(graph.store, graph.tenant, wanted, {"other": "out"}, dict, _NOW)


async def test_a_contract_states_descriptions_tags_and_people(tmp_path: Path) -> None:
    async with graph_of(tmp_path, _written(1, "2026-01-09T00:00:00Z")) as graph:
        column = {"name": "email", "description": "Where to write.", "classification": "restricted", "tags": ["pii"]}
        wanted = _read({"description": "Orders.", "properties": [column]}, team=[{"username": "ann", "role": "owner"}])
        assert await statements_of(graph.store, graph.tenant, wanted, {}) == [
            {"id": "dataset:lake:out", "aspect": "description", "value": "Orders."},
            {"id": "dataset:lake:out", "aspect": "owner", "value": "ann"},
            {"id": "column:lake:out:email", "aspect": "description", "value": "Where to write."},
            {"id": "column:lake:out:email", "aspect": "tag", "value": "pii"},
            {"id": "column:lake:out:email", "aspect": "tag", "value": "classification=restricted"},
        ]
