"""Columns of a scan that are no columns of its table: hidden ones, and aggregates that the table itself answers.

For column lineage. Iceberg answers `max(w)` from its metadata, databases and file readers answer more, and their scans then have a column
of that name. Hidden columns (`_file`, `_metadata`) tell where a row is, and are made of no column.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

_CALL = re.compile(r"\s*\w+\((.*)\)\s*", re.DOTALL)
_NAME = re.compile(r'"((?:[^"]|"")+)"|`((?:[^`]|``)+)`|([^\W\d]\w*)')


def name_table_columns(operators: Sequence[Mapping[str, Any]], sources: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the operators. A scan's column that its table lacks has the table's columns that it is made of in `of`.

    Such a scan of aggregates has the columns that it groups by in `groups`.
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
    """The table's columns in the arguments of a call, as the table's reader writes it: `max(w)`, `SUM("price" * qty)`."""
    if call is None:
        return []
    whole = call[1].removeprefix("DISTINCT ").strip()
    names = [whole] if whole.lower() in known else [quoted or ticked or bare for quoted, ticked, bare in _NAME.findall(whole)]
    return list(dict.fromkeys(known[name.lower()] for name in names if name.lower() in known))
