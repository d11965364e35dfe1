"""Finds the aggregate function behind a written column, and the scans whose records can be removed from its groups.

A record may be removed only if nothing else depends on it: each row that it made goes, and no row takes its place. So limits, windows and
aggregates below are refused. The records of an optional or a compared side of a join are not ranked, because without them other rows come.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from headwater.errors import InvalidQueryError, UnsupportedError
from headwater.graph.associations import Behaviour, Definition, Expression, Operator
from headwater.graph.associations.behaviours import passes_all
from headwater.graph.duck.decimals import summed
from headwater.graph.duck.types import duckdb_type
from headwater.graph.trace.links import list_datasets
from headwater.graph.trace.plan import Plan
from headwater.graph.trace.rank.influence import Function
from headwater.graph.trace.session import Capture

_REMOVABLE = frozenset({
    Behaviour.SOURCE, Behaviour.CONSTANT, Behaviour.FILTER, Behaviour.DEFINES, Behaviour.BRANCHES, Behaviour.GENERATES, Behaviour.UNION,
    Behaviour.JOIN, Behaviour.MATCH, Behaviour.ABSENCE,
})  # fmt: skip
_ABOVE = frozenset({Behaviour.PASSES, Behaviour.FILTER, Behaviour.DEFINES, Behaviour.JOIN})
_NUMBERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT"})


@dataclass(frozen=True, slots=True)
class AggregateColumn:
    """The aggregate behind a written column.

    - `argument`: the values that the function takes; None for a count of rows.
    - `is_whole`: the column is the value of the function itself. Otherwise it is an expression over it.
    - `as_float`: the values are converted to floating point first.
    - `scans`: the scans whose records can be removed; `other_scans`: further scans below.
    - `may_vanish`: a filter above may drop the row if its value changes.
    """

    operator: Operator
    function: Function
    call: Expression
    argument: Expression | None
    is_whole: bool
    as_float: bool
    scans: frozenset[int]
    other_scans: frozenset[int]
    may_vanish: bool


def find_aggregate(capture: Capture, column: str) -> AggregateColumn:
    """Return the aggregate behind a column that a capture wrote.

    Raises:
        InvalidQueryError: there is no such column.
        UnsupportedError: the column is no aggregate, or removing a record has effects that are not known.
    """
    sink = capture.manifest.sink
    written = next((each for each in sink.columns if each.name.lower() == column.lower()), None) if sink else None
    if written is None:
        names = ", ".join(each.name for each in sink.columns) if sink else ""
        raise InvalidQueryError(f"The run wrote no column {column}.", field="column", hint=f"It wrote: {names}.")
    plan = capture.plan
    operator, definition, may_vanish = _find_definition(plan, written.attr, column)
    calls = [part for part in definition.expr.walk() if part.aggregate]
    if operator.behaviour is not Behaviour.GROUP or operator.how is not None or operator.whole:
        raise _refused(column, f"is made by {operator.op}, which is no aggregate")
    if len(calls) != 1:
        raise _refused(column, f"is {definition.expr.text}, which has {len(calls) or 'no'} aggregate functions")
    call, divided = _unwrap(definition.expr, calls[0])
    function, argument, as_float = _function_of(column, call)
    _check_below(plan, operator, column)
    scans, others = _list_scans(plan, operator)
    _check_datasets(capture, scans, others, column)
    is_whole = definition.expr is call or divided
    return AggregateColumn(operator, function, call, argument, is_whole, as_float, scans, others, may_vanish)


def _find_definition(plan: Plan, attr: int, column: str) -> tuple[Operator, Definition, bool]:
    """Return the operator that computes a column, below operators that keep rows as they are."""
    operator, may_vanish = plan.operators[plan.manifest.operators[0].id], False
    while True:
        definition = next((each for each in operator.defines if each.attr == attr), None)
        if operator.behaviour is Behaviour.GROUP or operator.behaviour not in _ABOVE:
            if definition is None:
                raise _refused(column, f"passes unchanged through {operator.op}, or is made there in a way that is not known")
            return operator, definition, may_vanish
        if definition is not None:
            inner = definition.expr
            while inner.fn == "alias" and len(inner.args) == 1:
                inner = inner.args[0]
            if inner.fn != "attr" or inner.attr is None:
                raise _refused(column, f"is computed from other columns: {definition.expr.text}")
            attr = inner.attr
        is_limit = operator.behaviour is Behaviour.PASSES and not passes_all(operator.op)
        may_vanish |= is_limit or operator.behaviour in {Behaviour.FILTER, Behaviour.JOIN}
        inputs = [child for child in plan.children(operator) if len(operator.children) == 1 or plan.type_of(child, attr) is not None]
        if len(inputs) != 1:
            raise _refused(column, f"comes from {operator.op} in a way that is not known")
        operator = inputs[0]


def _unwrap(expression: Expression, call: Expression) -> tuple[Expression, bool]:
    """Return the function in the form that a user wrote, and whether the whole expression is this function.

    Spark computes the sum and the mean of short decimals over whole numbers.
    """
    inner = expression
    while inner.fn == "alias" and len(inner.args) == 1:
        inner = inner.args[0]
    if (short := summed(inner)) is not inner:
        return short, True
    if inner.fn == "cast" and inner.args and inner.args[0].fn in {"/", "divide"} and inner.args[0].args[:1] == (call,):
        unscaled = call.args[0] if call.fn in {"avg", "mean"} and call.args else None
        if unscaled is not None and unscaled.fn == "unscaledvalue":
            return replace(call, args=unscaled.args, type=inner.type), True
    return call, inner is call


def _function_of(column: str, call: Expression) -> tuple[Function, Expression | None, bool]:
    name = call.fn
    if call.rows is not None:
        raise _refused(column, f"is {call.text}, next to other DISTINCTs")
    if name == "count":
        if len(call.args) > 1:
            raise _refused(column, f"is {call.text}, of several columns")
        argument = call.args[0] if call.args else None
        return Function("count", call.distinct), None if argument is not None and argument.fn == "literal" else argument, False
    if len(call.args) != 1 and name != "percentile":
        raise _refused(column, f"is {call.text}")
    fraction = _fraction_of(column, call)
    result = duckdb_type(call.type) or ""
    scale = int(result.rstrip(")").split(",")[1]) if result.startswith("DECIMAL") and name in {"sum", "avg", "mean"} else None
    function = Function(name, call.distinct, scale, fraction)
    if not function.is_known:
        raise _refused(column, f"is {call.text}, and {name} is not ranked")
    argument, as_float = call.args[0], False
    if argument.fn == "cast" and argument.type == "double" and argument.args:
        inner = duckdb_type(argument.args[0].type) or ""
        if inner in _NUMBERS or inner.startswith("DECIMAL"):
            argument, as_float = argument.args[0], True
    return function, argument, as_float


def _fraction_of(column: str, call: Expression) -> float:
    """Return the fraction of a percentile, 0.5 for other functions. A percentile with several fractions or with weights is refused."""
    if call.fn != "percentile" or len(call.args) < 2:
        return 0.5
    fraction, *weights = call.args[1:]
    if fraction.fn != "literal" or not _is_fraction(fraction.value) or any(weight.value != "1" for weight in weights[:1]):
        raise _refused(column, f"is {call.text}")
    return float(fraction.value or 0.5)


def _is_fraction(text: str | None) -> bool:
    try:
        return text is not None and 0 <= float(text) <= 1
    except ValueError:
        return False


def _check_below(plan: Plan, aggregate: Operator, column: str) -> None:
    for operator in _below(plan, plan.children(aggregate)):
        is_passing = operator.behaviour is Behaviour.PASSES and passes_all(operator.op)
        if operator.subqueries or not (is_passing or operator.behaviour in _REMOVABLE):
            raise _refused(column, f"is computed over {operator.label}, where other rows may come in the place of a removed one")


def _below(plan: Plan, operators: Iterable[Operator]) -> Iterable[Operator]:
    """Yield the operators whose rows can be removed one by one, nearest first, and those that are compared only."""
    waiting, seen = list(operators), set[int]()
    while waiting:
        operator = waiting.pop(0)
        if operator.id in seen:
            continue
        seen.add(operator.id)
        yield operator
        waiting += [child for place, child in enumerate(plan.children(operator)) if _is_removable_side(operator, place)]


def _is_removable_side(operator: Operator, place: int) -> bool:
    """Return whether removing a row of an input only removes rows of the operator."""
    if operator.behaviour in {Behaviour.MATCH, Behaviour.ABSENCE}:
        return place == 0
    return operator.behaviour is not Behaviour.JOIN or place not in operator.optional


def _list_scans(plan: Plan, aggregate: Operator) -> tuple[frozenset[int], frozenset[int]]:
    every = {scan.id for scan in plan.scans(aggregate)}
    removable = {operator.id for operator in _below(plan, plan.children(aggregate)) if operator.behaviour is Behaviour.SOURCE}
    return frozenset(removable), frozenset(every - removable)


def _check_datasets(capture: Capture, scans: frozenset[int], others: frozenset[int], column: str) -> None:
    datasets = list_datasets(capture)[1]
    both = {datasets[scan] for scan in scans if scan in datasets} & {datasets[scan] for scan in others if scan in datasets}
    if both:
        raise _refused(column, f"is computed from {min(both)} in two ways, one of which adds rows if a record is removed")
    if not scans:
        raise _refused(column, "has no input whose records can be removed one by one")


def _refused(column: str, reason: str) -> UnsupportedError:
    return UnsupportedError(
        f"The inputs of {column} cannot be ranked: it {reason}.",
        hint="headwater trace lists the inputs. Sum, count, avg, min, max, variance, stddev and median of one column are ranked.",
    )
