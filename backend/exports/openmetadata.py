"""Export for OpenMetadata: the requests of its REST API (2.0), one per line, in the order to send them.

A line is `{"method", "path", "schema", "body"}`; `schema` names the published schema of the body. OpenMetadata refers to owners by internal
ids. The export cannot know these ids, so owners are outside of the body, as `{"type", "name"}`.

A dataset is a table. If the namespace is a database, the dataset's name states database and schema; otherwise both are `default`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any
from urllib.parse import quote

from headwater.backend.exports import graph_reader
from headwater.backend.exports.graph_reader import Dataset, Field, Job
from headwater.backend.exports.openmetadata_names import Names, entity_name, qualified
from headwater.backend.exports.request import CatalogRequest
from headwater.backend.exports.types import Family, family_of
from headwater.graph.model import NodeKind, node_id, parse_id
from headwater.graph.model.descriptions import Descriptions
from headwater.graph.stores import GraphStore

Line = dict[str, Any]

_MOST_SOURCES = 2_000  # the same limit as in the export for DataHub
_TAGS = "Headwater"  # the classification of the tags
_SOURCE = "OpenLineage"
_TYPES = {
    Family.BOOLEAN: "BOOLEAN", Family.INTEGER: "INT", Family.LONG: "BIGINT", Family.FLOAT: "FLOAT", Family.DOUBLE: "DOUBLE",
    Family.DECIMAL: "DECIMAL", Family.STRING: "STRING", Family.BINARY: "BYTES", Family.DATE: "DATE", Family.TIME: "TIME",
    Family.TIMESTAMP: "TIMESTAMP", Family.ARRAY: "ARRAY", Family.MAP: "MAP", Family.STRUCT: "STRUCT", Family.UNKNOWN: "UNKNOWN",
}  # fmt: skip


async def open_openmetadata(graph: GraphStore, tenant: str, request: CatalogRequest) -> AsyncIterator[list[Line]]:
    """Return the requests in batches: entities first, then the lineage between them.

    Raises:
        InvalidQueryError: two namespaces would get the same name.
    """
    platforms = await graph_reader.namespaces(graph, tenant, NodeKind.PLATFORM)
    systems = await graph_reader.namespaces(graph, tenant, NodeKind.SYSTEM)
    names = Names(request, platforms)
    job_names = Names(request, systems)

    async def lines() -> AsyncIterator[list[Line]]:
        there = _Exported(request)
        yield list(_tags(await graph_reader.tags(graph, tenant)))
        for namespace in filter(request.holds, platforms):
            made: set[str] = set()
            yield [_service(names, "databaseServices", "api/services/createDatabaseService.json", namespace, "CustomDatabase")]
            async for datasets in graph_reader.datasets(graph, tenant, namespace):
                there.dropped.update(_id(dataset) for dataset in datasets if dataset.is_dropped)
                yield [line for dataset in datasets if there.has(_id(dataset)) for line in _of_dataset(names, dataset, made)]
        for namespace in filter(request.holds, systems):
            yield [_service(job_names, "pipelineServices", "api/services/createPipelineService.json", namespace, "CustomPipeline")]
            async for jobs in graph_reader.jobs(graph, tenant, namespace):
                yield [_of_job(job_names, job) for job in jobs]
        # A second pass: lineage can be sent only after both ends exist.
        for namespace in filter(request.holds, platforms):
            async for datasets in graph_reader.datasets(graph, tenant, namespace):
                yield [line for dataset in datasets if there.has(_id(dataset)) for line in _lineage(names, dataset, there)]
        for namespace in filter(request.holds, systems):
            async for jobs in graph_reader.jobs(graph, tenant, namespace):
                yield [line for job in jobs for line in _flow(names, job_names, job, there)]

    return lines()


class _Exported:
    """The exported datasets. Lineage between other datasets is left out, and dropped datasets are not exported."""

    def __init__(self, request: CatalogRequest) -> None:
        self._request = request
        self.dropped: set[str] = set()

    def has(self, dataset: str) -> bool:
        return dataset not in self.dropped and self._request.holds(parse_id(dataset)[1][0])


async def written(lines: AsyncIterator[list[Line]]) -> AsyncIterator[bytes]:
    """Yield the lines in chunks."""
    async for some in lines:
        if some:
            yield await asyncio.to_thread(_encoded, some)  # outside the event loop, because other callers of the service wait for the loop


def _encoded(lines: Sequence[Line]) -> bytes:
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines).encode()


def _tags(tags: Sequence[tuple[str, str | None]]) -> Iterator[Line]:
    if tags:
        classification = {"name": _TAGS, "description": "Tags that Headwater knows."}
        yield _put("classifications", "api/classification/createClassification.json", classification)
    for name, about in tags:
        body = {"classification": _TAGS, "name": entity_name(name), "displayName": name, "description": about or name}
        yield _put("tags", "api/classification/createTag.json", body)


def _service(names: Names, path: str, schema: str, namespace: str, kind: str) -> Line:
    return _put(f"services/{path}", schema, {"name": names.service(namespace), "displayName": namespace, "serviceType": kind})


def _of_dataset(names: Names, dataset: Dataset, made: set[str]) -> Iterator[Line]:
    service, database, schema, table = names.place(_id(dataset))
    if (within := qualified(service, database)) not in made:
        made.add(within)
        yield _put("databases", "api/data/createDatabase.json", {"name": database, "service": qualified(service)})
    if (inside := qualified(service, database, schema)) not in made:
        made.add(inside)
        yield _put("databaseSchemas", "api/data/createDatabaseSchema.json", {"name": schema, "database": within})
    body = {
        "name": table, "displayName": dataset.name, "databaseSchema": inside, "columns": [_column(field) for field in dataset.fields],
        **_described(dataset.about),
    }  # fmt: skip
    yield _put("tables", "api/data/createTable.json", body, dataset.about)


def _of_job(names: Names, job: Job) -> Line:
    body = {"name": entity_name(job.name), "displayName": job.name, "service": qualified(names.service(job.namespace))}
    return _put("pipelines", "api/data/createPipeline.json", body | _described(job.about), job.about)


def _lineage(names: Names, dataset: Dataset, there: _Exported) -> Iterator[Line]:
    identifier = _id(dataset)
    by_source: dict[str, list[dict[str, Any]]] = {source: [] for source in dataset.sources if len(dataset.sources) <= _MOST_SOURCES}
    for flow in dataset.flows:
        of: dict[str, list[str]] = {}
        for source in flow.sources:
            of.setdefault(node_id(NodeKind.DATASET, *parse_id(source)[1][:2]), []).append(names.column(source))
        for source, columns in of.items():
            for target in flow.targets:
                made = {"fromColumns": columns, "toColumn": qualified(*names.place(identifier), entity_name(target))}
                by_source.setdefault(source, []).append(made | ({"function": flow.how} if flow.how else {}))
    for source, columns_lineage in by_source.items():
        if there.has(source):
            details = {"source": _SOURCE, **({"columnsLineage": columns_lineage} if columns_lineage else {})}
            yield _edge("table", names.table(source), "table", names.table(identifier), details)


def _flow(names: Names, job_names: Names, job: Job, there: _Exported) -> Iterator[Line]:
    pipeline = job_names.pipeline(job.namespace, job.name)
    for read in job.reads:
        if there.has(read):
            yield _edge("table", names.table(read), "pipeline", pipeline, {"source": _SOURCE})
    for written_to in job.writes:
        if there.has(written_to):
            yield _edge("pipeline", pipeline, "table", names.table(written_to), {"source": _SOURCE})


def _id(dataset: Dataset) -> str:
    return node_id(NodeKind.DATASET, dataset.namespace, dataset.name)


def _column(field: Field) -> dict[str, Any]:
    family = family_of(field.type)
    children = [_column(child) for child in field.children] if family in {Family.STRUCT, Family.MAP, Family.ARRAY} else []
    return {
        "name": entity_name(field.name),
        "dataType": _TYPES[family],
        **({"arrayDataType": _TYPES[family_of(field.type.partition("<")[2])]} if family is Family.ARRAY else {}),
        **({"dataTypeDisplay": field.type} if field.type else {}),
        **({"description": field.description} if field.description else {}),
        **({"tags": _labels(field.tags)} if field.tags else {}),
        **({"children": children} if children else {}),
    }


def _described(about: Descriptions) -> dict[str, Any]:
    return {
        **({"description": about.description} if about.description else {}),
        **({"tags": _labels(about.tags)} if about.tags else {}),
    }


def _labels(names: Sequence[str]) -> list[dict[str, str]]:
    return [
        {"tagFQN": qualified(_TAGS, entity_name(name)), "source": "Classification", "labelType": "Automated", "state": "Confirmed"}
        for name in names
    ]


def _edge(kind: str, source: str, to: str, target: str, details: dict[str, Any]) -> Line:
    path = f"lineage/{kind}/name/{quote(source, safe='')}/{to}/name/{quote(target, safe='')}"
    return _put(path, "type/entityLineage.json#/definitions/lineageDetails", details)


def _put(path: str, schema: str, body: dict[str, Any], about: Descriptions | None = None) -> Line:
    owners = [_owner(name) for name in dict.fromkeys((*about.owners, *about.stewards))] if about else []
    return {"method": "PUT", "path": f"/api/v1/{path}", "schema": schema, "body": body, **({"owners": owners} if owners else {})}


def _owner(name: str) -> dict[str, str]:
    kind, _, rest = name.partition(":")
    if rest and kind in ("team", "group"):
        return {"type": "team", "name": rest}
    return {"type": "user", "name": rest if rest and kind == "user" else name}
