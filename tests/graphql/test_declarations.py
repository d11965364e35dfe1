"""Declaring, and asking for descriptions, quality and dataflow, through the API."""

from __future__ import annotations

from pathlib import Path

import httpx

from tests.backend.events import body, run_event
from tests.backend.service import ServiceProcess

DECLARE = "mutation ($declaration: JSON!) { declare(declaration: $declaration) }"
DESCRIBED = (
    '{ node(id: "dataset:file:/in/0") { descriptions { owners tags retention } } dataflow(container: "system:tests") { generations } }'
)


def asked(client: httpx.Client, query: str, **variables: object) -> dict[str, object]:
    answer: dict[str, object] = client.post("/graphql", json={"query": query, "variables": variables}, timeout=60).json()
    return answer


def test_a_declaration_reaches_the_graph_by_way_of_the_log(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path / "home") as service, service.client() as client:
        client.post("/api/v1/lineage", content=body(run_event(0)), timeout=60)
        service.settled()
        stated = [
            {"id": "dataset:file:/in/0", "aspect": "owner", "value": "ann"},
            {"id": "dataset:file:/in/0", "aspect": "retention", "value": "P7Y"},
        ]
        assert asked(client, DECLARE, declaration={"descriptions": stated}) == {"data": {"declare": 2}}
        service.settled()
        assert asked(client, DESCRIBED)["data"] == {
            "node": {"descriptions": {"owners": ["ann"], "tags": [], "retention": "P7Y"}},
            "dataflow": {"generations": [["job:tests:job-0"]]},
        }
        refused = asked(client, DECLARE, declaration={"instances": [{"id": "actor:planet:earth"}]})
        error = refused["errors"][0]  # type: ignore[index]
        assert (error["extensions"]["field"], "'planet' is no type" in error["message"]) == ("$.instances[0].id", True)


async def test_declaring_needs_a_service_that_takes_declarations(context, refused) -> None:
    assert "not available here" in (await refused(DECLARE, of=context(), declaration={})).message
