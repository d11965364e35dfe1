"""Remembers the location of each table in an application's queries, because that of a dropped table can no longer be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MOST = 10_000
_SHOWN = ("path", "paths", "format", "columns")


class TablePlaces:
    """Locations of tables by catalog and name. `of` completes the description of a table that a command dropped or moved."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Mapping[str, Any]] = {}

    def of(self, plan: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the plan, with the table's location in its sink if only the name was left. Tables in the plan are remembered."""
        sink = plan.get("sink")
        for described in [*(plan.get("sources") or ()), *([sink] if sink else [])]:
            if described.get("table") and described.get("path") and (len(self._known) < _MOST or _key(described) in self._known):
                self._known[_key(described)] = {name: described[name] for name in _SHOWN if described.get(name)}
        if not sink or not sink.get("only_change"):
            return plan
        if sink.get("previous_table"):
            before = self._known.pop(_key({**sink, "table": sink["previous_table"]}), None)
            if before and before.get("path") != sink.get("path"):
                sink = {**sink, "previous_path": before["path"]}
        elif not sink.get("path"):
            known = self._known.pop(_key(sink), None)
            if known is not None:
                sink = {**known, **sink}
                if not str(sink["table"]).startswith("spark_catalog."):  # DROP IF EXISTS in a catalog that does not state what it dropped
                    sink.setdefault("change", "DROP")
        return {**plan, "sink": sink}


def _key(described: Mapping[str, Any]) -> tuple[str, str]:
    return str(described.get("catalog")), str(described["table"]).removeprefix("spark_catalog.").lower()
