"""A user's predicate: DuckDB SQL over the columns of one dataset, and nothing else.

It is parsed before it is used, and refused where it holds more than an expression over columns: a subquery could read any file of
this machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb

from headwater.errors import InvalidQueryError
from headwater.graph.trace.database.held import Database

_FRAME = "SELECT 1 FROM t WHERE (\n{}\n)"


def checked(database: Database, where: str) -> str:
    """The predicate, in parentheses.

    Raises:
        InvalidQueryError: it does not parse, or is more than a predicate.
    """
    row = database.execute("SELECT json_serialize_sql(?)", [_FRAME.format(where)]).fetchone()
    tree: dict[str, Any] = json.loads(row[0]) if row else {"error": True, "error_message": "nothing came back"}
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
    if not plain or others or condition is None or _holds_query(condition):
        raise InvalidQueryError(
            f"The predicate {where!r} is more than a condition on one record.", field="where", hint="Leave out subqueries."
        )
    return f"(\n{where}\n)"


def mentioned(database: Database, predicate: str) -> frozenset[str]:
    """The names in a predicate that was `checked` which may be those of columns, in lower case."""
    row = database.execute("SELECT json_serialize_sql(?)", [_FRAME.format(predicate)]).fetchone()
    return frozenset(name.lower() for name in _names(json.loads(row[0]) if row else None))


def explained(error: duckdb.Error, where: str, columns: Sequence[str]) -> InvalidQueryError:
    """What was wrong with a predicate that DuckDB refused."""
    reason = re.sub(r"^[A-Z]\w+ Error: ", "", str(error).splitlines()[0]).rstrip("!.")
    return InvalidQueryError(
        f"The predicate {where!r} cannot be used: {reason}.", field="where", hint=f"The columns are: {', '.join(columns)}."
    )


def _holds_query(tree: Any) -> bool:
    if isinstance(tree, dict):
        return tree.get("class") == "SUBQUERY" or any(_holds_query(value) for value in tree.values())
    return isinstance(tree, list) and any(_holds_query(value) for value in tree)


def _names(tree: Any) -> Iterator[str]:
    if isinstance(tree, dict):
        if tree.get("class") == "COLUMN_REF":
            yield from tree["column_names"]
        tree = list(tree.values())
    if isinstance(tree, list):
        for part in tree:
            yield from _names(part)
