"""Asks databases for the columns of tables in JDBC queries, if the query's text does not determine them.

This happens on the listener's thread, after the end of a query. `HEADWATER_LOOK_SECONDS` limits a question, and a budget limits all
questions of an application. Each text is asked about once, or again after a pause if the database did not answer for all tables. Without an
answer, the ledger names the unknown columns.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.spark_listener.lineage.connected import tables_to_ask

_log = logging.getLogger("headwater.listener")
_MOST_KEPT = 256
_SECONDS = 5.0  # seconds for all questions of an application
_SECONDS_AT_END = 1.0  # seconds for all questions at the program's end, which waits
_PAUSE_SECONDS = 60.0  # before a question without an answer is asked again

Ask = Callable[[Mapping[str, Any], Sequence[str], int], Mapping[str, Sequence[str]]]  # the read, its tables, milliseconds


@dataclass(frozen=True, slots=True)
class _Answer:
    columns: Mapping[str, Sequence[str]]
    until: float | None  # when the question may be asked again


class AskedTables:
    """The questions to databases of one application. `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left = _SECONDS
        self._left_at_end = _SECONDS_AT_END
        self._is_ending = False
        self._known: OrderedDict[tuple[object, ...], _Answer] = OrderedDict()

    def completed(self, event: Mapping[str, Any], ask: Ask, *, is_ending: bool = False) -> Mapping[str, Any]:
        """Return the end of a query, with the columns of tables that its JDBC reads need. `is_ending`: the program waits."""
        self._is_ending = is_ending
        if event.get("event") != "query_end" or event.get("error"):
            return event
        plan = self._with_columns(event.get("plan"), ask)
        more = [{**part, "plan": self._with_columns(part.get("plan"), ask)} for part in event.get("more") or ()]
        return {**event, "plan": plan, **({"more": more} if more else {})}

    def _with_columns(self, plan: Any, ask: Ask) -> Any:
        sources = (plan or {}).get("sources") or ()
        if not any("jdbc" in source for source in sources):
            return plan
        return {**plan, "sources": [self._asked(source, ask) for source in sources]}

    def _asked(self, source: Mapping[str, Any], ask: Ask) -> Mapping[str, Any]:
        jdbc = source.get("jdbc")
        tables = tables_to_ask(source) if isinstance(jdbc, Mapping) else ()
        if not tables or jdbc is None:
            return source
        columns = tuple(str(column.get("name")) for column in source.get("columns") or ())
        key = (*(jdbc.get(member) for member in ("url", "dbtable", "query", "prepare")), columns)
        return {**source, "jdbc": {**jdbc, "schemas": self._columns(key, jdbc, tables, ask)}}

    def _columns(self, key: tuple[object, ...], jdbc: Mapping[str, Any], tables: Sequence[str], ask: Ask) -> Mapping[str, Sequence[str]]:
        began = self._clock()
        known = self._known.get(key)
        if known is not None and (known.until is None or began < known.until):
            return known.columns
        seconds = min(self._left, self._left_at_end) if self._is_ending else self._left
        if seconds <= 0:
            return known.columns if known is not None else {}
        try:
            found = ask(jdbc, tables, max(1, int(seconds * 1000)))
        except Exception as error:  # noqa: BLE001 - the columns stay unknown, which the ledger says
            _log.debug("asking for the columns of tables", exc_info=error)
            found = {}
        now = self._clock()
        self._left -= now - began
        if self._is_ending:
            self._left_at_end -= now - began
        self._known[key] = _Answer(found, None if set(tables) <= set(found) else now + _PAUSE_SECONDS)
        while len(self._known) > _MOST_KEPT:
            self._known.popitem(last=False)
        return found
