"""OpenTelemetry's SDK, configured by its own variables. Loaded only if tracing is on."""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

import headwater


def provider_of(environment: Mapping[str, str]) -> TracerProvider:
    """Return the provider that makes and sends spans. It is not the global provider, so libraries add no spans of their own."""
    stated = environment.get("OTEL_SERVICE_NAME") or "service.name=" in environment.get("OTEL_RESOURCE_ATTRIBUTES", "")
    named = {} if stated else {"service.name": "headwater"}
    provider = TracerProvider(resource=Resource.create({**named, "service.version": headwater.__version__}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider
