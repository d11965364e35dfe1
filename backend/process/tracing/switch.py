"""Turns tracing on if OpenTelemetry's variables ask for it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from headwater.backend.process.tracing import spans
from headwater.errors import ConfigurationError

_log = logging.getLogger("headwater.tracing")
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")


def is_wanted(environment: Mapping[str, str]) -> bool:
    """Whether OpenTelemetry's variables turn tracing on, by `OTEL_TRACES_EXPORTER` or the name of a collector.

    Raises:
        ConfigurationError: the protocol is not supported.
    """
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporter = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if exporter not in ("", "none", "otlp"):
        raise ConfigurationError(f"OTEL_TRACES_EXPORTER is {exporter[:100]!r}.", hint="Traces are sent by `otlp`; `none` turns them off.")
    if exporter == "none" or not (exporter or any(environment.get(name, "").strip() for name in _ENDPOINTS)):
        return False
    protocol = next((stated for name in _PROTOCOLS if (stated := environment.get(name, "").strip())), "http/protobuf")
    if protocol != "http/protobuf":
        raise ConfigurationError(f"The protocol for traces is {protocol[:100]!r}.", hint="Headwater sends them by `http/protobuf`.")
    return True


def start(environment: Mapping[str, str]) -> Callable[[], None]:
    """Turn tracing on if the variables ask for it. The returned function sends waiting spans and turns tracing off.

    The variables are often set for all programs of a machine. If spans cannot be sent with these settings, the log reports it and the
    service works without tracing.
    """
    try:
        if not is_wanted(environment):
            return lambda: None
        from headwater.backend.process.tracing.setup import provider_of
    except ConfigurationError as error:
        _log.warning("No traces are sent. %s %s", error, error.hint or "")
        return lambda: None
    except ImportError:
        _log.warning("No traces are sent: OpenTelemetry's SDK is not installed. pip install 'headwater[otel]'")
        return lambda: None
    provider = provider_of(environment)
    spans.turn_on(provider)

    def end() -> None:
        spans.turn_off()
        provider.shutdown()

    return end
