"""Expressions and operators of a captured plan, with the facts from which a trace finds the records of a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headwater.graph.associations.behaviours import Behaviour
from headwater.graph.associations.codec import Wire, key

_KNOWN = frozenset(map(str, Behaviour))


@dataclass(frozen=True, kw_only=True)
class Expression(Wire):
    """An expression of a plan. `fn` is the lower-case name by which Spark prints the function.

    `sql` is Spark's own text of the outermost expression. `rows` is the attribute below that represents all rows of each value of a
    DISTINCT aggregate.
    """

    fn: str
    args: tuple[Expression, ...] = ()
    type: str | None = None
    attr: int | None = None
    value: str | None = None
    name: str | None = None
    aggregate: bool = False
    distinct: bool = False
    filter: Expression | None = None
    rows: int | None = None
    sql: str | None = None

    def walk(self) -> Iterator[Expression]:
        """Yield this expression and all expressions in it, outermost first."""
        yield self
        for child in self.args:
            yield from child.walk()
        if self.filter is not None:
            yield from self.filter.walk()

    @property
    def attrs(self) -> frozenset[int]:
        """Return the attributes that the expression reads."""
        read = (part.attr if part.fn == "attr" else part.rows for part in self.walk())
        return frozenset(attr for attr in read if attr is not None)

    @property
    def text(self) -> str:
        """Return Spark's text of the expression, or one made from its parts."""
        if self.sql is not None:
            return self.sql
        if self.fn == "attr":
            return self.name or f"#{self.attr}"
        if self.fn == "literal":
            return "NULL" if self.value is None else self.value
        return f"{self.name or self.fn}({', '.join(arg.text for arg in self.args)})"


@dataclass(frozen=True, kw_only=True)
class Attribute(Wire):
    """An output column of an operator."""

    attr: int
    name: str
    type: str = ""


@dataclass(frozen=True, kw_only=True)
class Definition(Wire):
    """A column that an operator computes. `frame` is an index into the window's `frames`."""

    attr: int
    name: str
    expr: Expression
    type: str = ""
    frame: int | None = None


@dataclass(frozen=True, kw_only=True)
class Ordering(Wire):
    """A sort key of a window."""

    expr: Expression
    descending: bool = False
    nulls_last: bool = False


@dataclass(frozen=True, kw_only=True)
class Frame(Wire):
    """The frame of a window.

    `start` and `end` are None for unbounded, a number of rows (0: the current one), or the text of a bound of values.
    """

    unit: str
    start: Any = None
    end: Any = None


@dataclass(frozen=True, kw_only=True)
class Operator(Wire):
    """A node of the plan. `op` is a name to show. The behaviour decides which further fields it has, and the content of `columns`.

    `optional` are the positions of a join's inputs that may have no row for a row of the join.
    """

    id: int
    op: str
    stated: str | None = key("behaviour", default=None)
    optional: tuple[int, ...] = ()
    children: tuple[int, ...] = ()
    subqueries: tuple[int, ...] = ()
    text: str = ""
    source: int | None = None
    boundary: int | None = None
    reads: tuple[int, ...] = ()
    condition: Expression | None = None
    how: str | None = None
    defines: tuple[Definition, ...] = ()
    keys: tuple[Expression, ...] = ()
    whole: bool = False  # only for a group: each row needs all rows of the group and all definitions, for any columns
    partition: tuple[Expression, ...] = ()
    order: tuple[Ordering, ...] = ()
    frames: tuple[Frame, ...] = ()
    columns: tuple[Any, ...] = ()

    @cached_property
    def behaviour(self) -> Behaviour:
        """Return the effect on rows. `OPAQUE` if it is unknown."""
        return Behaviour.OPAQUE if self.stated is None or self.unknown else Behaviour(self.stated)

    @property
    def unknown(self) -> bool:
        """Return whether the manifest states no behaviour, or one that this release does not know."""
        return self.stated not in _KNOWN

    @property
    def label(self) -> str:
        """Return the name to show in answers."""
        return self.text or self.op

    @property
    def inputs(self) -> tuple[int, ...]:
        """Return all operators from whose rows the operator makes its own: the subqueries of its expressions, and its children."""
        return self.subqueries + self.children

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Return the output of a scan, a local relation or a subquery. An existence join has a column with the result of the match."""
        return tuple(
            Attribute.from_json(column, f"$.operators[{self.id}].columns") for column in self.columns if isinstance(column, Mapping)
        )

    @property
    def written(self) -> tuple[int, ...]:
        """Return the attributes that a write puts into its columns, in their order."""
        return tuple(column for column in self.columns if isinstance(column, int))
