"""Spark's expressions as DuckDB's, over the records that an association names.

Only what surely means the same in both: everything else raises `Untranslatable`, and the caller keeps the whole group. An
attribute is followed down the plan to the leaf where its value can be had again: a column of a scan, the output of an inner
aggregate, or what passes through an inner window. Below the nullable side of an outer join every value is null where the side is missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from headwater.graph.associations import NONE, Behaviour, Definition, Expression, Operator
from headwater.graph.duck.decimals import computed, summed, widens
from headwater.graph.duck.sql import Untranslatable, literal
from headwater.graph.duck.types import INTEGERS, duckdb_type
from headwater.graph.files.formats import format_of
from headwater.graph.trace.plan import Plan

_COMPARE = {"=": "=", "==": "=", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "!=": "<>", "<=>": "IS NOT DISTINCT FROM"}
_LOGIC = {"and": "AND", "&&": "AND", "or": "OR", "||": "OR"}
_SAME = frozenset({"knownfloatingpointnormalized", "normalizenanandzero", "knownnotnull", "knownnullable", "alias"})
_FLOATS = ("FLOAT", "DOUBLE")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_STRINGS = {"startswith": "starts_with", "endswith": "ends_with", "contains": "contains"}
_FIRST_ALONE = frozenset({Behaviour.MATCH, Behaviour.ABSENCE})  # their rows have the columns of their first input
_OWN_ROWS = frozenset({Behaviour.WINDOW, Behaviour.MATCH, Behaviour.KEPT})  # what may have a boundary of the rows that it puts out


class Translator:
    """Translates expressions over the input of an operator whose boundary has a `ref` or `branch` column for each operator in `columns`.

    `needed` collects the leaves: operator → attributes. Their values are expected as `v<operator>.a<attribute>`.
    """

    def __init__(self, plan: Plan, columns: Mapping[int, str]) -> None:
        self._plan = plan
        self._columns = columns
        self.needed: dict[int, dict[int, str]] = {}
        self._within: int | None = None  # the join whose condition is translated, which reads both sides

    def condition(self, join: Operator) -> str:
        """The condition of a join, which has one, over its inputs.

        Raises:
            Untranslatable: a value in it cannot be had for sure.
        """
        if join.condition is None:
            raise Untranslatable(f"{join.text or 'a join'} without a condition")
        self._within = join.id
        try:
            return self.sql(join.condition, join)
        finally:
            self._within = None

    def sql(self, expression: Expression, operator: Operator) -> str:
        """The expression over the output of `operator`.

        Raises:
            Untranslatable: its value there cannot be had for sure.
        """
        fn, args = expression.fn, expression.args
        if fn == "attr" and expression.attr is not None:
            return self._attribute(expression.attr, operator, expression)
        if fn == "literal":
            return _literal(expression)
        if fn in _SAME and len(args) == 1:
            return self.sql(args[0], operator)
        parts = [self.sql(arg, operator) for arg in args]
        return _call(expression, parts)

    def _attribute(self, attr: int, operator: Operator, asked: Expression) -> str:
        found = self._find(attr, operator)
        if found is None:
            raise Untranslatable(f"{asked.text} is not among the columns that the capture knows")
        return found

    def _refuse_own_forms(self, scan: Operator) -> None:
        """Text whose values are written in a form of the program's own is not read here as Spark reads it."""
        source = next((source for source in self._plan.manifest.sources if source.source == scan.source), None)
        if source is not None and (own := format_of(source.format).own_forms(source.options)):
            raise Untranslatable(f"a value that was read with the option {', '.join(own)}")

    def _find(self, attr: int, operator: Operator) -> str | None:
        does = operator.behaviour
        if does in {Behaviour.SOURCE, Behaviour.OPAQUE}:
            return self._column(attr, operator) if does is Behaviour.SOURCE else None
        definition = next((definition for definition in operator.defines if definition.attr == attr), None)
        if does is Behaviour.GROUP:
            kind = definition.type if definition else _key_type(operator, attr)
            return None if kind is None else self._leaf(operator, attr, kind, f"attribute {attr}")
        if does is Behaviour.WINDOW and definition is not None:
            return self._result(operator, definition)
        if does in _OWN_ROWS and operator.id in self._columns and self._plan.boundary(operator):
            hides = does is Behaviour.MATCH and all(column.attr != attr for column in operator.attributes)
            kind = self._plan.type_of(self._seen(operator)[0] if hides else operator, attr)
            return None if kind is None else self._leaf(operator, attr, kind, f"attribute {attr}")
        if does is Behaviour.BRANCHES and definition is not None:
            return self._branch(operator, definition)
        if definition is not None:
            return self.sql(definition.expr, self._plan.children(operator)[0])
        for side, child in enumerate(self._seen(operator)):
            if (found := self._find(attr, child)) is not None:
                return self._if_present(found, child) if side in operator.optional else found
        return None

    def _column(self, attr: int, scan: Operator) -> str | None:
        """A column of a source."""
        column = next((column for column in scan.attributes if column.attr == attr), None)
        if column is not None and column.type != "string":
            self._refuse_own_forms(scan)
        return None if column is None else self._leaf(scan, attr, column.type, column.name)

    def _seen(self, operator: Operator) -> Sequence[Operator]:
        """The inputs whose columns an operator gives: those of a semi-join's right side may be numbered as another input's above it."""
        inputs = self._plan.children(operator)
        return inputs[:1] if operator.behaviour in _FIRST_ALONE and operator.id != self._within else inputs

    def _result(self, window: Operator, definition: Definition) -> str:
        """What a window computed: of aggregates alone, since of ranks and their like only who had part in them is known."""
        if window.id not in self._columns or not summed(definition.expr).aggregate:
            raise Untranslatable(f"{definition.name}, the result of {window.text or 'a window'},")
        return self._leaf(window, definition.attr, definition.type or "", f"{definition.name}, the result of a window,")

    def _branch(self, expand: Operator, definition: Definition) -> str:
        """What the projection that made the row put there."""
        child, kind = self._plan.children(expand)[0], duckdb_type(definition.type)
        if kind is None or expand.id not in self._columns:
            raise Untranslatable(f"{definition.name}, a column of type {definition.type} that several projections make,")
        made = (f"WHEN {number} THEN {self.sql(part, child)}" for number, part in enumerate(definition.expr.args))
        return f"CAST(CASE c.{self._columns[expand.id]} {' '.join(made)} END AS {kind})"

    def _leaf(self, operator: Operator, attr: int, kind: str, name: str) -> str:
        if duckdb_type(kind) is None:
            raise Untranslatable(f"{name} has the type {kind}")
        if operator.id not in self._columns:
            raise Untranslatable(f"{name}: the capture has no references to its source")
        self.needed.setdefault(operator.id, {})[attr] = kind
        return f"v{operator.id}.a{attr}"

    def _if_present(self, value: str, side: Operator) -> str:
        present = self._present(side)
        if not present:
            raise Untranslatable("the nullable side of an outer join that the capture has no references to")
        return f"CASE WHEN {' OR '.join(present)} THEN {value} END"

    def _present(self, side: Operator) -> list[str]:
        """What holds of a row that has a part from one side of an outer join: some of these."""
        return [f"c.{self._columns[operator.id]} <> {NONE}" for operator in self._plan.upstream(side) if operator.id in self._columns]


def _key_type(aggregate: Operator, attr: int) -> str | None:
    return next((key.type or "" for key in aggregate.keys if key.fn == "attr" and key.attr == attr), None)


def _literal(expression: Expression) -> str:
    kind = duckdb_type(expression.type)
    if expression.value is None:
        return f"CAST(NULL AS {kind})" if kind else "NULL"
    dated = kind == "DATE" and _DATE.fullmatch(expression.value)
    if kind is None or (kind in ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "BLOB") and not dated):
        raise Untranslatable(f"a literal of type {expression.type}")
    return f"CAST({literal(expression.value)} AS {kind})"


def _call(expression: Expression, parts: list[str]) -> str:
    fn, kinds = expression.fn, [duckdb_type(arg.type) for arg in expression.args]
    alike = len(set(kinds)) == 1
    if fn == "cast" and len(parts) == 1:
        return _cast(expression, parts[0], kinds[0])
    if fn in _COMPARE and len(parts) == 2 and alike:
        return f"({parts[0]} {_COMPARE[fn]} {parts[1]})"
    if fn in _LOGIC and parts:
        return "(" + f" {_LOGIC[fn]} ".join(parts) + ")"
    if fn in {"+", "-", "*"} and len(parts) == 2 and alike and kinds[0] in (*INTEGERS, *_FLOATS):
        return f"({parts[0]} {fn} {parts[1]})"
    if fn in {"+", "-", "*"} and len(parts) == 2 and (exact := computed(fn, parts, kinds, duckdb_type(expression.type))):
        return exact
    if fn == "/" and len(parts) == 2 and set(kinds) == {"DOUBLE"}:
        return f"(CASE WHEN {parts[1]} <> 0 THEN {parts[0]} / {parts[1]} END)"
    if fn in {"if", "case", "casewhen", "case_when"} and len(parts) > 1:
        return _case(parts)
    return _predicate(expression, parts, alike=alike)


def _predicate(expression: Expression, parts: list[str], *, alike: bool) -> str:
    fn = expression.fn
    if fn == "coalesce" and parts and alike:
        return f"coalesce({', '.join(parts)})"
    simple = {"not": "(NOT {})", "isnull": "({} IS NULL)", "isnotnull": "({} IS NOT NULL)", "isnan": "coalesce(isnan({}), false)"}
    if fn in simple and len(parts) == 1:
        return simple[fn].format(parts[0])
    if fn == "like" and len(parts) > 1 and _escapes_nothing(expression.args[1:]):
        return f"({parts[0]} LIKE {parts[1]})"
    if fn == "year" and len(parts) == 1 and expression.args[0].type == "date":
        return f"CAST(year({parts[0]}) AS INTEGER)"
    if fn in _STRINGS and len(parts) == 2 and expression.args[0].type == expression.args[1].type == "string":
        return f"{_STRINGS[fn]}({', '.join(parts)})"
    if fn == "in" and len(parts) > 1 and alike:
        return f"({parts[0]} IN ({', '.join(parts[1:])}))"
    if fn == "truncated":
        raise Untranslatable("a value in it was left out, as secrets and very long expressions are")
    raise Untranslatable(f"{expression.text} ({expression.name or fn}) is not evaluated here")


def _escapes_nothing(pattern: Sequence[Expression]) -> bool:
    """Of LIKE: a literal, and the character that escapes, where it is not the backslash."""
    escape = pattern[1].value if len(pattern) > 1 else "\\"
    return pattern[0].fn == "literal" and escape is not None and escape not in (pattern[0].value or "")


def _cast(expression: Expression, value: str, given: str | None) -> str:
    wanted = duckdb_type(expression.type)
    larger = given in INTEGERS and (wanted in INTEGERS[INTEGERS.index(given) :] or (wanted == "DOUBLE" and given != "BIGINT"))
    if wanted is not None and (given == wanted or larger or (given, wanted) == ("FLOAT", "DOUBLE") or widens(given, wanted)):
        return f"CAST({value} AS {wanted})"
    raise Untranslatable(f"{expression.text} casts {expression.args[0].type} to {expression.type}")


def _case(parts: list[str]) -> str:
    branches = "".join(f" WHEN {condition} THEN {value}" for condition, value in zip(parts[::2], parts[1::2], strict=False))
    otherwise = f" ELSE {parts[-1]}" if len(parts) % 2 else ""
    return f"(CASE{branches}{otherwise} END)"
