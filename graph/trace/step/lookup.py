"""The rows of a boundary that references name: searched in memory where they are few, else selected by the database.

This is the one place where a step over kept associations chooses between the two; both give the same table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headwater.graph.associations import Boundary
from headwater.graph.duck import memory_tables
from headwater.graph.duck.memory_tables import Columns
from headwater.graph.records.key_lookup import place_key
from headwater.graph.trace.recompute.boundary_rows import BoundaryRows
from headwater.graph.trace.session import Capture, Session, mapped


@dataclass(frozen=True, slots=True)
class Lookup:
    """Finds rows of the boundaries of one capture, for one trace."""

    session: Session
    capture: Capture

    def named(self, boundary: Boundary, state: str, columns: Sequence[str], *, by: str) -> str:
        """A table `origin, <columns>` of the rows that a state (a table `origin, ref`) names by their column `by`."""
        refs = self.session.columns(state)
        table, rows = self._rows(boundary, state, refs, columns, by)
        if (found := _beside(self.session, refs, "origin", rows, by, columns)) is not None:
            return self.session.hold(found)
        return self.session.table(f"SELECT s.origin{_listed('g', columns)} FROM {state} s JOIN {table} g ON g.{by} = s.ref")

    def grouped(self, boundary: Boundary, wanted: str, columns: Sequence[str], *, by: str = "key") -> str:
        """A table `grp, <columns>` of the rows that the references `ref` in a table name; each row once."""
        refs = self.session.columns(wanted)
        table, rows = self._rows(boundary, wanted, refs, columns, by)
        once = None if refs is None else memory_tables.values(refs["ref"])
        if once is not None and (found := _beside(self.session, {"ref": once, "grp": once}, "grp", rows, by, columns)) is not None:
            return self.session.hold(found)
        return self.session.table(
            f"SELECT s.ref AS grp{_listed('g', columns)} FROM (SELECT DISTINCT ref FROM {wanted}) s JOIN {table} g ON g.{by} = s.ref"
        )

    def at_places(self, sink: Boundary, begin: str, places: Mapping[int, int], columns: Sequence[str]) -> str:
        """A table `origin, file, row, <columns>` of a sink's rows at the places in a table `origin, file, row`.

        `places` maps a file of the session to its place among the capture's files.
        """
        session, asked = self.session, self.session.columns(begin)
        if asked is not None:
            index = memory_tables.mapped(asked["file"], places)
            known = memory_tables.taken(asked, index >= 0)
            keys = place_key(index[index >= 0], known["row"])
            path = session.kept(self.capture, sink.boundary)
            found = session.kept_tables.find(path, memory_tables.values(keys), columns, most=session.most)
            pairs = None if found is None else memory_tables.matched(keys, found[0], most=session.most)
            if found is not None and pairs is not None:
                return session.hold({**memory_tables.taken(known, pairs[0]), **memory_tables.taken(found[1], pairs[1])})
        return session.table(
            f"SELECT b.origin, b.file, b.row{_listed('s', columns)} FROM {begin} b "
            f"JOIN {session.rows(self.capture, sink)} s ON s.file = {mapped('b.file', places)} AND s.row = b.row"
        )

    def second_hashes(self, boundary: Boundary, refs: Columns) -> bool | None:
        """Whether one of the keys that references name has two second hashes in a boundary; None where that is for the database."""
        path = self.session.kept(self.capture, boundary.boundary)
        found = self.session.kept_tables.find(path, memory_tables.values(refs["ref"]), ["checked"], most=self.session.most)
        if found is None:
            return None
        keys, checked = found[0], found[1]["checked"]
        if not len(keys):
            return False
        starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
        return bool((np.minimum.reduceat(checked, starts) != np.maximum.reduceat(checked, starts)).any())

    def _rows(self, boundary: Boundary, wanted: str, refs: Columns | None, columns: Sequence[str], by: str) -> tuple[str, Columns | None]:
        """A table or query that has the rows that references name; and these in memory, ascending by `by`, where they are few."""
        rows = BoundaryRows(self.session, self.capture, boundary)
        if rows.recomputed:
            table = self._recomputed(rows, wanted, refs)
            computed = self.session.columns(table) if refs is not None else None
            return table, None if computed is None else memory_tables.ascending(computed, by)
        kept = self.session.rows(self.capture, boundary)
        if refs is None:
            return kept, None
        path = self.session.kept(self.capture, boundary.boundary)
        found = self.session.kept_tables.find(path, memory_tables.values(refs["ref"]), columns, most=self.session.most)
        return kept, None if found is None else {**found[1], by: found[0]}

    def _recomputed(self, rows: BoundaryRows, wanted: str, refs: Columns | None) -> str:
        """A table or query that has the rows of groups that are computed again: once, though a trace may come by them more often."""
        if refs is None:
            return rows.of_references(wanted)
        keys = memory_tables.values(refs["ref"])
        tables = self.session.recomputed.setdefault((self.capture.id, rows.boundary.boundary), [])
        for known, table in tables:
            if np.isin(keys, known, assume_unique=True).all():
                return table
        table = rows.of_references(wanted)
        tables.append((keys, table))
        return table


def of_groups(session: Session, state: str, candidates: str, columns: Sequence[str]) -> str:
    """A table `origin, <columns>` of the candidates (a table `grp, <columns>`) that a state (a table `origin, ref`) names."""
    rows = session.columns(candidates)
    ordered = None if rows is None else memory_tables.ascending(rows, "grp")
    if (found := _beside(session, session.columns(state), "origin", ordered, "grp", columns)) is not None:
        return session.hold(found)
    return session.table(f"SELECT s.origin{_listed('c', columns)} FROM {state} s JOIN {candidates} c ON c.grp = s.ref")


def _beside(session: Session, refs: Columns | None, carried: str, rows: Columns | None, by: str, columns: Sequence[str]) -> Columns | None:
    """The column `carried` of references beside the columns of the rows that they name; None where that is for the database."""
    if refs is not None and rows is not None and len(refs["ref"]) == 1:  # of one group, which may have millions, nothing is copied
        low, high = (int(np.searchsorted(rows[by], refs["ref"][0], side)) for side in ("left", "right"))
        if high - low <= session.most:
            return {carried: np.full(high - low, refs[carried][0], np.int64), **{name: rows[name][low:high] for name in columns}}
    pairs = None if refs is None or rows is None else memory_tables.matched(refs["ref"], rows[by], most=session.most)
    if refs is None or rows is None or pairs is None:
        return None
    left, right = pairs
    return {carried: refs[carried][left], **{name: rows[name][right] for name in columns}}


def _listed(alias: str, columns: Sequence[str]) -> str:
    return "".join(f", {alias}.{column}" for column in columns)
