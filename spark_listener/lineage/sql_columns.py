"""Finds the table columns from which each result column of a parsed SQL query comes.

A column belongs to a table if the text says so, or if the columns of the tables are known (`schemas`). Otherwise it is `UNKNOWN`: it is
never guessed, and never left out without this mark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from headwater.spark_listener.lineage.naming import Name
from headwater.spark_listener.lineage.sql_sources import Source, Sources, find_name, written_name
from headwater.spark_listener.lineage.sql_words import does_alias_win, elements, find_alias, is_word, may_be_pseudo

if TYPE_CHECKING:
    from headwater.spark_listener.lineage.jdbc import Database

Read = tuple[Name, str, str]  # table, column, and OpenLineage's subtype of its part
UNKNOWN: Read = (("", ""), "", "UNKNOWN")

_MOST_STEPS = 50_000  # expressions to visit: the thread has other events to handle
_RANK = {"IDENTITY": 0, "TRANSFORMATION": 1, "AGGREGATION": 2}
_CLAUSES = (
    ("where", "FILTER"),
    ("prewhere", "FILTER"),
    ("limit", "FILTER"),
    ("offset", "FILTER"),
    ("having", "FILTER"),
    ("qualify", "FILTER"),
    ("connect", "FILTER"),
    ("group", "GROUP_BY"),
    ("order", "SORT"),
    ("sort", "SORT"),
    ("cluster", "SORT"),
    ("distribute", "SORT"),
)
_LISTS = ("group", "order", "sort", "cluster", "distribute")  # clauses of several expressions
_HANDLED = {clause for clause, _ in _CLAUSES} | {  # clauses of a SELECT or set operation; any other clause may decide about rows
    "with_", "expressions", "hint", "distinct", "operation_modifiers", "from_", "joins", "laterals", "windows", "locks", "sample",
    "settings", "format", "options", "for_", "into", "exclude", "this", "expression", "by_name", "side", "kind", "on",
}  # fmt: skip
_DECIDES = (  # arguments that decide about an expression's value, and the word for that
    (exp.If, "this", "CONDITIONAL"), (exp.Case, "this", "CONDITIONAL"), (exp.In, "query", "CONDITIONAL"),
    (exp.Filter, "expression", "CONDITIONAL"), (exp.Window, "partition_by", "WINDOW"), (exp.Window, "order", "WINDOW"),
    (exp.Window, "spec", "WINDOW"),
)  # fmt: skip


class TooLargeError(Exception):
    """The query is too large to follow its columns."""


@dataclass(frozen=True, slots=True)
class _Output:
    """A column of a query's result: an expression, or source columns for a star (several if USING joins them)."""

    name: str
    expression: Any = None
    columns: tuple[tuple[Source, str], ...] = ()

    @property
    def is_alias(self) -> bool:
        return self.expression is not None and isinstance(self.expression.parent, exp.Alias)


class Columns:
    """The columns of one SQL query. `schemas` has the column names of its tables, by the table's text, as far as they are known."""

    def __init__(self, root: Any, database: Database, schemas: Mapping[str, Sequence[str]]) -> None:
        self._root = root
        self._database = database
        self.sources = Sources(root, database, schemas, self._names)
        self._made: dict[tuple[int, int], frozenset[Read]] = {}
        self._outputs_known: dict[int, list[_Output] | None] = {}
        self._open: list[tuple[int, object]] = []
        self._met_itself = False  # a recursive query refers to one of its columns
        self._steps = 0

    def tables(self) -> dict[Name, str]:
        sources = [source for scope in self._root.traverse() for source in self.sources.of(scope)]
        return {source.table: source.text for source in sources if source.table is not None}

    def result(self, names: Sequence[str]) -> dict[str, frozenset[Read]]:
        outputs = self._outputs(self._root)
        by_place = outputs is not None and len(outputs) == len(names)
        if outputs is not None and by_place:  # the database has the names that the text lacks
            named = [replace(output, name=output.name or name) for output, name in zip(outputs, names, strict=True)]
            self._outputs_known[id(self._root)] = named
        return {
            name: frozenset(self._at(self._root, place) if by_place else self._named(self._root, name)) for place, name in enumerate(names)
        }

    def rows(self) -> frozenset[Read]:
        """Return the columns that decide about rows, in any SELECT of the query."""
        found: set[Read] = set()
        for scope in self._root.traverse():
            if self._has_open_clause(scope):
                found.add(UNKNOWN)
            for clause, subtype in _CLAUSES:
                if (part := scope.expression.args.get(clause)) is not None:
                    found.update(_as(read, subtype) for read in self._clause(scope, part, clause))
            if not isinstance(scope.expression, exp.Select):
                continue
            found.update(_as(read, "GROUP_BY") for read in self._distinct(scope))
            for join in scope.find_all(exp.Join):
                if (condition := join.args.get("on")) is not None:
                    found.update(_as(read, "JOIN") for read in self._reads(scope, condition, "IDENTITY"))
            for sources, name in self.sources.joined_by_name(scope):
                found.update(_as(read, "JOIN") for source in sources for read in self._of(scope, source, name))
            if self.sources.has_open_natural_join(scope):
                found.add(UNKNOWN)
        return frozenset(found)

    def _has_open_clause(self, scope: Any) -> bool:
        expression = scope.expression
        if not isinstance(expression, (exp.Select, exp.SetOperation)):
            return False
        joins = expression.args.get("joins") or ()
        sources = [expression.args.get("from_"), *joins]
        return (
            any(value and name not in _HANDLED for name, value in expression.args.items())
            or any(join.kind == "ARRAY" for join in joins)
            or any(source is not None and isinstance(source.this, exp.Final) for source in sources)
            or any(source.is_pivot for source in self.sources.of(scope))
        )

    def _distinct(self, scope: Any) -> Iterator[Read]:
        distinct = scope.expression.args.get("distinct")
        if distinct is None:
            return
        if (on := distinct.args.get("on")) is not None:
            for column in self._direct_columns(on):
                yield from self._column(scope, column)
            return
        outputs = self._outputs(scope)
        for place in range(len(outputs or ())):
            yield from self._at(scope, place)
        if outputs is None:
            yield UNKNOWN

    def _names(self, scope: Any) -> list[str] | None:
        outputs = self._outputs(scope)
        return None if outputs is None else [output.name for output in outputs]

    def _outputs(self, scope: Any) -> list[_Output] | None:
        if id(scope) not in self._outputs_known:
            self._outputs_known[id(scope)] = None  # a search for it is under way
            self._outputs_known[id(scope)] = self._find_outputs(scope)
        return self._outputs_known[id(scope)]

    def _find_outputs(self, scope: Any) -> list[_Output] | None:
        if scope.set_operation_scopes:
            found = self._outputs(scope.set_operation_scopes[0])
        elif isinstance(scope.expression, exp.Subquery):  # a query in brackets with its own LIMIT
            inner = self.sources.scope_of(scope.expression.unnest(), scope)
            found = self._outputs(inner) if inner is not None else None
        else:
            found = self._selected(scope)
        if found is not None and scope.outer_columns:
            renamed = [*scope.outer_columns, *(output.name for output in found[len(scope.outer_columns) :])]
            found = [_Output(name, output.expression, output.columns) for name, output in zip(renamed, found, strict=False)]
        return found

    def _selected(self, scope: Any) -> list[_Output] | None:
        found: list[_Output] = []
        for made in getattr(scope.expression, "selects", ()):
            if not made.is_star:
                found.append(_Output(written_name(made, self._database), made.unalias()))
                continue
            columns = self.sources.star(scope, made)
            if columns is None:
                return None
            found += [_Output(name, columns=tuple(parts)) for name, parts in columns]
        return found

    def _named(self, scope: Any, name: str) -> Iterator[Read]:
        outputs = self._outputs(scope)
        if outputs is not None:
            place = find_name([output.name for output in outputs], name)
            yield from self._at(scope, place) if place is not None else (UNKNOWN,)
            return
        if scope.set_operation_scopes or scope.outer_columns or isinstance(scope.expression, exp.Subquery):
            yield UNKNOWN
            return
        stars: list[Source] = []
        shared = {name.lower(): sources for sources, name in self.sources.joined_by_name(scope)}
        for made in scope.expression.selects:
            if type(made) is exp.Star and name.lower() in shared:
                for source in shared[name.lower()]:
                    yield from self._of(scope, source, name)
                return
            if made.is_star:
                stars += self.sources.of_star(scope, made)
            elif made.alias_or_name.lower() == name.lower():
                yield from self._within(scope, name, lambda made=made: self._reads(scope, made.unalias(), "IDENTITY"))
                return
        having = [source for source in stars if (names := self.sources.names(source)) is not None and find_name(names, name) is not None]
        unknown = [source for source in stars if self.sources.names(source) is None]
        owners = having[:1] or (unknown if len(unknown) == 1 else [])
        yield from self._of(scope, owners[0], name) if owners else (UNKNOWN,)

    def _at(self, scope: Any, place: int) -> frozenset[Read]:
        key = (id(scope), place)
        if key not in self._made:
            found = frozenset(self._within(scope, place, lambda: self._make(scope, place)))
            if self._met_itself and self._open:
                return found  # partial, while the recursion is open
            self._met_itself = False
            self._made[key] = found
        return self._made[key]

    def _within(self, scope: Any, column: object, reads: Any) -> Iterator[Read]:
        if (id(scope), column) in self._open:
            self._met_itself = True
            return
        self._open.append((id(scope), column))
        try:
            yield from list(reads())
        finally:
            self._open.pop()

    def _make(self, scope: Any, place: int) -> Iterator[Read]:
        if scope.set_operation_scopes:
            for branch in scope.set_operation_scopes:
                outputs = self._outputs(branch)
                yield from self._at(branch, place) if outputs is not None and place < len(outputs) else (UNKNOWN,)
            return
        if isinstance(scope.expression, exp.Subquery):
            yield from self._at(self.sources.scope_of(scope.expression.unnest(), scope), place)
            return
        output = (self._outputs(scope) or [])[place]
        if output.expression is not None:
            yield from self._reads(scope, output.expression, "IDENTITY")
        for source, name in output.columns:
            yield from self._of(scope, source, name)

    def _of(self, scope: Any, source: Source, name: str) -> Iterator[Read]:
        if source.is_pivot:
            yield UNKNOWN
        elif source.scope is not None:
            yield from self._named(source.scope, name)
        elif source.table is not None:
            column = self.sources.column(source, name)
            yield (source.table, column, "IDENTITY") if column is not None else UNKNOWN
        else:  # a function that returns rows or values: depends on all its arguments
            yield from self._given(scope, source)

    def _given(self, scope: Any, source: Source) -> Iterator[Read]:
        for column in source.node.find_all(exp.Column):
            for read in self._column(scope, column, but=source.node):
                yield _combined(read, "TRANSFORMATION")

    def _clause(self, scope: Any, part: Any, clause: str) -> Iterator[Read]:
        """Yield the columns in a clause. A name may refer to a result column, and a number to its position."""
        items = part.expressions if clause in _LISTS else [part]
        for item in items:
            expression = item.this if isinstance(item, exp.Ordered) else item
            outputs = self._outputs(scope) or []
            if clause in ("group", "order") and isinstance(expression, exp.Literal) and expression.is_int:
                place = int(expression.name) - 1
                yield from self._at(scope, place) if 0 <= place < len(outputs) else (UNKNOWN,)
                continue
            for column in self._direct_columns(expression):
                yield from self._clause_column(scope, column, clause, outputs)
            for query in _queries(expression):
                yield from self._query(scope, query)
        if clause == "group":  # ROLLUP (…), CUBE (…), GROUPING SETS (…)
            for kind in ("rollup", "cube", "grouping_sets"):
                for grouping in part.args.get(kind) or ():
                    for column in self._direct_columns(grouping) if isinstance(grouping, exp.Expression) else ():
                        yield from self._clause_column(scope, column, clause, self._outputs(scope) or [])

    def _clause_column(self, scope: Any, column: Any, clause: str, outputs: Sequence[_Output]) -> Iterator[Read]:
        place = None
        if not column.table and clause in ("order", "group", "having", "qualify"):
            names = ["" if type(output.expression) is exp.Column and not output.is_alias else output.name for output in outputs]
            place = find_name(names, column.name)
        is_own = place is not None and clause != "order" and self.sources.is_certainly_of(scope, column)
        if scope.set_operation_scopes or (place is not None and not is_own):
            yield from self._at(scope, place) if place is not None else self._named(scope, column.name)
        else:
            yield from self._column(scope, column)

    @staticmethod
    def _direct_columns(expression: Any) -> Iterator[Any]:
        for node in expression.walk(prune=lambda node: isinstance(node, exp.Query)):
            if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
                yield node

    def _query(self, scope: Any, query: Any) -> Iterator[Read]:
        inner = self.sources.scope_of(query.unnest(), scope)
        outputs = self._outputs(inner) if inner is not None else None
        if outputs is None:
            yield UNKNOWN
            return
        for place in range(len(outputs)):
            yield from self._at(inner, place)

    def _reads(self, scope: Any, node: Any, how: str, indirect: str | None = None) -> Iterator[Read]:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise TooLargeError
        if (made_of := self._leaf(scope, node)) is not None:
            for read in made_of:
                yield _combined(read, how, indirect)
            return
        if not isinstance(node, (exp.Paren, exp.Alias)):
            how = max(how, "AGGREGATION" if isinstance(node, exp.AggFunc) else "TRANSFORMATION", key=_RANK.__getitem__)
        for part, kind in self._parts(scope, node):
            yield from self._reads(scope, part, how, indirect or kind)

    def _leaf(self, scope: Any, node: Any) -> Iterable[Read] | None:
        if isinstance(node, exp.Exists):
            return ()  # the conditions decide about rows
        if isinstance(node, exp.Query):
            return self._query(scope, node)
        if node.is_star:
            return () if isinstance(node.parent, exp.Count) else self._star(scope, node)
        return self._column(scope, node) if isinstance(node, exp.Column) else None

    def _parts(self, scope: Any, node: Any) -> Iterator[tuple[Any, str | None]]:
        """Yield the parts of an expression. A part that only decides about the value comes with the subtype for that."""
        for name, value in node.args.items():
            kind = next((kind for of, argument, kind in _DECIDES if argument == name and isinstance(node, of)), None)
            for part in _expressions([value]):
                yield part, kind
        if isinstance(node, exp.Window) and node.alias:
            for window in scope.expression.args.get("windows") or ():
                if window.name.lower() == node.alias.lower():
                    yield from ((part, "WINDOW") for part in _expressions([*window.args.values()]))

    def _column(self, scope: Any, column: Any, but: Any = None) -> Iterator[Read]:
        dialect = self._database.dialect
        is_value = is_word(column, dialect) and not self.sources.is_certainly_of(scope, column)
        if isinstance(column, exp.Pseudocolumn) or is_value:
            return
        here = scope
        while here is not None:
            if (made_of := self._alias(here, column)) is not None:
                yield from made_of
                return
            owners = self.sources.owners(here, column, but)
            if owners is None:
                yield UNKNOWN
                return
            for source in owners:
                yield from self._of_owner(here, source, column)
            if owners:
                return
            here = self.sources.outer(here)
        if column.table or not may_be_pseudo(column, dialect):
            yield UNKNOWN

    def _of_owner(self, scope: Any, source: Source, column: Any) -> Iterator[Read]:
        if source.table is not None and may_be_pseudo(column, self._database.dialect) and self._lacks(source, column):
            if self.sources.names(source) is None:
                yield UNKNOWN
        elif self.sources.is_whole_row(source, column):
            yield from self._whole_row(scope, source)
        else:
            yield from self._of(scope, source, written_name(column, self._database))

    def _alias(self, scope: Any, column: Any) -> Iterable[Read] | None:
        """Return the columns of an alias in the same SELECT, or of an array element, with this name. None without one."""
        dialect = self._database.dialect
        if not column.table and column.name.lower() in elements(scope.expression):
            return (UNKNOWN,)
        made = find_alias(scope.expression, column, dialect)
        if made is None:
            return None
        if self.sources.is_certainly_of(scope, column):
            return (UNKNOWN,) if does_alias_win(dialect) else None
        if any(self.sources.names(source) is None for source in self.sources.of(scope)):
            return (UNKNOWN,)
        return self._within(scope, column.name, lambda: self._reads(scope, made.unalias(), "IDENTITY"))

    def _lacks(self, source: Source, column: Any) -> bool:
        names = self.sources.names(source)
        return names is None or find_name(names, written_name(column, self._database)) is None

    def _star(self, scope: Any, star: Any) -> Iterator[Read]:
        """Yield all columns of a star within an expression: `json_agg(t.*)`."""
        sources = self.sources.of_star(scope, star)
        if not sources:
            yield UNKNOWN
        for source in sources:
            yield from self._whole_row(scope, source)

    def _whole_row(self, scope: Any, source: Source) -> Iterator[Read]:
        names = self.sources.names(source)
        if names is None:
            yield UNKNOWN
        for name in names or ():
            for read in self._of(scope, source, name):
                yield _combined(read, "TRANSFORMATION")


def _expressions(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, exp.Expression):
                yield part


def _queries(expression: Any) -> Iterator[Any]:
    for node in expression.walk(prune=lambda node: isinstance(node, exp.Query)):
        if isinstance(node, exp.Query) and not isinstance(node.parent, exp.Exists):
            yield node


def _combined(read: Read, how: str, indirect: str | None = None) -> Read:
    table, column, subtype = read
    if read == UNKNOWN or subtype not in _RANK:
        return read
    return table, column, indirect or max(subtype, how, key=_RANK.__getitem__)


def _as(read: Read, subtype: str) -> Read:
    return read if read == UNKNOWN else (read[0], read[1], subtype)
