"""The service's log lines: structured, on standard error, with the id of the request that they belong to."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

_configured: tuple[str, str] | None = None
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tabs and ends of lines


def configure(level: str, form: str) -> None:
    """Send the lines of structlog and of the standard library (uvicorn, GraphQL) one way. `form` is `console` or `json`."""
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
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _harmless, *rendering]
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # Requests have their own lines, with ids; uvicorn's would hold query strings.
    logging.getLogger("uvicorn.access").disabled = True
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)


def configured() -> tuple[str, str] | None:
    """Level and form of the lines, where they were set up: for processes that write beside this one."""
    return _configured


def _harmless(_logger: Any, _method: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Write control characters out: a path that somebody asked for must not control the terminal of whoever reads the log."""
    for name, value in entry.items():
        if isinstance(value, str):
            entry[name] = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", value)
    return entry
