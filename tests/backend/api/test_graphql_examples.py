"""docs/reference/graphql.md: each example is answered by a service with its pipeline, and each field has an example."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from graphql import FieldNode, OperationDefinitionNode, parse

from headwater.graphql.schema import schema
from tests.backend.service import ServiceProcess
from tests.stated import CLEAN, REPORT, event

_TEXT = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "graphql.md").read_text(encoding="utf-8")
_EXAMPLES = re.findall(r"^```graphql\n(.*?)^```$", _TEXT, re.MULTILINE | re.DOTALL)
# Fields without an answer, for want of a capture of the pipeline or of programs of the home: the code of the error.
_UNANSWERED = {
    "trace": {"UnsupportedError", "NotFoundError"},
    "subjectAccess": {"UnsupportedError", "NotFoundError"},
    "rankInputs": {"UnsupportedError", "NotFoundError"},
    "explain": {"UnsupportedError", "NotFoundError"},
    "suspectInstances": {"UnsupportedError", "NotFoundError"},
    "suspects": {"NotFoundError"},
    "startTrace": {"UnsupportedError", "NotFoundError"},
    "startRecapture": {"UnsupportedError", "NotFoundError"},
    "startWhy": {"NotFoundError"},
    "startBlame": {"UnsupportedError", "NotFoundError"},
    "startWitness": {"UnsupportedError", "NotFoundError"},
    "startCompare": {"NotFoundError"},
    "startClean": {"UnsupportedError", "NotFoundError"},
    "cancelCulpritSearch": {"NotFoundError"},
    "startReplay": {"UnsupportedError", "NotFoundError"},
    "replayDryRun": {"NotFoundError", "UnsupportedError"},
    "answerReplay": {"NotFoundError"},
    "cancelReplay": {"NotFoundError"},
    "approveReplay": {"NotFoundError"},
    "commitReplay": {"NotFoundError"},
    "undoReplay": {"NotFoundError"},
    "createTrigger": {"NotFoundError"},
    "fireTrigger": {"NotFoundError"},
    "pauseTrigger": {"NotFoundError"},
    "resumeTrigger": {"NotFoundError"},
    "removeTrigger": {"NotFoundError"},
    "testTrigger": {"NotFoundError"},
    "diff": {"NotFoundError", "UnsupportedError"},
    "runWorkflow": {"NotFoundError"},
    "acceptDeviation": {"NotFoundError"},
    "removePolicy": {"NotFoundError"},
    "enrolDataset": {"UnsupportedError"},
    "collectBlocks": {"UnsupportedError"},
    "compactBlocks": {"UnsupportedError"},
    "restoreBlocks": {"NotFoundError"},
    "withdrawDataset": {"NotFoundError"},
    "changeView": {"NotFoundError"},
    "removeView": {"NotFoundError"},
    "traceJob": {"NotFoundError", "UnsupportedError"},
    "cancelTrace": {"NotFoundError", "UnsupportedError"},
}


def _asked(document: str) -> list[str]:
    (operation,) = parse(document).definitions
    assert isinstance(operation, OperationDefinitionNode)
    return [field.name.value for field in operation.selection_set.selections if isinstance(field, FieldNode)]


@pytest.fixture(scope="module")
def told(service: ServiceProcess) -> None:
    """The service has heard of the pipeline."""
    with service.client() as client:
        for run, job, minute, reads, writes in (
            (CLEAN, "clean", 1, "/data/raw/weather.csv", "/data/out/clean"), (REPORT, "report", 3, "/data/out/clean", "/data/out/report"),
        ):  # fmt: skip
            for kind, at in (("START", minute), ("COMPLETE", minute + 1)):
                stated = event(run, job, kind, f"2026-01-31T10:{at:02}:00Z", reads, writes)
                fields = [{"name": "wind", "type": "double"}]
                stated["outputs"][0]["facets"] = {"schema": {"fields": fields, **_stated("SchemaDatasetFacet")}}
                client.post("/api/v1/lineage", json=stated).raise_for_status()
    service.settled()


def _stated(facet: str) -> dict[str, str]:
    return {"_producer": "https://example.org/test", "_schemaURL": f"https://openlineage.io/spec/facets/1-1-1/{facet}.json"}


@pytest.mark.parametrize("number", range(len(_EXAMPLES)))
@pytest.mark.usefixtures("told")
def test_an_example_is_answered(client: httpx.Client, number: int) -> None:
    document = _EXAMPLES[number]
    if '"KEY"' in document:
        made = client.post("/graphql", json={"query": 'mutation { createKey(name: "shown", roles: ["viewer"]) { key { id } } }'}).json()
        document = document.replace("KEY", made["data"]["createKey"]["key"]["id"])
    answer: dict[str, Any] = client.post("/graphql", json={"query": document}).json()
    for error in answer.get("errors", ()):
        assert error["extensions"]["code"] in _UNANSWERED.get(error["path"][0], set()), error
    if "errors" not in answer:
        (operation,) = parse(document).definitions
        assert isinstance(operation, OperationDefinitionNode)
        fields = [field for field in operation.selection_set.selections if isinstance(field, FieldNode)]
        assert {(field.alias or field.name).value for field in fields} == answer["data"].keys()
    for key in client.post("/graphql", json={"query": "{ admin { keys { id name } } }"}).json()["data"]["admin"]["keys"]:
        if key["name"] in ("shown", "airflow"):
            client.post("/graphql", json={"query": f'mutation {{ revokeKey(id: "{key["id"]}") {{ state }} }}'}).raise_for_status()


def test_every_field_of_the_root_has_an_example() -> None:
    shown = {name for document in _EXAMPLES for name in _asked(document)}
    roots = schema._schema
    assert roots.query_type
    assert roots.mutation_type
    assert shown == set(roots.query_type.fields) | set(roots.mutation_type.fields)
