"""Runs small traces in this process, and large traces as Spark jobs on the operator's cluster.

The command line uses it, the service's query processes (which refuse large traces, so that callers start them as jobs), and these jobs. The
settings of the home name the cluster and the size. Callers cannot choose them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from headwater.errors import LargeTraceError
from headwater.graph.records import AssociationStore
from headwater.graph.stores import GraphStore
from headwater.graph.trace.answer import TraceAnswer, TraceRequest
from headwater.graph.trace.questions import DirectQuestions

if TYPE_CHECKING:
    from headwater.backend.home.quick_settings import HomeSettings
    from headwater.graph.trace.session import Session

_MILLION = 1_000_000


class TracesBySize(DirectQuestions):
    """Answers traces in this process or on Spark. `say` is called with the progress of large traces."""

    def __init__(self, settings: HomeSettings, graph: GraphStore, records: AssociationStore, say: Callable[[str], None]) -> None:
        self._master = settings.spark_master
        super().__init__(graph, records, session_factory=self._on_spark, larger_than=settings.spark_trace_rows)
        self._here = DirectQuestions(graph, records)
        self._say = say

    async def trace(self, tenant: str, request: TraceRequest) -> TraceAnswer:
        """Answer a trace (see `Questions`). Traces that Spark does not support run in this process, whatever their size.

        Raises:
            ConfigurationError: Spark cannot be started.
        """
        if self._master is not None:
            from headwater.graph.trace.on_spark.connection import NotOnSparkError

            try:
                return await super().trace(tenant, request)
            except NotOnSparkError as error:
                self._say(f"{error.message} This trace is followed in one process.")
        return await self._here.trace(tenant, request)

    @contextmanager
    def _on_spark(self, session: Session) -> Iterator[Session]:
        from headwater.backend.traces.spark_session import spark_session
        from headwater.graph.trace.on_spark.connection import SparkConnection
        from headwater.graph.trace.on_spark.walk import open_spark_session

        assert self._master is not None  # noqa: S101 - else nothing is too large
        self._say(f"This trace is expected to look at {_size(session)}: it is followed by jobs of Spark.")
        with spark_session(self._master) as spark, open_spark_session(SparkConnection(spark), session, say=self._say) as there:
            yield there


def refusing_large(session: Session) -> AbstractContextManager[Session]:
    """Refuse a large trace instead of starting a Spark session.

    Raises:
        LargeTraceError: always.
    """
    raise LargeTraceError(
        f"This trace is expected to look at {_size(session)}, which is too much to be answered at once.",
        hint="Start it as a job (the mutation startTrace), or ask for fewer records.",
    )


def _size(session: Session) -> str:
    """Return the estimated size of a trace as text. Counting stops once the trace is known to be large."""
    return (
        f"more than {session.expected_rows // _MILLION} million rows"
        if session.expected_rows >= _MILLION
        else f"{session.expected_rows:,} rows"
    )
