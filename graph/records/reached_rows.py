"""Leaves out rows of kept tables without references from other rows of the capture.

A trace starts at the rows of a sink, or at records of sources, and only follows references. A group that a HAVING, a LIMIT or a join
dropped leads to no row of the output, so none of its rows can be in an answer. Dropped groups are often nearly all of a capture.

Groups, matches, and rows of semi-joins and caches are left out. Rows of windows stay, because frames reach rows that nothing refers to. All
rows of a boundary stay if a trace computes some of the references to it again, or if there are too many references to hold in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.graph.associations import Boundary, Manifest
from headwater.graph.records.decode import Longs, arrow_of, longs_of
from headwater.graph.records.tables import referred_names

_REFERRED_COLUMN = {"group": "key", "check": "key", "chosen": "key", "match": "key", "semi": "ref", "rows": "ref"}
_MOST = 1_000_000  # different references to a boundary: they take 8 MB, and twice that while references are added


class ReachedRows:
    """The references of one capture, as they were recorded. `boundaries` sets their order, because each adds references."""

    def __init__(self, manifest: Manifest) -> None:
        with_own_rows = {boundary.operator for boundary in manifest.boundaries if boundary.kind == "semi"}
        referring = {
            boundary.boundary: list(_find_referring(boundary, manifest.boundaries, with_own_rows)) for boundary in manifest.boundaries
        }
        after = {number: {other.boundary for other, _ in columns} for number, columns in referring.items()}
        groups = {boundary.operator: boundary.boundary for boundary in manifest.boundaries if boundary.kind == "group"}
        for boundary in manifest.boundaries:
            if boundary.kind in {"check", "chosen"} and boundary.operator in groups:
                after[boundary.boundary].add(groups[boundary.operator])
        by_number = {boundary.boundary: boundary for boundary in manifest.boundaries}
        by_columns: dict[tuple[tuple[int, str], ...], _References] = {}
        self._references: dict[int, _References] = {}  # by boundary
        self._referring: dict[int, list[tuple[str, _References]]] = {number: [] for number in by_number}
        try:
            self._order: Sequence[Boundary] = [by_number[number] for number in TopologicalSorter(after).static_order()]
        except CycleError:  # a cycle is not expected; all rows stay then
            self._order = list(manifest.boundaries)
            return
        for number, columns in referring.items():
            is_written = by_number[number].recomputed is None
            if not (is_written and columns and all(other.recomputed is None for other, _ in columns)):
                continue
            place = tuple((other.boundary, name) for other, name in columns)
            if place not in by_columns:  # boundaries of one operator have the same references
                by_columns[place] = _References()
                for other, name in columns:
                    self._referring[other.boundary].append((name, by_columns[place]))
            self._references[number] = by_columns[place]

    def boundaries(self) -> Iterator[Boundary]:
        """Yield the boundaries, each after all boundaries with references to it, and forget references that are no longer needed."""
        for boundary in self._order:
            yield boundary
            self._references.pop(boundary.boundary, None)
            self._referring.pop(boundary.boundary, None)

    def may_drop(self, boundary: Boundary) -> bool:
        """Return whether rows of a boundary can be left out. All boundaries with references to it must have been selected."""
        return boundary.boundary in self._references and self._references[boundary.boundary].are_in_memory()

    def select(self, boundary: Boundary, columns: Mapping[str, Longs]) -> Mapping[str, Longs]:
        """Return the rows of a part of a boundary that other rows reference, and add their own references."""
        if self.may_drop(boundary):
            is_reached = self._references[boundary.boundary].find(columns[_REFERRED_COLUMN[boundary.kind]])
            if is_reached.true_count < len(is_reached):
                columns = {name: longs_of(pa.chunked_array([arrow_of(column).filter(is_reached)])) for name, column in columns.items()}
        for name, references in self._referring[boundary.boundary]:
            references.add(columns[name])
        return columns

    def select_batches(self, boundary: Boundary, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of each batch that other rows reference. Batches without such rows are left out."""
        for batch in batches:
            schema = batch.schema
            columns = {name: longs_of(pa.chunked_array([batch.column(name)])) for name in schema.names}
            selected = self.select(boundary, columns)
            if len(selected[schema.names[0]]):
                yield pa.RecordBatch.from_arrays([arrow_of(selected[name]) for name in schema.names], schema=schema)


def _find_referring(boundary: Boundary, boundaries: Sequence[Boundary], with_own_rows: set[int]) -> Iterator[tuple[Boundary, str]]:
    """Yield the columns that refer to rows of a boundary, each with its boundary."""
    if boundary.kind not in _REFERRED_COLUMN:
        return
    if boundary.kind == "match" and boundary.operator in with_own_rows:  # its rows are referred to, and they have the key
        yield from ((other, "key") for other in boundaries if other.kind == "semi" and other.operator == boundary.operator)
        return
    for other in boundaries:
        yield from ((other, name) for name, operator in referred_names(other) if operator == boundary.operator)


class _References:
    """Different references to the rows of one operator."""

    def __init__(self) -> None:
        self._values: Longs = np.empty(0, np.int64)  # ascending
        self._new: list[Longs] = []
        self._are_many = False

    def add(self, references: Longs) -> None:
        if self._are_many or not len(references):
            return
        self._new.append(longs_of(pa.chunked_array([arrow_of(references).unique()])))
        if sum(map(len, self._new)) > _MOST:
            self._unite()

    def are_in_memory(self) -> bool:
        """Return whether all references are in memory."""
        self._unite()
        return not self._are_many

    def find(self, own: Longs) -> pa.BooleanArray:
        """Return for each row whether its own column is one of the references."""
        return pc.is_in(arrow_of(own), value_set=arrow_of(self._values))

    def _unite(self) -> None:
        if not self._new:
            return
        values = np.sort(np.concatenate([self._values, *self._new]))  # np.unique would hash them, which takes twenty times as long
        self._values = values[np.append(True, values[1:] != values[:-1])]
        self._new = []
        if len(self._values) > _MOST:
            self._are_many = True
            self._values = np.empty(0, np.int64)
