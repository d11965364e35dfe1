"""Traces of the service by OpenTelemetry: spans for requests, appends to the log, projection and questions.

For whoever runs a service beside others that are traced. Off unless a variable of OpenTelemetry names a collector; then nothing of
OpenTelemetry is loaded, and `span` costs a look at one name. A span tells what was done and how long it took. It must never tell a key, a
predicate, a name of a dataset or a value of a record: so it has no path or query of a request, and no message of an error.

`spans` is what the service calls, `setup` loads the SDK, `log` puts spans around appends.
"""

from __future__ import annotations

from headwater.backend.tracing.spans import forward_appended, links_to, note_appended, request_span, span
from headwater.backend.tracing.switch import is_wanted, start

__all__ = ["forward_appended", "is_wanted", "links_to", "note_appended", "request_span", "span", "start"]
