"""The values that an association's references stand for: columns of a scan, outputs of an inner aggregate, a window's rows and results.

Source files are read now, and only if they are what the run read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headwater.graph.associations import NONE, Behaviour, Boundary, Definition, Expression, Operator
from headwater.graph.duck.decimals import summed
from headwater.graph.duck.sql import Untranslatable
from headwater.graph.duck.types import INTEGERS, duckdb_type
from headwater.graph.trace.plan import Column, branches, names, references
from headwater.graph.trace.recompute.boundary_rows import BoundaryRows
from headwater.graph.trace.scan_tables import scanned
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.step.collisions import collided
from headwater.graph.trace.step.frames import influence
from headwater.graph.trace.step.lookup import Lookup
from headwater.graph.trace.translate import Translator

Leaves = Mapping[int, Mapping[int, str]]  # operator → attribute → Spark's type


def leaf_tables(session: Session, capture: Capture, columns: Sequence[Column], rows: str, needed: Leaves) -> str:
    """Joins that put the values of leaves beside the rows `c`: `v<operator>.a<attribute>`.

    Raises:
        SourceChangedError: a file that holds them is not what it was.
        Untranslatable: an inner aggregate cannot be computed again.
    """
    by_operator = {column.operator: column.name for column in columns}
    joins = ""
    if needed:
        session.needs_values("Choosing records by their values")
    for identifier, attributes in needed.items():
        operator, column = capture.plan.operators[identifier], by_operator[identifier]
        wanted = session.table(f"SELECT DISTINCT 0 AS origin, {column} AS ref FROM {rows} WHERE {column} <> {NONE}")
        read = _READ[operator.behaviour]
        joins += f" LEFT JOIN {read(session, capture, operator, wanted, attributes)} v{identifier} ON v{identifier}.ref = c.{column}"
    return joins


def _aggregated(session: Session, capture: Capture, operator: Operator, wanted: str, attributes: Mapping[int, str]) -> str:
    boundary = capture.plan.boundary(operator)
    if boundary is None:
        raise Untranslatable(f"the groups of {operator.text}")
    if collided(session, capture, operator, wanted):
        raise Untranslatable(f"the groups of {operator.text}, two of whose keys have the same hash")
    columns = references(boundary)
    known = [*columns, *branches(boundary)]
    rows = Lookup(session, capture).grouped(boundary, wanted, names(known))
    translator = Translator(capture.plan, {column.operator: column.name for column in known})
    child = capture.plan.children(operator)[0]
    outputs = {attr: _output(translator, operator, child, attr) for attr in attributes}
    joins = leaf_tables(session, capture, columns, rows, translator.needed)
    values = "".join(f", CAST({sql} AS {duckdb_type(attributes[attr])}) AS a{attr}" for attr, sql in outputs.items())
    return session.table(f"SELECT c.grp AS ref{values} FROM {rows} c{joins} GROUP BY c.grp")


def _windowed(session: Session, capture: Capture, operator: Operator, wanted: str, attributes: Mapping[int, str]) -> str:
    """What passes through a window, a semi-join, a cache or a checkpoint: the values of its input row, on the left."""
    boundary = capture.plan.boundary(operator)
    if boundary is None:
        raise Untranslatable(f"the rows of {operator.text}")
    columns = references(boundary)
    rows = session.table(
        f"SELECT w.* FROM {wanted} n JOIN {BoundaryRows(session, capture, boundary).of_references(wanted)} w ON w.ref = n.ref"
    )
    results = [d for d in operator.defines if d.attr in attributes] if operator.behaviour is Behaviour.WINDOW else []
    if results:
        return _with_results(session, capture, operator, boundary, rows, attributes, results)
    translator = Translator(capture.plan, {column.operator: column.name for column in [*columns, *branches(boundary)]})
    child = capture.plan.children(operator)[0]
    made = {definition.attr: definition.expr for definition in operator.defines} if operator.behaviour is Behaviour.KEPT else {}
    passed = {attr: translator.sql(made.get(attr, Expression(fn="attr", attr=attr, type=kind)), child) for attr, kind in attributes.items()}
    joins = leaf_tables(session, capture, columns, rows, translator.needed)
    values = "".join(f", {sql} AS a{attr}" for attr, sql in passed.items())
    return session.table(f"SELECT c.ref{values} FROM {rows} c{joins}")


def _with_results(
    session: Session, capture: Capture, operator: Operator, boundary: Boundary, rows: str, attributes: Mapping[int, str],
    results: Sequence[Definition],
) -> str:  # fmt: skip
    """What passes through a window, and what it computed: again, over all rows of the partitions."""
    counted = {f"{c.role.removeprefix('frame_')}{c.frame}" for c in boundary.columns if c.role.startswith("frame_")}
    reaches = {definition.attr: influence(operator, definition, counted) for definition in results}
    whole = session.table(f"SELECT w.* FROM {session.rows(capture, boundary)} w SEMI JOIN {rows} n USING (begin)")
    for reach in reaches.values():
        aside = f"{reach.lo} > w.ref OR {reach.hi} < w.ref"  # a frame beside its row: not said in the same way in DuckDB
        if reach.reason or session.count(f"(SELECT 1 FROM {whole} w WHERE {aside} LIMIT 1)"):
            raise Untranslatable(f"a result of {operator.text or 'a window'}")
    if any(column.role == "total" for column in boundary.columns) and session.count(f"(SELECT 1 FROM {whole} WHERE size < total LIMIT 1)"):
        raise Untranslatable(f"a result of {operator.text or 'a window'}, whose input was not read to its end,")
    columns = references(boundary)
    translator = Translator(capture.plan, {column.operator: column.name for column in [*columns, *branches(boundary)]})
    child = capture.plan.children(operator)[0]
    passed = {attr: kind for attr, kind in attributes.items() if attr not in reaches}
    values = {attr: translator.sql(Expression(fn="attr", attr=attr, type=kind), child) for attr, kind in passed.items()}
    functions = {definition.attr: _aggregate(translator, summed(definition.expr), child) for definition in results}
    for attr, reach in reaches.items():
        lo, hi = (bound.replace("w.", "c.") for bound in (reach.lo, reach.hi))
        frame = f"PARTITION BY c.begin ORDER BY c.ref RANGE BETWEEN (c.ref - {lo}) PRECEDING AND ({hi} - c.ref) FOLLOWING"
        values[attr] = f"CAST({functions[attr]} OVER ({frame}) AS {duckdb_type(attributes[attr])})"
    joins = leaf_tables(session, capture, columns, whole, translator.needed)
    listed = "".join(f", {sql} AS a{attr}" for attr, sql in values.items())
    return session.table(f"SELECT c.ref{listed} FROM {whole} c{joins}")


def _output(translator: Translator, operator: Operator, child: Operator, attr: int) -> str:
    definition: Definition | None = next((definition for definition in operator.defines if definition.attr == attr), None)
    if definition is None:
        key = next(key for key in operator.keys if key.attr == attr)
        return f"any_value({translator.sql(key, child)})"
    if not any(part.aggregate for part in definition.expr.walk()):
        return f"any_value({translator.sql(definition.expr, child)})"  # of keys alone, so the same in every row of the group
    function = summed(definition.expr)
    if not function.aggregate:
        raise Untranslatable(definition.expr.text)
    return _aggregate(translator, function, child)


def _aggregate(translator: Translator, function: Expression, child: Operator) -> str:
    """Only functions whose result does not depend on the order in which rows are met: no sums of floating point."""
    arguments = [translator.sql(argument, child) for argument in function.args]
    keep = f" FILTER (WHERE {translator.sql(function.filter, child)})" if function.filter else ""
    kind = duckdb_type(function.args[0].type) if function.args else None
    distinct = "DISTINCT " if function.distinct else ""
    if function.fn in {"min", "max", "bool_and", "bool_or"} and len(arguments) == 1:
        return f"{function.fn}({arguments[0]}){keep}"
    if function.fn == "count" and len(arguments) == 1:
        return f"count({distinct}{arguments[0]}){keep}"
    if function.fn == "sum" and kind is not None and (kind in INTEGERS or kind.startswith("DECIMAL")):
        return f"sum({distinct}{arguments[0]}){keep}"
    raise Untranslatable(f"{function.text} is not computed again here")


_READ = {
    Behaviour.SOURCE: scanned,
    Behaviour.GROUP: _aggregated,
    Behaviour.WINDOW: _windowed,
    Behaviour.MATCH: _windowed,
    Behaviour.KEPT: _windowed,
}
