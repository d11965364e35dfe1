"""The running queries: decides which are reported before their end, and which are not separate runs.

A short query costs only its two events. A long query has its START in the spool soon after it began, so that its run can be ended after a
crash of the driver. RUNNING follows at growing intervals.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headwater.spark_listener.lineage.parents import new_run_id

TELL_AFTER = 1.0  # seconds; a shorter query is described once, at its end, and an earlier START would double that cost
_PROGRESS = 30.0  # seconds until the first RUNNING; each later interval is twice as long
_LONGEST = 3600.0
_MOST = 10_000

# A reader that infers a schema runs queries that are no results of the program.
_CHECKPOINT = re.compile(r"^org\.apache\.spark\.sql\.(?:classic\.)?Dataset\.(?:checkpoint|localCheckpoint)\(")
_ITERATOR = re.compile(r"\.to(?:Python|Local)Iterator\(")
_SQL = re.compile(r"\bSparkSession\.sql\(")
_READ_BY_SQL = re.compile(r"\b(?:csv|json)\b", re.IGNORECASE)
_READER = re.compile(r"\bDataFrameReader[.$]")


@dataclass(slots=True)
class Running:
    """A started query. `description` is Spark's or the user's; `call` is the Spark method that began it.

    `root` is the query around it.
    """

    execution: Any
    started: str
    description: str
    call: str
    root: Any
    command: str  # the first operator of the query
    run_id: str
    due: float
    pause: float = _PROGRESS
    start_spooled: bool = False  # its START is in the spool
    nested_outputs: int = 0  # number of queries within this one that wrote something

    @property
    def keeps_rows(self) -> bool:
        """Return whether the query is a checkpoint, which only makes rows for other queries of the program."""
        return bool(_CHECKPOINT.search(self.call))

    @property
    def reads_later(self) -> bool:
        """Return whether the program reads the rows of the query after its end."""
        return bool(_ITERATOR.search(self.call))

    @property
    def is_by_sql(self) -> bool:
        """Return whether the query ran within `spark.sql`, which runs commands; other queries are separate."""
        return bool(_SQL.search(self.call))

    @property
    def looks_at_schema(self) -> bool:
        return is_reader(self.call)


def is_look(sql: str, plan: Mapping[str, Any]) -> bool:
    """Return whether a query within `spark.sql` reads CSV or JSON files as lines to infer their columns."""
    return may_look(plan) and bool(_READ_BY_SQL.search(sql))


def may_look(plan: Mapping[str, Any]) -> bool:
    """Return whether a query within `spark.sql` may infer a schema. Its SQL text is not known yet."""
    sources = plan.get("sources") or ()
    writes = plan.get("command") or plan.get("sink")
    return bool(sources) and not writes and all(known.get("format") == "text" for known in sources)


def is_reader(call: str) -> bool:
    return bool(_READER.search(call))


class RunningQueries:
    """The running queries by execution. `due` returns those to report now."""

    def __init__(self) -> None:
        self._queries: dict[Any, Running] = {}

    def __len__(self) -> int:
        return len(self._queries)

    def begin(self, event: Mapping[str, Any], started: str) -> None:
        if len(self._queries) < _MOST:
            execution = event["execution"]
            self._queries[execution] = Running(
                execution, started, str(event.get("description") or ""), str(event.get("call") or ""), event.get("root"),
                str(event.get("command") or ""), new_run_id(), due=time.monotonic() + TELL_AFTER,
            )  # fmt: skip

    def end(self, execution: Any, ended: str) -> Running:
        """Remove and return a query that ended, even if its start is unknown."""
        return self._queries.pop(execution, None) or Running(execution, ended, "", "", None, "", new_run_id(), due=0.0)

    def description(self, execution: Any) -> str:
        query = self._queries.get(execution)
        return query.description if query is not None else ""

    def above(self, query: Running) -> Running | None:
        """Return the query around a query, while it runs."""
        above = self._queries.get(query.root)
        return None if above is query else above

    def wrote(self, query: Running) -> None:
        """Note that a query wrote something. That is also a result of the query around it."""
        above = self.above(query)
        if above is not None:
            above.nested_outputs += 1

    def waiting(self) -> bool:
        return any(query.pause == _PROGRESS for query in self._queries.values())

    def due(self) -> Iterator[Running]:
        """Yield the queries to report now. Each is due again later."""
        now = time.monotonic()
        for query in list(self._queries.values()):
            if query.due <= now:
                query.due = now + query.pause
                query.pause = min(query.pause * 2, _LONGEST)
                yield query
