"""Checks a user's predicate: a condition on one record, in DuckDB SQL over the columns of one dataset.

Everything else is refused. For example, a subquery could read any file of this machine, and `repeat` or `range` could fill its memory. Only
the functions in `functions` are allowed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import duckdb

from headwater.errors import InvalidQueryError
from headwater.graph.duck.memory_tables import Database
from headwater.graph.trace.functions import FUNCTIONS

_LONGEST = 10_000  # characters
# The parts of an expression that depend on one record alone. Subqueries, windows, lambdas, parameters and `*` are missing on purpose.
_PARTS = frozenset(
    {"BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION", "OPERATOR", "TYPE"}
)
_NAMED = {"SUBQUERY": "a subquery", "WINDOW": "a window function", "LAMBDA": "a lambda", "PARAMETER": "a parameter", "STAR": "a *"}
_UNKNOWN = re.compile(r"Binder Error: Referenced (?:column|table) \"(.+?)\" not found", re.DOTALL)
_FRAME = "SELECT 1 FROM t WHERE (\n{}\n)"
_ALONE = "SELECT 1 FROM t WHERE\n{}\n"  # refuses a list, no expression at all, and a parenthesis that closes the frame


def check_predicate(database: Database, predicate: str) -> str:
    """Return the predicate in parentheses, if it is safe.

    Raises:
        InvalidQueryError: the predicate does not parse, is too long, has other clauses, or uses a function that is not allowed.
    """
    if len(predicate) > _LONGEST:
        raise InvalidQueryError(
            f"The predicate has {len(predicate):,} characters.",
            field="where",
            hint=f"It may have {_LONGEST:,}; name many records by file and row.",
        )
    if not _is_encodable(predicate):
        raise InvalidQueryError(
            f"The predicate {predicate!r} holds half a character.", field="where", hint="Write it in UTF-8, without lone surrogates."
        )
    tree = _parse_predicate(database, predicate)
    if not tree.get("error") and (alone := _parse_predicate(database, predicate, _ALONE)).get("error"):
        tree = alone
    if tree.get("error"):
        raise InvalidQueryError(
            f"The predicate {predicate!r} does not parse: {tree.get('error_message')}.",
            field="where",
            hint="It is SQL, as origin = 'EWR' AND month = 2.",
        )
    statements = tree["statements"]
    node = statements[0]["node"] if len(statements) == 1 else {}
    plain = node.get("type") == "SELECT_NODE" and (node.get("from_table") or {}).get("type") == "BASE_TABLE" and not node.get("modifiers")
    condition = node.get("where_clause")
    has_other_clauses = any(node.get(key) for key in ("group_expressions", "having", "qualify", "sample"))
    if not plain or has_other_clauses or condition is None:
        raise InvalidQueryError(
            f"The predicate {predicate!r} is more than a condition on one record.", field="where", hint="Write one condition."
        )
    for part in _list_parts(condition):
        _check_part(part, predicate)
    return f"(\n{predicate}\n)"


def _is_encodable(predicate: str) -> bool:
    """Return whether the predicate can be written as UTF-8, as DuckDB requires. A command line may contain invalid text."""
    try:
        predicate.encode()
    except UnicodeEncodeError:
        return False
    return True


def list_column_names(database: Database, predicate: str) -> frozenset[str]:
    """Return the names in a checked predicate that may be names of columns, in lower case."""
    return frozenset(name.lower() for name in _list_names(_parse_predicate(database, predicate)))


def _parse_predicate(database: Database, predicate: str, frame: str = _FRAME) -> dict[str, Any]:
    row = database.execute("SELECT json_serialize_sql(?)", [frame.format(predicate)]).fetchone()
    try:
        tree: dict[str, Any] = json.loads(row[0]) if row else {"error": True, "error_message": "nothing came back"}
    except RecursionError:
        return {"error": True, "error_message": "it is nested too deeply"}
    return tree


def explain_error(error: duckdb.Error, predicate: str, columns: Sequence[str]) -> InvalidQueryError:
    """Return an error with the reason why DuckDB refused a predicate, and with similar column names."""
    if unknown_column := _UNKNOWN.match(str(error)):
        similar_names = get_close_matches(unknown_column[1].lower(), [name.lower() for name in columns], 1)
        similar_column = next((name for name in columns if [name.lower()] == similar_names), None)
        meant_hint = f"Did you mean {similar_column}? " if similar_column is not None else ""
        return InvalidQueryError(
            f"The predicate {predicate!r} names {unknown_column[1]}, which is no column.", field="where",
            hint=f"{meant_hint}The columns are: {', '.join(columns)}. Text stands in single quotes.",
        )  # fmt: skip
    reason = re.sub(r"^[A-Z]\w+ Error: ", "", str(error).splitlines()[0]).rstrip("!.")
    return InvalidQueryError(
        f"The predicate {predicate!r} cannot be used: {reason}.", field="where", hint=f"The columns are: {', '.join(columns)}."
    )


def _check_part(part: dict[str, Any], predicate: str) -> None:
    kind = str(part["class"])
    if kind not in _PARTS:
        part_name = _NAMED.get(kind, kind.lower().replace("_", " "))
        raise InvalidQueryError(
            f"The predicate {predicate!r} is more than a condition on one record: it holds {part_name}.",
            field="where",
            hint="Leave that out.",
        )
    if kind != "FUNCTION":
        return
    name = str(part.get("function_name")).lower()
    if name not in FUNCTIONS or part.get("schema") not in (None, "", "main") or part.get("catalog"):
        raise InvalidQueryError(
            f"A predicate may not use {name}.", field="where", hint="docs/guide/asking.md lists the functions of predicates."
        )


def _list_parts(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield an expression and all of its parts. There is no recursion, because a thousand levels may be nested."""
    stack = [tree]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            if "class" in part:
                yield part
            stack += part.values()
        elif isinstance(part, list):
            stack += part


def _list_names(tree: Any) -> Iterator[str]:
    for part in _list_parts(tree):
        if part["class"] == "COLUMN_REF":
            yield from part["column_names"]
