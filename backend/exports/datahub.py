"""Export for DataHub: a JSON array of metadata change proposals, for its source `file` and for `datahub put` of its SDKs.

A proposal replaces one aspect of one entity. If Headwater has no facts for an aspect (no owner, no tag), the aspect is left out, because
it would delete statements of people in DataHub.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from typing import Any

from headwater.backend.exports import graph_reader
from headwater.backend.exports.datahub_names import Urns, owner_urn, tag_urn, term_urn
from headwater.backend.exports.graph_reader import Dataset, Field, Job
from headwater.backend.exports.request import CatalogRequest
from headwater.backend.exports.types import Family, family_of
from headwater.graph.model import NodeKind, node_id
from headwater.graph.model.descriptions import Descriptions
from headwater.graph.stores import GraphStore

Proposal = dict[str, Any]

# If a dataset has more sources, only its job lists them. Otherwise each output would repeat all inputs of the job.
_MOST_SOURCES = 2_000
_AUTHOR = "urn:li:corpuser:headwater"
_TYPES = {
    Family.BOOLEAN: "BooleanType", Family.INTEGER: "NumberType", Family.LONG: "NumberType", Family.FLOAT: "NumberType",
    Family.DOUBLE: "NumberType", Family.DECIMAL: "NumberType", Family.STRING: "StringType", Family.BINARY: "BytesType",
    Family.DATE: "DateType", Family.TIME: "TimeType", Family.TIMESTAMP: "TimeType", Family.ARRAY: "ArrayType", Family.MAP: "MapType",
    Family.STRUCT: "RecordType", Family.UNKNOWN: "NullType",
}  # fmt: skip


async def open_datahub(graph: GraphStore, tenant: str, request: CatalogRequest) -> AsyncIterator[list[Proposal]]:
    """Return the proposals in batches.

    Raises:
        InvalidQueryError: datasets of two namespaces may get the same URN.
    """
    known = await graph_reader.namespaces(graph, tenant, NodeKind.PLATFORM)
    urns = Urns(request, known)

    async def proposals() -> AsyncIterator[list[Proposal]]:
        yield [
            _proposal("tag", tag_urn(name), "tagProperties", {"name": name, "description": about})
            for name, about in await graph_reader.tags(graph, tenant)
            if about is not None  # otherwise descriptions of the tag in DataHub would be lost
        ]
        for namespace in filter(request.holds, known):
            async for datasets in graph_reader.datasets(graph, tenant, namespace):
                yield await asyncio.to_thread(_all, partial(_of_dataset, urns), datasets)
        for namespace in filter(request.holds, await graph_reader.namespaces(graph, tenant, NodeKind.SYSTEM)):
            flows: set[str] = set()
            async for jobs in graph_reader.jobs(graph, tenant, namespace):
                yield await asyncio.to_thread(_all, partial(_of_job, urns, flows), jobs)

    return proposals()


async def written(proposals: AsyncIterator[list[Proposal]]) -> AsyncIterator[bytes]:
    """Yield the JSON array in chunks."""
    separator = b"[\n"
    async for some in proposals:
        if some:
            yield separator + await asyncio.to_thread(_encoded, some)
            separator = b",\n"
    yield b"\n]\n" if separator != b"[\n" else b"[]\n"


def _all(proposals: Callable[[Any], Iterator[Proposal]], things: Sequence[Any]) -> list[Proposal]:
    return [proposal for thing in things for proposal in proposals(thing)]


def _encoded(proposals: Sequence[Proposal]) -> bytes:
    return ",\n".join(json.dumps(proposal, ensure_ascii=False) for proposal in proposals).encode()


def _of_dataset(urns: Urns, dataset: Dataset) -> Iterator[Proposal]:
    identifier = node_id(NodeKind.DATASET, dataset.namespace, dataset.name)
    urn, platform = urns.dataset(identifier), urns.platform(dataset.namespace)
    left_out = len(dataset.sources) if len(dataset.sources) > _MOST_SOURCES else 0
    custom = {"openlineage.namespace": dataset.namespace, "openlineage.name": dataset.name}
    if left_out:
        custom["headwater.sourcesLeftOut"] = str(left_out)
    about = dataset.about
    yield _proposal(
        "dataset", urn, "datasetProperties",
        {"name": dataset.name, "customProperties": custom | _stated(about), **_given(description=about.description)},
    )  # fmt: skip
    yield _proposal("dataset", urn, "status", {"removed": dataset.is_dropped})
    if platform.instance_urn:
        yield _proposal("dataset", urn, "dataPlatformInstance", {"platform": platform.urn, "instance": platform.instance_urn})
    if dataset.fields:
        yield _proposal("dataset", urn, "schemaMetadata", _schema(dataset, platform.urn))
    upstreams = [] if left_out else [urns.dataset(source) for source in dataset.sources]
    flows = [
        {
            "upstreamType": "FIELD_SET",
            "upstreams": [urns.column(source) for source in flow.sources],
            "downstreamType": "FIELD" if len(flow.targets) == 1 else "FIELD_SET",
            "downstreams": [urns.field(urn, target) for target in flow.targets],
            **_given(transformOperation=flow.how or None),
            "confidenceScore": 1.0,
        }
        for flow in dataset.flows
    ]
    if upstreams or flows:
        listed = [{"dataset": upstream, "type": "TRANSFORMED"} for upstream in upstreams]
        yield _proposal("dataset", urn, "upstreamLineage", {"upstreams": listed, **({"fineGrainedLineages": flows} if flows else {})})
    yield from _described("dataset", urn, about)


def _of_job(urns: Urns, flows: set[str], job: Job) -> Iterator[Proposal]:
    orchestrator = (job.integration or "openlineage").lower()
    flow = urns.flow(orchestrator, job.namespace)
    if flow not in flows:
        flows.add(flow)
        yield _proposal("dataFlow", flow, "dataFlowInfo", {"name": job.namespace, "customProperties": {}})
    urn = urns.job(flow, job.name)
    custom = {"openlineage.namespace": job.namespace, "openlineage.name": job.name} | _stated(job.about)
    info = {"name": job.name, "type": {"string": orchestrator.upper()}, "flowUrn": flow, "customProperties": custom}
    yield _proposal("dataJob", urn, "dataJobInfo", {**info, **_given(description=job.about.description)})
    if job.reads or job.writes:
        flowing = {
            "inputDatasets": [urns.dataset(each) for each in job.reads],
            "outputDatasets": [urns.dataset(each) for each in job.writes],
        }
        yield _proposal("dataJob", urn, "dataJobInputOutput", flowing)
    yield from _described("dataJob", urn, job.about)


def _described(kind: str, urn: str, about: Descriptions) -> Iterator[Proposal]:
    owners = [{"owner": owner_urn(name), "type": "TECHNICAL_OWNER"} for name in about.owners]
    owners += [{"owner": owner_urn(name), "type": "DATA_STEWARD"} for name in about.stewards]
    if owners:
        yield _proposal(kind, urn, "ownership", {"owners": owners})
    if about.tags:
        yield _proposal(kind, urn, "globalTags", _tags(about.tags))
    if about.terms:
        terms = [{"urn": term_urn(name)} for name in about.terms]
        yield _proposal(kind, urn, "glossaryTerms", {"terms": terms, "auditStamp": {"time": 0, "actor": _AUTHOR}})


def _stated(about: Descriptions) -> dict[str, str]:
    """Return the facts that no aspect of DataHub can hold, as custom properties."""
    return _given(**{"headwater.retention": about.retention, "headwater.legalHold": about.legal_hold})


def _schema(dataset: Dataset, platform: str) -> dict[str, Any]:
    fields = list(_fields(dataset.fields))
    digest = hashlib.sha256(json.dumps([[one["fieldPath"], one["nativeDataType"]] for one in fields]).encode()).hexdigest()
    return {
        "schemaName": dataset.name, "platform": platform, "version": 0, "hash": digest,
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}}, "fields": fields,
    }  # fmt: skip


def _fields(fields: Sequence[Field]) -> Iterator[dict[str, Any]]:
    """Yield the columns, each before its nested fields. If two columns get the same path, the column with this name wins."""
    taken = {field.name for field in fields}
    for field in fields:
        yield _field(field.name, field)
        for path, child in _within(field.name, field):
            if path not in taken:
                taken.add(path)
                yield _field(path, child)


def _within(path: str, field: Field) -> Iterator[tuple[str, Field]]:
    for child in field.children:
        yield f"{path}.{child.name}", child
        yield from _within(f"{path}.{child.name}", child)


def _field(path: str, field: Field) -> dict[str, Any]:
    kind = _TYPES[family_of(field.type)]
    return {
        "fieldPath": path,
        "nullable": True,
        "type": {"type": {f"com.linkedin.schema.{kind}": {}}},
        "nativeDataType": field.type or "unknown",
        **_given(description=field.description),
        **({"globalTags": _tags(field.tags)} if field.tags else {}),
    }


def _tags(names: Sequence[str]) -> dict[str, Any]:
    return {"tags": [{"tag": tag_urn(name)} for name in names]}


def _given(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}


def _proposal(kind: str, urn: str, aspect: str, content: dict[str, Any]) -> Proposal:
    return {"entityType": kind, "entityUrn": urn, "changeType": "UPSERT", "aspectName": aspect, "aspect": {"json": content}}
