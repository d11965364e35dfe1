"""Finds the rows of a group that a witness needs (docs: semantics, rows "group by" and "window function over a frame").

`min` and `max` need the first row with the extreme value, and `count(distinct)` needs the first row of each value. All other functions need
all rows that pass their FILTER. The value of an argument is read from the source files, by association. If a value is not certain, the
witness is the whole group, and the answer is a superset.

"First" is by source path, then position, then joined rows from left to right. A derived row has the place of its first
source record.
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
from headwater.graph.trace.plan import Column, list_branches, list_references
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.step.lookup import Lookup
from headwater.graph.trace.step.order import make_order, make_order_in_memory
from headwater.graph.trace.step.values import join_leaf_tables
from headwater.graph.trace.translate import Translator

_GREATEST = frozenset({"max", "bool_or", "some", "any"})
_LEAST = frozenset({"min", "bool_and", "every"})
_MADE_UP = 1 << 52  # the columns of a pivot have numbers from here on (docs: capture format)
_PIVOT = "pivotfirst"  # a pivot's array: with too many values to describe each, or in a capture of an older Headwater
_FREE = frozenset({"first", "last", "any_value", "first_value", "last_value"})


class Chooser:
    """Chooses among candidate rows of one operator: a table `grp, <ref and branch columns>`. Rows of equal `grp` are a group."""

    def __init__(self, session: Session, capture: Capture, operator: Operator, columns: Sequence[Column]) -> None:
        self._session = session
        self._capture = capture
        self._operator = operator
        self._input = capture.plan.children(operator)[0]
        self._columns = columns
        boundary = capture.plan.boundary(operator)
        self._outputs: Sequence[Definition] = ()
        self.unchosen: str | None = None
        self._known = [*columns, *(list_branches(boundary) if boundary else ())]

    def choose(self, candidates: str, functions: Sequence[Expression], *, first_at_least: bool, outputs: Sequence[Definition] = ()) -> str:
        """Return the rows that the aggregate functions need, in the shape of the candidates.

        With `first_at_least`, a group without a chosen row returns its first row. `outputs` are the definitions with the functions. The
        rows of a pivot are groups. `unchosen` has the first rows of groups in which no function chose a row.
        """
        self._outputs = outputs
        for function in (function for function in functions if function.fn == _PIVOT):
            self._report_superset(function, "of which of its values the column is was not recorded")
        if any(_takes_all(function) for function in functions):
            return candidates
        if not functions and first_at_least and (first := self._choose_first(candidates)) is not None:
            return first
        ordered_rows = self._order_candidates(candidates)
        choices = [choice for function in functions if (choice := self._choose_for(ordered_rows, function))]
        if None in choices or len(choices) < len(functions):
            return candidates
        chosen_rows = (
            " UNION ".join(f"SELECT rid FROM {choice}" for choice in choices if choice) or "SELECT NULL::BIGINT AS rid WHERE false"
        )
        rows = self._session.make_table(f"SELECT * FROM {ordered_rows} o SEMI JOIN ({chosen_rows}) w USING (rid)")
        if not first_at_least:
            return self._session.make_table(f"SELECT * EXCLUDE (rid, rank) FROM {rows}")
        firsts = f"SELECT arg_min(rid, rank) AS rid FROM {ordered_rows} WHERE grp NOT IN (SELECT grp FROM {rows}) GROUP BY grp"
        if any(map(_is_pivot, self._operator.defines)):
            self.unchosen = self._session.make_table(
                f"SELECT o.* EXCLUDE (rid, rank) FROM {ordered_rows} o SEMI JOIN ({firsts}) f USING (rid)"
            )
            return self._session.make_table(f"SELECT * EXCLUDE (rid, rank) FROM {rows}")
        return self._session.make_table(
            f"SELECT * EXCLUDE (rid, rank) FROM {rows} "
            f"UNION ALL SELECT o.* EXCLUDE (rid, rank) FROM {ordered_rows} o SEMI JOIN ({firsts}) f USING (rid)"
        )

    def _choose_first(self, candidates: str) -> str | None:
        """Return the first row of each group, in memory. None if the database has to choose."""
        rows = None if any(map(_is_pivot, self._operator.defines)) else self._session.get_columns(candidates)
        keys = make_order_in_memory(self._capture, self._columns, rows) if rows is not None else None
        if rows is None or keys is None:
            return None
        # As in `_order_candidates`, references decide between equal places.
        order = np.lexsort([*(rows[column.name] for column in reversed(self._columns)), *reversed(keys), rows["grp"]])
        groups = rows["grp"][order]
        first = np.ones(len(order), np.bool_)
        first[1:] = groups[1:] != groups[:-1]
        return self._session.keep_in_memory(taken(rows, order[first]))

    def _choose_for(self, ordered_rows: str, function: Expression) -> str | None:
        try:
            return self._choose_any(ordered_rows, function) if function.fn in _FREE else self._evaluate_arguments(ordered_rows, function)
        except Untranslatable as reason:
            self._report_superset(function, f"which rows it took cannot be told: {reason}")
        except SourceChangedError as error:
            self._report_superset(function, f"which rows it took cannot be told any more: {error.message}")
        except (duckdb.OutOfRangeException, duckdb.ConversionException, duckdb.BinderException) as error:
            self._report_superset(function, f"which rows it took cannot be told: {error}")
        return None

    def _evaluate_arguments(self, ordered_rows: str, function: Expression) -> str:
        translator = self._make_translator()
        arguments = [self._make_comparable(translator, argument) for argument in function.args] if not _is_count(function) else []
        keep = translator.translate(function.filter, self._input) if function.filter else "true"
        joins = join_leaf_tables(self._session, self._capture, self._columns, ordered_rows, translator.needed)
        values = "".join(f", {argument} AS x{index}" for index, argument in enumerate(arguments))
        rows = f"(SELECT c.rid, c.grp, c.rank{values} FROM {ordered_rows} c{joins} WHERE {keep})"
        if not arguments:
            return self._session.make_table(f"SELECT rid FROM {rows}")
        not_null = " AND ".join(f"x{index} IS NOT NULL" for index in range(len(arguments)))
        if function.fn in _GREATEST | _LEAST:
            way = "DESC" if function.fn in _GREATEST else "ASC"
            window = f"PARTITION BY grp ORDER BY x0 {way}, rank"
        else:
            window = f"PARTITION BY grp, {', '.join(f'x{index}' for index in range(len(arguments)))} ORDER BY rank"
        return self._session.make_table(f"SELECT rid FROM {rows} WHERE {not_null} QUALIFY row_number() OVER ({window}) = 1")

    def _make_translator(self) -> Translator:
        return Translator(self._capture.plan, {column.operator: column.name for column in self._known})

    def _make_comparable(self, translator: Translator, argument: Expression) -> str:
        """Return an argument as a value that sorts and groups as in Spark, where −0.0 equals 0.0."""
        kind = duckdb_type(argument.type)
        value = translator.translate(argument, self._input)
        return f"({value} + 0)" if kind in ("FLOAT", "DOUBLE") else value

    def _choose_any(self, ordered_rows: str, function: Expression) -> str | None:
        """Return the row that `first` or a similar function took: the recorded row, or the only row that passes its FILTER."""
        recorded_choice = self._choose_recorded(ordered_rows, function)
        if recorded_choice is not None:
            return recorded_choice
        filtered_rows = ordered_rows
        if function.filter is not None:
            translator = self._make_translator()
            keep = translator.translate(function.filter, self._input)
            joins = join_leaf_tables(self._session, self._capture, self._columns, ordered_rows, translator.needed)
            filtered_rows = self._session.make_table(f"SELECT c.rid, c.grp FROM {ordered_rows} c{joins} WHERE {keep}")
        row = self._session.database.execute(f"SELECT max(n) FROM (SELECT count(*) AS n FROM {filtered_rows} GROUP BY grp)").fetchone()
        if row and row[0] is not None and row[0] > 1:
            self._report_superset(function, "which row the engine met first was not recorded")
            return None
        return filtered_rows

    def _choose_recorded(self, ordered_rows: str, function: Expression) -> str | None:
        """Return a table `rid, grp` of the recorded choices of a function. None if a group has no record of it."""
        boundary = self._capture.plan.choice(self._operator)
        output = next((definition.attr for definition in self._outputs if any(part is function for part in definition.expr.walk())), None)
        if boundary is None or output is None:
            return None
        ways = {way for attr, way in boundary.takes or () if attr == output}
        named_columns = zip(list_references(boundary), (column for column in boundary.columns if column.role == "ref"), strict=True)
        reference_columns = [
            (column.frame, reference_column.name, reference_column.operator)
            for reference_column, column in named_columns
            if column.frame in ways
        ]
        column_names = {column.operator: column.name for column in self._columns}
        if not reference_columns or any(operator not in column_names for _, _, operator in reference_columns):
            return None
        groups = self._session.make_table(f"SELECT DISTINCT grp AS ref FROM {ordered_rows}")
        names = [reference_column for _, reference_column, _ in reference_columns]
        group_rows = Lookup(self._session, self._capture).find_groups(boundary, groups, names)
        if self._session.count_rows(f"(SELECT ref FROM {groups} EXCEPT SELECT grp FROM {group_rows})"):
            return None
        conditions = {
            way: " AND ".join(f"w.{name} = c.{column_names[operator]}" for by, name, operator in reference_columns if by == way)
            for way in ways
        }
        any_way = " OR ".join(f"({definition})" for definition in conditions.values())
        rows = f"SELECT c.rid, c.grp FROM {ordered_rows} c JOIN {group_rows} w ON w.grp = c.grp AND ({any_way})"
        return self._session.make_table(f"SELECT DISTINCT rid, grp FROM ({rows})")

    def _report_superset(self, function: Expression, reason: str) -> None:
        self._session.report(f"{self._operator.op} {function.text}", f"{reason}; all rows of the group are given", "superset")

    def _order_candidates(self, candidates: str) -> str:
        """Add a row number `rid` and the place `rank` in the order of first rows to the candidates."""
        keys, joins = make_order(self._session, self._capture, self._columns, candidates, "c")
        # Derived rows of the same first record have equal places. Their references make the choice repeatable.
        order = ", ".join([*(f"{key} NULLS LAST" for key in keys), *(f"c.{column.name}" for column in self._columns)]) or "NULL"
        return self._session.make_table(f"SELECT c.*, row_number() OVER (ORDER BY {order}) AS rank, rank AS rid FROM {candidates} c{joins}")


def list_aggregates(expressions: Sequence[Expression]) -> list[Expression]:
    return [part for expression in expressions for part in expression.walk() if part.aggregate]


def _is_pivot(definition: Definition) -> bool:
    return definition.attr >= _MADE_UP or any((part.fn, part.name) == ("first", "pivot") for part in definition.expr.walk())


def _takes_all(function: Expression) -> bool:
    if function.filter is not None or function.fn in _GREATEST | _LEAST | _FREE:
        return False
    return not (function.fn == "count" and function.distinct)


def _is_count(function: Expression) -> bool:
    """Return whether the function takes all rows that pass the FILTER, whatever their values are."""
    return function.fn not in _GREATEST | _LEAST and not (function.fn == "count" and function.distinct)
