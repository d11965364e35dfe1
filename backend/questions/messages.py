"""The messages between the service and its question processes, in the form of `backend.process.messages`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.backend.access.masks import Mask
from headwater.graph.prov import ProvFormat
from headwater.graph.trace.answer import TraceAnswer, TraceRequest
from headwater.graph.trace.explain import ExplainRequest
from headwater.graph.trace.instances import InstanceRequest
from headwater.graph.trace.questions import RowsRequest
from headwater.graph.trace.rank import RankRequest
from headwater.graph.trace.version_diff.answer import DiffRequest

JOB = "--job"  # command-line argument of a process for one job


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """A query for the provenance of traced records, as a document."""

    trace: TraceRequest
    notation: ProvFormat


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A query for a trace that may be large. Its parts are lines about its progress."""

    trace: TraceRequest


@dataclass(frozen=True, slots=True)
class MaskRequest:
    """A query that masks the answer of a job by the present rules."""

    trace: TraceRequest
    answer: TraceAnswer


Direct = RowsRequest | DiffRequest | ExplainRequest | InstanceRequest | RankRequest
Single = TraceRequest | Direct | MaskRequest  # queries whose answer is one message
QuestionRequest = Single | ExportRequest | JobRequest


@dataclass(frozen=True, slots=True)
class Ask:
    """A query. Numbers distinguish the queries of one process. `masks` are the rules for the caller."""

    number: int
    tenant: str
    request: QuestionRequest
    masks: Sequence[Mask] = ()


@dataclass(frozen=True, slots=True)
class Cancel:
    """A message that the answer to a query is no longer needed."""

    number: int
