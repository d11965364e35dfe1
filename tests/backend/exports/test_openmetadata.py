"""The export for OpenMetadata: requests in an order in which each finds its references, valid names, and owners."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

import pytest

from headwater.backend.exports import CatalogRequest, System
from headwater.backend.exports.openmetadata_names import Names, entity_name, qualified
from headwater.errors import InvalidQueryError
from headwater.graph.model import node_id
from tests.backend.exports.conftest import Export

SUMS = "s3://lake.default.default.warehouse/sums, __reserved__quote__2026__reserved__quote__ (a%2Cb)"
SHOP = "postgres://db:5432.shop.public"


async def lines(export: Export, request: CatalogRequest | None = None) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (await export(System.OPENMETADATA, request or CatalogRequest())).splitlines()]


def edges(found: list[dict[str, Any]]) -> dict[tuple[str, ...], Any]:
    told = [(line["path"].split("/"), line["body"]) for line in found if line["path"].startswith("/api/v1/lineage/")]
    return {(path[4], unquote(path[6]), path[7], unquote(path[9])): body for path, body in told}


async def test_what_a_request_refers_to_was_sent_before(export: Export) -> None:
    sent: set[str] = set()
    for line in await lines(export):
        body, kind = line["body"], line["path"].rsplit("/", 1)[-1]
        if kind in ("databaseServices", "pipelineServices", "classifications"):
            sent.add(qualified(body["name"]))
        elif (
            within := next((body[name] for name in ("service", "database", "databaseSchema", "classification") if name in body), None)
        ) is not None:
            assert within in sent, line
            sent.add(f"{within}.{qualified(body['name'])}")
        else:
            path = line["path"].split("/")
            assert {unquote(path[6]), unquote(path[9])} <= sent, line
            for columns in body.get("columnsLineage", ()):
                assert all(
                    any(column.startswith(f"{known}.") for known in sent) for column in (*columns["fromColumns"], columns["toColumn"])
                )
        for label in body.get("tags", ()):
            assert label["tagFQN"] in sent


async def test_lineage_joins_tables_by_columns_and_tables_and_jobs(export: Export) -> None:
    found = edges(await lines(export))
    assert found["table", f"{SHOP}.customers", "table", SUMS]["columnsLineage"] == [
        {"fromColumns": [f"{SHOP}.customers.name"], "toColumn": f"{SUMS}.customer", "function": "IDENTITY"}
    ]
    assert ("table", f"{SHOP}.orders", "pipeline", "nightly.sums, all") in found
    assert ("pipeline", "nightly.sums, all", "table", SUMS) in found
    assert {body["source"] for body in found.values()} == {"OpenLineage"}


async def test_what_was_dropped_and_what_is_of_other_namespaces_is_in_no_request(export: Export) -> None:
    found = await lines(export)
    assert not [line for line in found if "warehouse/old" in unquote(json.dumps(line))]
    some = await lines(export, CatalogRequest(("kafka://*", "s3://*", "nightly")))
    assert not [line for line in some if "postgres" in json.dumps(line)]
    assert ("table", SUMS, "table", "kafka://bus:9092.default.default.sums") in edges(some)


async def test_owners_stand_beside_what_they_own(export: Export) -> None:
    found = {line["body"]["displayName"]: line.get("owners") for line in await lines(export) if line["path"] == "/api/v1/tables"}
    assert found["shop.public.orders"] == [{"type": "team", "name": "sales"}, {"type": "user", "name": "ann"}]
    assert found["shop.public.customers"] is None


async def test_a_service_may_be_called_as_it_is_there_already(export: Export) -> None:
    found = await lines(export, CatalogRequest.of((), ["postgres://db:5432=shop"], "PROD"))
    assert ("table", "shop.shop.public.orders", "table", SUMS) in edges(found)


def test_names_are_those_that_are_taken_and_stay_apart() -> None:
    long = "x" * 300
    names = [entity_name(name) for name in ("a::b", "a>b", 'a"b', "a\nb", "a.b", long, f"{long}y")]
    assert len(set(names)) == len(names)
    assert max(map(len, names)) <= 256
    assert not {letter for name in names for letter in name} & set('>"\n')
    assert qualified("a.b", "c") == '"a.b".c'


def test_a_name_that_reads_like_one_that_was_spelt_or_cut_is_another() -> None:
    long = "x" * 300
    for name in ("a::b", "::reserved__arrow__", long):
        for other in (entity_name(name), "__reserved__colon>" if name.endswith("arrow__") else "a__reserved__colon__b"):
            assert entity_name(other) != entity_name(name)
            assert len(entity_name(other)) <= 256


@pytest.mark.parametrize("namespace", ["hive://h", "postgres://h", "file"])
def test_no_two_datasets_of_a_namespace_are_one_table(namespace: str) -> None:
    names = ("x", "default.x", "default.default.x", "unnamed.x", "default.unnamed.x", "unnamed.default.x", "unnamed.unnamed.x", ".x")
    tables = {Names(CatalogRequest(), [namespace]).table(node_id("dataset", namespace, name)) for name in names}
    assert len(tables) == len(names)


def test_namespaces_that_would_be_one_service_are_refused() -> None:
    with pytest.raises(InvalidQueryError, match="would be one service"):
        Names(CatalogRequest.of((), ["file=shop"], "PROD"), ["file", "shop"])


def test_a_name_of_another_number_of_parts_is_no_schema_of_a_database() -> None:
    names = Names(CatalogRequest(), ["postgres://db"])
    for name in ("orders", "public.orders", "a..b", "a.b.c.d"):
        assert names.place(node_id("dataset", "postgres://db", name)) == ("postgres://db", "default", "default", name)
