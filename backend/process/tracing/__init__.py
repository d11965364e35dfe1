"""Traces of the service by OpenTelemetry: spans for requests, appends to the log, projection and queries.

Tracing is off unless a variable of OpenTelemetry names a collector. While it is off, OpenTelemetry is not
loaded, and `span` only checks one name. A span reports an operation and its duration. It never contains a key, a predicate, a dataset
name or a value of a record. For this reason a span has no path or query of a request and no error message.

The service calls functions of `spans`, `setup` loads the SDK, `log` puts spans around appends.
"""

from __future__ import annotations

from headwater.backend.process.tracing.spans import forward_appended, links_to, note_appended, request_span, span
from headwater.backend.process.tracing.switch import is_wanted, start

__all__ = ["forward_appended", "is_wanted", "links_to", "note_appended", "request_span", "span", "start"]
