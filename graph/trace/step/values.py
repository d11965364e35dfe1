"""Reads the values to which references refer: columns of a scan, outputs of an inner aggregate, and rows and results of a window.

The source files are read now, and only if they have not changed since the run read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headwater.graph.associations import NONE, Behaviour, Boundary, Definition, Expression, Operator
from headwater.graph.duck.decimals import summed
from headwater.graph.duck.sql import Untranslatable
from headwater.graph.duck.types import INTEGERS, duckdb_type
from headwater.graph.trace.plan import Column, list_branches, list_names, list_references
from headwater.graph.trace.recompute.boundary_rows import BoundaryRows
from headwater.graph.trace.scan_tables import make_scan_table
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.step.collisions import find_collisions
from headwater.graph.trace.step.frames import find_influence
from headwater.graph.trace.step.lookup import Lookup
from headwater.graph.trace.translate import Translator

Leaves = Mapping[int, Mapping[int, str]]  # operator → attribute → Spark's type


def join_leaf_tables(session: Session, capture: Capture, columns: Sequence[Column], rows: str, leaves: Leaves) -> str:
    """Return SQL joins that add the values of leaves (`v<operator>.a<attribute>`) to the rows `c`.

    Raises:
        SourceChangedError: a file with the values has changed since the run read it.
        Untranslatable: an inner aggregate cannot be computed again.
    """
    by_operator = {column.operator: column.name for column in columns}
    joins = ""
    if leaves:
        session.require_values("Choosing records by their values")
    for identifier, attributes in leaves.items():
        operator, column = capture.plan.operators[identifier], by_operator[identifier]
        wanted_references = session.make_table(f"SELECT DISTINCT 0 AS origin, {column} AS ref FROM {rows} WHERE {column} <> {NONE}")
        make_leaf_table = _READ[operator.behaviour]
        table = make_leaf_table(session, capture, operator, wanted_references, attributes)
        joins += f" LEFT JOIN {table} v{identifier} ON v{identifier}.ref = c.{column}"
    return joins


def _make_aggregate_table(
    session: Session, capture: Capture, operator: Operator, wanted_references: str, attributes: Mapping[int, str]
) -> str:
    boundary = capture.plan.boundary(operator)
    if boundary is None:
        raise Untranslatable(f"the groups of {operator.text}")
    if find_collisions(session, capture, operator, wanted_references):
        raise Untranslatable(f"the groups of {operator.text}, two of whose keys have the same hash")
    columns = list_references(boundary)
    columns_with_branches = [*columns, *list_branches(boundary)]
    rows = Lookup(session, capture).find_groups(boundary, wanted_references, list_names(columns_with_branches))
    translator = Translator(capture.plan, {column.operator: column.name for column in columns_with_branches})
    child = capture.plan.children(operator)[0]
    outputs = {attr: _make_output(translator, operator, child, attr) for attr in attributes}
    joins = join_leaf_tables(session, capture, columns, rows, translator.needed)
    values = "".join(f", CAST({sql} AS {duckdb_type(attributes[attr])}) AS a{attr}" for attr, sql in outputs.items())
    return session.make_table(f"SELECT c.grp AS ref{values} FROM {rows} c{joins} GROUP BY c.grp")


def _make_passing_table(
    session: Session, capture: Capture, operator: Operator, wanted_references: str, attributes: Mapping[int, str]
) -> str:
    """Return values that pass unchanged through a window, a semi-join, a cache or a checkpoint."""
    boundary = capture.plan.boundary(operator)
    if boundary is None:
        raise Untranslatable(f"the rows of {operator.text}")
    columns = list_references(boundary)
    rows = session.make_table(
        f"SELECT w.* FROM {wanted_references} n "
        f"JOIN {BoundaryRows(session, capture, boundary).find_by_references(wanted_references)} w ON w.ref = n.ref"
    )
    results = [d for d in operator.defines if d.attr in attributes] if operator.behaviour is Behaviour.WINDOW else []
    if results:
        return _make_result_table(session, capture, operator, boundary, rows, attributes, results)
    translator = Translator(capture.plan, {column.operator: column.name for column in [*columns, *list_branches(boundary)]})
    child = capture.plan.children(operator)[0]
    definitions = {definition.attr: definition.expr for definition in operator.defines} if operator.behaviour is Behaviour.KEPT else {}
    input_values = {
        attr: translator.translate(definitions.get(attr, Expression(fn="attr", attr=attr, type=kind)), child)
        for attr, kind in attributes.items()
    }
    joins = join_leaf_tables(session, capture, columns, rows, translator.needed)
    values = "".join(f", {sql} AS a{attr}" for attr, sql in input_values.items())
    return session.make_table(f"SELECT c.ref{values} FROM {rows} c{joins}")


def _make_result_table(
    session: Session, capture: Capture, operator: Operator, boundary: Boundary, rows: str, attributes: Mapping[int, str],
    results: Sequence[Definition],
) -> str:  # fmt: skip
    """Return the results of a window, computed again over whole partitions, and values that pass through the window."""
    kept_frames = {f"{c.role.removeprefix('frame_')}{c.frame}" for c in boundary.columns if c.role.startswith("frame_")}
    reaches = {definition.attr: find_influence(operator, definition, kept_frames) for definition in results}
    partition_rows = session.make_table(f"SELECT w.* FROM {session.query_rows(capture, boundary)} w SEMI JOIN {rows} n USING (begin)")
    for reach in reaches.values():
        outside_condition = (
            f"{reach.lo} > w.ref OR {reach.hi} < w.ref"  # the frame does not contain its row; DuckDB expresses that differently
        )
        if reach.reason or session.count_rows(f"(SELECT 1 FROM {partition_rows} w WHERE {outside_condition} LIMIT 1)"):
            raise Untranslatable(f"a result of {operator.text or 'a window'}")
    if any(column.role == "total" for column in boundary.columns) and session.count_rows(
        f"(SELECT 1 FROM {partition_rows} WHERE size < total LIMIT 1)"
    ):
        raise Untranslatable(f"a result of {operator.text or 'a window'}, whose input was not read to its end,")
    columns = list_references(boundary)
    translator = Translator(capture.plan, {column.operator: column.name for column in [*columns, *list_branches(boundary)]})
    child = capture.plan.children(operator)[0]
    input_attributes = {attr: kind for attr, kind in attributes.items() if attr not in reaches}
    values = {attr: translator.translate(Expression(fn="attr", attr=attr, type=kind), child) for attr, kind in input_attributes.items()}
    functions = {definition.attr: _format_aggregate(translator, summed(definition.expr), child) for definition in results}
    for attr, reach in reaches.items():
        lo, hi = (bound.replace("w.", "c.") for bound in (reach.lo, reach.hi))
        frame = f"PARTITION BY c.begin ORDER BY c.ref RANGE BETWEEN (c.ref - {lo}) PRECEDING AND ({hi} - c.ref) FOLLOWING"
        values[attr] = f"CAST({functions[attr]} OVER ({frame}) AS {duckdb_type(attributes[attr])})"
    joins = join_leaf_tables(session, capture, columns, partition_rows, translator.needed)
    value_columns = "".join(f", {sql} AS a{attr}" for attr, sql in values.items())
    return session.make_table(f"SELECT c.ref{value_columns} FROM {partition_rows} c{joins}")


def _make_output(translator: Translator, operator: Operator, child: Operator, attr: int) -> str:
    definition: Definition | None = next((definition for definition in operator.defines if definition.attr == attr), None)
    if definition is None:
        key = next(key for key in operator.keys if key.attr == attr)
        return f"any_value({translator.translate(key, child)})"
    if not any(part.aggregate for part in definition.expr.walk()):
        return f"any_value({translator.translate(definition.expr, child)})"  # depends on keys only, so it is equal in all rows of the group
    function = summed(definition.expr)
    if not function.aggregate:
        raise Untranslatable(definition.expr.text)
    return _format_aggregate(translator, function, child)


def _format_aggregate(translator: Translator, function: Expression, child: Operator) -> str:
    """Return the aggregate in SQL. Sums of floating point are refused, because they depend on the order of rows."""
    arguments = [translator.translate(argument, child) for argument in function.args]
    keep = f" FILTER (WHERE {translator.translate(function.filter, child)})" if function.filter else ""
    kind = duckdb_type(function.args[0].type) if function.args else None
    distinct_prefix = "DISTINCT " if function.distinct else ""
    if function.fn in {"min", "max", "bool_and", "bool_or"} and len(arguments) == 1:
        return f"{function.fn}({arguments[0]}){keep}"
    if function.fn == "count" and len(arguments) == 1:
        return f"count({distinct_prefix}{arguments[0]}){keep}"
    if function.fn == "sum" and kind is not None and (kind in INTEGERS or kind.startswith("DECIMAL")):
        return f"sum({distinct_prefix}{arguments[0]}){keep}"
    raise Untranslatable(f"{function.text} is not computed again here")


_READ = {
    Behaviour.SOURCE: make_scan_table,
    Behaviour.GROUP: _make_aggregate_table,
    Behaviour.WINDOW: _make_passing_table,
    Behaviour.MATCH: _make_passing_table,
    Behaviour.KEPT: _make_passing_table,
}
