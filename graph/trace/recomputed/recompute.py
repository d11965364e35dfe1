"""Groups, and matches of semi-joins, whose associations were not written: found again from the source, when a trace asks for them.

What stands for such a group tells its keys (docs: capture format, "Derived boundaries"), and the rows below the aggregate that have equal
keys are the group: one query of DuckDB over the files that the job read. Matches are referred to by their key itself. What comes out has
the shape of the kept table of the boundary, so that traces need not know the difference. Exact or nothing: a source that has changed
since is said, and gives no record.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import duckdb

from headwater.errors import SourceChangedError
from headwater.graph.associations import NONE, Behaviour, Boundary
from headwater.graph.records import Wanted
from headwater.graph.records.tables import schema_of
from headwater.graph.trace.answer import FoundAgain
from headwater.graph.trace.database.sql import Untranslatable, literal
from headwater.graph.trace.files.scanned import scanned
from headwater.graph.trace.plan import Column, references
from headwater.graph.trace.recomputed.group_keys import keys_told
from headwater.graph.trace.recomputed.spec import Sought, key_name, key_of, reference_of, reference_to, sought
from headwater.graph.trace.recomputed.whole import whole_scan
from headwater.graph.trace.session import Capture, Session

# a file that DuckDB cannot read is not the end of a trace
_FAULTS = (SourceChangedError, Untranslatable, duckdb.IOException, duckdb.InvalidInputException, duckdb.ConversionException)
_AT_LENGTH = 0.03  # seconds; what takes a trace longer is asked to be kept


def groups(session: Session, capture: Capture, boundary: Boundary, wanted: str) -> str:
    """The rows of the groups, or matches of the keys, in `wanted` (`ref`), as a table or query with the columns of the kept table."""
    if not is_derived(session, capture, boundary):
        return session.rows(capture, boundary)
    try:
        with _timed(session, capture, boundary):
            return _found(session, capture, boundary, f"SELECT DISTINCT ref FROM {wanted} WHERE ref <> {NONE}")
    except _FAULTS as error:
        return _lost(session, capture, boundary, error)


def all_groups(session: Session, capture: Capture, boundary: Boundary) -> str | None:
    """All rows of a boundary that is to be found again, as a table; None where that cannot be done any more."""
    try:
        return _found(session, capture, boundary, referred(session, capture, boundary))
    except _FAULTS:
        return None


def rows_of_keys(session: Session, capture: Capture, boundary: Boundary, keys: str) -> str:
    """The rows of a semi-join that have one of the keys of a table (`key`)."""
    if not is_derived(session, capture, boundary):
        return session.rows(capture, boundary)
    try:
        with _timed(session, capture, boundary):
            made = sought(capture, boundary)
            wanted = session.table(f"SELECT DISTINCT {key_of('key')} AS k FROM {keys}")
            return _rows(session, capture, made, _of_semi_join(made), f", {wanted} s", [f"{made.keys[0]} = s.k"])
    except _FAULTS as error:
        return _lost(session, capture, boundary, error)


def groups_of(session: Session, capture: Capture, boundary: Boundary, column: Column, records: str) -> str:
    """The rows of the boundary whose `column` is one of these records (a table with the column `ref`), in the same shape."""
    if not is_derived(session, capture, boundary):
        return session.rows(capture, boundary)
    try:
        with _timed(session, capture, boundary):
            return _groups_of(session, capture, boundary, column, records)
    except _FAULTS as error:
        return _lost(session, capture, boundary, error)


def is_derived(session: Session, capture: Capture, boundary: Boundary) -> bool:
    """Whether a boundary's rows have to be found again: they were neither written nor kept since."""
    return boundary.derived is not None and not session.kept(capture, boundary.boundary).exists()


@contextmanager
def _timed(session: Session, capture: Capture, boundary: Boundary) -> Iterator[None]:
    """Say how long it took to find this, beside the estimate; ask for it to be kept, if that is long."""
    began = time.monotonic()
    yield
    took, operator = time.monotonic() - began, capture.plan.operators[boundary.operator]
    if boundary.derived is not None:
        said = operator.label
        session.found_again.append(FoundAgain(capture.id, said, boundary.derived.estimate_ms, took * 1000))
    if took > _AT_LENGTH:
        session.store.wanted.add(Wanted(session.tenant, capture.id, boundary.boundary))


def _groups_of(session: Session, capture: Capture, boundary: Boundary, column: Column, records: str) -> str:
    made = sought(capture, boundary)
    rows = session.table(f"SELECT DISTINCT 0 AS origin, ref FROM {records}")
    if boundary.kind == "semi":
        return _named(session, capture, boundary, made, rows)
    selected = f"{made.references}{made.keyed}{made.computed}"
    operator, needed = capture.plan.operators[column.operator], made.needed.get(column.operator, {})
    if operator.behaviour is Behaviour.SOURCE:
        table = scanned(session, capture, operator, rows, needed) if needed else rows
        present = [f"v{operator.id}.ref IS NOT NULL"]  # an outer join may find none of these records
        met = _rows(session, capture, made, selected, conditions=present, known={operator.id: f"(FROM {table})"})
    else:
        met = _rows(session, capture, made, selected, conditions=[f"{made.columns[column.name]} IN (SELECT ref FROM {rows})"])
    names = "".join(f", m.{name}" for name in [*made.columns, *made.values])
    if made.told and boundary.kind == "match":
        return session.table(f"SELECT {reference_to('m.k0')} AS key{names} FROM {met} m WHERE m.k0 IS NOT NULL")
    if made.told:
        return session.table(f"SELECT {reference_of('m.k0') if made.keys else '0::BIGINT'} AS key{names} FROM {met} m")
    stands = keys_told(session, capture, boundary, made, referred(session, capture, boundary))
    equal = [f"m.{key_name(place)} IS NOT DISTINCT FROM s.{key_name(place)}" for place in range(len(made.keys))]
    return session.table(f"SELECT s.key{names} FROM {met} m JOIN {stands} s ON {' AND '.join(equal)}")


def _found(session: Session, capture: Capture, boundary: Boundary, standing: str) -> str:
    """The rows of the groups, or matches, that references stand for; `standing` is a query of them, `ref`."""
    made = sought(capture, boundary)
    if boundary.kind == "semi":
        return _named(session, capture, boundary, made, session.table(f"SELECT 0 AS origin, ref FROM ({standing})"))
    stands = keys_told(session, capture, boundary, made, standing)
    if not session.count(stands):
        for scan in made.relation.scans:
            whole_scan(session, capture, scan, made.needed.get(scan.id, {}))  # a source that has changed is said
        return _empty(session, boundary)
    selected = f"s.key, {made.references}{made.computed}"
    equal = [f"{key} IS NOT DISTINCT FROM s.{key_name(place)}" for place, key in enumerate(made.keys)]
    alone = _only(session, stands, made)
    conditions = [*alone, *([] if alone else equal)]
    return _rows(session, capture, made, selected, f", {stands} s", conditions)


def _named(session: Session, capture: Capture, boundary: Boundary, made: Sought, records: str) -> str:
    """The rows of a semi-join that records stand for, each one; a table `origin, ref`."""
    scan = capture.plan.operators[references(boundary)[0].operator]
    table = scanned(session, capture, scan, records, made.needed.get(scan.id, {}))
    return _rows(session, capture, made, _of_semi_join(made), known={scan.id: f"(FROM {table})"})


def _of_semi_join(made: Sought) -> str:
    """The columns of a row of a semi-join, in a SELECT."""
    (own,) = made.columns.values()
    return f"{own} AS ref, {reference_to(made.keys[0])} AS key, {made.references}{made.computed}"


def referred(session: Session, capture: Capture, boundary: Boundary) -> str:
    """The references by which others refer to the rows of a boundary: a query of `ref`."""
    rows = capture.plan.boundary(capture.plan.operators[boundary.operator])
    if rows is not None and rows.boundary != boundary.boundary:  # of a semi-join with a condition, whose rows have the key
        return f"SELECT DISTINCT key AS ref FROM {_all(session, capture, rows)} WHERE key <> {NONE}"
    named = [
        f"SELECT DISTINCT {column.name} AS ref FROM {_all(session, capture, other)} WHERE {column.name} <> {NONE}"
        for other in capture.manifest.boundaries
        for column in references(other)
        if column.operator == boundary.operator
    ]
    return " UNION ".join(named) or "SELECT NULL::BIGINT AS ref WHERE false"


def _all(session: Session, capture: Capture, boundary: Boundary) -> str:
    if not is_derived(session, capture, boundary):
        return session.rows(capture, boundary)
    return _found(session, capture, boundary, referred(session, capture, boundary))


def _rows(
    session: Session, capture: Capture, made: Sought, selected: str, beside: str = "", conditions: Sequence[str] = (),
    known: Mapping[int, str] | None = None,
) -> str:  # fmt: skip
    """A table of the rows that a boundary's operator read. Of `known` scans only some records: queries in place of all of them."""
    known = known or {}
    scans = [scan for scan in made.relation.scans if scan.id not in known]
    whole = {scan.id: whole_scan(session, capture, scan, made.needed.get(scan.id, {})) for scan in scans}
    queries = {**known, **{scan: one.sql for scan, one in whole.items()}}
    defined = ", ".join(f"v{scan} AS NOT MATERIALIZED {query}" for scan, query in queries.items())
    where = " AND ".join([*made.relation.conditions, *conditions]) or "true"
    table = session.table(f"WITH {defined} SELECT {selected} FROM {made.relation.sql}{beside} WHERE {where}")
    for one in whole.values():
        one.check()
    return table


def _only(session: Session, stands: str, made: Sought) -> list[str]:
    """Conditions for the keys of the only group that is asked for, which DuckDB hands down to the scans; none where there are several."""
    if session.count(stands) != 1 or not made.keys:
        return []
    names = ", ".join(f"CAST({name} AS VARCHAR), typeof({name})" for name in map(key_name, range(len(made.keys))))
    row = session.database.execute(f"SELECT {names} FROM {stands}").fetchone() or ()
    found = list(zip(made.keys, row[::2], row[1::2], strict=True))
    if any(value is not None and "\0" in value for _, value, _ in found):
        return []
    return [f"{key} IS NULL" if value is None else f"{key} = CAST({literal(value)} AS {kind})" for key, value, kind in found]


def _lost(session: Session, capture: Capture, boundary: Boundary, error: SourceChangedError | Untranslatable | duckdb.Error) -> str:
    operator = capture.plan.operators[boundary.operator]
    reason = error.message if isinstance(error, SourceChangedError) else str(error).partition("\n")[0]
    session.say(operator.label, f"records were left to be found again, and cannot be: {reason}", "missing")
    return _empty(session, boundary)


def _empty(session: Session, boundary: Boundary) -> str:
    columns = ", ".join(f"NULL::BIGINT AS {name}" for name in schema_of(boundary).names)
    return session.table(f"SELECT {columns} WHERE false")
