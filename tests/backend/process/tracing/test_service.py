"""A running service sends traces to a real collector, without anything that a caller or a dataset would keep secret."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.home.folder import Home
from headwater.spark_listener.delivery.http import HttpDelivery
from headwater.spark_listener.delivery.leftovers import deliver_leftovers
from headwater.spark_listener.spool import SpoolFolder
from tests.backend.events import run_event
from tests.backend.service import ServiceProcess
from tests.collector import Collector, collector

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"


@pytest.fixture(scope="module")
def traces() -> Iterator[Collector]:
    with collector() as found:
        yield found


@pytest.fixture(scope="module")
def service(traces: Collector, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    home = tmp_path_factory.mktemp("traced")
    # The last turns on traces of FastAPI's own, with all that was asked, in the processes that do not turn them off.
    with ServiceProcess(
        home, OTEL_EXPORTER_OTLP_ENDPOINT=traces.url, OTEL_BSP_SCHEDULE_DELAY="100", OTEL_SERVICE_NAME="lineage",
        FASTAPI_OTEL_AUTO_CONFIGURE="true",
    ) as service:  # fmt: skip
        yield service


def told(span: Any) -> dict[str, Any]:
    return {each.key.removeprefix("headwater."): each.value.string_value or each.value.int_value for each in span.attributes}


def test_a_trace_goes_from_the_sender_through_the_request_and_the_log_to_the_graph(service: ServiceProcess, traces: Collector) -> None:
    with service.client(headers={"Authorization": f"Bearer {service.home.key()}", "traceparent": PARENT}) as client:
        assert client.post("/api/v1/lineage", json=[run_event(1), run_event(2)]).status_code == 201
    request, append, projection = (traces.named(name) for name in ("POST /api/v1/lineage", "log.append", "projection"))
    assert (request.trace_id.hex(), request.parent_span_id.hex()) == (TRACE, SPAN)
    assert told(request) == {"http.request.method": "POST", "http.route": "/api/v1/lineage", "http.response.status_code": 201}
    assert (append.trace_id.hex(), append.parent_span_id) == (TRACE, request.span_id)
    assert told(append) == {"entries": 2}
    assert [(link.trace_id.hex(), link.span_id) for link in projection.links] == [(TRACE, append.span_id)]
    assert told(projection) == {"entries": 2}
    assert traces.resources[0]["service.name"] == "lineage"


@pytest.mark.slow
def test_a_question_is_a_span_of_its_request_without_what_was_asked(service: ServiceProcess, traces: Collector) -> None:
    with service.client() as client:
        asked = {"query": '{ trace(dataset: "/out/secretive", where: "wind > 471147") { total } }'}
        assert client.post("/graphql", json=asked).json()["errors"]
        assert client.get("/api/v1/namespaces/secretive/datasets/secretive?where=471147").status_code == 404
    question, request = traces.named("question"), traces.named("POST /graphql")
    assert (question.trace_id, question.parent_span_id) == (request.trace_id, request.span_id)
    assert told(question)["kind"] == "TraceRequest"
    traces.named("GET /api/v1/namespaces/{namespace}/datasets/{dataset}")
    for _, span in traces.spans:
        for hidden in (b"471147", b"secretive", service.home.key().encode()):
            assert hidden not in span.SerializeToString()


def test_what_dead_programs_left_is_of_the_trace_that_they_ran_in(
    service: ServiceProcess, traces: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = "a" * 31 + "b"
    monkeypatch.setenv("TRACEPARENT", f"00-{trace}-{SPAN}-01")
    folder = SpoolFolder.create(tmp_path / "spool", "app", limit=1 << 20)
    folder.event(run_event(3), durable=True)
    folder.describe(ended=True)
    folder.close()
    monkeypatch.setenv("TRACEPARENT", f"00-{'c' * 32}-{SPAN}-01")
    delivery = HttpDelivery(service.url, service.home.key())
    assert deliver_leftovers(tmp_path / "spool", delivery).arrived == 1
    delivery.close()
    service.settled()
    with service.client() as client:
        client.get("/api/v1/jobs")
    traces.named("GET /api/v1/jobs")
    assert [
        span.parent_span_id.hex() for name, span in traces.spans if name == "POST /api/v1/lineage" and span.trace_id.hex() == trace
    ] == [SPAN]
    assert "c" * 32 not in {span.trace_id.hex() for _, span in traces.spans}


@pytest.mark.parametrize(
    "stated", ["", "00-x", f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{SPAN}-01\r\nX-Api-Key: k"], ids=["none", "odd", "zero", "two lines"]
)
def test_what_is_no_traceparent_is_not_sent_on(stated: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEPARENT", stated)
    folder = SpoolFolder.create(tmp_path / "spool", "app", limit=1 << 20)
    assert folder.traceparent is None
    folder.describe(traceparent=stated)
    assert SpoolFolder.traceparent.func(folder) is None  # type: ignore[attr-defined]
    folder.close()


@pytest.mark.slow
def test_a_service_whose_collector_is_away_works_and_ends(tmp_path: Path) -> None:
    with (
        ServiceProcess(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", OTEL_EXPORTER_OTLP_TIMEOUT="1") as service,
        service.client() as client,
    ):
        assert client.post("/api/v1/lineage", json=run_event(1)).status_code == 201
    assert service.process.returncode == 0


@pytest.mark.slow
def test_nothing_of_opentelemetry_is_loaded_where_nobody_asks_for_traces(tmp_path: Path) -> None:
    Home.at(tmp_path).create()
    program = (
        "import sys; from headwater.backend.serving import LocalService; from headwater.backend.home.settings import load_settings\n"
        f"service = LocalService(load_settings(home={str(tmp_path)!r}, port=0)); service.start(); service.stop()\n"
        "from headwater.backend.process.tracing.spans import _OFF, span\n"
        "assert span('x') is _OFF; print([name for name in sys.modules if name.startswith('opentelemetry.sdk')])"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["[]"]), done.stderr
