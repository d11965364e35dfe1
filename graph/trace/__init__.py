"""Tracing: which records a record came from, and where it went.

`trace` and `preview` load DuckDB with their first use; the terms of an answer do not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headwater.graph.trace.answer import Grain, Hop, Incomplete, Made, Semantics, Step, TraceAnswer, TracedRecord, TraceRequest

if TYPE_CHECKING:
    from headwater.graph.trace.engine import trace
    from headwater.graph.trace.preview import RowPage, preview

__all__ = [
    "Grain",
    "Hop",
    "Incomplete",
    "Made",
    "RowPage",
    "Semantics",
    "Step",
    "TraceAnswer",
    "TraceRequest",
    "TracedRecord",
    "preview",
    "trace",
]

_LAZY = {"RowPage": "preview", "preview": "preview", "trace": "engine"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"headwater.graph.trace.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
