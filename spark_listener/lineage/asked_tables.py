"""The columns of tables that a query reads by JDBC, asked of the database where the query's text leaves open which table a column is of.

For the listener's thread, once a query has ended. The question is bounded in time by `HEADWATER_LOOK_SECONDS`, and asked once for one text.
Where there is no answer, the ledger says which columns are not known.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headwater.spark_listener.lineage.connected import tables_to_ask

_log = logging.getLogger("headwater.listener")
_MOST_KEPT = 256

Ask = Callable[[Mapping[str, Any], Sequence[str]], Mapping[str, Sequence[str]]]


class AskedTables:
    """Of one application."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[object, ...], Mapping[str, Sequence[str]]] = OrderedDict()

    def completed(self, event: Mapping[str, Any], ask: Ask) -> Mapping[str, Any]:
        """The end of a query, with the columns of the tables that its reads by JDBC leave open."""
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
        if key not in self._known:
            try:
                self._known[key] = ask(jdbc, tables)
            except Exception as error:  # noqa: BLE001 - the columns stay unknown, which the ledger says
                _log.debug("asking for the columns of tables", exc_info=error)
                self._known[key] = {}
            while len(self._known) > _MOST_KEPT:
                self._known.popitem(last=False)
        return {**source, "jdbc": {**jdbc, "schemas": self._known[key]}}
