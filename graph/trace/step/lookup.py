"""Finds the rows of a boundary to which references refer: in memory if there are few, else with the database.

Both ways give the same table. Only this module chooses between them, for steps over kept associations.
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
from headwater.graph.trace.session import Capture, Session, format_mapping


@dataclass(frozen=True, slots=True)
class Lookup:
    """Finds rows of the boundaries of one capture, for one trace."""

    session: Session
    capture: Capture

    def find_rows(self, boundary: Boundary, state: str, columns: Sequence[str], *, by: str) -> str:
        """Return a table `origin, <columns>` of the rows whose column `by` equals a reference of the table `origin, ref`."""
        refs = self.session.get_columns(state)
        table, rows = self._query_rows(boundary, state, refs, columns, by)
        if (joined := _join_in_memory(self.session, refs, "origin", rows, by, columns)) is not None:
            return self.session.keep_in_memory(joined)
        return self.session.make_table(f"SELECT s.origin{_format_columns('g', columns)} FROM {state} s JOIN {table} g ON g.{by} = s.ref")

    def find_groups(self, boundary: Boundary, groups: str, columns: Sequence[str], *, by: str = "key") -> str:
        """Return a table `grp, <columns>` of the rows whose column `by` equals a reference `ref`. Each row occurs once."""
        refs = self.session.get_columns(groups)
        table, rows = self._query_rows(boundary, groups, refs, columns, by)
        distinct_groups = None if refs is None else memory_tables.values(refs["ref"])
        if (
            distinct_groups is not None
            and (joined := _join_in_memory(self.session, {"ref": distinct_groups, "grp": distinct_groups}, "grp", rows, by, columns))
            is not None
        ):
            return self.session.keep_in_memory(joined)
        return self.session.make_table(
            f"SELECT s.ref AS grp{_format_columns('g', columns)} FROM (SELECT DISTINCT ref FROM {groups}) s "
            f"JOIN {table} g ON g.{by} = s.ref"
        )

    def find_at_places(self, sink: Boundary, begin: str, places: Mapping[int, int], columns: Sequence[str]) -> str:
        """Return a table `origin, file, row, <columns>` of a sink's rows at the places in a table `origin, file, row`.

        `places` maps a file number of the session to its index among the capture's files.
        """
        session, start_columns = self.session, self.session.get_columns(begin)
        if start_columns is not None:
            index = memory_tables.mapped(start_columns["file"], places)
            known_places = memory_tables.taken(start_columns, index >= 0)
            keys = place_key(index[index >= 0], known_places["row"])
            path = session.query_kept_table(self.capture, sink.boundary)
            rows = session.kept_tables.find(path, memory_tables.values(keys), columns, most=session.memory_limit)
            pairs = None if rows is None else memory_tables.matched(keys, rows[0], most=session.memory_limit)
            if rows is not None and pairs is not None:
                return session.keep_in_memory({**memory_tables.taken(known_places, pairs[0]), **memory_tables.taken(rows[1], pairs[1])})
        return session.make_table(
            f"SELECT b.origin, b.file, b.row{_format_columns('s', columns)} FROM {begin} b "
            f"JOIN {session.query_rows(self.capture, sink)} s ON s.file = {format_mapping('b.file', places)} AND s.row = b.row"
        )

    def find_second_hashes(self, boundary: Boundary, refs: Columns) -> bool | None:
        """Return whether a referenced key has two second hashes in a boundary. None if the database has to search."""
        path = self.session.query_kept_table(self.capture, boundary.boundary)
        rows = self.session.kept_tables.find(path, memory_tables.values(refs["ref"]), ["checked"], most=self.session.memory_limit)
        if rows is None:
            return None
        keys, checked = rows[0], rows[1]["checked"]
        if not len(keys):
            return False
        starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
        return bool((np.minimum.reduceat(checked, starts) != np.maximum.reduceat(checked, starts)).any())

    def _query_rows(
        self, boundary: Boundary, references: str, refs: Columns | None, columns: Sequence[str], by: str
    ) -> tuple[str, Columns | None]:
        """Return a table or query that contains the referenced rows. Few rows are also returned in memory, ascending by `by`."""
        rows = BoundaryRows(self.session, self.capture, boundary)
        if rows.recomputed:
            table = self._find_recomputed(rows, references, refs)
            computed = self.session.get_columns(table) if refs is not None else None
            return table, None if computed is None else memory_tables.ascending(computed, by)
        kept_rows = self.session.query_rows(self.capture, boundary)
        if refs is None:
            return kept_rows, None
        path = self.session.query_kept_table(self.capture, boundary.boundary)
        found_rows = self.session.kept_tables.find(path, memory_tables.values(refs["ref"]), columns, most=self.session.memory_limit)
        return kept_rows, None if found_rows is None else {**found_rows[1], by: found_rows[0]}

    def _find_recomputed(self, rows: BoundaryRows, references: str, refs: Columns | None) -> str:
        """Return the rows of groups that are computed again. A trace computes each group once."""
        if refs is None:
            return rows.find_by_references(references)
        keys = memory_tables.values(refs["ref"])
        tables = self.session.recomputed_rows.setdefault((self.capture.id, rows.boundary.boundary), [])
        for known_keys, table in tables:
            if np.isin(keys, known_keys, assume_unique=True).all():
                return table
        table = rows.find_by_references(references)
        tables.append((keys, table))
        return table


def select_group_rows(session: Session, state: str, candidates: str, columns: Sequence[str]) -> str:
    """Return a table `origin, <columns>` of those candidates (a table `grp, <columns>`) to which a table `origin, ref` refers."""
    rows = session.get_columns(candidates)
    ordered_rows = None if rows is None else memory_tables.ascending(rows, "grp")
    if (joined := _join_in_memory(session, session.get_columns(state), "origin", ordered_rows, "grp", columns)) is not None:
        return session.keep_in_memory(joined)
    return session.make_table(f"SELECT s.origin{_format_columns('c', columns)} FROM {state} s JOIN {candidates} c ON c.grp = s.ref")


def _join_in_memory(
    session: Session, refs: Columns | None, carried: str, rows: Columns | None, by: str, columns: Sequence[str]
) -> Columns | None:
    if refs is not None and rows is not None and len(refs["ref"]) == 1:  # the rows of one group, maybe millions, are not copied
        first_index, end_index = (int(np.searchsorted(rows[by], refs["ref"][0], side)) for side in ("left", "right"))
        if end_index - first_index <= session.memory_limit:
            return {
                carried: np.full(end_index - first_index, refs[carried][0], np.int64),
                **{name: rows[name][first_index:end_index] for name in columns},
            }
    pairs = None if refs is None or rows is None else memory_tables.matched(refs["ref"], rows[by], most=session.memory_limit)
    if refs is None or rows is None or pairs is None:
        return None
    left_indexes, right = pairs
    return {carried: refs[carried][left_indexes], **{name: rows[name][right] for name in columns}}


def _format_columns(alias: str, columns: Sequence[str]) -> str:
    return "".join(f", {alias}.{column}" for column in columns)
