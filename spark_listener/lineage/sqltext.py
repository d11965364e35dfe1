"""The tables and columns that a text of SQL reads, for reads of databases by a query of their own.

The database runs the query, and Spark sees its result alone. So its text tells what it reads, as sqlglot parses it in the database's
dialect. A text that cannot be parsed is never guessed at. A column that cannot be followed (one without a table where there are several,
one of a subquery in an expression) is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headwater.spark_listener.lineage.naming import Name

if TYPE_CHECKING:
    from headwater.spark_listener.lineage.jdbc import Database

_LONGEST = 64 << 10  # characters of a query that is parsed: the thread that does so has other events to tell
_DEEPEST = 64  # queries within queries
_CLAUSES = (("where", "FILTER"), ("having", "FILTER"), ("qualify", "FILTER"), ("group", "GROUP_BY"), ("order", "SORT"))
_RANK = {"IDENTITY": 0, "TRANSFORMATION": 1, "AGGREGATION": 2}

Read = tuple[Name, str, str]  # table, column, and how it has a part: a subtype of OpenLineage's transformations


@dataclass(frozen=True, slots=True)
class ReadByQuery:
    """What a query reads: `columns` by the name of the result's column; `rows` decide which rows there are."""

    tables: tuple[Name, ...]
    columns: Mapping[str, frozenset[Read]] = field(default_factory=dict)
    rows: frozenset[Read] = frozenset()


def read_by(sql: str, result: Sequence[str], database: Database) -> ReadByQuery | str:
    """What a query of a database reads, whose result has these columns; or why that cannot be told."""
    try:
        import sqlglot
        from sqlglot.optimizer.scope import build_scope
    except ImportError:
        return "the package sqlglot, which parses it, is not installed"
    if len(sql) > _LONGEST:
        return f"it has more than {_LONGEST:,} characters"
    try:
        parsed = sqlglot.parse(sql, dialect=database.dialect)
        if len(parsed) != 1 or not isinstance(parsed[0], sqlglot.exp.Query):
            return "it is not one query"
        root = build_scope(parsed[0])
        if root is None:
            return "it is not one query"
        walk = _Walk(database)
        tables = walk.tables(root)
    except (Exception, RecursionError):  # noqa: BLE001 - a text of anyone's, in a parser of others: whatever it meets, the query is not understood
        return "it could not be parsed"
    try:
        columns = {name: frozenset(walk.column(root, name, place)) for place, name in enumerate(result)}
        rows = frozenset(walk.rows(root))
    except (Exception, RecursionError):  # noqa: BLE001 - likewise: the tables are known
        return ReadByQuery(tables)
    return ReadByQuery(tables, columns, rows)


class _Walk:
    """Through the scopes of a parsed query. A scope is a SELECT, or a set operation of two."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def tables(self, root: Any) -> tuple[Name, ...]:
        """The tables of the database that the query reads anywhere, in its order."""
        found: dict[Name, None] = {}
        for scope in root.traverse():
            for source in scope.sources.values():
                if (name := self._table(source)) is not None:
                    found[name] = None
        return tuple(found)

    def column(self, scope: Any, name: str, place: int, depth: int = 0) -> Iterator[Read]:
        """What a column of a scope's result is made of. Its place counts in set operations."""
        if depth > _DEEPEST:
            return
        if scope.set_operation_scopes:
            place = place if place >= 0 else self._place_of(scope, name)
            for branch in scope.set_operation_scopes:
                yield from self.column(branch, self._name_at(branch, place) or name, place, depth + 1)
            return
        for made in scope.expression.selects:
            if not made.is_star and made.alias_or_name.lower() == name.lower():
                yield from self._expression(scope, made.unalias(), depth)
                return
        sources = _selected(scope)
        if len(sources) == 1 and any(made.is_star for made in scope.expression.selects):
            yield from self._from(next(iter(sources.values())), name, name, depth)

    def rows(self, root: Any) -> Iterator[Read]:
        """What decides which rows the result has, of any scope of the query."""
        for scope in root.traverse():
            parts = [(scope.expression.args.get(clause), subtype) for clause, subtype in _CLAUSES]
            parts += [(join.args.get("on"), "JOIN") for join in scope.expression.args.get("joins") or ()]
            for clause, subtype in parts:
                for table, column, _ in self._expression(scope, clause, 0) if clause is not None else ():
                    yield table, column, subtype

    def _expression(self, scope: Any, expression: Any, depth: int) -> Iterator[Read]:
        from sqlglot import exp

        if expression.find(exp.Query):
            return
        sources = _selected(scope)
        how = "IDENTITY" if isinstance(expression, exp.Column) else "AGGREGATION" if expression.find(exp.AggFunc) else "TRANSFORMATION"
        for column in expression.find_all(exp.Column):
            source = sources.get(column.table) if column.table else None
            if source is None and not column.table and len(sources) == 1:
                source = next(iter(sources.values()))
            if source is not None:
                name = column.name if column.this.args.get("quoted") else self._database.folded(column.name)
                for table, field_, step in self._from(source, column.name, name, depth):
                    yield table, field_, max(step, how, key=_RANK.__getitem__)

    def _from(self, source: Any, column: str, name: str, depth: int) -> Iterator[Read]:
        table = self._table(source)
        if table is not None:
            yield table, name, "IDENTITY"
        elif hasattr(source, "sources"):
            yield from self.column(source, column, -1, depth + 1)

    def _table(self, source: Any) -> Name | None:
        from sqlglot import exp

        if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
            return None  # a scope, or a function that gives rows
        parts = [part.name if part.args.get("quoted") else self._database.folded(part.name) for part in source.parts]
        return self._database.table(parts)

    @staticmethod
    def _name_at(scope: Any, place: int) -> str | None:
        """The name of a column of a scope's result; None where a star hides it, or its place is not known."""
        selects = [] if scope.set_operation_scopes else scope.expression.selects
        plain = not any(made.is_star for made in selects)
        return selects[place].alias_or_name if plain and 0 <= place < len(selects) else None

    @staticmethod
    def _place_of(scope: Any, name: str) -> int:
        """The place of a column in a set operation's result, whose names are those of its first part; -1 where it is not known."""
        while scope.set_operation_scopes:
            scope = scope.set_operation_scopes[0]
        names = [made.alias_or_name.lower() for made in scope.expression.selects if not made.is_star]
        return names.index(name.lower()) if name.lower() in names and len(names) == len(scope.expression.selects) else -1


def _selected(scope: Any) -> dict[str, Any]:
    """What a SELECT reads, by the name that it has there: tables, and scopes of queries."""
    return {name: source for name, (_, source) in scope.selected_sources.items()}
