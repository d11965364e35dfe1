"""The keys of groups, and of matches, that are to be found again: what the references to them tell (docs: capture format)."""

from __future__ import annotations

from headwater.graph.associations import NONE, Boundary
from headwater.graph.records.tables import value_name
from headwater.graph.trace.database.sql import decoded
from headwater.graph.trace.files.scanned import scanned
from headwater.graph.trace.plan import references
from headwater.graph.trace.recomputed.spec import Sought, group_of, key_name, key_of, keys_of
from headwater.graph.trace.session import Capture, Session
from headwater.graph.trace.translate import Translator


def keys_told(session: Session, capture: Capture, boundary: Boundary, made: Sought, wanted: str) -> str:
    """A table `key, k0 …` of the keys that references, a query of `ref`, stand for.

    Raises:
        SourceChangedError: a file with a record that tells a key is not what it was.
        Untranslatable: so is what it holds.
    """
    if made.told:
        tell = group_of if boundary.kind == "group" else key_of
        keys = "".join(f", {tell('ref')} AS {key_name(place)}" for place in range(len(made.keys)))
        return session.table(f"SELECT ref AS key{keys} FROM ({wanted})")
    check = capture.plan.check(capture.plan.operators[boundary.operator])
    if check is None:
        return _by_record(session, capture, boundary, made, wanted)
    return _by_values(session, capture, check, wanted)


def _by_record(session: Session, capture: Capture, boundary: Boundary, made: Sought, wanted: str) -> str:
    """The reference is to a record that has the keys."""
    scan = capture.plan.operators[references(boundary)[0].operator]
    rows = session.table(f"SELECT 0 AS origin, ref FROM ({wanted})")
    needed = made.needed.get(scan.id, {})
    join = f" JOIN {scanned(session, capture, scan, rows, needed)} v{scan.id} ON v{scan.id}.ref = c.ref" if needed else ""
    return session.table(f"SELECT c.ref AS key{made.keyed} FROM {rows} c{join}")


def _by_values(session: Session, capture: Capture, check: Boundary, wanted: str) -> str:
    """The keys' values were written, or records that have them."""
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
