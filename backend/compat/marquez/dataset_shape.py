"""Converts datasets and their versions to Marquez's form. A version is the output of one run, and has the run's id."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from headwater.backend.compat.marquez.facts import NEVER, Stated, by_id, facets, when_stated
from headwater.backend.compat.marquez.request import MarquezRequest, require_fewer
from headwater.backend.compat.marquez.run_shape import bodies_of_runs, latest_versions, version_id
from headwater.backend.projection.facets import facets_of, mapping, objects, text
from headwater.graph.model import EdgeKind, Node, NodeKind, node_id, parse_id
from headwater.graph.model.descriptions import descriptions_of
from headwater.graph.stores import Direction
from headwater.graph.stores.write_times import with_ends
from headwater.graph.views import UNWRITTEN, find_failed_writes
from headwater.graph.views.masking import field_tags

_MOST_FIELDS = 1_000  # limit of listed columns if no event states the schema of a dataset
_MOST_SOURCES = 20_000  # limit of input columns for a page
_STREAMS = ("kafka://", "kinesis://", "pulsar://", "pubsub")


async def bodies_of_datasets(ask: MarquezRequest, datasets: Sequence[Node]) -> list[dict[str, Any]]:
    """Convert datasets to Marquez's form, in order.

    Raises:
        InvalidQueryError: the datasets have too many fields for one answer.
    """
    stated = await when_stated(ask, [dataset.id for dataset in datasets])
    fields = await _fields(ask, datasets)
    derived = await _column_lineage(
        ask, [node_id(NodeKind.COLUMN, *_names(each), field["name"]) for each in datasets for field in fields[each.id]]
    )
    latest = await latest_versions(ask, [(dataset.id, None) for dataset in datasets])
    failed = await find_failed_writes(ask.graph, ask.tenant, [dataset.id for dataset in datasets])

    def tell(dataset: Node) -> dict[str, Any]:
        current = _current(latest[dataset.id, None])
        change = mapping(dataset.properties.get("lifecycleStateChange")).get("lifecycleStateChange")
        body = _body(ask, dataset, stated.get(dataset.id, NEVER), fields[dataset.id])
        if dataset.id in failed:
            body["facets"] = {**body["facets"], "headwater_unwritten": {"reason": UNWRITTEN}}
        return {
            **body,
            "lastModifiedAt": current.properties["writtenAt"] if current else None,
            "lastLifecycleState": text(change),
            "currentVersion": parse_id(current.id)[1][2] if current else None,
            "columnLineage": [
                {"name": field["name"], "inputFields": derived[column]}
                for field in fields[dataset.id]
                if (column := node_id(NodeKind.COLUMN, *_names(dataset), field["name"])) in derived
            ]
            or None,
            "deleted": change == "DROP",
        }

    return await asyncio.to_thread(lambda: [tell(dataset) for dataset in datasets])


async def bodies_of_versions(ask: MarquezRequest, dataset: Node, versions: Sequence[Node]) -> list[dict[str, Any]]:
    """Convert versions of a dataset to Marquez's form. The graph has the fields and facets of the dataset only."""
    versions = await with_ends(ask.graph, ask.tenant, versions)
    stated = await when_stated(ask, [version.id for version in versions])
    fields = (await _fields(ask, [dataset]))[dataset.id]
    require_fewer(len(versions) * len(fields), "fields", len(versions))
    runs = await ask.graph.get(ask.tenant, [node_id(NodeKind.RUN, parse_id(version.id)[1][2]) for version in versions])
    run_bodies = {run["id"]: run for run in await bodies_of_runs(ask, runs)}
    bodies = []
    for version in versions:
        run = parse_id(version.id)[1][2]
        own = _body(ask, dataset, stated.get(version.id, NEVER), fields)
        bodies.append(
            {
                **{name: own[name] for name in ("type", "name", "physicalName", "namespace", "sourceName", "fields", "tags")},
                "id": version_id(version.id),
                "createdAt": version.properties.get("writtenAt") or own["createdAt"],
                "version": run,
                "description": own["description"] or "",
                "currentSchemaVersion": None,
                "lifecycleState": None,
                "createdByRun": run_bodies.get(run),
                "facets": facets(ask, facets_of(version.properties)),
            }
        )
    return bodies


def _body(ask: MarquezRequest, dataset: Node, stated: Stated, fields: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    namespace, name = _names(dataset)
    about = descriptions_of(dataset)
    return {
        "id": {"namespace": namespace, "name": name},
        "type": "STREAM" if namespace.startswith(_STREAMS) else "DB_TABLE",
        "name": name,
        "physicalName": name,
        "createdAt": stated.created,
        "updatedAt": stated.updated,
        "namespace": namespace,
        "sourceName": namespace,
        "fields": list(fields),
        "tags": list(about.tags),
        "description": about.description,
        "facets": facets(ask, dataset.properties),
    }


async def _fields(ask: MarquezRequest, datasets: Sequence[Node]) -> Mapping[str, list[dict[str, Any]]]:
    stated: dict[str, list[tuple[str, str, str | None]]] = {}
    count = 0
    for dataset in datasets:
        # A schema may be long, so each dataset is converted in a thread, not on the event loop.
        stated[dataset.id] = await asyncio.to_thread(_schema, dataset)
        if not stated[dataset.id] and not _has_schema(dataset):
            listing = await ask.graph.listed(ask.tenant, node_id(NodeKind.COLUMN, *_names(dataset), ""), first=_MOST_FIELDS)
            stated[dataset.id] = [
                (parse_id(column.id)[1][2], text(column.properties.get("type")) or "", text(column.properties.get("description")))
                for column in listing.nodes
            ]
        count += len(stated[dataset.id])
        require_fewer(count, "fields", len(datasets))
    ids = [node_id(NodeKind.COLUMN, *_names(each), name) for each in datasets for name, _, _ in stated[each.id]]
    columns = by_id(await ask.graph.get(ask.tenant, ids))

    def fields(dataset: Node) -> list[dict[str, Any]]:
        bodies = []
        for name, kind, description in stated[dataset.id]:
            column = columns.get(node_id(NodeKind.COLUMN, *_names(dataset), name))
            tags = _keys(field_tags(column, dataset)) if column else []
            curated = descriptions_of(column).description if column else None
            bodies.append({"name": name, "type": kind, "tags": tags, "description": curated or description})
        return bodies

    return await asyncio.to_thread(lambda: {dataset.id: fields(dataset) for dataset in datasets})


def _schema(dataset: Node) -> list[tuple[str, str, str | None]]:
    schema = objects(mapping(dataset.properties.get("schema")).get("fields"))
    return [(name, text(field.get("type")) or "", text(field.get("description"))) for field in schema if (name := text(field.get("name")))]


def _has_schema(dataset: Node) -> bool:
    return bool(objects(mapping(dataset.properties.get("schema")).get("fields")))


def _keys(tags: Collection[str]) -> list[str]:
    """Remove tags that repeat another tag with a value (`pii=email` next to `pii`)."""
    return sorted(tag for tag in tags if "=" not in tag or tag.partition("=")[0] not in tags)


def _current(versions: Sequence[Node]) -> Node | None:
    written = [version for version in versions if isinstance(version.properties.get("writtenAt"), str)]
    return max(written, key=lambda version: (version.properties["writtenAt"], version.id), default=None)


async def _column_lineage(ask: MarquezRequest, columns: Sequence[str]) -> Mapping[str, list[dict[str, Any]]]:
    """Return the direct inputs of each column, or nothing if there are too many. `/column-lineage` has them then."""
    if not columns:
        return {}
    limit = len(columns) + _MOST_SOURCES
    reached = await ask.graph.reach(ask.tenant, columns, direction=Direction.UPSTREAM, kinds=[EdgeKind.DERIVES], depth=1, limit=limit)
    if reached.truncated:
        return {}

    def sources() -> dict[str, list[dict[str, Any]]]:
        asked, found = set(columns), dict[str, list[dict[str, Any]]]()
        for edge in sorted(reached.edges, key=lambda edge: (edge.dst, edge.src)):
            if edge.dst in asked:
                found.setdefault(edge.dst, []).append(input_field(edge.src, edge.properties))
        return found

    return await asyncio.to_thread(sources)


def input_field(column: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a derivation to the input column in Marquez's form, with its latest transformation."""
    namespace, dataset, field = parse_id(column)[1]
    step = next(iter(objects(properties.get("transformations"))), {})
    return {
        "namespace": namespace,
        "dataset": dataset,
        "field": field,
        "transformationDescription": text(step.get("description")),
        "transformationType": text(step.get("subtype")) or text(step.get("type")),
    }


def _names(dataset: Node) -> tuple[str, str]:
    namespace, name = parse_id(dataset.id)[1]
    return namespace, name
