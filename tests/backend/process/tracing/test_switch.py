"""When traces are wanted, by OpenTelemetry's own variables."""

from __future__ import annotations

import sys

import pytest

from headwater.backend.process.tracing import is_wanted, start
from headwater.errors import ConfigurationError

HERE = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, False),
        (HERE, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, False),
        ({**HERE, "OTEL_TRACES_EXPORTER": "none"}, False),
        ({**HERE, "OTEL_SDK_DISABLED": "true"}, False),
        ({**HERE, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, True),
    ],
)
def test_traces_are_sent_where_a_collector_is_named(environment: dict[str, str], wanted: bool) -> None:
    assert is_wanted(environment) is wanted


@pytest.mark.parametrize("odd", [{"OTEL_TRACES_EXPORTER": "zipkin"}, {**HERE, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}])
def test_what_there_is_no_way_for_is_refused(odd: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match=r"(?i)traces"):
        is_wanted(odd)


def test_a_service_starts_without_traces_where_its_cluster_asks_for_others(caplog: pytest.LogCaptureFixture) -> None:
    start({**HERE, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})()
    assert "No traces are sent. The protocol for traces is 'grpc'." in caplog.text


def test_a_service_starts_without_traces_where_the_package_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "headwater.backend.process.tracing.setup", None)
    start(HERE)()
    assert "SDK is not installed" in caplog.text
