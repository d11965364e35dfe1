"""Columns of a scan that its table does not have: hidden columns, and aggregates that the table answers itself.

Iceberg answers `max(w)` from its metadata, databases and file readers answer more, and the scan then has a column of that name. Hidden
columns (`_file`, `_metadata`) contain the place of a row, and depend on no column.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

_CALL = re.compile(r"\s*\w+\((.*)\)\s*", re.DOTALL)
_NAME = re.compile(r'"((?:[^"]|"")+)"|`((?:[^`]|``)+)`|([^\W\d]\w*)')


def name_table_columns(operators: Sequence[Mapping[str, Any]], sources: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the operators. A scan's extra column has its table columns in `of`.

    A scan of such aggregates has its grouping columns in `groups`.
    """
    tables = {source.get("source"): _columns(source) for source in sources}
    return [_named(operator, tables.get(operator.get("source")) or ()) for operator in operators]


def _columns(source: Mapping[str, Any]) -> list[str]:
    return [*(column["name"] for column in source.get("columns") or ()), *(source.get("partition_columns") or ())]


def _named(operator: Mapping[str, Any], table: Collection[str]) -> Mapping[str, Any]:
    columns = operator.get("columns") or ()
    known = {name.lower(): name for name in table}
    if operator.get("op") != "Scan" or not known or all(column["name"].lower() in known for column in columns):
        return operator
    own = [column for column in columns if column["name"].lower() in known]
    calls = {column["attr"]: _CALL.fullmatch(column["name"]) for column in columns if column not in own}
    made = [column if column in own else {**column, "of": _arguments(calls[column["attr"]], known)} for column in columns]
    return {**operator, "columns": made, "groups": [column["name"] for column in own] if any(calls.values()) else []}


def _arguments(call: re.Match[str] | None, known: Mapping[str, str]) -> list[str]:
    """Return the table columns in a call's arguments, in the notation of the table's reader: `max(w)`, `SUM("price" * qty)`."""
    if call is None:
        return []
    whole = call[1].removeprefix("DISTINCT ").strip()
    names = [whole] if whole.lower() in known else [quoted or ticked or bare for quoted, ticked, bare in _NAME.findall(whole)]
    return list(dict.fromkeys(known[name.lower()] for name in names if name.lower() in known))
