"""A user's predicate: DuckDB SQL over the columns of one dataset, and nothing else.

It is parsed before it is used, and refused where it holds more than a condition on one record: a subquery could read any file of this
machine, and a function such as `repeat` or `range` could fill its memory. Only the functions listed in `functions` may stand in it.
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
# The parts of an expression that depend on one record alone. Not here: subqueries, aggregates over windows, lambdas, parameters, `*`.
_PARTS = frozenset(
    {"BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION", "OPERATOR", "TYPE"}
)
_NAMED = {"SUBQUERY": "a subquery", "WINDOW": "a window function", "LAMBDA": "a lambda", "PARAMETER": "a parameter", "STAR": "a *"}
_UNKNOWN = re.compile(r"Binder Error: Referenced (?:column|table) \"(.+?)\" not found", re.DOTALL)
_FRAME = "SELECT 1 FROM t WHERE (\n{}\n)"


def checked(database: Database, where: str) -> str:
    """The predicate, in parentheses.

    Raises:
        InvalidQueryError: it does not parse, is too long, is more than a predicate, or uses a function that predicates may not.
    """
    if len(where) > _LONGEST:
        raise InvalidQueryError(
            f"The predicate has {len(where):,} characters.",
            field="where",
            hint=f"It may have {_LONGEST:,}; name many records by file and row.",
        )
    if not _is_text(where):
        raise InvalidQueryError(
            f"The predicate {where!r} holds half a character.", field="where", hint="Write it in UTF-8, without lone surrogates."
        )
    tree = _parsed(database, where)
    if tree.get("error"):
        raise InvalidQueryError(
            f"The predicate {where!r} does not parse: {tree.get('error_message')}.",
            field="where",
            hint="It is SQL, as origin = 'EWR' AND month = 2.",
        )
    statements = tree["statements"]
    node = statements[0]["node"] if len(statements) == 1 else {}
    plain = node.get("type") == "SELECT_NODE" and (node.get("from_table") or {}).get("type") == "BASE_TABLE" and not node.get("modifiers")
    condition = node.get("where_clause")
    others = any(node.get(key) for key in ("group_expressions", "having", "qualify", "sample"))
    if not plain or others or condition is None:
        raise InvalidQueryError(
            f"The predicate {where!r} is more than a condition on one record.", field="where", hint="Write one condition."
        )
    for part in _parts(condition):
        _check_part(part, where)
    return f"(\n{where}\n)"


def _is_text(where: str) -> bool:
    """Whether it can be written as UTF-8, as DuckDB needs it. A command line may hold bytes that are no text."""
    try:
        where.encode()
    except UnicodeEncodeError:
        return False
    return True


def mentioned(database: Database, predicate: str) -> frozenset[str]:
    """The names in a predicate that was `checked` which may be those of columns, in lower case."""
    return frozenset(name.lower() for name in _names(_parsed(database, predicate)))


def _parsed(database: Database, where: str) -> dict[str, Any]:
    """A predicate in its frame, as DuckDB's JSON of the syntax tree."""
    row = database.execute("SELECT json_serialize_sql(?)", [_FRAME.format(where)]).fetchone()
    try:
        tree: dict[str, Any] = json.loads(row[0]) if row else {"error": True, "error_message": "nothing came back"}
    except RecursionError:
        return {"error": True, "error_message": "it is nested too deeply"}
    return tree


def explained(error: duckdb.Error, where: str, columns: Sequence[str]) -> InvalidQueryError:
    """What was wrong with a predicate that DuckDB refused."""
    if unknown := _UNKNOWN.match(str(error)):
        near = get_close_matches(unknown[1].lower(), [name.lower() for name in columns], 1)
        meant = next((name for name in columns if [name.lower()] == near), None)
        meant_hint = f"Did you mean {meant}? " if meant is not None else ""
        return InvalidQueryError(
            f"The predicate {where!r} names {unknown[1]}, which is no column.", field="where",
            hint=f"{meant_hint}The columns are: {', '.join(columns)}. Text stands in single quotes.",
        )  # fmt: skip
    reason = re.sub(r"^[A-Z]\w+ Error: ", "", str(error).splitlines()[0]).rstrip("!.")
    return InvalidQueryError(
        f"The predicate {where!r} cannot be used: {reason}.", field="where", hint=f"The columns are: {', '.join(columns)}."
    )


def _check_part(part: dict[str, Any], where: str) -> None:
    kind = str(part["class"])
    if kind not in _PARTS:
        what = _NAMED.get(kind, kind.lower().replace("_", " "))
        raise InvalidQueryError(
            f"The predicate {where!r} is more than a condition on one record: it holds {what}.", field="where", hint="Leave that out."
        )
    if kind != "FUNCTION":
        return
    name = str(part.get("function_name")).lower()
    if name not in FUNCTIONS or part.get("schema") not in (None, "", "main") or part.get("catalog"):
        raise InvalidQueryError(
            f"A predicate may not use {name}.", field="where", hint="docs/guide/asking.md lists the functions of predicates."
        )


def _parts(tree: Any) -> Iterator[dict[str, Any]]:
    """Every part of an expression, itself first. Without recursion, as a thousand levels may be nested."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if "class" in part:
                yield part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def _names(tree: Any) -> Iterator[str]:
    for part in _parts(tree):
        if part["class"] == "COLUMN_REF":
            yield from part["column_names"]
