"""Tracing: which records a record came from, and where it went."""

from headwater.graph.trace.answer import Grain, Hop, Incomplete, Semantics, TracedRecord, TraceAnswer, TraceRequest

__all__ = ["Grain", "Hop", "Incomplete", "Semantics", "TraceAnswer", "TraceRequest", "TracedRecord"]
