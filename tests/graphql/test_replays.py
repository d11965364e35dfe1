"""Replays through the schema: handed to the service that the context carries, never started here."""

from dataclasses import dataclass, field

import pytest

from headwater.backend.rerun.replay import KINDS
from headwater.graphql.replays import ReplayKind
from headwater.graphql.services import Services

START = """mutation ($dataset: String!, $where: String, $rows: [RowRef!]) {
  startReplay(dataset: $dataset, where: $where, rows: $rows) { id state steps { job state } differences { before after columns } } }"""


@dataclass
class Seen:
    """A replay as a service shows it."""

    id: str
    state: str = "queued"
    started_at: str = "2026-01-31T10:00:00.000+00:00"
    ended_at: str | None = None
    shadow: str = "/home/replays/1/data"
    error: str | None = None
    steps: list = field(default_factory=list)
    differences: list = field(default_factory=list)


@dataclass
class Difference:
    dataset: str
    before: dict | None
    after: dict | None
    columns: list


class Service:
    """Keeps what it was asked, and answers as a replay service does."""

    def __init__(self) -> None:
        self.started = []
        self.known = {}

    async def start(self, tenant, dataset, where, rows, output):
        self.started.append((tenant, dataset, where, list(rows), output))
        self.known["1"] = Seen("1", differences=[Difference(dataset, {"wind": 1048.36}, None, ["wind"])])
        return "1"

    async def start_kind(self, tenant, **request):
        self.started.append((tenant, request))
        self.known["1"] = Seen("1")
        return "1"

    async def get(self, tenant, identifier):
        return self.known.get(identifier)

    async def list(self, tenant, first):
        return list(self.known.values())[:first]

    async def remove(self, tenant, identifier):
        return self.known.pop(identifier, None)


async def test_a_replay_is_handed_to_the_service_with_the_tenant_of_the_credential(ask, context):
    service = Service()
    data = await ask(START, of=context(services=Services(replays=service)), dataset="raw", rows=[{"file": "file:/a.csv", "row": 7}])
    assert service.started == [("default", "raw", None, [("file:/a.csv", 7)], None)]
    assert data["startReplay"]["state"] == "QUEUED"
    assert data["startReplay"]["differences"] == [{"before": {"wind": 1048.36}, "after": None, "columns": ["wind"]}]


async def test_a_replay_without_a_selection_is_refused(refused, context):
    error = await refused(START, of=context(services=Services(replays=Service())), dataset="raw")
    assert error.extensions["field"] == "where"


async def test_a_kind_and_its_edits_are_handed_over(ask, context):
    service = Service()
    document = (
        'mutation { startReplay(kind: WHAT_IF, dataset: "raw", where: "k = 1", output: "out",'
        ' edits: [{column: "v", value: "5"}, {column: "w"}]) { id } verify: startReplay(kind: VERIFY, output: "out") { id } }'
    )
    await ask(document, of=context(services=Services(replays=service)))
    what_if = {"kind": "what-if", "dataset": "raw", "where": "k = 1", "rows": [], "output": "out", "edits": {"v": "5", "w": None}}
    verify = {"kind": "verify", "dataset": None, "where": None, "rows": [], "output": "out", "edits": {}}
    assert service.started == [("default", what_if), ("default", verify)]


async def test_the_kinds_of_the_schema_are_those_of_the_registry():
    assert [kind.value for kind in ReplayKind] == list(KINDS)


@pytest.mark.parametrize(
    "document", ['{ replay(id: "1") { id } }', "{ replays { id } }", 'mutation { startReplay(dataset: "x", where: "true") { id } }']
)
async def test_without_a_replay_service_the_answer_says_so(refused, document):
    error = await refused(document)
    assert "not available" in error.message
    assert error.extensions["code"] == "UnsupportedError"


async def test_replays_can_be_looked_at(ask, context):
    service = Service()
    await service.start("default", "raw", "true", [], None)
    data = await ask(
        '{ replay(id: "1") { state } replays { id } none: replay(id: "2") { id } }', of=context(services=Services(replays=service))
    )
    assert data == {"replay": {"state": "QUEUED"}, "replays": [{"id": "1"}], "none": None}


async def test_a_replay_is_removed_and_its_rows_are_not_told_again(ask, context):
    service = Service()
    await service.start("default", "raw", "true", [], None)
    asked = 'mutation { removeReplay(id: "1") { id differences { before } } none: removeReplay(id: "2") { id } }'
    of = context(services=Services(replays=service))
    assert await ask(asked, of=of) == {
        "removeReplay": {"id": "1", "differences": []},
        "none": None,
    }
    assert service.known == {}
