"""Which rows of a group a witness needs (docs: semantics, rows "group by" and "window function over a frame").

min and max take the first extremal row, count(distinct) the first row of each value, every other function all rows that pass its
FILTER. The value of a function's argument is read from the source files, by association. Where that cannot be done for sure, the
whole group stays, and the answer says so. "First" is by source path, then position, joined rows left to right; a derived row by
its first source record.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import numpy as np

from headwater.errors import SourceChangedError
from headwater.graph.associations import Definition, Expression, Operator
from headwater.graph.duck.memory_tables import taken
from headwater.graph.duck.sql import Untranslatable
from headwater.graph.duck.types import duckdb_type
from headwater.graph.trace.plan import Column, branches, references
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.step.lookup import Lookup
from headwater.graph.trace.step.order import order_in_memory, order_of
from headwater.graph.trace.step.values import leaf_tables
from headwater.graph.trace.translate import Translator

_GREATEST = frozenset({"max", "bool_or", "some", "any"})
_LEAST = frozenset({"min", "bool_and", "every"})
_MADE_UP = 1 << 52  # the columns of a pivot have numbers from here on (docs: capture format)
_PIVOT = "pivotfirst"  # a pivot's array as such: of more values than are described one by one, or in a capture of an older Headwater
_FREE = frozenset({"first", "last", "any_value", "first_value", "last_value"})


class Chooser:
    """Chooses among candidate rows of one operator: a table `grp, <ref and branch columns>`, a group being the rows of equal `grp`."""

    def __init__(self, session: Session, capture: Capture, operator: Operator, columns: Sequence[Column]) -> None:
        self._session = session
        self._capture = capture
        self._operator = operator
        self._input = capture.plan.children(operator)[0]
        self._columns = columns
        boundary = capture.plan.boundary(operator)
        self._outputs: Sequence[Definition] = ()
        self.unchosen: str | None = None
        self._known = [*columns, *(branches(boundary) if boundary else ())]

    def choose(self, candidates: str, functions: Sequence[Expression], *, first_at_least: bool, outputs: Sequence[Definition] = ()) -> str:
        """The rows that the aggregate functions need, in the shape of the candidates.

        With `first_at_least`, a group of which nothing is chosen gives its first row. `outputs` are the definitions with the functions. The
        rows of a pivot are groups: a first row that no function chose is in `unchosen`, as no value of that group is needed.
        """
        self._outputs = outputs
        for function in (function for function in functions if function.fn == _PIVOT):
            self._superset(function, "of which of its values the column is was not recorded")
        if any(_takes_all(function) for function in functions):
            return candidates
        if not functions and first_at_least and (first := self._first(candidates)) is not None:
            return first
        ordered = self._ordered(candidates)
        chosen = [choice for function in functions if (choice := self._chosen(ordered, function))]
        if None in chosen or len(chosen) < len(functions):
            return candidates
        wanted = " UNION ".join(f"SELECT rid FROM {choice}" for choice in chosen if choice) or "SELECT NULL::BIGINT AS rid WHERE false"
        rows = self._session.table(f"SELECT * FROM {ordered} o SEMI JOIN ({wanted}) w USING (rid)")
        if not first_at_least:
            return self._session.table(f"SELECT * EXCLUDE (rid, rank) FROM {rows}")
        firsts = f"SELECT arg_min(rid, rank) AS rid FROM {ordered} WHERE grp NOT IN (SELECT grp FROM {rows}) GROUP BY grp"
        if any(map(_pivots, self._operator.defines)):
            self.unchosen = self._session.table(f"SELECT o.* EXCLUDE (rid, rank) FROM {ordered} o SEMI JOIN ({firsts}) f USING (rid)")
            return self._session.table(f"SELECT * EXCLUDE (rid, rank) FROM {rows}")
        return self._session.table(
            f"SELECT * EXCLUDE (rid, rank) FROM {rows} "
            f"UNION ALL SELECT o.* EXCLUDE (rid, rank) FROM {ordered} o SEMI JOIN ({firsts}) f USING (rid)"
        )

    def _first(self, candidates: str) -> str | None:
        """The first row of each group, in memory; None where that is for the database."""
        rows = None if any(map(_pivots, self._operator.defines)) else self._session.columns(candidates)
        keys = order_in_memory(self._capture, self._columns, rows) if rows is not None else None
        if rows is None or keys is None:
            return None
        # As in `_ordered`: what is equal in standing is told apart by its references.
        order = np.lexsort([*(rows[column.name] for column in reversed(self._columns)), *reversed(keys), rows["grp"]])
        groups = rows["grp"][order]
        first = np.ones(len(order), np.bool_)
        first[1:] = groups[1:] != groups[:-1]
        return self._session.hold(taken(rows, order[first]))

    def _chosen(self, ordered: str, function: Expression) -> str | None:
        """A table of the `rid` that one function needs; None, and said, where that is the whole group."""
        try:
            return self._free(ordered, function) if function.fn in _FREE else self._evaluated(ordered, function)
        except Untranslatable as reason:
            self._superset(function, f"which rows it took cannot be told: {reason}")
        except SourceChangedError as error:
            self._superset(function, f"which rows it took cannot be told any more: {error.message}")
        except (duckdb.OutOfRangeException, duckdb.ConversionException, duckdb.BinderException) as error:
            self._superset(function, f"which rows it took cannot be told: {error}")
        return None

    def _evaluated(self, ordered: str, function: Expression) -> str:
        translator = self._translator()
        arguments = [self._comparable(translator, argument) for argument in function.args] if not _counts(function) else []
        keep = translator.sql(function.filter, self._input) if function.filter else "true"
        joins = leaf_tables(self._session, self._capture, self._columns, ordered, translator.needed)
        values = "".join(f", {argument} AS x{index}" for index, argument in enumerate(arguments))
        rows = f"(SELECT c.rid, c.grp, c.rank{values} FROM {ordered} c{joins} WHERE {keep})"
        if not arguments:
            return self._session.table(f"SELECT rid FROM {rows}")
        filled = " AND ".join(f"x{index} IS NOT NULL" for index in range(len(arguments)))
        if function.fn in _GREATEST | _LEAST:
            way = "DESC" if function.fn in _GREATEST else "ASC"
            window = f"PARTITION BY grp ORDER BY x0 {way}, rank"
        else:
            window = f"PARTITION BY grp, {', '.join(f'x{index}' for index in range(len(arguments)))} ORDER BY rank"
        return self._session.table(f"SELECT rid FROM {rows} WHERE {filled} QUALIFY row_number() OVER ({window}) = 1")

    def _translator(self) -> Translator:
        return Translator(self._capture.plan, {column.operator: column.name for column in self._known})

    def _comparable(self, translator: Translator, argument: Expression) -> str:
        """An argument as a value that orders and groups as in Spark: −0.0 is 0.0."""
        kind = duckdb_type(argument.type)
        value = translator.sql(argument, self._input)
        return f"({value} + 0)" if kind in ("FLOAT", "DOUBLE") else value

    def _free(self, ordered: str, function: Expression) -> str | None:
        """The row that `first` or its like took: as it was recorded, else known only where one row passes their FILTER."""
        recorded = self._recorded(ordered, function)
        if recorded is not None:
            return recorded
        passed = ordered
        if function.filter is not None:
            translator = self._translator()
            keep = translator.sql(function.filter, self._input)
            joins = leaf_tables(self._session, self._capture, self._columns, ordered, translator.needed)
            passed = self._session.table(f"SELECT c.rid, c.grp FROM {ordered} c{joins} WHERE {keep}")
        row = self._session.database.execute(f"SELECT max(n) FROM (SELECT count(*) AS n FROM {passed} GROUP BY grp)").fetchone()
        if row and row[0] is not None and row[0] > 1:
            self._superset(function, "which row the engine met first was not recorded")
            return None
        return passed

    def _recorded(self, ordered: str, function: Expression) -> str | None:
        """A table `rid, grp` of the rows that were recorded as those which a function took; None where some group has no such record."""
        boundary = self._capture.plan.chosen(self._operator)
        output = next((one.attr for one in self._outputs if any(part is function for part in one.expr.walk())), None)
        if boundary is None or output is None:
            return None
        ways = {way for attr, way in boundary.takes or () if attr == output}
        named = zip(references(boundary), (column for column in boundary.columns if column.role == "ref"), strict=True)
        taken_by = [(column.frame, recorded.name, recorded.operator) for recorded, column in named if column.frame in ways]
        own = {column.operator: column.name for column in self._columns}
        if not taken_by or any(operator not in own for _, _, operator in taken_by):
            return None
        groups = self._session.table(f"SELECT DISTINCT grp AS ref FROM {ordered}")
        names = [recorded for _, recorded, _ in taken_by]
        chosen = Lookup(self._session, self._capture).grouped(boundary, groups, names)
        if self._session.count(f"(SELECT ref FROM {groups} EXCEPT SELECT grp FROM {chosen})"):
            return None
        same = {way: " AND ".join(f"w.{name} = c.{own[operator]}" for by, name, operator in taken_by if by == way) for way in ways}
        any_way = " OR ".join(f"({one})" for one in same.values())
        rows = f"SELECT c.rid, c.grp FROM {ordered} c JOIN {chosen} w ON w.grp = c.grp AND ({any_way})"
        return self._session.table(f"SELECT DISTINCT rid, grp FROM ({rows})")

    def _superset(self, function: Expression, reason: str) -> None:
        self._session.say(f"{self._operator.op} {function.text}", f"{reason}; all rows of the group are given", "superset")

    def _ordered(self, candidates: str) -> str:
        """The candidates with a number, `rid`, and their place in the order of first rows, `rank`."""
        keys, joins = order_of(self._session, self._capture, self._columns, candidates, "c")
        # Derived rows of the same first record are equal in standing; by their references the same one is taken each time.
        order = ", ".join([*(f"{key} NULLS LAST" for key in keys), *(f"c.{column.name}" for column in self._columns)]) or "NULL"
        return self._session.table(f"SELECT c.*, row_number() OVER (ORDER BY {order}) AS rank, rank AS rid FROM {candidates} c{joins}")


def aggregates(expressions: Sequence[Expression]) -> list[Expression]:
    """The aggregate functions in expressions."""
    return [part for expression in expressions for part in expression.walk() if part.aggregate]


def _pivots(definition: Definition) -> bool:
    """Whether a column is one of a pivot's."""
    return definition.attr >= _MADE_UP or any((part.fn, part.name) == ("first", "pivot") for part in definition.expr.walk())


def _takes_all(function: Expression) -> bool:
    if function.filter is not None or function.fn in _GREATEST | _LEAST | _FREE:
        return False
    return not (function.fn == "count" and function.distinct)


def _counts(function: Expression) -> bool:
    """Whether all rows that pass the FILTER are taken, whatever the arguments are."""
    return function.fn not in _GREATEST | _LEAST and not (function.fn == "count" and function.distinct)
