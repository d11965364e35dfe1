"""Events to further OpenLineage backends, by real transports; what Spark's configuration says."""

from __future__ import annotations

import json
import logging
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from headwater.spark_listener.delivery.transport_config import transport_config
from headwater.spark_listener.delivery.transports import Transports
from headwater.spark_listener.lineage.events import EventMaker
from headwater.spark_listener.lineage.facets import Ledger
from headwater.spark_listener.lineage.parents import RunName, new_run_id
from headwater.spark_listener.outcome import Outcome
from headwater.spark_listener.settings import load_settings
from headwater.spark_listener.spark_conf import SparkConf

PARENT = f"airflow/dag.task/{new_run_id()}"


def event(job: str = "report") -> dict[str, Any]:
    maker = EventMaker(application=RunName("team", job, new_run_id()), spark_version="4.1.4", parents={"OPENLINEAGE_PARENT_ID": PARENT})
    return maker.application_end("2026-01-01T00:00:00.000000Z", Outcome(), Ledger(status="complete", mode="coarse"))


def test_a_file_gets_the_events_as_they_are(tmp_path: Path) -> None:
    config = transport_config({"transport.type": "file", "transport.location": str(tmp_path / "events.json")}, {})
    assert config is not None
    transports = Transports(config)
    sent = [event("first"), event("second")]
    for one in sent:
        transports.put(one)
    transports.finish(30)
    got = [json.loads(line) for line in (tmp_path / "events.json").read_text().splitlines()]
    for named in (one["run"]["facets"]["parent"][part] for one in got for part in ("run", "job")):
        assert named.pop("facets") == {}  # the package's classes add these
    assert got == sent
    assert transports.summary() == "OpenLineage (file): 2 events sent"


def test_a_composite_reaches_its_parts_and_http_gets_the_key(tmp_path: Path) -> None:
    with _server(lambda handler: handler.send_response(200)) as (url, got):
        config = transport_config(
            {
                "transport.type": "composite", "transport.transports.marquez.type": "http", "transport.transports.marquez.url": url,
                "transport.transports.marquez.auth.type": "api_key", "transport.transports.marquez.auth.apiKey": "hunter2",
                "transport.transports.file.type": "file", "transport.transports.file.location": str(tmp_path / "events.json"),
            },
            {},
        )  # fmt: skip
        assert config is not None
        transports = Transports(config)
        transports.put(event())
        transports.finish(30)
    assert transports.sent == 1, transports.problem
    assert [(path, headers["Authorization"]) for path, headers in got] == [("/api/v1/lineage", "Bearer hunter2")]
    assert len((tmp_path / "events.json").read_text().splitlines()) == 1


def test_a_backend_that_is_away_costs_its_events_and_tells_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    config = transport_config(
        {"transport.type": "http", "transport.url": f"http://me:hunter2@127.0.0.1:{port}", "transport.retry.total": "0"},
        {"OPENLINEAGE_URL": "http://elsewhere"},
    )
    assert config is not None
    with caplog.at_level(logging.DEBUG, "headwater"):
        transports = Transports({**config, "retry": {"total": 0}})
        for _ in range(3):
            transports.put(event())
        transports.finish(60)
    assert (transports.sent, transports.dropped) == (0, 3)
    assert "3 dropped" in transports.summary()
    assert "hunter2" not in transports.summary() + caplog.text


def test_a_backend_that_hangs_does_not_hold_up_the_end() -> None:
    over = threading.Event()
    with _server(lambda _handler: over.wait(60)) as (url, _):
        transports = Transports({"type": "http", "url": url})
        for _ in range(3):
            transports.put(event())
        began = time.monotonic()
        transports.finish(1.0)
        assert time.monotonic() - began < 40
        over.set()
    assert transports.sent == 0
    assert transports.problem is not None


@pytest.mark.parametrize("answer", [500, 200])
@pytest.mark.parametrize("parts", [1, 2])
def test_a_full_queue_does_not_hold_up_the_end_once_it_is_empty(answer: int, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.spark_listener.delivery.transports._MOST", 8)
    begun = threading.Event()

    def late(handler: BaseHTTPRequestHandler) -> None:
        begun.wait(60)
        handler.send_response(answer)

    with _server(late) as (url, got):
        config = {"type": "http", "url": url, "retry": {"total": 0}}
        transports = Transports(config if parts == 1 else {"type": "composite", "transports": {"a": config, "b": config}})
        for _ in range(100):
            transports.put(event())
        threading.Timer(0.5, begun.set).start()
        began = time.monotonic()
        transports.finish(60)
        assert time.monotonic() - began < 40
    assert 0 < len(got) < 100
    assert transports.sent == (0 if answer == 500 else len(got) // parts)  # what had its place arrives


def test_what_openlineage_is_told_to_do() -> None:
    assert transport_config({}, {}) is None
    assert transport_config({"transport.type": "console"}, {"OPENLINEAGE_DISABLED": "true"}) is None
    assert transport_config({}, {"OPENLINEAGE_URL": "http://m", "OPENLINEAGE_API_KEY": "k"}) == {
        "type": "http", "url": "http://m", "endpoint": "api/v1/lineage", "auth": {"type": "api_key", "apiKey": "k"},
    }  # fmt: skip
    kafka = {"transport.type": "kafka", "transport.topicName": "lineage", "transport.properties.bootstrap.servers": "a:9092"}
    assert transport_config(kafka, {}) == {"type": "kafka", "topic": "lineage", "config": {"bootstrap.servers": "a:9092"}}


def test_a_file_of_openlineage_is_read_by_its_own_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "events.json"
    (tmp_path / "openlineage.yml").write_text(f"transport:\n  type: file\n  log_file_path: {target}\n  append: true\n")
    monkeypatch.setenv("OPENLINEAGE_CONFIG", str(tmp_path / "openlineage.yml"))
    config = transport_config({}, {"OPENLINEAGE_CONFIG": str(tmp_path / "openlineage.yml")})
    assert config == {}
    transports = Transports(config)
    transports.put(event())
    transports.finish(30)
    assert len(target.read_text().splitlines()) == 1


def test_the_console_shows_events_where_nobody_has_said_where_logs_go(root: Path) -> None:
    program = """
from headwater.spark_listener.delivery.transports import Transports
from tests.spark_listener.test_transports import event
transports = Transports({"type": "console"})
transports.put(event("shown"))
transports.finish(30)
print(transports.summary())
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "OpenLineage (console): 1 events sent\n"
    (line,) = done.stderr.splitlines()
    assert json.loads(line)["job"]["name"] == "shown"


def test_a_backend_that_comes_back_gets_events_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.spark_listener.delivery.transports._FIRST_PAUSE", 0.0)
    answers = iter([500] * 6 + [200] * 10)
    with _server(lambda handler: handler.send_response(next(answers))) as (url, _):
        transports = Transports({"type": "http", "url": url, "retry": {"total": 0}})
        for _ in range(8):
            transports.put(event())
        transports.finish(60)
    assert (transports.sent, transports.dropped) == (2, 6), transports.problem


def test_a_composite_of_one_in_the_place_of_another_is_left_to_the_client(tmp_path: Path) -> None:
    with _server(lambda handler: handler.send_response(500)) as (url, _):
        config = transport_config(
            {
                "transport.type": "composite", "transport.continueOnSuccess": "false",
                "transport.transports.a.type": "http", "transport.transports.a.url": url,
                "transport.transports.b.type": "file", "transport.transports.b.location": str(tmp_path / "b.json"),
                "transport.transports.c.type": "file", "transport.transports.c.location": str(tmp_path / "c.json"),
            },
            {},
        )  # fmt: skip
        assert config is not None
        config["transports"]["a"]["retry"] = {"total": 0}
        transports = Transports(config)
        transports.put(event())
        transports.finish(60)
    assert transports.summary() == "OpenLineage (composite): 1 events sent"
    assert len((tmp_path / "b.json").read_text().splitlines()) == 1
    assert not (tmp_path / "c.json").exists()


def test_what_kafka_s_java_client_is_told_is_told_its_c_library_in_its_words(caplog: pytest.LogCaptureFixture) -> None:
    given = {
        "bootstrap.servers": "a:9092", "value.serializer": "x.StringSerializer", "ssl.truststore.location": "/t.jks",
        "sasl.jaas.config": 'x.PlainLoginModule required username="me" password="hunter2\\"s";',
    }  # fmt: skip
    conf = {f"transport.properties.{name}": value for name, value in given.items()}
    config = transport_config({"transport.type": "kafka", "transport.topicName": "t", **conf}, {})
    assert config == {
        "type": "kafka", "topic": "t", "config": {"bootstrap.servers": "a:9092", "sasl.username": "me", "sasl.password": 'hunter2"s'},
    }  # fmt: skip
    assert "ssl.truststore.location" in caplog.text
    assert "hunter2" not in caplog.text


def test_spark_s_configuration_says_what_nobody_else_has_said(caplog: pytest.LogCaptureFixture) -> None:
    conf = SparkConf(
        {"mode": "lazy", "namespace": "ours", "exitWait": "-1", "enabled": "true", "wings": "2"},
        {"namespace": "theirs", "appName": "nightly", "parentRunId": "r", "job.tags": "team:core;pii;password:x", "job.owners.team": "a;b"},
    )
    settings = conf.over(load_settings({"HEADWATER_MODE": "coarse"}))
    assert (settings.mode, settings.namespace, settings.name, settings.exit_wait) == ("coarse", "ours", "nightly", 5.0)
    assert "exit_wait cannot be" in caplog.text
    assert "spark.headwater.wings" in caplog.text
    assert conf.over(load_settings({}, namespace="mine")).namespace == "mine"
    assert conf.parents({"OPENLINEAGE_PARENT_RUN_ID": "given"})["OPENLINEAGE_PARENT_RUN_ID"] == "given"
    facets = conf.job_facets()
    assert [(tag["key"], tag["value"]) for tag in facets["tags"]["tags"]] == [("team", "core"), ("pii", "true")]
    assert [(owner["name"], owner["type"]) for owner in facets["ownership"]["owners"]] == [("a", "team"), ("b", "team")]


class _server:  # noqa: N801  # used as a function
    """An HTTP server on a free port: its address, and the path and headers of what it got."""

    def __init__(self, answer: Any) -> None:
        got: list[tuple[str, dict[str, str]]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # the name that http.server asks for
                got.append((self.path, dict(self.headers)))
                self.rfile.read(int(self.headers["Content-Length"]))
                answer(self)
                self.end_headers()

            def log_message(self, *_: Any) -> None: ...

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._got = got

    def __enter__(self) -> tuple[str, list[tuple[str, dict[str, str]]]]:
        self._thread.start()
        return f"http://127.0.0.1:{self._server.server_port}", self._got

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
