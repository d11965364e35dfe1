"""The lines of the service's audit log. Nothing is answered whose line cannot be written."""

from __future__ import annotations

import asyncio
import json
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog

from headwater.backend.home.folder import Home
from headwater.backend.home.settings import load_settings
from headwater.backend.serving import LocalService
from headwater.client import AsyncClient, Client
from tests.backend.cli.command import headwater
from tests.captured import capture_pipeline

_ROWS = "query ($of: ID!, $where: String) { rows(dataset: $of, where: $where, first: 3) { rows { row } } }"
_TRACE = "query ($of: String!, $where: String) { trace(dataset: $of, where: $where) { total records { dataset } selected { row } } }"
_IMPACT = 'query ($of: String!) { impact(records: {dataset: $of, where: "true"}) { total } }'
_SECRET = "origin = 'A'"


class Audited:
    """A service over captured jobs, and the lines of its audit log."""

    def __init__(self, home: Path, root: Path) -> None:
        self.home, self.root = Home.at(home), root
        self.report = str(root / "report")
        self.service = LocalService(load_settings(home=home, port=0))
        self.key = {"Authorization": f"Bearer {self.home.key()}"}
        self._seen = 0

    def client(self, **headers: str) -> httpx.Client:
        return httpx.Client(base_url=self.service.url, headers=headers, trust_env=False, timeout=60)

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """With the key, unless other headers are given."""
        with self.client() as client:
            return client.request(method, path, **{"headers": self.key, **options})

    def ask(self, document: str, **variables: Any) -> dict[str, Any]:
        with self.client(**self.key) as client:
            answer: dict[str, Any] = client.post("/graphql", json={"query": document, "variables": variables}).json()
            return answer

    def new(self, most: int = 1) -> list[dict[str, Any]]:
        """The lines since the last call, once there are `most`: refusals are written without waiting."""
        deadline = time.monotonic() + 60
        while len(lines := self.home.audit.read_text().splitlines()) < self._seen + most:
            assert time.monotonic() < deadline, lines[self._seen :]
            time.sleep(0.01)
        found = [json.loads(line) for line in lines[self._seen :]]
        self._seen = len(lines)
        return found


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    home, root = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("data")
    asyncio.run(capture_pipeline(home, root))
    audited = Audited(home, root)
    # Its log lines go to standard error, as those of `serve` do: a command of this process must not take them for its own words.
    structlog.reset_defaults()  # an earlier test of this process may have set loggers up for a service
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    audited.service.start()
    yield audited
    audited.service.stop()
    structlog.reset_defaults()


@pytest.fixture
def audited(started: Audited) -> Audited:
    started.new(0)
    return started


def test_rows_that_are_read_are_written(audited: Audited) -> None:
    with audited.client(**audited.key) as client:
        variables = {"of": f"dataset:file:{audited.report}", "where": _SECRET}
        answer = client.post("/graphql", json={"query": _ROWS, "variables": variables}, headers={"X-Request-Id": "rows-1"}).json()
    told = len(answer["data"]["rows"]["rows"])
    assert told
    (entry,) = audited.new()
    assert entry["who"].startswith("key:")
    assert {name: entry[name] for name in ("from", "request", "what", "on", "records", "decision")} == {
        "from": "127.0.0.1", "request": "rows-1", "what": "rows", "on": [f"dataset:file:{audited.report}"], "records": told,
        "decision": "allowed",
    }  # fmt: skip


def test_a_trace_is_written_with_the_datasets_that_it_met(audited: Audited) -> None:
    trace = audited.ask(_TRACE, of=audited.report, where=_SECRET)["data"]["trace"]
    (entry,) = audited.new()
    assert (entry["what"], entry["records"]) == ("trace", len(trace["records"]) + len(trace["selected"]))
    assert {record["dataset"] for record in trace["records"]} < set(entry["on"])
    assert entry["on"][0] == audited.report


def test_no_key_and_no_predicate_is_written(audited: Audited) -> None:
    audited.ask(_TRACE, of=audited.report, where=_SECRET)
    audited.ask(_TRACE, of=audited.report, where=f"{_SECRET} and nothing")
    entries = audited.new(2)
    assert [(entry["decision"], entry.get("reason")) for entry in entries] == [("allowed", None), ("failed", "InvalidQueryError")]
    text = audited.home.audit.read_text()
    assert "origin" not in text
    assert audited.home.key() not in text
    assert stat.S_IMODE(audited.home.audit.stat().st_mode) == 0o600


def test_the_impact_of_records_is_written(audited: Audited) -> None:
    audited.ask(_IMPACT, of=str(audited.root / "raw" / "weather.csv"))
    with audited.client(**audited.key) as client:
        asked = {"records": str(audited.root / "raw" / "weather.csv"), "where": "true"}
        client.get("/api/v1/impact", params=asked).raise_for_status()
    first, second = audited.new(2)
    assert first["what"] == second["what"] == "impact"
    assert first["records"] == second["records"] > 10


def test_both_clients_ask_for_the_derived_records_of_a_subject_and_it_is_written(audited: Audited) -> None:
    client, waiting = Client(audited.service.url, audited.home.key()), AsyncClient(audited.service.url, audited.home.key())
    source = str(audited.root / "raw" / "weather.csv")
    found = client.subject_access(source, where=_SECRET)
    (entry,) = audited.new()
    assert (entry["what"], entry["records"], entry["on"][0]) == ("subject", len(found.records) + len(found.selected), source)
    assert f"dataset:file:{audited.report}" in {record.dataset for record in found.records} & set(entry["on"])
    assert (found.complete, found.former_records, found.total) == (True, [], len(found.records))
    assert asyncio.run(waiting.subject_access(source, where=_SECRET)) == found
    audited.new()
    assert _SECRET not in audited.home.audit.read_text()


def test_an_export_is_written_when_it_begins_and_when_it_ends(audited: Audited) -> None:
    with audited.client(**audited.key) as client:
        target = f"dataset:file:{audited.report}"
        document = client.get("/api/v1/prov", params={"target": target, "where": _SECRET}).raise_for_status().json()
    began, ended = audited.new(2)
    assert [began["what"], ended["what"]] == ["export.prov", "export.prov.end"]
    assert began["on"] == ended["on"] == [target]
    (bundle,) = document["bundle"].values()
    records = [entity for entity in bundle["entity"].values() if "Record" in json.dumps(entity.get("prov:type"))]
    assert ended["records"] == len(records) > 0


def test_what_changes_something_is_written_before_it_is_done(audited: Audited) -> None:
    node = f"dataset:file:{audited.report}"
    declaration = {"descriptions": [{"id": node, "aspect": "owner", "value": "ann"}]}
    document = "mutation ($d: JSON!) { declare(declaration: $d) }"
    assert "errors" not in audited.ask(document, d=declaration)
    with audited.client(**audited.key) as client:
        client.post("/api/v1/declarations", json=declaration).raise_for_status()
    audited.ask('mutation { startReplay(dataset: "nothing", where: "true") { id } }')
    first, second, third, fourth = audited.new(4)
    assert [(entry["what"], entry["on"], entry["decision"]) for entry in (first, second)] == [("declare", [node], "allowed")] * 2
    assert [(entry["what"], entry["on"], entry["decision"]) for entry in (third, fourth)] == [
        ("replay.start", ["nothing"], "allowed"), ("replay.start", ["nothing"], "failed"),
    ]  # fmt: skip


def _of_session(audited: Audited, act: Callable[[httpx.Client], httpx.Response]) -> httpx.Response:
    with audited.client() as browser:
        browser.get(audited.service.link())
        return act(browser)


_REFUSED: list[tuple[str, Callable[[Audited], object], dict[str, str]]] = [
    ("no key", lambda a: a.send("POST", "/graphql", headers={}, json={}), {"who": "nobody", "what": "graphql"}),
    ("a foreign name", lambda a: a.send("GET", "/healthz", headers={"Host": "evil"}), {"who": "nobody", "what": "health"}),
    ("too large", lambda a: a.send("POST", "/api/v1/lineage", content=b" " * (33 << 20)), {"who": "key", "what": "intake.events"}),
    ("a session", lambda a: _of_session(a, lambda b: b.post("/api/v1/lineage", json={})), {"who": "session", "what": "intake.events"}),
    (
        "a mutation",
        lambda a: _of_session(a, lambda b: b.post("/graphql", json={"query": "mutation { declare(declaration: {}) }"})),
        {"who": "session", "what": "graphql.declare"},
    ),
    ("a costly document", lambda a: a.ask("{" * 200), {"who": "key", "what": "graphql"}),
]


@pytest.mark.parametrize(("act", "expected"), [case[1:] for case in _REFUSED], ids=[case[0] for case in _REFUSED])
def test_what_is_refused_is_written(audited: Audited, act: Callable[[Audited], object], expected: dict[str, str]) -> None:
    act(audited)
    *opened, entry = audited.new(2 if expected["who"] == "session" else 1)
    assert [line["what"] for line in opened] == ["session.open"] * (expected["who"] == "session")
    assert entry["decision"] == "refused"
    assert entry["reason"]
    assert {"who": entry["who"].partition(":")[0], "what": entry["what"]} == expected


@pytest.mark.parametrize(("trusted", "address"), [((), "127.0.0.1"), (("127.0.0.0/8",), "203.0.113.9")])
def test_the_address_is_that_of_the_client_where_its_proxy_is_trusted(tmp_path: Path, trusted: tuple[str, ...], address: str) -> None:
    service = LocalService(load_settings(home=tmp_path, port=0, trusted_proxies=trusted))
    service.start()
    try:
        with httpx.Client(base_url=service.url, trust_env=False, timeout=60) as client:
            assert client.post("/graphql", headers={"X-Forwarded-For": "203.0.113.9"}).status_code == 401
    finally:
        service.stop()
    lines = map(json.loads, Home.at(tmp_path).audit.read_text().splitlines())
    assert [entry["from"] for entry in lines if entry.get("decision") == "refused"] == [address]


def test_the_command_lists_what_was_written(audited: Audited) -> None:
    audited.ask(_ROWS, of=f"dataset:file:{audited.report}")
    audited.new()
    home = str(audited.home.path)
    listed = json.loads(headwater("audit", "--home", home, "--dataset", "report", "-n", "1", "--format", "json").stdout)
    assert [(entry["what"], entry["on"]) for entry in listed] == [("rows", [f"dataset:file:{audited.report}"])]
    assert "report" in headwater("audit", "--home", home, "--who", "key:", "--since", "2020-01-01", COLUMNS="400").stdout
    assert "no instant" in headwater("audit", "--home", home, "--since", "soon", code=2).stderr


def test_nothing_is_told_that_cannot_be_written(tmp_path: Path) -> None:
    """The disk of the audit log is full: questions of records are refused, others answered, `readyz` says so, and all of it passes."""
    home, root = tmp_path / "home", tmp_path / "data"
    home.mkdir()
    root.mkdir()
    asyncio.run(capture_pipeline(home, root))
    (home / "audit.jsonl").symlink_to("/dev/full")
    audited = Audited(home, root)
    audited.service.start()
    try:
        answers = [audited.ask(_ROWS, of=f"dataset:file:{audited.report}"), audited.ask(_TRACE, of=audited.report, where="true")]
        for answer in answers:
            (error,) = answer["errors"]
            assert (answer["data"], error["extensions"]["code"], error["extensions"]["transient"]) == (None, "UnavailableError", True)
            assert "audit.jsonl" in error["message"]
        with audited.client(**audited.key) as client:
            target = {"target": f"dataset:file:{audited.report}", "where": "true"}
            assert client.get("/api/v1/prov", params=target).status_code == 503
            assert client.post("/api/v1/declarations", json={}).status_code == 503
            assert "errors" not in audited.ask("{ service { nodes } }")
            ready = client.get("/readyz")
            assert (ready.status_code, ready.json()["checks"]["audit"]) == (503, "cannot be written: No space left on device")
            audited.home.audit.unlink()
            deadline = time.monotonic() + 60
            while client.get("/readyz").status_code != 200:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        assert "errors" not in audited.ask(_ROWS, of=f"dataset:file:{audited.report}")
        assert [entry["what"] for entry in audited.new(2)] == ["audit.resumed", "rows"]
    finally:
        audited.service.stop()


_READERS = """query ($of: ID!, $since: String!, $until: String) { datasetReaders(dataset: $of, since: $since, until: $until) {
  uncertain damaged searchedBackTo readers { who operations answers records first last } } }"""


def test_readers_of_a_dataset_are_listed_and_those_of_another_are_not(audited: Audited) -> None:
    dataset = f"dataset:file:{audited.report}"
    told = len(audited.ask(_ROWS, of=dataset, where=_SECRET)["data"]["rows"]["rows"])
    audited.ask(_ROWS, of=dataset, where="false")
    (with_records, _) = audited.new(2)
    asked = {"of": dataset, "since": with_records["at"]}
    (reader,) = audited.ask(_READERS, **asked)["data"]["datasetReaders"]["readers"]
    assert (reader["answers"], reader["records"], reader["first"]) == (1, told, with_records["at"])
    assert audited.ask(_READERS, of=dataset, since="2020-01-01", until="2020-01-02")["data"]["datasetReaders"]["readers"] == []
    assert audited.ask(_READERS, of=f"{dataset}2", since=with_records["at"])["data"]["datasetReaders"]["readers"] == []
    assert audited.ask(_READERS, of=dataset, since="yesterday")["errors"]
    client, waiting = Client(audited.service.url, audited.home.key()), AsyncClient(audited.service.url, audited.home.key())
    found = client.dataset_readers(dataset, since=with_records["at"])
    assert (found.readers[0].who, found.readers[0].records, found.damaged, found.searched_back_to) == (reader["who"], told, 0, None)
    assert asyncio.run(waiting.dataset_readers(dataset, since=with_records["at"])) == found
