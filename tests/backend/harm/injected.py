"""Every payload by every way in: requests, as data. `test_injected` checks their effects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid5

from tests.backend.captures import capture
from tests.backend.events import facet, run_event
from tests.backend.harm.bodies import GRAPHQL, Harm

NAMESPACE = "injected"  # of datasets that are called as a payload
SOURCE = "source"  # a dataset that all of them are made of
_NAMES = UUID("5d0d6c52-4f0a-4d3a-9b6e-0d6d1f5a7c11")


def writing(payloads: dict[str, str]) -> Iterator[Harm]:
    """Requests that state a payload: events, declarations, tags, manifests and documents."""
    for number, (name, text) in enumerate(payloads.items()):
        yield _post(f"{name} in events", "/api/v1/lineage", _events(number, text))
        yield _post(f"{name} in a manifest", "/api/v1/captures", _manifest(number, text))
        yield _post(f"{name} in a PROV document", "/api/v1/prov", _prov(number, text))
        yield _post(f"{name} in descriptions", "/api/v1/declarations", _declaration(text))
        yield _post(f"{name} in a declared type", "/api/v1/declarations", _type(number, text))
        yield _sent("PUT", f"{name} as a tag", f"/api/v1/tags/{_part(text)}", {"description": text})
        yield _sent("POST", f"{name} on a dataset", f"/api/v1/namespaces/{NAMESPACE}/datasets/{_part(text)}/tags/{_part(text)}")


def asking(payloads: dict[str, str], dataset: str, *, turns: int = 1) -> Iterator[Harm]:
    """Questions with a payload. `turns`: each text by every so manieth way, by turns, so that each way has every kind of text."""
    for number, (name, text) in enumerate(payloads.items()):
        for place, harm in enumerate(_ways(name, text, dataset)):
            if (number + place) % turns == 0:
                yield harm


def _ways(name: str, text: str, dataset: str) -> Iterator[Harm]:
    part, node = _part(text), quote(f"dataset:{NAMESPACE}:{quote(text, safe='')}", safe="")
    yield _asked(f"{name} as where", _TRACE, d=dataset, w=text)
    yield _asked(f"{name} as a file and a column", _PLACE, d=dataset, f=text, c=text)
    yield _asked(f"{name} as a dataset", _TRACE, d=text, w="1=1")
    yield _asked(f"{name} as text and id", _FOUND, t=text)
    yield _asked(f"{name} as a mask", _VIEW, v={"focus": [dataset], "masks": [{"by": "NAME", "values": [text]}], "asOf": text})
    yield _asked(f"{name} as a replay", _REPLAY, d=text, o=text)
    for place, path in {
        "a dataset of Marquez": f"/api/v1/namespaces/{NAMESPACE}/datasets/{part}",
        "a job of Marquez": f"/api/v1/namespaces/{part}/jobs/{part}",
        "a search of Marquez": f"/api/v1/search?q={part}&namespace={part}",
        "a lineage of Marquez": f"/api/v1/lineage?nodeId=dataset:{NAMESPACE}:{part}",
        "a dataset of CDAP": f"/v3/namespaces/default/datasets/{part}/lineage?start=0&end=now",
        "a node": f"/api/v1/descriptions?node={node}",
        "PROV": f"/api/v1/prov?target={node}&format=xml",
        "PROV of rows": f"/api/v1/prov?target={quote(dataset, safe='')}&where={part}",
        "impact": f"/api/v1/impact?focus={node}",
        "DataHub": f"/api/v1/export/datahub?namespace={part}&environment={part}",
        "OpenMetadata": f"/api/v1/export/openmetadata?known_as={part}={part}",
        "a page": f"/{part}?ticket={part}&next={part}",
        "a sign-in": f"/login?next={part}",
    }.items():
        yield Harm(f"{name} in {place}", path, method="GET", headers={"X-Request-Id": text.encode("latin-1", "replace").decode("latin-1")})
    segment = f"/api/v1/captures/{part}/segments/{part}"
    yield Harm(f"{name} as a segment", segment, b"x", {"X-Headwater-Sha256": "0" * 64, "X-Forwarded-Host": part}, method="PUT")


_TRACE = "query ($d: String!, $w: String) { trace(dataset: $d, where: $w) { records { values } } }"
_PLACE = (
    "query ($d: String!, $f: String!, $c: String) { trace(dataset: $d, rows: [{file: $f, row: 0}], column: $c) { records { values } } }"
)
_FOUND = "query ($t: String!) { search(text: $t) { nodes { id name } } tags(first: 5) { totalCount } }"
_VIEW = "query ($v: ViewInput!) { view(view: $v) { nodes { node { id } } } }"
_REPLAY = "mutation ($d: String!, $o: String) { startReplay(dataset: $d, rows: [{file: $d, row: 0}], output: $o) { id } }"


def _part(text: str) -> str:
    return quote(text, safe="")


def _sent(method: str, name: str, path: str, document: Any = None) -> Harm:
    return Harm(name, path, b"" if document is None else json.dumps(document).encode(), method=method)


def _post(name: str, path: str, document: Any) -> Harm:
    return _sent("POST", name, path, document)


def _asked(name: str, query: str, **variables: object) -> Harm:
    return _post(name, GRAPHQL, {"query": query, "variables": variables})


def _events(number: int, text: str) -> list[dict[str, Any]]:
    run = {"runId": str(uuid5(_NAMES, f"{number}"))}
    fields = facet(fields=[{"name": text, "type": text, "description": text}])
    derived = facet(fields={text: {"inputFields": [{"namespace": NAMESPACE, "name": SOURCE, "field": text}]}})
    output = {
        "namespace": NAMESPACE,
        "name": text,
        "facets": {"schema": fields, "columnLineage": derived, "documentation": facet(description=text)},
    }
    source = {"namespace": text, "name": text, "facets": {"dataSource": facet(name=text, uri=text), "symlinks": _symlinks(text)}}
    inputs = [source, {"namespace": NAMESPACE, "name": SOURCE}]
    facets = {"sql": facet(query=text), "sourceCodeLocation": facet(type=text, url=text), "documentation": facet(description=text)}
    failed = {"errorMessage": facet(message=text, programmingLanguage=text, stackTrace=text), text: facet(x=text)}
    return [
        run_event(1, run=run, job={"namespace": text, "name": text}, inputs=inputs, outputs=[output]),
        run_event(2, run={**run, "facets": failed}, job={"namespace": "tests", "name": "facets", "facets": facets}),
    ]


def _symlinks(text: str) -> dict[str, Any]:
    return facet(identifiers=[{"namespace": text, "name": text, "type": text}])


def _manifest(number: int, text: str) -> dict[str, Any]:
    manifest, _ = capture(number)
    manifest |= {"segments": [], "application": {"id": text, "name": text, "spark": text}}
    for part in (manifest["sources"][0], manifest["sink"]):
        part |= {"path": text, "dataset": {"namespace": "file", "name": text}, "options": {text: text}}
    for file in manifest["sources"][0]["files"]:
        file["path"] = text
    manifest["operators"][0]["text"] = text
    return manifest


def _prov(number: int, text: str) -> dict[str, Any]:
    label = {"prov:label": text, "ex:note": text}
    return {"prefix": {"ex": f"http://example.org/{number}/"}, "entity": {f"ex:{_part(text)}": label}, "agent": {"ex:a": label}}


def _declaration(text: str) -> dict[str, Any]:
    described = [
        {"id": "job:tests:job-1", "aspect": aspect, "value": text} for aspect in ("owner", "tag", "term", "description", "retention")
    ]
    return {"by": text, "descriptions": described}


def _type(number: int, text: str) -> dict[str, Any]:
    return {"types": [{"name": text, "axis": "data"}], "instances": [{"id": f"data:{_part(text)}:{number}", "properties": {text: text}}]}
