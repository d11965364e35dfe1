"""Joins a command with the query that it runs: CREATE TABLE AS SELECT, `saveAsTable` and INSERT OVERWRITE DIRECTORY.

The program did one thing, so command and query are one run: the query's, ended by the outermost command, with facts that only commands know
(the table, and whether it is new). The end of the query waits for the end of its command, which follows at once.

If a catalog stages a table until it is filled, the run is the command's, with the capture of the query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from headwater.spark_listener.scribe.running import Running

_FRAMES = re.compile(r"\b(?:\w*AsSelectCommand|SaveAsV1TableCommand|InsertIntoDataSourceDirCommand)$")
_WRITES = re.compile(r"\bInsertInto\w+$")
_OF_COMMAND = ("table", "catalog", "catalog_of", "change")
Ended = tuple[Mapping[str, Any], Running]


class Framed:
    """Ended queries, and commands within commands, that wait for the end of their outermost command, by its execution."""

    def __init__(self) -> None:
        self._queries: dict[Any, Ended] = {}
        self._tables: dict[Any, Mapping[str, Any]] = {}  # facts of an inner command about its table
        self._staged: dict[Any, Mapping[str, Any]] = {}  # ends of queries that fill a table, by the command that creates it

    def hold(self, event: Mapping[str, Any], query: Running, command: Running | None) -> bool:
        """Return whether the end of the query must wait for the end of `command`, the outermost command around it."""
        sink = (event.get("plan") or {}).get("sink") or {}
        if sink.get("staged"):
            self._staged[query.root] = event
            return True
        if command is None or not _FRAMES.search(command.command):
            return False
        if _FRAMES.search(query.command):
            self._tables[command.execution] = sink
            return True
        if not sink or command.execution in self._queries:
            return False
        self._queries[command.execution] = (event, query)
        return True

    def whole(self, event: Mapping[str, Any], command: Running) -> Ended:
        """Complete a query by the end of its command, or a command by its query. Other queries are returned unchanged."""
        event = _filled(event, self._staged.pop(event["execution"], None))
        if not _FRAMES.search(command.command):
            return event, command
        plan = event.get("plan") or {}
        table = {**(plan.get("sink") or {}), **self._tables.pop(command.execution, {})}
        framed = self._queries.pop(command.execution, None)
        if framed is None:
            return {**event, "plan": {**plan, "sink": table or None}}, command
        inner, query = framed
        sink = {**inner["plan"]["sink"], **{name: table[name] for name in _OF_COMMAND if table.get(name)}}
        ending = {"time": event["time"], "error": event.get("error") or inner.get("error"), "sql": inner.get("sql") or event.get("sql")}
        started = query.started if query.start_spooled else command.started
        return {**inner, **ending, "plan": {**inner["plan"], "sink": sink}}, replace(query, started=started)

    def left(self) -> Iterator[Ended]:
        """Yield the queries whose commands had not ended when the application did."""
        while self._queries:
            yield self._queries.popitem()[1]


def is_step(query: Running, above: Running | None) -> bool:
    """Return whether a query is a step of the query around it, such as a round of a recursion. Other commands run separate queries."""
    if above is None or above is query:
        return False
    return not above.command.startswith("Execute ") or bool(_WRITES.search(above.command) or _FRAMES.search(above.command))


def _filled(event: Mapping[str, Any], part: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the end of a command that creates a table, with the capture of the query that filled the table."""
    plan = event.get("plan") or {}
    sink = plan.get("sink")
    if part is None or not sink:
        return event
    version = part["plan"]["sink"].get("version")
    sources = [{**source, **_asked(source, part["plan"])} for source in plan.get("sources") or ()]
    filled = {**event, "plan": {**plan, "sources": sources, "sink": {**sink, **({"version": version} if version else {})}}}
    filled["stages"] = part.get("stages") or event.get("stages")
    if capture := part.get("capture"):
        own = {name: sink[name] for name in ("mode", "creates") if name in sink}
        filled["capture"] = {**capture, "sink": {**(capture.get("sink") or {}), **own}}
    return filled


def _asked(source: Mapping[str, Any], plan: Mapping[str, Any]) -> Mapping[str, Any]:
    jdbc = source.get("jdbc")
    known = (other["parts"] for other in plan.get("sources") or () if jdbc and other.get("jdbc") == jdbc and other.get("parts"))
    return {"parts": parts} if (parts := next(known, None)) else {}
