"""A small company as its events state it: two PostgreSQL tables, a bucket, a topic, jobs of Spark; and names that need care."""

from __future__ import annotations

from typing import Any

from headwater.backend.projection import event_stamp, fold, project_event
from headwater.backend.projection.declaration import declaration_stamp, project_declaration
from headwater.graph.model.declaration import Declaration
from headwater.graph.stores import GraphStore
from tests.backend.events import facet

TENANT = "t"
SHOP, LAKE, BUS = "postgres://db:5432", "s3://lake", "kafka://bus:9092"
ORDERS, CUSTOMERS, SUMS = "shop.public.orders", "shop.public.customers", 'warehouse/sums, "2026" (a%2Cb)'
OLD = "warehouse/old"


def dataset(namespace: str, name: str, **facets: Any) -> dict[str, Any]:
    return {"namespace": namespace, "name": name, "facets": facets}


def schema(*fields: dict[str, Any]) -> dict[str, Any]:
    return facet(fields=list(fields))


def column(name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


def made_of(namespace: str, name: str, field: str, kind: str, subtype: str) -> dict[str, Any]:
    how = [{"type": kind, "subtype": subtype, "description": "amount > 4711", "masking": False}]
    return {"namespace": namespace, "name": name, "field": field, "transformations": how}


def event(number: int, job: str, reads: list[dict[str, Any]], writes: list[dict[str, Any]]) -> dict[str, Any]:
    kind = facet(processingType="BATCH", integration="SPARK", jobType="JOB")
    return {
        "eventType": "COMPLETE",
        "eventTime": f"2026-01-01T00:00:{number:02}Z",
        "producer": "https://example.org/producer",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": f"0198c0de-0000-7000-8000-{number:012}"},
        "job": {"namespace": "nightly", "name": job, "facets": {"jobType": kind, "documentation": facet(description=f"makes {job}")}},
        "inputs": reads,
        "outputs": writes,
    }


EVENTS = [
    event(
        1,
        "sums, all",
        [
            dataset(
                SHOP, ORDERS,
                schema=schema(column("id", "int8"), column("amount", "numeric(10,2)"), column("customer", "int8")),
                ownership=facet(owners=[{"name": "team:sales", "type": "MAINTAINER"}, {"name": "ann", "type": "STEWARD"}]),
                tags=facet(tags=[{"key": "gold", "value": "true"}, {"key": "pii", "value": "id", "field": "customer"}]),
            ),
            dataset(SHOP, CUSTOMERS, schema=schema(column("id", "int8"), column("name", "text", description="as on the bill"))),
        ],
        [
            dataset(
                LAKE, SUMS,
                schema=schema(
                    column("customer", "string"), column("total", "decimal(20,2)"),
                    column("address", "struct", fields=[column("at", "struct", fields=[column("lat", "double")])]),
                ),
                columnLineage=facet(
                    fields={
                        "customer": {"inputFields": [made_of(SHOP, CUSTOMERS, "name", "DIRECT", "IDENTITY")]},
                        "total": {"inputFields": [made_of(SHOP, ORDERS, "amount", "DIRECT", "AGGREGATION")]},
                    },
                    dataset=[made_of(SHOP, ORDERS, "customer", "INDIRECT", "JOIN")],
                ),
            )
        ],
    ),
    event(
        2, "told", [dataset(LAKE, SUMS)],
        [dataset(BUS, "sums"), dataset(LAKE, OLD, lifecycleStateChange=facet(lifecycleStateChange="DROP"))],
    ),
]  # fmt: skip
DECLARED = {
    "declared": "2026-01-02T00:00:00Z",
    "by": "ann",
    "descriptions": [
        {"id": "dataset:kafka%3A//bus%3A9092:sums", "aspect": "owner", "value": "user:bob"},
        {"id": "dataset:kafka%3A//bus%3A9092:sums", "aspect": "term", "value": "revenue"},
        {"id": "dataset:kafka%3A//bus%3A9092:sums", "aspect": "retention", "value": "P7Y"},
        {"id": "job:nightly:told", "aspect": "tag", "value": "a.b"},
    ],
}


async def fill(store: GraphStore) -> None:
    """Take all of it into a store."""
    batches = [project_event(stated, event_stamp(stated, f"event-{number}")) for number, stated in enumerate(EVENTS)]
    await fold(store, TENANT, batches)
    declaration = Declaration.from_json(DECLARED)
    await fold(store, TENANT, [project_declaration(declaration, declaration_stamp(declaration, "declared"))])
