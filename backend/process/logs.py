"""The service's log lines: structured, on standard error, with their request id.

Each write costs a system call, and hundreds of requests a second have one line each. The lines of some milliseconds are therefore written
together. A warning or error is written immediately, with all lines before it.
"""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Callable, MutableMapping
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from functools import partial
from threading import Event, Thread
from typing import Any, TextIO

import structlog

REQUESTS = "headwater.request"  # the logger of requests
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/_.~%-]*")  # paths that are written without escapes
_GATHERED = 0.02  # seconds
_configured: tuple[str, str] | None = None
_request_line: Callable[[str, str, str, int, float], None] | None = None
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all control characters except tabs and line ends


def configure(level: str, form: str) -> None:
    """Send the log lines of structlog and of the standard library (uvicorn, GraphQL) to standard error. `form` is `console` or `json`."""
    global _configured  # noqa: PLW0603 - the set-up is the process's, as that of the standard library is
    _configured = (level, form)
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    rendering: list[Any] = (
        [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)]
        if form == "json"
        else [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback)]
    )
    handler = _Gathered(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _harmless, *rendering]
        )
    )
    global _request_line  # noqa: PLW0603 - as above
    plain = logging.getLevelName(level.upper()) <= logging.INFO and (form == "json" or not sys.stderr.isatty())
    _request_line = partial(_write_request, handler, form) if plain else None
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # Requests have their own lines, with ids. uvicorn's lines would contain query strings.
    logging.getLogger("uvicorn.access").disabled = True
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)


def configured() -> tuple[str, str] | None:
    """Return the configured level and form, for child processes."""
    return _configured


def write_request(request_id: str, method: str, path: str, status: int, milliseconds: float) -> bool:
    """Write the line of a request in structlog's form, five times as fast. Returns False if structlog must do it."""
    if _request_line is None or _PLAIN_PATH.fullmatch(path) is None:
        return False
    _request_line(request_id, method, path, status, milliseconds)
    return True


def _write_request(handler: _Gathered, form: str, request_id: str, method: str, path: str, status: int, milliseconds: float) -> None:
    at = f"{datetime.now(UTC).replace(tzinfo=None).isoformat()}Z"
    if form == "json":
        line = (
            f'{{"method": "{method}", "path": "{path}", "status": {status}, "ms": {milliseconds}, "event": "request",'
            f' "request_id": "{request_id}", "logger": "{REQUESTS}", "level": "info", "timestamp": "{at}"}}'
        )
    else:
        line = (
            f"{at} [info     ] {'request':30} [{REQUESTS}] method={method} ms={milliseconds} path={path} request_id={request_id}"
            f" status={status}"
        )
    handler.write(line)


class _Gathered(logging.StreamHandler[TextIO]):
    """Writes lines to a stream, a few at a time and in order."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._lines: list[str] = []
        self._waiting = Event()
        Thread(target=self._run, name="headwater-log-lines", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record. The caller holds the handler's lock."""
        try:
            self.write(self.format(record))
            if record.levelno >= logging.WARNING:
                self.flush()
        except Exception:  # noqa: BLE001 - as every handler: a line that cannot be written ends nothing
            self.handleError(record)

    def write(self, line: str) -> None:
        with self.lock or nullcontext():
            self._lines.append(line + self.terminator)
            is_first = len(self._lines) == 1
        if is_first:
            self._waiting.set()

    def flush(self) -> None:
        """Write the waiting lines; also called at the end of the process."""
        with self.lock or nullcontext():
            lines, self._lines = self._lines, []
            if lines:
                self.stream.write("".join(lines))
            super().flush()

    def _run(self) -> None:
        while True:
            self._waiting.wait()
            self._waiting.clear()
            time.sleep(_GATHERED)
            with suppress(OSError, ValueError):  # the stream is full, or closed
                self.flush()


def _harmless(_logger: Any, _method: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Escape control characters, because a requested path must not control the terminal of a reader."""
    for name, value in entry.items():
        if isinstance(value, str):
            entry[name] = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", value)
    return entry
