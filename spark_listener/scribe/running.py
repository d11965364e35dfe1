"""The queries that run now: which of them are to be told before they end, and which of those that ended are no runs of their own.

For the scribe. A query that is over at once costs nothing more than its two events; of one that lasts, START is in the spool soon after it
began, so that a killed driver leaves a run that whoever finds the spool can end, and RUNNING follows at growing intervals.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headwater.spark_listener.lineage.parents import new_run_id

TELL_AFTER = 0.2  # seconds
_PROGRESS = 30.0  # seconds until the first RUNNING; each further one waits twice as long as the last
_LONGEST = 3600.0
_MOST = 10_000

# A reader that infers a schema runs queries of its own. They read for no result of the program.
_CHECKPOINT = re.compile(r"^org\.apache\.spark\.sql\.(?:classic\.)?Dataset\.(?:checkpoint|localCheckpoint)\(")
_ITERATOR = re.compile(r"\.to(?:Python|Local)Iterator\(")
_SQL = re.compile(r"\bSparkSession\.sql\(")
_READ_BY_SQL = re.compile(r"\b(?:csv|json)\b", re.IGNORECASE)
_READER = re.compile(r"\bDataFrameReader[.$]")


@dataclass(slots=True)
class Running:
    """A query that has started. `description` is Spark's, or the user's own; `call` the method of Spark that began it.

    `root` is the query that it is a part of.
    """

    execution: Any
    started: str
    description: str
    call: str
    root: Any
    command: str  # the first operator of what runs
    run_id: str
    due: float
    pause: float = _PROGRESS
    start_spooled: bool = False  # its START is in the spool
    nested_outputs: int = 0  # how many queries below this one wrote something

    @property
    def keeps_rows(self) -> bool:
        """Whether it is a checkpoint: it makes rows that other queries of the program read, and that nobody else does."""
        return bool(_CHECKPOINT.search(self.call))

    @property
    def reads_later(self) -> bool:
        """Whether its rows are read after its end, as the program asks for them."""
        return bool(_ITERATOR.search(self.call))

    @property
    def is_by_sql(self) -> bool:
        """Whether it ran within `spark.sql`, which runs commands; other queries are its own."""
        return bool(_SQL.search(self.call))

    @property
    def looks_at_schema(self) -> bool:
        """Whether a reader started it to find out what columns there are."""
        return is_reader(self.call)


def is_look(sql: str, plan: Mapping[str, Any]) -> bool:
    """Whether a query within `spark.sql` finds out which columns CSV or JSON files have that the text names: it reads them as lines."""
    return may_look(plan) and bool(_READ_BY_SQL.search(sql))


def may_look(plan: Mapping[str, Any]) -> bool:
    """Whether a query within `spark.sql` may be such a look, as long as the text is not known."""
    sources = plan.get("sources") or ()
    writes = plan.get("command") or plan.get("sink")
    return bool(sources) and not writes and all(known.get("format") == "text" for known in sources)


def is_reader(call: str) -> bool:
    """Whether a method of Spark is one of a reader that infers a schema."""
    return bool(_READER.search(call))


class RunningQueries:
    """By their execution. `due` gives those that should be told now."""

    def __init__(self) -> None:
        self._queries: dict[Any, Running] = {}

    def __len__(self) -> int:
        return len(self._queries)

    def begin(self, event: Mapping[str, Any], started: str) -> None:
        """A query began."""
        if len(self._queries) < _MOST:
            execution = event["execution"]
            self._queries[execution] = Running(
                execution, started, str(event.get("description") or ""), str(event.get("call") or ""), event.get("root"),
                str(event.get("command") or ""), new_run_id(), due=time.monotonic() + TELL_AFTER,
            )  # fmt: skip

    def end(self, execution: Any, ended: str) -> Running:
        """The query that ended, also where its beginning is not known."""
        return self._queries.pop(execution, None) or Running(execution, ended, "", "", None, "", new_run_id(), due=0.0)

    def description(self, execution: Any) -> str:
        """What Spark, or the user, calls a query that runs."""
        query = self._queries.get(execution)
        return query.description if query is not None else ""

    def above(self, query: Running) -> Running | None:
        """The query that this one is a part of, while it runs."""
        above = self._queries.get(query.root)
        return None if above is query else above

    def wrote(self, query: Running) -> None:
        """The query wrote something: it is what the one that it is a part of came to."""
        above = self.above(query)
        if above is not None:
            above.nested_outputs += 1

    def waiting(self) -> bool:
        """Whether a query is young, and so soon to be told."""
        return any(query.pause == _PROGRESS for query in self._queries.values())

    def due(self) -> Iterator[Running]:
        """Those to be told now; each is due again later."""
        now = time.monotonic()
        for query in list(self._queries.values()):
            if query.due <= now:
                query.due = now + query.pause
                query.pause = min(query.pause * 2, _LONGEST)
                yield query
