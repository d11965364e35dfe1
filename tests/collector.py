"""A collector of OpenTelemetry: takes spans by OTLP over HTTP, in protobuf, as a real one does."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse


class Collector:
    """The received spans as (name, span), and the attributes of their resources."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.spans: list[tuple[str, Any]] = []
        self.resources: list[dict[str, str]] = []

    def take(self, request: ExportTraceServiceRequest) -> None:
        for resource in request.resource_spans:
            self.resources.append({each.key: each.value.string_value for each in resource.resource.attributes})
            self.spans += [(span.name, span) for scope in resource.scope_spans for span in scope.spans]

    def named(self, name: str, *, patience: float = 60) -> Any:
        """The first span of a name, once it has come."""
        deadline = time.monotonic() + patience
        while (found := next((span for known, span in self.spans if known == name), None)) is None:
            assert time.monotonic() < deadline, [known for known, _ in self.spans]
            time.sleep(0.05)
        return found


@contextmanager
def collector() -> Iterator[Collector]:
    """A collector on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert (self.path, self.headers["Content-Type"]) == ("/v1/traces", "application/x-protobuf")
            body = self.rfile.read(int(self.headers["Content-Length"]))
            unpacked = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            found.take(ExportTraceServiceRequest.FromString(unpacked))
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Collector(f"http://127.0.0.1:{server.server_port}")
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
