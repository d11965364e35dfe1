"""The rows of one boundary for a trace: from the kept table, or computed again from the sources.

If a run did not write the associations of a group, a trace computes the group again. The reference to the group determines its keys (docs:
capture format, "Derived boundaries"). One DuckDB query finds the rows below the aggregate with equal keys, in the files that the job read.
A reference to matches of a semi-join is the key itself. The result has the columns of the boundary's kept table. It is exact or empty: if a
source has changed, the answer reports missing records.
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
from headwater.graph.trace.plan import Column, list_references
from headwater.graph.trace.recompute.group_keys import make_group_keys
from headwater.graph.trace.recompute.spec import (
    RecomputeSpec,
    make_key,
    make_key_name,
    make_recompute_spec,
    make_reference_to,
    make_row_reference,
)
from headwater.graph.trace.recompute.whole_scan import make_whole_scan
from headwater.graph.trace.scan_tables import make_scan_table
from headwater.graph.trace.session import Capture, Session

# a trace continues if DuckDB cannot read a file
_FAULTS = (SourceChangedError, Untranslatable, duckdb.IOException, duckdb.InvalidInputException, duckdb.ConversionException)
_AT_LENGTH = 0.03  # seconds; slower results are kept for later traces


@dataclass(frozen=True, slots=True)
class BoundaryRows:
    """The rows of a boundary of a capture, for one trace. Each method returns a table or a query with the columns of the kept table."""

    session: Session
    capture: Capture
    boundary: Boundary

    @property
    def recomputed(self) -> bool:
        """Return whether the rows must be computed again, because no kept table has them."""
        if self.boundary.recomputed is None or self.session.query_kept_table(self.capture, self.boundary.boundary).exists():
            return False
        self.session.require_values(f"Finding the records of {self.capture.plan.operators[self.boundary.operator].label} again")
        return True

    def find_by_references(self, wanted_references: str) -> str:
        """Return the rows of the groups or matches in the column `ref` of `wanted_references`. A kept table returns all rows."""
        if not self.recomputed:
            return self._query_kept_table()
        try:
            with self._measure_time():
                return self._compute_by_keys(f"SELECT DISTINCT ref FROM {wanted_references} WHERE ref <> {NONE}")
        except _FAULTS as error:
            return self._report_lost_records(error)

    def find_by_keys(self, keys: str) -> str:
        """Return the rows of a semi-join that have a key in the table `keys`. A kept table returns all rows."""
        if not self.recomputed:
            return self._query_kept_table()
        try:
            with self._measure_time():
                spec = make_recompute_spec(self.capture, self.boundary)
                key_references = self.session.make_table(f"SELECT DISTINCT {make_key('key')} AS k FROM {keys}")
                return self._read_source_rows(spec, _list_semi_join_columns(spec), f", {key_references} s", [f"{spec.keys[0]} = s.k"])
        except _FAULTS as error:
            return self._report_lost_records(error)

    def find_by_records(self, column: Column, records: str) -> str:
        """Return the rows whose `column` refers to one of the records in a table with the column `ref`. A kept table returns all rows."""
        if not self.recomputed:
            return self._query_kept_table()
        try:
            with self._measure_time():
                return self._compute_by_records(column, records)
        except _FAULTS as error:
            return self._report_lost_records(error)

    def read_all(self) -> str:
        """Return all rows.

        Raises:
            SourceChangedError, Untranslatable, duckdb.Error: the rows cannot be computed again.
        """
        return self._compute_by_keys(self.query_references()) if self.recomputed else self._query_kept_table()

    def try_read_all(self) -> str | None:
        """Compute all rows again. Return None if that is no longer possible."""
        try:
            return self._compute_by_keys(self.query_references())
        except _FAULTS:
            return None

    def query_references(self) -> str:
        """Return a query of the references (`ref`) with which other boundaries refer to rows of this boundary."""
        own_boundary = self.capture.plan.boundary(self.capture.plan.operators[self.boundary.operator])
        if (
            own_boundary is not None and own_boundary.boundary != self.boundary.boundary
        ):  # a semi-join with a condition: its rows have the key
            return f"SELECT DISTINCT key AS ref FROM {self._find_rows(own_boundary).read_all()} WHERE key <> {NONE}"
        queries = [
            f"SELECT DISTINCT {column.name} AS ref FROM {self._find_rows(other_boundary).read_all()} WHERE {column.name} <> {NONE}"
            for other_boundary in self.capture.manifest.boundaries
            for column in list_references(other_boundary)
            if column.operator == self.boundary.operator
        ]
        return " UNION ".join(queries) or "SELECT NULL::BIGINT AS ref WHERE false"

    def _find_rows(self, boundary: Boundary) -> BoundaryRows:
        return BoundaryRows(self.session, self.capture, boundary)

    def _query_kept_table(self) -> str:
        return self.session.query_rows(self.capture, self.boundary)

    @contextmanager
    def _measure_time(self) -> Iterator[None]:
        started_at = time.monotonic()
        yield
        seconds, operator = time.monotonic() - started_at, self.capture.plan.operators[self.boundary.operator]
        if self.boundary.recomputed is not None:
            estimate = self.boundary.recomputed.estimate_ms
            self.session.recomputed_groups.append(FoundAgain(self.capture.id, operator.label, estimate, seconds * 1000))
        if seconds > _AT_LENGTH:
            self.session.store.wanted.add(Wanted(self.session.tenant, self.capture.id, self.boundary.boundary))

    def _compute_by_records(self, column: Column, records: str) -> str:
        session, spec = self.session, make_recompute_spec(self.capture, self.boundary)
        rows = session.make_table(f"SELECT DISTINCT 0 AS origin, ref FROM {records}")
        if self.boundary.kind == "semi":
            return self._name_columns(spec, rows)
        selected = f"{spec.references}{spec.keyed}{spec.computed}"
        operator, attributes = self.capture.plan.operators[column.operator], spec.needed.get(column.operator, {})
        if operator.behaviour is Behaviour.SOURCE:
            table = make_scan_table(session, self.capture, operator, rows, attributes) if attributes else rows
            conditions = [f"v{operator.id}.ref IS NOT NULL"]  # an outer join may find none of these records
            source_rows = self._read_source_rows(spec, selected, conditions=conditions, scan_queries={operator.id: f"(FROM {table})"})
        else:
            source_rows = self._read_source_rows(spec, selected, conditions=[f"{spec.columns[column.name]} IN (SELECT ref FROM {rows})"])
        names = "".join(f", m.{name}" for name in [*spec.columns, *spec.values])
        if spec.key_in_reference and self.boundary.kind == "match":
            return session.make_table(f"SELECT {make_reference_to('m.k0')} AS key{names} FROM {source_rows} m WHERE m.k0 IS NOT NULL")
        if spec.key_in_reference:
            return session.make_table(
                f"SELECT {make_row_reference('m.k0') if spec.keys else '0::BIGINT'} AS key{names} FROM {source_rows} m"
            )
        keys = make_group_keys(session, self.capture, self.boundary, spec, self.query_references())
        equal = [f"m.{make_key_name(place)} IS NOT DISTINCT FROM s.{make_key_name(place)}" for place in range(len(spec.keys))]
        return session.make_table(f"SELECT s.key{names} FROM {source_rows} m JOIN {keys} s ON {' AND '.join(equal)}")

    def _compute_by_keys(self, wanted_references: str) -> str:
        spec = make_recompute_spec(self.capture, self.boundary)
        if self.boundary.kind == "semi":
            return self._name_columns(spec, self.session.make_table(f"SELECT 0 AS origin, ref FROM ({wanted_references})"))
        keys = make_group_keys(self.session, self.capture, self.boundary, spec, wanted_references)
        if not self.session.count_rows(keys):
            for scan in spec.relation.scans:
                make_whole_scan(self.session, self.capture, scan, spec.needed.get(scan.id, {}))  # raises if a source has changed
            return self._make_empty_table()
        selected = f"s.key, {spec.references}{spec.computed}"
        equal = [f"{key} IS NOT DISTINCT FROM s.{make_key_name(place)}" for place, key in enumerate(spec.keys)]
        key_conditions = self._restrict_to_only_key(keys, spec)
        conditions = [*key_conditions, *([] if key_conditions else equal)]
        return self._read_source_rows(spec, selected, f", {keys} s", conditions)

    def _name_columns(self, spec: RecomputeSpec, records: str) -> str:
        scan = self.capture.plan.operators[list_references(self.boundary)[0].operator]
        table = make_scan_table(self.session, self.capture, scan, records, spec.needed.get(scan.id, {}))
        return self._read_source_rows(spec, _list_semi_join_columns(spec), scan_queries={scan.id: f"(FROM {table})"})

    def _read_source_rows(
        self,
        spec: RecomputeSpec,
        selected: str,
        extra_columns: str = "",
        conditions: Sequence[str] = (),
        scan_queries: Mapping[int, str] | None = None,
    ) -> str:
        scan_queries = scan_queries or {}
        scans = [scan for scan in spec.relation.scans if scan.id not in scan_queries]
        whole_scans = {scan.id: make_whole_scan(self.session, self.capture, scan, spec.needed.get(scan.id, {})) for scan in scans}
        queries = {**scan_queries, **{scan: scan_of_all.sql for scan, scan_of_all in whole_scans.items()}}
        defined = ", ".join(f"v{scan} AS NOT MATERIALIZED {query}" for scan, query in queries.items())
        condition = " AND ".join([*spec.relation.conditions, *conditions]) or "true"
        table = self.session.make_table(f"WITH {defined} SELECT {selected} FROM {spec.relation.sql}{extra_columns} WHERE {condition}")
        for scan_of_all in whole_scans.values():
            scan_of_all.check()
        return table

    def _restrict_to_only_key(self, keys: str, spec: RecomputeSpec) -> list[str]:
        """Return conditions for the keys of a single group, which DuckDB pushes into the scans. Several groups have no conditions."""
        if self.session.count_rows(keys) != 1 or not spec.keys:
            return []
        names = ", ".join(f"CAST({name} AS VARCHAR), typeof({name})" for name in map(make_key_name, range(len(spec.keys))))
        row = self.session.database.execute(f"SELECT {names} FROM {keys}").fetchone() or ()
        key_values = list(zip(spec.keys, row[::2], row[1::2], strict=True))
        if any(value is not None and "\0" in value for _, value, _ in key_values):
            return []
        return [f"{key} IS NULL" if value is None else f"{key} = CAST({literal(value)} AS {kind})" for key, value, kind in key_values]

    def _report_lost_records(self, error: SourceChangedError | Untranslatable | duckdb.Error) -> str:
        operator = self.capture.plan.operators[self.boundary.operator]
        reason = error.message if isinstance(error, SourceChangedError) else str(error).partition("\n")[0]
        self.session.report(operator.label, f"records were left to be found again, and cannot be: {reason}", "missing")
        return self._make_empty_table()

    def _make_empty_table(self) -> str:
        columns = ", ".join(f"NULL::BIGINT AS {name}" for name in schema_of(self.boundary).names)
        return self.session.make_table(f"SELECT {columns} WHERE false")


def _list_semi_join_columns(spec: RecomputeSpec) -> str:
    (key_columns,) = spec.columns.values()
    return f"{key_columns} AS ref, {make_reference_to(spec.keys[0])} AS key, {spec.references}{spec.computed}"
