"""The export for DataHub: URNs, schema, lineage, owners, tags; what is not known is left out, and no two datasets share a URN."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headwater.backend.exports import CatalogRequest, System, open_catalog
from headwater.backend.exports.datahub_names import Urns, encoded
from headwater.backend.projection import event_stamp, fold, project_event
from headwater.backend.projection.declaration import declaration_stamp, project_declaration
from headwater.errors import InvalidQueryError
from headwater.graph.model.declaration import Declaration
from headwater.graph.stores import GraphStore
from tests.backend.exports.conftest import Export
from tests.backend.exports.lake import TENANT, dataset, event

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
CUSTOMERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.customers,PROD)"
SUMS = 'urn:li:dataset:(urn:li:dataPlatform:s3,lake/warehouse/sums%2C "2026" %28a%252Cb%29,PROD)'
OLD = "urn:li:dataset:(urn:li:dataPlatform:s3,lake/warehouse/old,PROD)"
TOPIC = "urn:li:dataset:(urn:li:dataPlatform:kafka,sums,PROD)"
FLOW = "urn:li:dataFlow:(spark,nightly,PROD)"
JOB = f"urn:li:dataJob:({FLOW},sums%2C all)"


async def aspects(export: Export, request: CatalogRequest | None = None) -> dict[tuple[str, str], Any]:
    proposals = json.loads(await export(System.DATAHUB, request or CatalogRequest()))
    assert {proposal["changeType"] for proposal in proposals} == {"UPSERT"}
    found = {(each["entityUrn"], each["aspectName"]): each["aspect"]["json"] for each in proposals}
    assert len(found) == len(proposals), "an aspect that comes twice would replace itself"
    return found


async def test_columns_derive_from_columns_by_urn_with_what_only_decides_marked(export: Export) -> None:
    lineage = (await aspects(export))[SUMS, "upstreamLineage"]
    assert [upstream["dataset"] for upstream in lineage["upstreams"]] == [CUSTOMERS, ORDERS]

    def field(of: str, name: str) -> str:
        return f"urn:li:schemaField:({of},{name})"

    told = {(*each["upstreams"], each["transformOperation"]): each["downstreams"] for each in lineage["fineGrainedLineages"]}
    assert told == {
        (field(CUSTOMERS, "name"), "IDENTITY"): [field(SUMS, "customer")],
        (field(ORDERS, "amount"), "AGGREGATION"): [field(SUMS, "total")],
        (field(ORDERS, "customer"), "JOIN (indirect)"): [field(SUMS, name) for name in ("customer", "total", "address")],
    }


async def test_a_schema_has_the_fields_within_fields(export: Export) -> None:
    found = await aspects(export)
    fields = {field["fieldPath"]: next(iter(field["type"]["type"])).rpartition(".")[2] for field in found[SUMS, "schemaMetadata"]["fields"]}
    assert fields == {
        "customer": "StringType", "total": "NumberType",
        "address": "RecordType", "address.at": "RecordType", "address.at.lat": "NumberType",
    }  # fmt: skip
    assert found[CUSTOMERS, "schemaMetadata"]["fields"][1]["description"] == "as on the bill"
    assert (TOPIC, "schemaMetadata") not in found


async def test_jobs_have_what_they_read_and_write(export: Export) -> None:
    found = await aspects(export)
    assert found[JOB, "dataJobInputOutput"] == {"inputDatasets": [CUSTOMERS, ORDERS], "outputDatasets": [SUMS]}
    assert found[JOB, "dataJobInfo"]["flowUrn"] == FLOW
    assert found[JOB, "dataJobInfo"]["description"] == "makes sums, all"
    assert (FLOW, "dataFlowInfo") in found


async def test_owners_tags_and_terms_are_of_events_and_of_people_and_none_is_sent_where_none_is_known(export: Export) -> None:
    found = await aspects(export)
    assert found[ORDERS, "ownership"]["owners"] == [
        {"owner": "urn:li:corpGroup:sales", "type": "TECHNICAL_OWNER"},
        {"owner": "urn:li:corpuser:ann", "type": "DATA_STEWARD"},
    ]
    assert found[TOPIC, "ownership"]["owners"] == [{"owner": "urn:li:corpuser:bob", "type": "TECHNICAL_OWNER"}]
    assert found[ORDERS, "globalTags"]["tags"] == [{"tag": "urn:li:tag:gold"}]
    assert found[ORDERS, "schemaMetadata"]["fields"][2]["globalTags"]["tags"] == [{"tag": "urn:li:tag:pii"}]
    assert found[TOPIC, "glossaryTerms"]["terms"] == [{"urn": "urn:li:glossaryTerm:revenue"}]
    assert found[TOPIC, "datasetProperties"]["customProperties"]["headwater.retention"] == "P7Y"
    assert not {aspect for urn, aspect in found if urn == CUSTOMERS} & {"ownership", "globalTags", "glossaryTerms"}
    assert {found[OLD, "status"]["removed"], found[SUMS, "status"]["removed"]} == {True, False}


async def test_a_tag_that_nobody_described_replaces_no_description(export: Export, store: GraphStore) -> None:
    assert not [urn for urn, aspect in await aspects(export) if aspect == "tagProperties"]
    description = {"id": "tag:gold", "aspect": "description", "value": "may be sold"}
    declared = Declaration.from_json({"declared": "2026-01-03T00:00:00Z", "by": "ann", "descriptions": [description]})
    await fold(store, TENANT, [project_declaration(declared, declaration_stamp(declared, "gold"))])
    told = {urn: content for (urn, aspect), content in (await aspects(export)).items() if aspect == "tagProperties"}
    assert told == {"urn:li:tag:gold": {"name": "gold", "description": "may be sold"}}


async def test_what_steps_say_of_values_is_not_exported(export: Export) -> None:
    for system in System:
        assert b"4711" not in await export(system, CatalogRequest())


async def test_namespaces_choose_what_is_described(export: Export) -> None:
    found = await aspects(export, CatalogRequest(("s3://*", "night*")))
    assert {urn for urn, aspect in found if aspect == "datasetProperties"} == {SUMS, OLD}
    assert (JOB, "dataJobInfo") in found
    assert [each["dataset"] for each in found[SUMS, "upstreamLineage"]["upstreams"]] == [CUSTOMERS, ORDERS]


async def test_databases_of_one_kind_need_a_name_each(export: Export, store: GraphStore) -> None:
    other = event(9, "other", [dataset("postgres://elsewhere:5432", "shop.public.orders")], [])
    await fold(store, TENANT, [project_event(other, event_stamp(other, "other"))])
    names = ["postgres://elsewhere:5432=elsewhere"]
    for known_as in ([], names):
        with pytest.raises(InvalidQueryError, match="could have one name in DataHub") as refused:
            await open_catalog(store, TENANT, System.DATAHUB, CatalogRequest.of((), known_as, "PROD"))
        assert "NAMESPACE=NAME" in str(refused.value.hint)
    found = await aspects(export, CatalogRequest.of((), [*names, "postgres://db:5432=main"], "DEV"))
    here, there = (
        f"urn:li:dataset:(urn:li:dataPlatform:postgres,{name}.shop.public.orders,DEV)" for name in ("main", "elsewhere")
    )  # fmt: skip
    assert found[here, "dataPlatformInstance"]["instance"] == "urn:li:dataPlatformInstance:(urn:li:dataPlatform:postgres,main)"
    assert (there, "datasetProperties") in found


@pytest.mark.parametrize(
    "namespaces", [("s3", "s3://b"), ("s3://a", "s3://a/b"), ("gs://a/b", "gcs://a"), ("s3://a", "s3://a/")], ids="|".join
)
def test_buckets_whose_datasets_may_get_one_urn_are_refused(namespaces: tuple[str, str]) -> None:
    for some in (namespaces, namespaces[::-1]):
        with pytest.raises(InvalidQueryError, match="could have one name"):
            Urns(CatalogRequest(), some)
    Urns(CatalogRequest(), ("s3://a", "s3://ab", "s3://b"))


def test_no_two_names_are_encoded_alike() -> None:
    names = ["a,b", "a%2Cb", "a%2cb", "a%252Cb", "(", "%28", ")", "\u241f", "%E2%90%9F", "%", "%%28"]
    assert len({encoded(name) for name in names}) == len(names)
    assert not {letter for name in names for letter in encoded(name)} & set(",()\u241f")


@pytest.mark.parametrize(
    ("known_as", "environment"),
    [(["a"], "PROD"), (["=b"], "PROD"), (["a=b c"], "PROD"), (["a=x", "b=x"], "PROD"), (["a=x", "a=y"], "PROD"), ([], "MOON")],
)
def test_a_request_that_names_nothing_is_refused(known_as: list[str], environment: str) -> None:
    with pytest.raises(InvalidQueryError):
        CatalogRequest.of((), known_as, environment)
