"""The keys of groups and matches that a trace computes again (docs: capture format)."""

from __future__ import annotations

from headwater.graph.associations import NONE, Boundary
from headwater.graph.duck.sql import decoded
from headwater.graph.records.tables import value_name
from headwater.graph.trace.plan import list_references
from headwater.graph.trace.recompute.spec import RecomputeSpec, list_keys, make_group_reference, make_key, make_key_name
from headwater.graph.trace.scan_tables import make_scan_table
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.translate import Translator


def make_group_keys(session: Session, capture: Capture, boundary: Boundary, spec: RecomputeSpec, wanted_references: str) -> str:
    """Make a table `key, k0 …` of the references in a query `ref` and the key values of each.

    Raises:
        SourceChangedError: a file whose records have the keys has changed.
        Untranslatable: the keys are not certain.
    """
    if spec.key_in_reference:
        convert = make_group_reference if boundary.kind == "group" else make_key
        keys = "".join(f", {convert('ref')} AS {make_key_name(place)}" for place in range(len(spec.keys)))
        return session.make_table(f"SELECT ref AS key{keys} FROM ({wanted_references})")
    check = capture.plan.check(capture.plan.operators[boundary.operator])
    if check is None:
        return _make_record_keys(session, capture, boundary, spec, wanted_references)
    return _make_value_keys(session, capture, check, wanted_references)


def _make_record_keys(session: Session, capture: Capture, boundary: Boundary, spec: RecomputeSpec, wanted_references: str) -> str:
    """Compute the keys from the record that each reference names."""
    scan = capture.plan.operators[list_references(boundary)[0].operator]
    rows = session.make_table(f"SELECT 0 AS origin, ref FROM ({wanted_references})")
    attributes = spec.needed.get(scan.id, {})
    join = f" JOIN {make_scan_table(session, capture, scan, rows, attributes)} v{scan.id} ON v{scan.id}.ref = c.ref" if attributes else ""
    return session.make_table(f"SELECT c.ref AS key{spec.keyed} FROM {rows} c{join}")


def _make_value_keys(session: Session, capture: Capture, check: Boundary, wanted_references: str) -> str:
    """Read the keys from the check boundary, or compute them from the records to which it refers."""
    operator = capture.plan.operators[check.operator]
    child, keys = capture.plan.children(operator)[0], list_keys(check, operator)
    rows = session.make_table(
        f"SELECT DISTINCT b.* FROM ({wanted_references}) n JOIN {session.query_rows(capture, check)} b ON b.key = n.ref"
    )
    columns = {column.operator: column.name for column in list_references(check)}
    translator = Translator(capture.plan, columns)
    known_values: dict[int, str] = {}
    for place, column in enumerate(column for column in check.columns if column.role == "value"):
        if column.attr is not None:
            value = decoded(f"c.{value_name(place)}", keys[column.attr].type)
            known_values[column.attr] = f"(CASE WHEN (c.nulls >> {place}) & 1 = 0 THEN {value} END)"
    values = [known_values[place] if place in known_values else translator.translate(key, child) for place, key in enumerate(keys)]
    joins = ""
    for identifier, attributes in translator.needed.items():
        name = columns[identifier]
        records = session.make_table(f"SELECT DISTINCT 0 AS origin, {name} AS ref FROM {rows} WHERE {name} <> {NONE}")
        table = make_scan_table(session, capture, capture.plan.operators[identifier], records, attributes)
        joins += f" LEFT JOIN {table} v{identifier} ON v{identifier}.ref = c.{name}"
    key_columns = "".join(f", {value} AS {make_key_name(place)}" for place, value in enumerate(values))
    return session.make_table(f"SELECT c.key{key_columns} FROM {rows} c{joins}")
