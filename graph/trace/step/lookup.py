"""The rows of a boundary that references name: in memory where they are few, else by the database.

This is the one place where a step over kept associations chooses between the two; both give the same table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from headwater.graph.associations import Boundary
from headwater.graph.records.kept import place_key
from headwater.graph.trace.database import in_memory
from headwater.graph.trace.database.in_memory import Columns
from headwater.graph.trace.recomputed.recompute import groups, is_derived
from headwater.graph.trace.session import Capture, Session, mapped


def named(session: Session, capture: Capture, boundary: Boundary, state: str, columns: Sequence[str], *, by: str) -> str:
    """A table `origin, <columns>` of the rows that a state (a table `origin, ref`) names by their column `by`."""
    refs = session.columns(state)
    kept, rows = _kept(session, capture, boundary, state, refs, columns, by)
    if (found := _beside(session, refs, "origin", rows, by, columns)) is not None:
        return session.hold(found)
    return session.table(f"SELECT s.origin{_listed('g', columns)} FROM {state} s JOIN {kept} g ON g.{by} = s.ref")


def grouped(session: Session, capture: Capture, boundary: Boundary, wanted: str, columns: Sequence[str], *, by: str = "key") -> str:
    """A table `grp, <columns>` of the rows that the references `ref` in a table name; each row once."""
    refs = session.columns(wanted)
    kept, rows = _kept(session, capture, boundary, wanted, refs, columns, by)
    once = None if refs is None else in_memory.values(refs["ref"])
    if once is not None and (found := _beside(session, {"ref": once, "grp": once}, "grp", rows, by, columns)) is not None:
        return session.hold(found)
    return session.table(
        f"SELECT s.ref AS grp{_listed('g', columns)} FROM (SELECT DISTINCT ref FROM {wanted}) s JOIN {kept} g ON g.{by} = s.ref"
    )


def of_groups(session: Session, state: str, candidates: str, columns: Sequence[str]) -> str:
    """A table `origin, <columns>` of the candidates (a table `grp, <columns>`) that a state (a table `origin, ref`) names."""
    rows = session.columns(candidates)
    ordered = None if rows is None else in_memory.ascending(rows, "grp")
    if (found := _beside(session, session.columns(state), "origin", ordered, "grp", columns)) is not None:
        return session.hold(found)
    return session.table(f"SELECT s.origin{_listed('c', columns)} FROM {state} s JOIN {candidates} c ON c.grp = s.ref")


def at_places(session: Session, capture: Capture, sink: Boundary, begin: str, places: Mapping[int, int], columns: Sequence[str]) -> str:
    """A table `origin, file, row, <columns>` of a sink's rows at the places in a table `origin, file, row`.

    `places` maps a file of the session to its place among the capture's files.
    """
    asked = session.columns(begin)
    if asked is not None:
        index = in_memory.mapped(asked["file"], places)
        known = in_memory.taken(asked, index >= 0)
        keys = place_key(index[index >= 0], known["row"])
        found = session.kept_tables.find(session.kept(capture, sink.boundary), in_memory.values(keys), columns, most=session.most)
        pairs = None if found is None else in_memory.matched(keys, found[0], most=session.most)
        if found is not None and pairs is not None:
            return session.hold({**in_memory.taken(known, pairs[0]), **in_memory.taken(found[1], pairs[1])})
    return session.table(
        f"SELECT b.origin, b.file, b.row{_listed('s', columns)} FROM {begin} b "
        f"JOIN {session.rows(capture, sink)} s ON s.file = {mapped('b.file', places)} AND s.row = b.row"
    )


def second_hashes(session: Session, capture: Capture, boundary: Boundary, refs: Columns) -> bool | None:
    """Whether one of the keys that references name has two second hashes in a boundary; None where that is for the database."""
    path = session.kept(capture, boundary.boundary)
    found = session.kept_tables.find(path, in_memory.values(refs["ref"]), ["checked"], most=session.most)
    if found is None:
        return None
    keys, checked = found[0], found[1]["checked"]
    if not len(keys):
        return False
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    return bool((np.minimum.reduceat(checked, starts) != np.maximum.reduceat(checked, starts)).any())


def _kept(
    session: Session, capture: Capture, boundary: Boundary, wanted: str, refs: Columns | None, columns: Sequence[str], by: str
) -> tuple[str, Columns | None]:
    """A table or query that has the rows that references name; and these in memory, ascending by `by`, where they are few."""
    if is_derived(session, capture, boundary):
        table = _found_again(session, capture, boundary, wanted, refs)
        found = session.columns(table) if refs is not None else None
        return table, None if found is None else in_memory.ascending(found, by)
    kept = session.rows(capture, boundary)
    if refs is None:
        return kept, None
    path = session.kept(capture, boundary.boundary)
    rows = session.kept_tables.find(path, in_memory.values(refs["ref"]), columns, most=session.most)
    return kept, None if rows is None else {**rows[1], by: rows[0]}


def _found_again(session: Session, capture: Capture, boundary: Boundary, wanted: str, refs: Columns | None) -> str:
    """A table or query that has the rows of derived groups; a trace comes by the same ones more than once, and looks for them once."""
    if refs is None:
        return groups(session, capture, boundary, wanted)
    keys, known = in_memory.values(refs["ref"]), session.found.setdefault((capture.id, boundary.boundary), [])
    for looked_for, table in known:
        if np.isin(keys, looked_for, assume_unique=True).all():
            return table
    table = groups(session, capture, boundary, wanted)
    known.append((keys, table))
    return table


def _beside(session: Session, refs: Columns | None, carried: str, rows: Columns | None, by: str, columns: Sequence[str]) -> Columns | None:
    """The column `carried` of references beside the columns of the rows that they name; None where that is for the database."""
    if refs is not None and rows is not None and len(refs["ref"]) == 1:  # of one group, which may have millions, nothing is copied
        low, high = (int(np.searchsorted(rows[by], refs["ref"][0], side)) for side in ("left", "right"))
        if high - low <= session.most:
            return {carried: np.full(high - low, refs[carried][0], np.int64), **{name: rows[name][low:high] for name in columns}}
    pairs = None if refs is None or rows is None else in_memory.matched(refs["ref"], rows[by], most=session.most)
    if refs is None or rows is None or pairs is None:
        return None
    left, right = pairs
    return {carried: refs[carried][left], **{name: rows[name][right] for name in columns}}


def _listed(alias: str, columns: Sequence[str]) -> str:
    return "".join(f", {alias}.{column}" for column in columns)
