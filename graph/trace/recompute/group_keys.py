"""The keys of the groups and matches that references name, for those that are computed again (docs: capture format)."""

from __future__ import annotations

from headwater.graph.associations import NONE, Boundary
from headwater.graph.duck.sql import decoded
from headwater.graph.records.tables import value_name
from headwater.graph.trace.plan import references
from headwater.graph.trace.recompute.spec import RecomputeSpec, group_of, key_name, key_of, keys_of
from headwater.graph.trace.scan_tables import scanned
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.translate import Translator


def group_keys(session: Session, capture: Capture, boundary: Boundary, spec: RecomputeSpec, wanted: str) -> str:
    """Make a table `key, k0 …`: the references that a query `ref` gives, and the keys of each.

    Raises:
        SourceChangedError: a file whose records have the keys has changed.
        Untranslatable: the keys cannot be computed for sure.
    """
    if spec.key_in_reference:
        to_key = group_of if boundary.kind == "group" else key_of
        keys = "".join(f", {to_key('ref')} AS {key_name(place)}" for place in range(len(spec.keys)))
        return session.table(f"SELECT ref AS key{keys} FROM ({wanted})")
    check = capture.plan.check(capture.plan.operators[boundary.operator])
    if check is None:
        return _by_record(session, capture, boundary, spec, wanted)
    return _by_values(session, capture, check, wanted)


def _by_record(session: Session, capture: Capture, boundary: Boundary, spec: RecomputeSpec, wanted: str) -> str:
    """The keys, from the record that each reference names."""
    scan = capture.plan.operators[references(boundary)[0].operator]
    rows = session.table(f"SELECT 0 AS origin, ref FROM ({wanted})")
    needed = spec.needed.get(scan.id, {})
    join = f" JOIN {scanned(session, capture, scan, rows, needed)} v{scan.id} ON v{scan.id}.ref = c.ref" if needed else ""
    return session.table(f"SELECT c.ref AS key{spec.keyed} FROM {rows} c{join}")


def _by_values(session: Session, capture: Capture, check: Boundary, wanted: str) -> str:
    """The keys, from the values in the check boundary, or from the records that it names."""
    operator = capture.plan.operators[check.operator]
    child, keys = capture.plan.children(operator)[0], keys_of(check, operator)
    rows = session.table(f"SELECT DISTINCT b.* FROM ({wanted}) n JOIN {session.rows(capture, check)} b ON b.key = n.ref")
    columns = {column.operator: column.name for column in references(check)}
    translator = Translator(capture.plan, columns)
    known: dict[int, str] = {}
    for place, column in enumerate(column for column in check.columns if column.role == "value"):
        if column.attr is not None:
            value = decoded(f"c.{value_name(place)}", keys[column.attr].type)
            known[column.attr] = f"(CASE WHEN (c.nulls >> {place}) & 1 = 0 THEN {value} END)"
    values = [known[place] if place in known else translator.sql(key, child) for place, key in enumerate(keys)]
    joins = ""
    for identifier, attributes in translator.needed.items():
        name = columns[identifier]
        records = session.table(f"SELECT DISTINCT 0 AS origin, {name} AS ref FROM {rows} WHERE {name} <> {NONE}")
        table = scanned(session, capture, capture.plan.operators[identifier], records, attributes)
        joins += f" LEFT JOIN {table} v{identifier} ON v{identifier}.ref = c.{name}"
    listed = "".join(f", {value} AS {key_name(place)}" for place, value in enumerate(values))
    return session.table(f"SELECT c.key{listed} FROM {rows} c{joins}")
