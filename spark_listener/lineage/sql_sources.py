"""The sources of the SELECTs of a parsed SQL query, and the source of each column.

A source is a table, a query (a derived table, a common table expression, LATERAL and APPLY), or a function that returns rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from headwater.spark_listener.lineage.naming import Name
from headwater.spark_listener.lineage.sql_words import may_be_pseudo

if TYPE_CHECKING:
    from headwater.spark_listener.lineage.jdbc import Database


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A source of a SELECT: a `table` of the database, or a query (`scope`), or neither. `renamed` are columns of `FROM t AS x(a, b)`.

    `is_pivot`: PIVOT, UNPIVOT or MATCH_RECOGNIZE changes the columns.
    """

    alias: str
    node: Any
    table: Name | None = None
    scope: Any = None
    text: str = ""
    renamed: tuple[str, ...] = ()
    is_pivot: bool = False


class Sources:
    """The sources of all SELECTs of one query. `names_of_scope` returns the result columns of a query, or None if they are unknown."""

    def __init__(
        self, root: Any, database: Database, schemas: Mapping[str, Sequence[str]], names_of_scope: Callable[[Any], list[str] | None]
    ) -> None:
        self._database = database
        self._schemas = schemas
        self._names_of_scope = names_of_scope
        scopes = list(root.traverse())
        self._by_expression = {id(scope.expression): scope for scope in scopes}
        # a recursive query refers to the whole query; sqlglot gives its first part a separate scope
        self._recursive = {
            id(scope.expression.this.unnest()): scope for scope in scopes if isinstance(scope.expression, exp.SetOperation) and scope.is_cte
        }
        self._known_scopes = {id(scope) for scope in scopes}
        self._of: dict[int, list[Source]] = {}
        self._joins_of: dict[int, Sequence[tuple[int, Source, Any]]] = {}

    def scope_of(self, query: Any, within: Any) -> Any:
        found = self._by_expression.get(id(query))
        return found if found is not within else None

    def of(self, scope: Any) -> list[Source]:
        if id(scope) not in self._of:
            is_query = isinstance(scope.expression, exp.Select)
            found = [self._source(scope, alias, node) for alias, node in scope.references] if is_query else []
            if is_query and (scope.expression.args.get("pivots") or scope.expression.args.get("match")):
                found = [replace(source, is_pivot=True) for source in found]
            self._of[id(scope)] = found
        return self._of[id(scope)]

    def outer(self, scope: Any) -> Any:
        """Return the scope around a query whose columns the query may name."""
        if scope.parent is None or scope.is_cte:
            return None
        if scope.is_subquery or scope.is_udtf:
            return scope.parent
        return self.outer(scope.parent) if scope.is_set_operation or scope.can_be_correlated else None

    def names(self, source: Source) -> list[str] | None:
        if source.is_pivot:
            return None
        if source.scope is not None:
            found = self._names_of_scope(source.scope)
        elif source.table is not None:
            known = self._schemas.get(source.text)
            found = None if known is None else list(known)
        else:
            found = None
        if source.renamed and (found is not None or source.table is None):
            return [*source.renamed, *(found or [])[len(source.renamed) :]]
        return found

    def column(self, source: Source, name: str) -> str | None:
        """Return the name of a table's column in the table's own case. None if it is unknown."""
        if source.is_pivot:
            return None
        known = self._schemas.get(source.text)
        if source.renamed:
            place = find_name(source.renamed, name)
            if place is not None:
                return known[place] if known is not None and place < len(known) else None
        if known is None:
            return name
        place = find_name(known, name)
        return known[place] if place is not None else None

    def owners(self, scope: Any, column: Any, but: Any = None) -> list[Source] | None:
        """Return the sources of a column: several if a join by name merges them, none if it belongs to an outer scope. None if unknown."""
        sources = [source for source in self.of(scope) if source.node is not but]
        if column.table:
            named = [source for source in sources if self._is_named(source, column)]
            return named[:1]
        name = written_name(column, self._database)
        having = [source for source in sources if (names := self.names(source)) is not None and find_name(names, name) is not None]
        unknown = [source for source in sources if self.names(source) is None]
        joined = next((parts for parts, shared in self.joined_by_name(scope) if shared.lower() == name.lower()), None)
        if joined is not None:
            return having if having and not unknown else joined
        if unknown and self.has_open_natural_join(scope):
            return None
        if having:
            return having[:1]
        if rows := [source for source in sources if source.alias.lower() == name.lower()]:
            is_function = rows[0].table is None and rows[0].scope is None and not rows[0].is_pivot
            return rows if is_function or not unknown else None
        if len(unknown) > 1 or (unknown and (self.outer(scope) is not None or may_be_pseudo(column, self._database.dialect))):
            return None
        return unknown

    def is_certainly_of(self, scope: Any, column: Any) -> bool:
        name = written_name(column, self._database)
        return any((names := self.names(source)) is not None and find_name(names, name) is not None for source in self.of(scope))

    def is_whole_row(self, source: Source, column: Any) -> bool:
        """Return whether a name is that of a source, and stands for its whole row."""
        names = self.names(source)
        is_alias = not column.table and source.alias.lower() == column.name.lower()
        return is_alias and names is not None and find_name(names, column.name) is None

    def of_star(self, scope: Any, star: Any) -> list[Source]:
        sources = self.of(scope)
        return [source for source in sources if self._is_named(source, star)] if isinstance(star, exp.Column) and star.table else sources

    def star(self, scope: Any, star: Any) -> list[tuple[str, list[tuple[Source, str]]]] | None:
        """Return the columns of a star, each with its source columns. None if they are unknown."""
        inner = star.this if isinstance(star, exp.Column) else star
        if any(inner.args.get(word) for word in ("except_", "replace", "rename")):
            return None
        sources = self.of_star(scope, star)
        names = [(source, self.names(source)) for source in sources]
        if not sources or any(known is None for _, known in names):
            return None
        joined = self.joined_by_name(scope) if not (isinstance(star, exp.Column) and star.table) else []
        found: list[tuple[str, list[tuple[Source, str]]]] = []
        for parts, shared in joined:
            if not any(name.lower() == shared.lower() for name, _ in found):
                found.append((shared, [(source, shared) for source in parts]))
        shared_names = {name.lower() for name, _ in found}
        for source, known in names:
            found += [(name, [(source, name)]) for name in known or () if name.lower() not in shared_names]
        return found

    def joined_by_name(self, scope: Any) -> list[tuple[list[Source], str]]:
        """Return the columns that joins share by USING or NATURAL, each with the sources that have it."""
        found: dict[str, list[Source]] = {}
        for place, right, join in self._joins(scope):
            lefts = self.of(scope)[:place]
            for name in self._shared(lefts, right, join):
                parts = found.setdefault(name, [])
                known = [source for source in lefts if (names := self.names(source)) is None or find_name(names, name) is not None]
                parts += [source for source in [*(known if len(known) == 1 else self._having(lefts, name)), right] if source not in parts]
        return [(parts, name) for name, parts in found.items()]

    def has_open_natural_join(self, scope: Any) -> bool:
        """Return whether the columns of a NATURAL join, or of one by USING, are unknown."""
        for place, right, join in self._joins(scope):
            sources = [*self.of(scope)[:place], right]
            if join.method == "NATURAL" and any(self.names(source) is None for source in sources):
                return True
            for part in join.args.get("using") or ():
                lefts = self.of(scope)[:place]
                if not self._having(lefts, part.name) and sum(self.names(source) is None for source in lefts) != 1:
                    return True
        return False

    def _joins(self, scope: Any) -> Sequence[tuple[int, Source, Any]]:
        if id(scope) not in self._joins_of:
            joins = list(scope.find_all(exp.Join)) if isinstance(scope.expression, exp.Select) else []
            self._joins_of[id(scope)] = [
                (place, source, join)
                for join in joins
                for place, source in enumerate(self.of(scope))
                if source.node is join.this or source.node is join.this.unnest()
            ]
        return self._joins_of[id(scope)]

    def _shared(self, lefts: Sequence[Source], right: Source, join: Any) -> list[str]:
        if join.method == "NATURAL":
            known = [name for source in lefts for name in self.names(source) or ()]
            return [name for name in self.names(right) or () if find_name(known, name) is not None]
        return [part.name if part.args.get("quoted") else self._database.folded(part.name) for part in join.args.get("using") or ()]

    def _having(self, sources: Sequence[Source], name: str) -> list[Source]:
        return [source for source in sources if (names := self.names(source)) is not None and find_name(names, name) is not None]

    @staticmethod
    def _is_named(source: Source, column: Any) -> bool:
        if source.alias.lower() != column.table.lower():
            return False
        return not column.db or not isinstance(source.node, exp.Table) or source.node.db.lower() in ("", column.db.lower())

    def _source(self, scope: Any, alias: str, node: Any) -> Source:
        if node.args.get("pivots"):
            return Source(alias, node, table_of(node, self._database), is_pivot=True)
        if not isinstance(node, exp.Table):
            return self._query(alias, node)
        query = None if node.db else self._common_table(scope, node.name)
        renamed = tuple(node.alias_column_names)
        if query is not None and not isinstance(query, exp.Table):
            if id(query) not in self._known_scopes:
                query = self._recursive.get(id(query.expression), query)
            return Source(alias, node, scope=query, renamed=renamed)
        table = table_of(node, self._database)
        return Source(alias, node, table, text=table_text(node, self._database) if table else "", renamed=renamed)

    @staticmethod
    def _common_table(scope: Any, name: str) -> Any:
        known = scope.cte_sources
        return known.get(name) or next((query for other, query in known.items() if other.lower() == name.lower()), None)

    def _query(self, alias: str, node: Any) -> Source:
        is_lateral = isinstance(node, exp.Lateral)
        query = node.this.unnest() if is_lateral else node
        inner = self._by_expression.get(id(query)) if isinstance(query, exp.Query) else None
        columns = tuple(node.alias_column_names) if isinstance(node, exp.UDTF) else ()
        return Source(alias, node, scope=inner, renamed=columns)


def written_name(node: Any, database: Database) -> str:
    """Return the name of a column or an expression in the database's form."""
    identifier = node.args.get("alias") if isinstance(node, exp.Alias) else node.this
    quoted = isinstance(identifier, exp.Identifier) and identifier.args.get("quoted")
    return str(node.alias_or_name) if quoted else database.folded(node.alias_or_name)


def table_of(node: Any, database: Database) -> Name | None:
    """Return the database table that a node of a parsed query names. None for a function that returns rows."""
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        return None
    return database.table([part.name if part.args.get("quoted") else database.folded(part.name) for part in node.parts])


def table_text(node: Any, database: Database) -> str:
    parts = {part: node.args[part].copy() for part in ("this", "db", "catalog") if node.args.get(part) is not None}
    return str(exp.Table(**parts).sql(dialect=database.dialect))


def find_name(names: Sequence[str], name: str) -> int | None:
    """Return the position of a name: with the same letter case, otherwise in any case."""
    if name in names:
        return list(names).index(name)
    lowered = [known.lower() for known in names]
    return lowered.index(name.lower()) if name.lower() in lowered else None
