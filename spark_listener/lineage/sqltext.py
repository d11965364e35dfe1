"""Finds the tables and columns that a SQL text reads, if Spark reads from a database by a query or a FROM clause.

The database runs the text, and Spark only sees its result, so sqlglot parses the text in the database's dialect. A text that cannot be
parsed is never guessed at. `schemas` determines the table of a column if the text does not. Columns without a known table are in `unknown`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headwater.spark_listener.lineage.naming import Name

if TYPE_CHECKING:
    from headwater.spark_listener.lineage.jdbc import Database

_LONGEST = 64 << 10  # characters of a query to parse: the thread has other events to handle
_WITH = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*with\b", re.IGNORECASE | re.DOTALL)
_CHANGES_NAMES = re.compile(r"(?i)search_path|schema|catalog|database|role|user|authorization|\buse\b|exec|call")

Read = tuple[Name, str, str]  # table, column, and OpenLineage's subtype of its part


@dataclass(frozen=True, slots=True)
class ReadByQuery:
    """The sources of a query: `columns` by the name of the result's column; `rows` decide about rows.

    `unknown` are result columns whose sources are not all known. `asks` are the texts of tables whose columns would determine them.
    """

    tables: tuple[Name, ...]
    columns: Mapping[str, frozenset[Read]] = field(default_factory=dict)
    rows: frozenset[Read] = frozenset()
    unknown: tuple[str, ...] = ()
    are_rows_unknown: bool = False
    asks: tuple[str, ...] = ()
    is_table: bool = False  # a table under another name, and nothing else


def read_by(
    sql: str, result: Sequence[str], database: Database, schemas: Mapping[str, Sequence[str]], prepare: str = ""
) -> ReadByQuery | str:
    """Return the sources of a database query with these result columns, or the reason why they are unknown.

    `prepare` is the text before the query, which may be a part of it (`WITH …`), or statements that make its tables.
    `schemas` are the column names of tables, by a table's text in the query, as far as they are known.
    """
    try:
        import sqlglot
        from sqlglot.optimizer.scope import build_scope

        from headwater.spark_listener.lineage.sql_columns import UNKNOWN, Columns
    except ImportError:
        return "the package sqlglot, which parses it, is not installed"
    if len(sql) + len(prepare) > _LONGEST:
        return f"it has more than {_LONGEST:,} characters"
    try:
        is_part = _WITH.match(prepare) is not None
        parsed = sqlglot.parse(f"{prepare}\n{sql}" if is_part else sql, dialect=database.dialect)
        query = parsed[0]
        if len(parsed) != 1 or not isinstance(query, sqlglot.exp.Query):
            return "it is not one query"
        for statement in sqlglot.parse(prepare, dialect=database.dialect) if prepare.strip() and not is_part else ():
            if (made := _prepared(statement)) is None:
                return "a statement of its prepareQuery is none that is followed"
            for name, table in made.items():
                query = query.with_(name, as_=table)
        root = build_scope(query)
        if root is None:
            return "it is not one query"
        walk = Columns(root, database, schemas)
        tables = walk.tables()
    except (Exception, RecursionError):  # noqa: BLE001 - a text of anyone's, in a parser of others: whatever it meets, the query is not understood
        return "it could not be parsed"
    try:
        columns, rows = walk.result(result), walk.rows()
    except (Exception, RecursionError):  # noqa: BLE001 - likewise: the tables are known
        return ReadByQuery(tuple(tables), unknown=tuple(result), are_rows_unknown=True)
    unknown = tuple(name for name, reads in columns.items() if UNKNOWN in reads)
    is_open = unknown or UNKNOWN in rows
    return ReadByQuery(
        tuple(tables),
        {name: reads - {UNKNOWN} for name, reads in columns.items()},
        rows - {UNKNOWN},
        unknown,
        UNKNOWN in rows,
        tuple(dict.fromkeys(text for text in tables.values() if text and text not in schemas)) if is_open else (),
        is_table=_is_table(query),
    )


def _prepared(statement: Any) -> dict[str, Any] | None:
    """Return the tables that an earlier statement makes, by name. None for a statement with an unknown effect."""
    from sqlglot import exp

    while isinstance(statement, exp.Subquery):
        statement = statement.this
    if isinstance(statement, exp.Select) and statement.args.get("into") is not None:
        made = statement.copy()
        into = made.args.pop("into")
        return {into.this.name: made}
    if isinstance(statement, exp.Create) and isinstance(statement.expression, exp.Query):
        return {statement.this.name: statement.expression}
    if statement is None or (isinstance(statement, (exp.Set, exp.Command)) and not _CHANGES_NAMES.search(statement.sql())):
        return {}
    return None


def _is_table(query: Any) -> bool:
    """Return whether a query is `SELECT * FROM` one table, possibly under another name."""
    from sqlglot import exp

    clauses = {name for name, value in query.args.items() if value}
    table = query.args["from_"].this if clauses == {"expressions", "from_"} else None
    return (
        isinstance(table, exp.Table)
        and isinstance(table.this, exp.Identifier)
        and [type(made) for made in query.expressions] == [exp.Star]
        and not table.alias_column_names
        and {name for name, value in table.args.items() if value} <= {"this", "db", "catalog", "alias"}
    )
