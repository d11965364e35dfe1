"""Replays through the schema: handed to the service that the context carries, never started here."""

from dataclasses import dataclass, field

import pytest

from headwater.backend.rerun.replay import KINDS
from headwater.graphql.replays import ReplayKind
from headwater.graphql.services import ReplayOrder, Services, StopAnswer

START = """mutation ($dataset: String!, $where: String, $rows: [RowRef!]) {
  startReplay(dataset: $dataset, where: $where, rows: $rows) { id state steps { job state } differences { before after columns } } }"""


@dataclass
class Seen:
    """A replay as a service shows it."""

    id: str
    state: str = "queued"
    kind: str = "exclusive"
    output: str = "dataset:file:/out"
    started_at: str = "2026-01-31T10:00:00.000+00:00"
    started_by: str | None = None
    exclude: dict = field(default_factory=dict)
    keep: dict = field(default_factory=dict)
    edits: dict = field(default_factory=dict)
    ended_at: str | None = None
    shadow: str = "/home/replays/1/data"
    error: str | None = None
    steps: list = field(default_factory=list)
    differences: list = field(default_factory=list)
    differing: int = 0
    notes: list = field(default_factory=list)
    commit: object = None
    stop: object = None


@dataclass
class Stop:
    job: str
    inputs: list
    outputs: list


@dataclass
class Shown:
    dataset: str
    rows: list
    note: str | None = None


@dataclass
class Row:
    file: str
    row: int
    values: dict


@dataclass
class Folder:
    dataset: str
    state: str
    old: str


@dataclass
class Commit:
    at: str
    kept_until: str
    folders: list


@dataclass
class Plan:
    """A dry run as a service shows it."""

    kind: str
    output: str = "dataset:file:/out"
    starts: list = field(default_factory=lambda: ["dataset:file:/raw"])
    steps: list = field(default_factory=list)
    excluded: int = 1
    kept: int = 0
    edited: int = 0
    seconds: float | None = None
    disk_bytes: int = 1 << 40
    disk_free: int = 1 << 41
    unknown_sizes: list = field(default_factory=list)
    notes: list = field(default_factory=list)


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

    async def start(self, tenant, order):
        self.started.append((tenant, order))
        found = [Difference(order.dataset, {"wind": 1048.36}, None, ["wind"])] if order.kind == "exclusive" else []
        self.known["1"] = Seen("1", kind=order.kind, differences=found)
        return "1"

    async def dry_run(self, tenant, order):
        self.planned = (tenant, order)
        return Plan(order.kind)

    async def answer(self, tenant, identifier, answer):
        self.answers = [*getattr(self, "answers", []), answer]
        return self.known[identifier]

    async def cancel(self, tenant, identifier):
        self.known[identifier].state = "failed"
        return self.known[identifier]

    async def commit(self, tenant, identifier, keep_days):
        until = f"2026-02-{keep_days:g}"
        self.known[identifier].commit = Commit("2026-02-01", until, [Folder("dataset:file:/out", "done", "/.old")])
        return self.known[identifier]

    async def undo(self, tenant, identifier):
        self.known[identifier].commit.folders[0].state = "undone"
        return self.known[identifier]

    async def approve(self, tenant, identifier):
        return self.known[identifier]

    async def get(self, tenant, identifier):
        return self.known.get(identifier)

    async def list(self, tenant, first):
        return list(self.known.values())[:first]

    async def remove(self, tenant, identifier):
        return self.known.pop(identifier, None)


async def test_a_replay_is_handed_to_the_service_with_the_tenant_of_the_credential(ask, context):
    service = Service()
    data = await ask(START, of=context(services=Services(replays=service)), dataset="raw", rows=[{"file": "file:/a.csv", "row": 7}])
    assert service.started == [("default", ReplayOrder(dataset="raw", rows=[("file:/a.csv", 7)]))]
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
    what_if = ReplayOrder(kind="what-if", dataset="raw", where="k = 1", rows=[], output="out", edits={"v": "5", "w": None})
    verify = ReplayOrder(kind="verify", rows=[], output="out")
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
    await service.start("default", ReplayOrder(dataset="raw", where="true"))
    data = await ask(
        '{ replay(id: "1") { state } replays { id } none: replay(id: "2") { id } }', of=context(services=Services(replays=service))
    )
    assert data == {"replay": {"state": "QUEUED"}, "replays": [{"id": "1"}], "none": None}


async def test_a_replay_says_who_started_it_and_which_records_it_left_out_read_or_edited(ask, context):
    service = Service()
    await service.start("default", ReplayOrder(dataset="raw", where="true"))
    shown = await service.get("default", "1")
    shown.started_by, shown.exclude = "ana", {"file:/raw/a.csv": list(range(150, 0, -1))}
    shown.keep, shown.edits = {"file:/raw/b.csv": [7]}, {"file:/raw/c.csv": {"3": {"x": None}}}
    data = await ask('{ replay(id: "1") { startedBy records { use file rows total } } }', of=context(services=Services(replays=service)))
    left_out, read, edited = data["replay"]["records"]
    assert data["replay"]["startedBy"] == "ana"
    assert left_out == {"use": "LEFT_OUT", "file": "file:/raw/a.csv", "rows": list(range(1, 101)), "total": 150}
    assert read == {"use": "READ", "file": "file:/raw/b.csv", "rows": [7], "total": 1}
    assert edited == {"use": "EDITED", "file": "file:/raw/c.csv", "rows": [3], "total": 1}


async def test_a_replay_is_removed_and_its_rows_are_not_told_again(ask, context):
    service = Service()
    await service.start("default", ReplayOrder(dataset="raw", where="true"))
    asked = 'mutation { removeReplay(id: "1") { id differences { before } } none: removeReplay(id: "2") { id } }'
    of = context(services=Services(replays=service))
    assert await ask(asked, of=of) == {
        "removeReplay": {"id": "1", "differences": []},
        "none": None,
    }
    assert service.known == {}


async def test_limits_are_handed_over_and_checked(ask, refused, context):
    service = Service()
    of = context(services=Services(replays=service))
    asked = 'mutation { startReplay(kind: VERIFY, output: "out", limits: {seconds: %s, diskBytes: 5000000000}) { id } }'
    await ask(asked % "2.5", of=of)
    assert service.started == [("default", ReplayOrder(kind="verify", rows=[], output="out", seconds=2.5, disk_bytes=5_000_000_000))]
    assert (await refused(asked % "0", of=of)).extensions["field"] == "limits"


async def test_a_dry_run_tells_the_plan_and_starts_nothing(ask, context):
    service = Service()
    asked = '{ replayDryRun(dataset: "raw", where: "k = 1", output: "out") { kind starts excluded diskBytes seconds steps { job } notes } }'
    data = await ask(asked, of=context(services=Services(replays=service)))
    assert data["replayDryRun"] == {
        "kind": "EXCLUSIVE", "starts": ["dataset:file:/raw"], "excluded": 1, "diskBytes": 1 << 40, "seconds": None,
        "steps": [], "notes": [],
    }  # fmt: skip
    assert service.planned == ("default", ReplayOrder(dataset="raw", where="k = 1", rows=[], output="out"))
    assert service.started == []


async def test_a_replay_is_cancelled_committed_and_undone(ask, refused, context):
    service = Service()
    await service.start("default", ReplayOrder(dataset="raw", where="true"))
    of = context(services=Services(replays=service))
    committed = await ask(
        'mutation { commitReplay(id: "1", keepDays: 3) { differences { before } commit { keptUntil datasets { state } } } }', of=of
    )
    assert committed["commitReplay"] == {"differences": [], "commit": {"keptUntil": "2026-02-3", "datasets": [{"state": "DONE"}]}}
    undone = await ask('mutation { undoReplay(id: "1") { commit { datasets { state old } } } }', of=of)
    assert undone["undoReplay"]["commit"]["datasets"] == [{"state": "UNDONE", "old": "/.old"}]
    assert (await ask('mutation { cancelReplay(id: "1") { state } }', of=of))["cancelReplay"] == {"state": "FAILED"}
    assert (await refused('mutation { commitReplay(id: "1", keepDays: -1) { id } }', of=of)).extensions["field"] == "keepDays"


async def test_a_stop_shows_records_and_takes_answers(ask, context):
    service = Service()
    await service.start("default", ReplayOrder(kind="step", output="out"))
    shown = [Shown("dataset:file:/raw", [Row("file:/raw/a.csv", 2, {"v": 3})])]
    service.known["1"].stop = Stop("job:local:clean", shown, [])
    of = context(services=Services(replays=service))
    data = await ask('{ replay(id: "1") { stop { job inputs { dataset rows { file row values } note } outputs { dataset } } } }', of=of)
    rows = [{"file": "file:/raw/a.csv", "row": 2, "values": {"v": 3}}]
    inputs = [{"dataset": "dataset:file:/raw", "rows": rows, "note": None}]
    assert data["replay"]["stop"] == {"job": "job:local:clean", "inputs": inputs, "outputs": []}
    change = 'file: "file:/raw/a.csv", row: 2, edits: [{column: "v", value: "5"}]'
    answer = f'mutation {{ answerReplay(id: "1", action: EDIT, {change}) {{ id stop {{ job }} }} }}'
    assert (await ask(answer, of=of))["answerReplay"] == {"id": "1", "stop": None}
    assert service.answers == [StopAnswer(action="edit", file="file:/raw/a.csv", row=2, values={"v": "5"})]
