"""OpenTelemetry's SDK, as its own variables set it up. Loaded where traces are wanted, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

import headwater


def provider_of(environment: Mapping[str, str]) -> TracerProvider:
    """What makes spans and sends them. It is not the process's own: what libraries would trace for that one stays untraced."""
    stated = environment.get("OTEL_SERVICE_NAME") or "service.name=" in environment.get("OTEL_RESOURCE_ATTRIBUTES", "")
    named = {} if stated else {"service.name": "headwater"}
    provider = TracerProvider(resource=Resource.create({**named, "service.version": headwater.__version__}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider
