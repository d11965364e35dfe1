"""The rows of one boundary as a trace reads them: from the kept table, or computed again from the sources.

A group whose associations were not written is computed again. The reference to it tells its keys (docs: capture format, "Derived
boundaries"); the group is the rows below the aggregate that have equal keys. One query of DuckDB finds them in the files that the job read.
Matches of semi-joins are referred to by their key itself. The result has the shape of the boundary's kept table, so that steps need not
know the difference. It is exact or nothing: a source that has changed since gives no record, and the answer says so.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from headwater.errors import SourceChangedError
from headwater.graph.associations import NONE, Behaviour, Boundary
from headwater.graph.duck.sql import Untranslatable, literal
from headwater.graph.records import Wanted
from headwater.graph.records.tables import schema_of
from headwater.graph.trace.answer import FoundAgain
from headwater.graph.trace.plan import Column, references
from headwater.graph.trace.recompute.group_keys import group_keys
from headwater.graph.trace.recompute.spec import RecomputeSpec, key_name, key_of, recompute_spec, reference_of, reference_to
from headwater.graph.trace.recompute.whole_scan import whole_scan
from headwater.graph.trace.scan_tables import scanned
from headwater.graph.trace.session import Capture, Session

# a file that DuckDB cannot read is not the end of a trace
_FAULTS = (SourceChangedError, Untranslatable, duckdb.IOException, duckdb.InvalidInputException, duckdb.ConversionException)
_AT_LENGTH = 0.03  # seconds; what takes a trace longer is asked to be kept


@dataclass(frozen=True, slots=True)
class BoundaryRows:
    """The rows of a boundary of a capture, for one trace. Each method gives a table, or a query, with the columns of the kept table."""

    session: Session
    capture: Capture
    boundary: Boundary

    @property
    def recomputed(self) -> bool:
        """Whether the rows have to be computed again: they were neither written nor kept since."""
        if self.boundary.recomputed is None or self.session.kept(self.capture, self.boundary.boundary).exists():
            return False
        self.session.needs_values(f"Finding the records of {self.capture.plan.operators[self.boundary.operator].label} again")
        return True

    def of_references(self, wanted: str) -> str:
        """The rows of the groups, or the matches of the keys, that the column `ref` of `wanted` names; of a kept table, all rows."""
        if not self.recomputed:
            return self._kept()
        try:
            with self._timed():
                return self._computed(f"SELECT DISTINCT ref FROM {wanted} WHERE ref <> {NONE}")
        except _FAULTS as error:
            return self._lost(error)

    def of_keys(self, keys: str) -> str:
        """The rows of a semi-join that have one of the keys of a table (`key`); of a kept table, all rows."""
        if not self.recomputed:
            return self._kept()
        try:
            with self._timed():
                spec = recompute_spec(self.capture, self.boundary)
                wanted = self.session.table(f"SELECT DISTINCT {key_of('key')} AS k FROM {keys}")
                return self._rows(spec, _columns_of_semi_join(spec), f", {wanted} s", [f"{spec.keys[0]} = s.k"])
        except _FAULTS as error:
            return self._lost(error)

    def of_records(self, column: Column, records: str) -> str:
        """The rows whose `column` is one of these records (a table with the column `ref`); of a kept table, all rows."""
        if not self.recomputed:
            return self._kept()
        try:
            with self._timed():
                return self._of_records(column, records)
        except _FAULTS as error:
            return self._lost(error)

    def all(self) -> str:
        """All rows.

        Raises:
            SourceChangedError, Untranslatable, duckdb.Error: they cannot be computed again any more.
        """
        return self._computed(self.referred()) if self.recomputed else self._kept()

    def all_if_possible(self) -> str | None:
        """All rows, computed again; None where that cannot be done any more."""
        try:
            return self._computed(self.referred())
        except _FAULTS:
            return None

    def referred(self) -> str:
        """The references by which other boundaries name the rows of this one: a query of `ref`."""
        own = self.capture.plan.boundary(self.capture.plan.operators[self.boundary.operator])
        if own is not None and own.boundary != self.boundary.boundary:  # of a semi-join with a condition, whose rows have the key
            return f"SELECT DISTINCT key AS ref FROM {self._of(own).all()} WHERE key <> {NONE}"
        named = [
            f"SELECT DISTINCT {column.name} AS ref FROM {self._of(other).all()} WHERE {column.name} <> {NONE}"
            for other in self.capture.manifest.boundaries
            for column in references(other)
            if column.operator == self.boundary.operator
        ]
        return " UNION ".join(named) or "SELECT NULL::BIGINT AS ref WHERE false"

    def _of(self, boundary: Boundary) -> BoundaryRows:
        return BoundaryRows(self.session, self.capture, boundary)

    def _kept(self) -> str:
        return self.session.rows(self.capture, self.boundary)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """Report how long the computation took, beside the estimate; ask for its result to be kept if that is long."""
        began = time.monotonic()
        yield
        took, operator = time.monotonic() - began, self.capture.plan.operators[self.boundary.operator]
        if self.boundary.recomputed is not None:
            estimate = self.boundary.recomputed.estimate_ms
            self.session.found_again.append(FoundAgain(self.capture.id, operator.label, estimate, took * 1000))
        if took > _AT_LENGTH:
            self.session.store.wanted.add(Wanted(self.session.tenant, self.capture.id, self.boundary.boundary))

    def _of_records(self, column: Column, records: str) -> str:
        session, spec = self.session, recompute_spec(self.capture, self.boundary)
        rows = session.table(f"SELECT DISTINCT 0 AS origin, ref FROM {records}")
        if self.boundary.kind == "semi":
            return self._named(spec, rows)
        selected = f"{spec.references}{spec.keyed}{spec.computed}"
        operator, needed = self.capture.plan.operators[column.operator], spec.needed.get(column.operator, {})
        if operator.behaviour is Behaviour.SOURCE:
            table = scanned(session, self.capture, operator, rows, needed) if needed else rows
            present = [f"v{operator.id}.ref IS NOT NULL"]  # an outer join may find none of these records
            found = self._rows(spec, selected, conditions=present, known={operator.id: f"(FROM {table})"})
        else:
            found = self._rows(spec, selected, conditions=[f"{spec.columns[column.name]} IN (SELECT ref FROM {rows})"])
        names = "".join(f", m.{name}" for name in [*spec.columns, *spec.values])
        if spec.key_in_reference and self.boundary.kind == "match":
            return session.table(f"SELECT {reference_to('m.k0')} AS key{names} FROM {found} m WHERE m.k0 IS NOT NULL")
        if spec.key_in_reference:
            return session.table(f"SELECT {reference_of('m.k0') if spec.keys else '0::BIGINT'} AS key{names} FROM {found} m")
        keys = group_keys(session, self.capture, self.boundary, spec, self.referred())
        equal = [f"m.{key_name(place)} IS NOT DISTINCT FROM s.{key_name(place)}" for place in range(len(spec.keys))]
        return session.table(f"SELECT s.key{names} FROM {found} m JOIN {keys} s ON {' AND '.join(equal)}")

    def _computed(self, wanted: str) -> str:
        """The rows of the groups, or the matches, that references name; `wanted` is a query of these, `ref`."""
        spec = recompute_spec(self.capture, self.boundary)
        if self.boundary.kind == "semi":
            return self._named(spec, self.session.table(f"SELECT 0 AS origin, ref FROM ({wanted})"))
        keys = group_keys(self.session, self.capture, self.boundary, spec, wanted)
        if not self.session.count(keys):
            for scan in spec.relation.scans:
                whole_scan(self.session, self.capture, scan, spec.needed.get(scan.id, {}))  # raises where a source has changed
            return self._none()
        selected = f"s.key, {spec.references}{spec.computed}"
        equal = [f"{key} IS NOT DISTINCT FROM s.{key_name(place)}" for place, key in enumerate(spec.keys)]
        alone = self._only_key(keys, spec)
        conditions = [*alone, *([] if alone else equal)]
        return self._rows(spec, selected, f", {keys} s", conditions)

    def _named(self, spec: RecomputeSpec, records: str) -> str:
        """The row of a semi-join for each record of a table `origin, ref`."""
        scan = self.capture.plan.operators[references(self.boundary)[0].operator]
        table = scanned(self.session, self.capture, scan, records, spec.needed.get(scan.id, {}))
        return self._rows(spec, _columns_of_semi_join(spec), known={scan.id: f"(FROM {table})"})

    def _rows(
        self, spec: RecomputeSpec, selected: str, beside: str = "", conditions: Sequence[str] = (), known: Mapping[int, str] | None = None
    ) -> str:
        """A table of the rows that the boundary's operator read. Of the scans `known` it reads these queries in place of all records."""
        known = known or {}
        scans = [scan for scan in spec.relation.scans if scan.id not in known]
        whole = {scan.id: whole_scan(self.session, self.capture, scan, spec.needed.get(scan.id, {})) for scan in scans}
        queries = {**known, **{scan: one.sql for scan, one in whole.items()}}
        defined = ", ".join(f"v{scan} AS NOT MATERIALIZED {query}" for scan, query in queries.items())
        where = " AND ".join([*spec.relation.conditions, *conditions]) or "true"
        table = self.session.table(f"WITH {defined} SELECT {selected} FROM {spec.relation.sql}{beside} WHERE {where}")
        for one in whole.values():
            one.check()
        return table

    def _only_key(self, keys: str, spec: RecomputeSpec) -> list[str]:
        """Conditions for the keys of the only group that is wanted, which DuckDB hands down to the scans; none where there are several."""
        if self.session.count(keys) != 1 or not spec.keys:
            return []
        names = ", ".join(f"CAST({name} AS VARCHAR), typeof({name})" for name in map(key_name, range(len(spec.keys))))
        row = self.session.database.execute(f"SELECT {names} FROM {keys}").fetchone() or ()
        found = list(zip(spec.keys, row[::2], row[1::2], strict=True))
        if any(value is not None and "\0" in value for _, value, _ in found):
            return []
        return [f"{key} IS NULL" if value is None else f"{key} = CAST({literal(value)} AS {kind})" for key, value, kind in found]

    def _lost(self, error: SourceChangedError | Untranslatable | duckdb.Error) -> str:
        operator = self.capture.plan.operators[self.boundary.operator]
        reason = error.message if isinstance(error, SourceChangedError) else str(error).partition("\n")[0]
        self.session.say(operator.label, f"records were left to be found again, and cannot be: {reason}", "missing")
        return self._none()

    def _none(self) -> str:
        columns = ", ".join(f"NULL::BIGINT AS {name}" for name in schema_of(self.boundary).names)
        return self.session.table(f"SELECT {columns} WHERE false")


def _columns_of_semi_join(spec: RecomputeSpec) -> str:
    """The columns of a row of a semi-join, in a SELECT."""
    (own,) = spec.columns.values()
    return f"{own} AS ref, {reference_to(spec.keys[0])} AS key, {spec.references}{spec.computed}"
