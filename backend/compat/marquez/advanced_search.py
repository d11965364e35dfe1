"""`GET /api/v2beta/search/…`: the search that Marquez's page sends with each typed letter if its advanced search is on.

Marquez uses OpenSearch for it, which also searches facets. Headwater searches the names of jobs, datasets and
fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import Query

from headwater.backend.compat.marquez.facts import by_id, facets
from headwater.backend.compat.marquez.job_shape import job_type
from headwater.backend.compat.marquez.request import Ask, MarquezRequest, subject_router
from headwater.graph.model import Node, NodeKind, node_id, parse_id

router = subject_router("v2beta")

_HITS = 10  # the default of OpenSearch
_LOOKED_AT = 200  # limit of matching fields, because many datasets have a field of the same name

_Part = Annotated[str, Query(alias="q", min_length=1, max_length=200, description="A part of a name, in any case.")]


@router.get("/search/jobs")
async def get_jobs(ask: Ask, part: _Part) -> dict[str, Any]:
    """Jobs by a part of their name, ten at most: `{"hits": […], "highlights": […]}`, in order of their names."""
    found = (await ask.graph.search(ask.tenant, part, kinds=(NodeKind.JOB,), first=_HITS)).nodes
    last = {job.id: str(job.properties.get("lastRun")) for job in found}
    runs = by_id(await ask.graph.get(ask.tenant, sorted(set(last.values()) - {"None"})))
    hits = [
        {**_hit(ask, job, runs.get(last[job.id])), "type": job_type(job.properties), "runFacets": _facets(ask, runs.get(last[job.id]))}
        for job in found
    ]
    return {"hits": hits, "highlights": [{"name": [_marked(hit["name"], part)]} for hit in hits]}


@router.get("/search/datasets")
async def get_datasets(ask: Ask, part: _Part) -> dict[str, Any]:
    """Datasets by a part of their name or of a field's, ten at most: `{"hits": […], "highlights": […]}`."""
    named = (await ask.graph.search(ask.tenant, part, kinds=(NodeKind.DATASET,), first=_HITS)).nodes
    fields = (await ask.graph.search(ask.tenant, part, kinds=(NodeKind.COLUMN,), first=_LOOKED_AT)).nodes
    of: dict[str, list[str]] = {dataset.id: [] for dataset in named}
    for field in fields:
        namespace, dataset, name = parse_id(field.id)[1]
        of.setdefault(node_id(NodeKind.DATASET, namespace, dataset), []).append(name)
    datasets = by_id(await ask.graph.get(ask.tenant, list(of)[:_HITS]))
    found = [datasets[each] for each in of if each in datasets]
    latest = await ask.graph.latest_at(ask.tenant, [(dataset.id, None) for dataset in found], NodeKind.VERSION, first=1)
    wrote = {dataset.id: node_id(NodeKind.RUN, parse_id(version.id)[1][2]) for dataset in found for version in latest[dataset.id, None]}
    runs = by_id(await ask.graph.get(ask.tenant, sorted(set(wrote.values()))))
    hits = [_hit(ask, dataset, runs.get(wrote.get(dataset.id, ""))) for dataset in found]
    return {"hits": hits, "highlights": [_of_dataset(dataset, of[dataset.id], part) for dataset in found]}


def _of_dataset(dataset: Node, fields: Sequence[str], part: str) -> Mapping[str, list[str]]:
    name = parse_id(dataset.id)[1][1]
    marked = {"name": [_marked(name, part)]} if part.casefold() in name.casefold() else {}
    return marked | ({"facets.schema.fields.name": [_marked(field, part) for field in fields[:_HITS]]} if fields else {})


def _hit(ask: MarquezRequest, node: Node, run: Node | None) -> dict[str, Any]:
    namespace, name = parse_id(node.id)[1]
    return {
        "run_id": parse_id(run.id)[1][0] if run else None,
        "name": name,
        "namespace": namespace,
        "eventType": run.properties.get("state") if run else None,
        "facets": _facets(ask, node),
    }


def _facets(ask: MarquezRequest, node: Node | None) -> dict[str, Any]:
    return dict(facets(ask, node.properties)) if node else {}


def _marked(name: str, part: str) -> str:
    return re.sub(re.escape(part), lambda found: f"<em>{found[0]}</em>", name, flags=re.IGNORECASE)
