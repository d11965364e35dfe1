"""Translates Spark's expressions to DuckDB's, over the records that an association names.

Expressions are translated only if they certainly mean the same in both. All others raise `Untranslatable`, and the caller keeps the whole
group. An attribute is followed down the plan to the leaf that has its value. A leaf is a column of a scan, the output of an inner
aggregate, or a value that passes through an inner window. On the nullable side of an outer join, every value is null if the row is
missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from headwater.graph.associations import NONE, Behaviour, Definition, Expression, Operator
from headwater.graph.duck.decimals import computed, summed, widens
from headwater.graph.duck.sql import Untranslatable, literal
from headwater.graph.duck.types import INTEGERS, duckdb_type
from headwater.graph.files.formats import get_format
from headwater.graph.trace.plan import Plan

_COMPARE = {"=": "=", "==": "=", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "!=": "<>", "<=>": "IS NOT DISTINCT FROM"}
_LOGIC = {"and": "AND", "&&": "AND", "or": "OR", "||": "OR"}
_SAME = frozenset({"knownfloatingpointnormalized", "normalizenanandzero", "knownnotnull", "knownnullable", "alias"})
_FLOATS = ("FLOAT", "DOUBLE")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_STRINGS = {"startswith": "starts_with", "endswith": "ends_with", "contains": "contains"}
_FIRST_ALONE = frozenset({Behaviour.MATCH, Behaviour.ABSENCE})  # their rows have only the columns of the first input
_OWN_ROWS = frozenset({Behaviour.WINDOW, Behaviour.MATCH, Behaviour.KEPT})  # operators that may have a boundary of their output rows


class Translator:
    """Translates expressions over the input of an operator. `columns` maps operators to `ref` or `branch` columns of its boundary.

    `needed` collects the leaves: operator → attributes. The caller's SQL must provide their values as `v<operator>.a<attribute>`.
    """

    def __init__(self, plan: Plan, columns: Mapping[int, str]) -> None:
        self._plan = plan
        self._columns = columns
        self.needed: dict[int, dict[int, str]] = {}
        self._join_in_translation: int | None = None  # the join whose condition is being translated; it reads both sides

    def translate_condition(self, join: Operator) -> str:
        """Translate the condition of a join over its inputs.

        Raises:
            Untranslatable: a value in the condition is not certain.
        """
        if join.condition is None:
            raise Untranslatable(f"{join.text or 'a join'} without a condition")
        self._join_in_translation = join.id
        try:
            return self.translate(join.condition, join)
        finally:
            self._join_in_translation = None

    def translate(self, expression: Expression, operator: Operator) -> str:
        """Translate the expression over the output of `operator`.

        Raises:
            Untranslatable: the value of the expression is not certain.
        """
        fn, args = expression.fn, expression.args
        if fn == "attr" and expression.attr is not None:
            return self._translate_attribute(expression.attr, operator, expression)
        if fn == "literal":
            return _format_literal(expression)
        if fn in _SAME and len(args) == 1:
            return self.translate(args[0], operator)
        parts = [self.translate(arg, operator) for arg in args]
        return _translate_call(expression, parts)

    def _translate_attribute(self, attr: int, operator: Operator, expression: Expression) -> str:
        value = self._find_value(attr, operator)
        if value is None:
            raise Untranslatable(f"{expression.text} is not among the columns that the capture knows")
        return value

    def _refuse_own_forms(self, scan: Operator) -> None:
        """Refuse values of text files with custom formats of numbers or dates, because DuckDB reads them differently from Spark."""
        source = next((source for source in self._plan.manifest.sources if source.source == scan.source), None)
        if source is not None and (own_forms := get_format(source.format).list_own_forms(source.options)):
            raise Untranslatable(f"a value that was read with the option {', '.join(own_forms)}")

    def _find_value(self, attr: int, operator: Operator) -> str | None:
        behaviour = operator.behaviour
        if behaviour in {Behaviour.SOURCE, Behaviour.OPAQUE}:
            return self._translate_column(attr, operator) if behaviour is Behaviour.SOURCE else None
        definition = next((definition for definition in operator.defines if definition.attr == attr), None)
        if behaviour is Behaviour.GROUP:
            kind = definition.type if definition else _find_key_type(operator, attr)
            return None if kind is None else self._add_leaf(operator, attr, kind, f"attribute {attr}")
        if behaviour is Behaviour.WINDOW and definition is not None:
            return self._translate_window(operator, definition)
        if behaviour in _OWN_ROWS and operator.id in self._columns and self._plan.boundary(operator):
            hides = behaviour is Behaviour.MATCH and all(column.attr != attr for column in operator.attributes)
            kind = self._plan.type_of(self._list_visible_inputs(operator)[0] if hides else operator, attr)
            return None if kind is None else self._add_leaf(operator, attr, kind, f"attribute {attr}")
        if behaviour is Behaviour.BRANCHES and definition is not None:
            return self._translate_branch(operator, definition)
        if definition is not None:
            return self.translate(definition.expr, self._plan.children(operator)[0])
        for side, child in enumerate(self._list_visible_inputs(operator)):
            if (value := self._find_value(attr, child)) is not None:
                return self._guard_presence(value, child) if side in operator.optional else value
        return None

    def _translate_column(self, attr: int, scan: Operator) -> str | None:
        column = next((column for column in scan.attributes if column.attr == attr), None)
        if column is not None and column.type != "string":
            self._refuse_own_forms(scan)
        return None if column is None else self._add_leaf(scan, attr, column.type, column.name)

    def _list_visible_inputs(self, operator: Operator) -> Sequence[Operator]:
        """Return the inputs whose columns an operator provides. The right side of a semi-join may reuse attribute numbers."""
        inputs = self._plan.children(operator)
        return inputs[:1] if operator.behaviour in _FIRST_ALONE and operator.id != self._join_in_translation else inputs

    def _translate_window(self, window: Operator, definition: Definition) -> str:
        """Translate the result of an aggregate over a window. Ranks do not record their values, and are refused."""
        if window.id not in self._columns or not summed(definition.expr).aggregate:
            raise Untranslatable(f"{definition.name}, the result of {window.text or 'a window'},")
        return self._add_leaf(window, definition.attr, definition.type or "", f"{definition.name}, the result of a window,")

    def _translate_branch(self, expand: Operator, definition: Definition) -> str:
        child, kind = self._plan.children(expand)[0], duckdb_type(definition.type)
        if kind is None or expand.id not in self._columns:
            raise Untranslatable(f"{definition.name}, a column of type {definition.type} that several projections make,")
        cases = (f"WHEN {number} THEN {self.translate(part, child)}" for number, part in enumerate(definition.expr.args))
        return f"CAST(CASE c.{self._columns[expand.id]} {' '.join(cases)} END AS {kind})"

    def _add_leaf(self, operator: Operator, attr: int, kind: str, name: str) -> str:
        if duckdb_type(kind) is None:
            raise Untranslatable(f"{name} has the type {kind}")
        if operator.id not in self._columns:
            raise Untranslatable(f"{name}: the capture has no references to its source")
        self.needed.setdefault(operator.id, {})[attr] = kind
        return f"v{operator.id}.a{attr}"

    def _guard_presence(self, value: str, side: Operator) -> str:
        conditions = self._list_presence_conditions(side)
        if not conditions:
            raise Untranslatable("the nullable side of an outer join that the capture has no references to")
        return f"CASE WHEN {' OR '.join(conditions)} THEN {value} END"

    def _list_presence_conditions(self, side: Operator) -> list[str]:
        """Return conditions on one side of an outer join. At least one holds if the row has a part from this side."""
        return [f"c.{self._columns[operator.id]} <> {NONE}" for operator in self._plan.upstream(side) if operator.id in self._columns]


def _find_key_type(aggregate: Operator, attr: int) -> str | None:
    return next((key.type or "" for key in aggregate.keys if key.fn == "attr" and key.attr == attr), None)


def _format_literal(expression: Expression) -> str:
    kind = duckdb_type(expression.type)
    if expression.value is None:
        return f"CAST(NULL AS {kind})" if kind else "NULL"
    dated = kind == "DATE" and _DATE.fullmatch(expression.value)
    if kind is None or (kind in ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "BLOB") and not dated):
        raise Untranslatable(f"a literal of type {expression.type}")
    return f"CAST({literal(expression.value)} AS {kind})"


def _translate_call(expression: Expression, parts: list[str]) -> str:
    fn, kinds = expression.fn, [duckdb_type(arg.type) for arg in expression.args]
    has_one_type = len(set(kinds)) == 1
    if fn == "cast" and len(parts) == 1:
        return _translate_cast(expression, parts[0], kinds[0])
    if fn in _COMPARE and len(parts) == 2 and has_one_type:
        return f"({parts[0]} {_COMPARE[fn]} {parts[1]})"
    if fn in _LOGIC and parts:
        return "(" + f" {_LOGIC[fn]} ".join(parts) + ")"
    if fn in {"+", "-", "*"} and len(parts) == 2 and has_one_type and kinds[0] in (*INTEGERS, *_FLOATS):
        return f"({parts[0]} {fn} {parts[1]})"
    if fn in {"+", "-", "*"} and len(parts) == 2 and (decimal_result := computed(fn, parts, kinds, duckdb_type(expression.type))):
        return decimal_result
    if fn == "/" and len(parts) == 2 and set(kinds) == {"DOUBLE"}:
        return f"(CASE WHEN {parts[1]} <> 0 THEN {parts[0]} / {parts[1]} END)"
    if fn in {"if", "case", "casewhen", "case_when"} and len(parts) > 1:
        return _translate_case(parts)
    return _translate_predicate(expression, parts, has_one_type=has_one_type)


def _translate_predicate(expression: Expression, parts: list[str], *, has_one_type: bool) -> str:
    fn = expression.fn
    if fn == "coalesce" and parts and has_one_type:
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
    if fn == "in" and len(parts) > 1 and has_one_type:
        return f"({parts[0]} IN ({', '.join(parts[1:])}))"
    if fn == "truncated":
        raise Untranslatable("a value in it was left out, as secrets and very long expressions are")
    raise Untranslatable(f"{expression.text} ({expression.name or fn}) is not evaluated here")


def _escapes_nothing(pattern: Sequence[Expression]) -> bool:
    """Return whether a LIKE pattern is a literal without escaped characters, or uses only the backslash to escape."""
    escape = pattern[1].value if len(pattern) > 1 else "\\"
    return pattern[0].fn == "literal" and escape is not None and escape not in (pattern[0].value or "")


def _translate_cast(expression: Expression, value: str, source_type: str | None) -> str:
    target_type = duckdb_type(expression.type)
    is_wider = source_type in INTEGERS and (
        target_type in INTEGERS[INTEGERS.index(source_type) :] or (target_type == "DOUBLE" and source_type != "BIGINT")
    )
    if target_type is not None and (
        source_type == target_type or is_wider or (source_type, target_type) == ("FLOAT", "DOUBLE") or widens(source_type, target_type)
    ):
        return f"CAST({value} AS {target_type})"
    raise Untranslatable(f"{expression.text} casts {expression.args[0].type} to {expression.type}")


def _translate_case(parts: list[str]) -> str:
    branches = "".join(f" WHEN {condition} THEN {value}" for condition, value in zip(parts[::2], parts[1::2], strict=False))
    else_clause = f" ELSE {parts[-1]}" if len(parts) % 2 else ""
    return f"(CASE{branches}{else_clause} END)"
