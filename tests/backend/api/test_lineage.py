"""`POST /api/v1/lineage`: what is acknowledged is kept, what is refused names its field and is kept as a dead letter."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.backend.api.impact import _reasons
from headwater.backend.ingest.log import DeadLetter
from headwater.backend.ingest.log.sqlite import SqliteLog
from headwater.spark_listener.registry import Registry
from tests.backend.events import body, run_event
from tests.backend.service import ServiceProcess

_PATH = "/api/v1/lineage"


@pytest.fixture
def letters(service: ServiceProcess) -> Callable[[], list[DeadLetter]]:
    """The dead letters that came since the test began."""

    def read() -> list[DeadLetter]:
        log = SqliteLog(service.home.log)
        try:
            return log.dead_letters("default", first=10_000)
        finally:
            log.close()

    before = {letter.id: letter.times for letter in read()}
    return lambda: [letter for letter in read() if letter.times != before.get(letter.id)]


def _kept(service: ServiceProcess, event: dict[str, Any]) -> list[bytes]:
    connection = sqlite3.connect(f"file:{service.home.log}?mode=ro", uri=True)
    rows = [text for (text,) in connection.execute("SELECT body FROM entry")]
    connection.close()
    return [text for text in rows if json.loads(text).get("run") == event["run"]]


def test_an_event_is_kept_as_it_came(client: httpx.Client, service: ServiceProcess) -> None:
    event = run_event(1000)
    sent = json.dumps(event, indent=2).encode()
    response = client.post(_PATH, content=sent)
    assert (response.status_code, response.json()) == (201, {"accepted": 1, "duplicates": 0, "rejected": []})
    assert _kept(service, event) == [sent]


def test_an_event_sent_again_in_other_words_changes_nothing(client: httpx.Client, service: ServiceProcess) -> None:
    event = run_event(1001)
    client.post(_PATH, content=json.dumps(event))
    again = client.post(_PATH, content=json.dumps(dict(reversed(event.items())), indent=1))
    assert (again.status_code, again.json()["duplicates"]) == (201, 1)
    assert len(_kept(service, event)) == 1


def test_gzip_and_arrays_are_taken(client: httpx.Client, service: ServiceProcess) -> None:
    events = [run_event(number) for number in range(1010, 1020)]
    response = client.post(_PATH, content=gzip.compress(body(*events)), headers={"Content-Encoding": "gzip"})
    assert response.json()["accepted"] == 10
    assert all(len(_kept(service, event)) == 1 for event in events)


def test_an_invalid_event_is_named_and_kept_byte_for_byte(client: httpx.Client, letters: Callable[[], list[DeadLetter]]) -> None:
    sent = b' {"eventType" : "COMPLETE",\t"run": {"runId": 5}}\n'
    response = client.post(_PATH, content=sent)
    assert response.status_code == 422
    told = response.json()
    assert (told["error"], told["field"], told["accepted"]) == ("InvalidEvent", "$.eventTime", 0)
    (letter,) = letters()
    assert (letter.body, letter.field, letter.reason) == (sent, "$.eventTime", told["message"])


def test_of_an_array_the_valid_are_taken_and_the_others_named(
    client: httpx.Client, service: ServiceProcess, letters: Callable[[], list[DeadLetter]]
) -> None:
    good, bad = run_event(1030), run_event(1031, eventTime="soon")
    response = client.post(_PATH, content=body(good, bad))
    assert response.status_code == 422
    assert response.json()["accepted"] == 1
    assert [(item["index"], item["field"]) for item in response.json()["rejected"]] == [(1, "$[1].eventTime")]
    assert len(_kept(service, good)) == 1
    assert _kept(service, bad) == []
    assert [json.loads(letter.body) for letter in letters()] == [bad]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (b"", b""),
        (b"{", b"{"),
        (b"\xff\xfe", "\ufffd\ufffd[the rest is left out]".encode()),
        (b'{"a": NaN}', b'{"a": NaN}'),
        (b"[" * 50_000, b"[" * 2_000 + b"[the rest is left out]"),
        (b'{"a": 1, "password": "hunter2", ', b'{"a": 1, "[the rest is left out]'),
        (b'{"a": 1, "a": 2}', b'{"a": 1, "a": 2}'),
        (b'{"secret": 5, "secret": null}', b'{"secret":"[redacted]","secret (1)":null}'),
    ],
)
def test_what_is_not_json_is_kept_too(client: httpx.Client, letters: Callable[[], list[DeadLetter]], sent: bytes, kept: bytes) -> None:
    assert client.post(_PATH, content=sent).status_code == 422
    assert [letter.body for letter in letters()] == [kept]


def test_of_many_refusals_a_hundred_are_told_and_the_others_counted(client: httpx.Client, letters: Callable[[], list[DeadLetter]]) -> None:
    response = client.post(_PATH, content=json.dumps([run_event(1045), *({"number": number} for number in range(250))]))
    told = response.json()
    assert (response.status_code, told["accepted"], len(told["rejected"]), told["more_rejected"]) == (422, 1, 100, 150)
    assert len(letters()) == 100
    assert len(response.content) < 50_000


@pytest.mark.parametrize("path", [_PATH, "/api/v1/captures", "/api/v1/declarations", "/graphql"])
@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (b'{"query": "{ service { version } }", "a": 1, "a": 2}', "'a' twice"),
        (b'{"query": "{ service { version } }", "a": "\\ud800"}', "lone surrogate"),
        (b'{"query": ' + b"[" * 90_000 + b"]" * 90_000 + b"}", "nested too deeply"),
        (b'{"query": 1e999}', "no number"),
    ],
)
def test_every_door_refuses_what_parsers_read_differently(client: httpx.Client, path: str, sent: bytes, message: str) -> None:
    response = client.post(path, content=sent, headers={"Content-Type": "application/json"})
    assert response.status_code == 422
    assert message in response.text


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"eventTime": "0001-01-01T00:00:00+14:00"}, "$.eventTime"),
        ({"eventTime": "9999-12-31T23:59:59-14:00"}, "$.eventTime"),
        ({"job": {"namespace": "tests", "name": "x" * 5_000}}, "$"),
        ({"inputs": [{"namespace": "é" * 350, "name": "ü" * 350}]}, "$"),
    ],
)
def test_what_no_store_holds_is_refused_at_the_door(client: httpx.Client, change: dict[str, Any], field: str) -> None:
    response = client.post(_PATH, json=run_event(1046, **change))
    assert (response.status_code, response.json()["accepted"]) == (422, 0)
    assert response.json()["field"].startswith(field)


def test_broken_gzip_is_refused_and_kept(client: httpx.Client, letters: Callable[[], list[DeadLetter]]) -> None:
    sent = gzip.compress(body(run_event(1040)))[:-6]
    response = client.post(_PATH, content=sent, headers={"Content-Encoding": "gzip"})
    assert response.status_code == 400
    assert "cut short" in response.json()["message"]
    (letter,) = letters()
    assert letter.body.startswith(b'{"eventType": "COMPLETE"')


def test_a_gzip_bomb_is_refused(client: httpx.Client) -> None:
    bomb = gzip.compress(b" " * 100_000_000)
    response = client.post(_PATH, content=bomb, headers={"Content-Encoding": "gzip"})
    assert (response.status_code, response.json()["error"]) == (413, "BodyTooLarge")


def test_a_body_over_the_limit_is_refused_whether_its_length_is_stated_or_not(client: httpx.Client) -> None:
    assert client.post(_PATH, content=b" " * 200_001).status_code == 413
    assert client.post(_PATH, content=(b" " * 50_000 for _ in range(5))).status_code == 413
    assert client.post("/graphql", content=b" " * 200_001).status_code == 413


def test_secrets_do_not_reach_the_log(client: httpx.Client, service: ServiceProcess) -> None:
    event = run_event(1050)
    event["run"]["facets"] = {"spark_properties": {"properties": {"fs.s3a.secret.key": "hunter2", "url": "jdbc:x://u:hunter2@h/d"}}}
    assert client.post(_PATH, json=event).status_code == 201
    connection = sqlite3.connect(f"file:{service.home.log}?mode=ro", uri=True)
    bodies = [text for (text,) in connection.execute("SELECT body FROM entry")]
    connection.close()
    assert not [text for text in bodies if b"hunter2" in text]
    assert [text for text in bodies if b"[redacted]" in text and b"jdbc:x://u:" in text]


def test_what_was_taken_is_counted_and_projected(client: httpx.Client, service: ServiceProcess) -> None:
    def measure(name: str) -> float:
        lines = client.get("/metrics").text.splitlines()
        return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(name)), 0.0)

    accepted, duplicate = 'headwater_events_total{outcome="accepted"}', 'headwater_events_total{outcome="duplicate"}'
    before = measure(accepted), measure(duplicate)
    client.post(_PATH, json=run_event(1060))
    client.post(_PATH, json=run_event(1060))
    assert (measure(accepted), measure(duplicate)) == (before[0] + 1, before[1] + 1)
    service.settled()
    assert measure("headwater_pending_entries") == 0
    assert measure("headwater_projected_entries_total") > 0
    assert 'route="/api/v1/lineage",status="201"' in client.get("/metrics").text


def test_impact_is_streamed_as_lines_with_its_total(client: httpx.Client, service: ServiceProcess) -> None:
    def ran(number: int, job: str, reads: str, writes: str) -> None:
        event = run_event(number)
        event["job"]["name"] = job
        event["inputs"], event["outputs"] = ([{"namespace": "impact", "name": name}] for name in (reads, writes))
        assert client.post(_PATH, json=event).status_code == 201

    ran(1070, "one", "a", "b")
    ran(1071, "two", "b", "c")
    service.settled()
    answer = client.get("/api/v1/impact", params={"focus": "dataset:impact:a"})
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [(line["name"], line["distance"]) for line in lines] == [("one", 1), ("b", 2), ("two", 3), ("c", 4)]
    assert (answer.headers["headwater-total"], answer.headers["content-type"]) == ("4", "application/x-ndjson")
    assert lines[-1]["path"][0] == "dataset:impact:a"
    causes = client.get("/api/v1/impact", params={"focus": "dataset:impact:c", "direction": "upstream", "depth": 1})
    assert (causes.headers["headwater-total"], causes.headers["headwater-beyond"]) == ("1", "1")


def test_an_impact_of_records_that_is_not_exact_says_why(client: httpx.Client, service: ServiceProcess, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    pq.write_table(pa.table({"wind": [1.0, 2.0]}), tmp_path / "out" / "part-0.parquet")
    Registry(service.home.path).add_roots([str(tmp_path / "out")])
    event = run_event(1080)
    event["inputs"] = [{"namespace": "file", "name": str(tmp_path / "ïn")}]
    event["outputs"] = [{"namespace": "file", "name": str(tmp_path / "out")}]
    assert client.post(_PATH, json=event).status_code == 201
    service.settled()
    asked = {"records": str(tmp_path / "out"), "where": "wind > 1", "direction": "upstream"}
    answer = client.get("/api/v1/impact", params=asked)
    assert answer.status_code == 200, answer.text
    assert answer.headers["headwater-exact"] == "false"
    reasons = json.loads(answer.headers["headwater-reasons"])
    asked = {"focus": None, "records": {"dataset": asked["records"], "where": asked["where"]}}
    query = "query ($records: RecordSet) { impact(records: $records, direction: UPSTREAM) { reasons } }"
    told = client.post("/graphql", json={"query": query, "variables": asked}).json()
    assert reasons == told["data"]["impact"]["reasons"] != []


def test_many_or_long_reasons_stay_below_what_a_header_may_be() -> None:
    header = _reasons([f"ö{'x' * 1000}"] * 50)
    shown = json.loads(header)
    assert (len(shown), shown[0][:2], shown[-1]) == (11, "öx", "40 more reasons")
    assert header.isascii()
    assert len(header) < 4_096


def test_an_impact_of_nothing_known_is_refused_before_the_stream(client: httpx.Client) -> None:
    assert client.get("/api/v1/impact", params={"focus": "dataset:impact:nowhere"}).status_code == 404
    assert client.get("/api/v1/impact").json()["field"] == "focus"
    assert client.get("/api/v1/impact", params={"focus": "dataset:x:y", "direction": "both"}).status_code == 400
