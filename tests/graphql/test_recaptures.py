"""Recaptures through the schema: handed to the service that the context carries, never started here."""

from dataclasses import dataclass, field

import pytest

from headwater.graphql.services import Services

START = 'mutation { startRecapture(dataset: "/data/out") { id dataset state outputs files left { dataset reason } } }'


@dataclass
class Seen:
    """A recapture as a service shows it."""

    id: str
    dataset: str
    state: str = "queued"
    started_at: str = "2026-01-31T10:00:00.000+00:00"
    ended_at: str | None = None
    error: str | None = None
    outputs: list = field(default_factory=list)
    files: int = 0
    left: dict = field(default_factory=dict)


class Service:
    """Keeps what it was asked, and answers as a recapture service does."""

    def __init__(self) -> None:
        self.started = []
        self.known = {}

    async def start(self, tenant, dataset):
        self.started.append((tenant, dataset))
        self.known["1"] = Seen("1", dataset, "complete", outputs=[dataset], files=3, left={"dataset:file:/data/log": "it was refused"})
        return "1"

    async def get(self, tenant, identifier):
        return self.known.get(identifier)

    async def list(self, tenant, first):
        return list(self.known.values())[:first]

    async def possible(self, tenant, datasets):
        return list(datasets)


async def test_a_recapture_is_handed_to_the_service_with_the_tenant_of_the_credential(ask, context):
    service = Service()
    of = context(services=Services(recaptures=service))
    assert (await ask(START, of=of))["startRecapture"] == {
        "id": "1", "dataset": "/data/out", "state": "COMPLETE", "outputs": ["/data/out"], "files": 3,
        "left": [{"dataset": "dataset:file:/data/log", "reason": "it was refused"}],
    }  # fmt: skip
    assert service.started == [("default", "/data/out")]
    asked = '{ recapture(id: "1") { state } recaptures { id } none: recapture(id: "2") { id } }'
    assert await ask(asked, of=of) == {"recapture": {"state": "COMPLETE"}, "recaptures": [{"id": "1"}], "none": None}


@pytest.mark.parametrize("document", ['{ recapture(id: "1") { id } }', "{ recaptures { id } }", START])
async def test_without_a_service_for_them_the_answer_says_so(refused, document):
    error = await refused(document)
    assert "not available" in error.message
    assert error.extensions["code"] == "UnsupportedError"
