"""Replaces the hashes of groups by small numbers when a capture is kept.

A hash takes eight bytes in every row that refers to the group; a small number takes few or none.

Boundaries that refer to groups are kept first (`reached_rows`), so groups are numbered from 0 in the order of the first reference. If a
sink reads one group after the other, its references take no space at all. References to groups have a meaning within a capture only, and
the hash is never needed again. The values in the check boundary of derived groups identify their keys.

Hashes are kept for derived groups whose references determine the key, and if more groups exist than fit in memory. A key that is one
integer without a hash is kept too: it often ascends with the records, and both are then small.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.graph.associations import NONE, Boundary, Manifest
from headwater.graph.records.decode import Longs, arrow_of, longs_of
from headwater.graph.records.tables import referred_names

_ABOVE = ("check", "chosen")  # boundaries above an aggregate, with a row for each group
_MOST = 4_000_000  # groups of an operator: their hashes and numbers take 64 MB, and twice that while new groups are added
_MOST_TOGETHER = 8_000_000  # groups of all operators of a capture together


class Numbering:
    """The numbers of the groups of one capture.

    Boundaries must be kept in the order of `ReachedRows.boundaries`: those with references before the groups, because each adds numbers.
    """

    def __init__(self, manifest: Manifest) -> None:
        rows = {boundary.boundary: 0 for boundary in manifest.boundaries}
        for segment in manifest.segments:
            rows[segment.boundary] = rows.get(segment.boundary, 0) + segment.rows
        most: dict[int, int] = {}  # by operator: upper limit of the number of groups
        for boundary in manifest.boundaries:
            if boundary.recomputed is None and boundary.kind in {"group", "check"}:
                most[boundary.operator] = min(rows[boundary.boundary], most.get(boundary.operator, _MOST + 1))
        hashed_operators = {
            boundary.operator for boundary in manifest.boundaries if any(column.role == "check" for column in boundary.columns)
        }
        group_operators = {
            boundary.operator
            for boundary in manifest.boundaries
            if boundary.kind == "group" and (boundary.recomputed is None or not boundary.recomputed.key_in_reference)
        }
        self._numbers: dict[int, _Numbers] = {}
        total = 0
        for operator in sorted(group_operators & hashed_operators & most.keys(), key=lambda operator: (most[operator], operator)):
            total += most[operator]
            if most[operator] <= _MOST and total <= _MOST_TOGETHER:
                self._numbers[operator] = _Numbers()

    def referring(self, boundary: Boundary) -> list[str]:
        return list(self._list_references(boundary))

    def own(self, boundary: Boundary, columns: Mapping[str, Longs]) -> dict[str, Longs]:
        """Return the columns of a boundary, with numbers in place of the hashes of its own groups."""
        if not self._numbered(boundary, "group", *_ABOVE):
            return dict(columns)
        return {**columns, "key": self._numbers[boundary.operator].of(columns["key"])}

    def others(self, boundary: Boundary, columns: Mapping[str, Longs]) -> dict[str, Longs]:
        """Return the columns of a boundary in kept order, with numbers in place of the hashes of groups to which they refer."""
        reference_columns = self._list_references(boundary)
        return {
            name: self._numbers[reference_columns[name]].of(column) if name in reference_columns else column
            for name, column in columns.items()
        }

    def is_numbered(self, boundary: Boundary) -> bool:
        """Return whether a boundary has numbered groups and refers to no other numbered groups."""
        return self._numbered(boundary, "group") and not self._list_references(boundary)

    def places(self, boundary: Boundary, keys: Longs) -> npt.NDArray[np.uint32]:
        """Return the sort keys of groups: 0 for "none", otherwise the number plus one."""
        return self._numbers[boundary.operator].places_of(keys)

    def batch(self, boundary: Boundary, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch of rows with numbers in place of all group hashes. The rows may be in any order."""
        columns = {name: longs_of(pa.chunked_array([batch.column(name)])) for name in batch.schema.names}
        columns_with_numbers = self.others(boundary, self.own(boundary, columns))
        return pa.RecordBatch.from_arrays([arrow_of(columns_with_numbers[name]) for name in batch.schema.names], schema=batch.schema)

    def _numbered(self, boundary: Boundary, *kinds: str) -> bool:
        return boundary.kind in kinds and boundary.operator in self._numbers

    def _list_references(self, boundary: Boundary) -> dict[str, int]:
        return {name: operator for name, operator in referred_names(boundary) if operator in self._numbers}


class _Numbers:
    """The numbers of one operator's groups, from 0, in the order of the first request."""

    def __init__(self) -> None:
        self._hashes = np.empty(0, np.int64)  # ascending
        self._numbers = np.empty(0, np.int64)

    def of(self, hashes: Longs) -> Longs:
        """Return the numbers of groups for their hashes. The reference "none" stays."""
        if not len(hashes):
            return hashes
        numbers, indices = self._find_distinct(hashes)
        result: Longs = numbers[indices]
        return result

    def places_of(self, hashes: Longs) -> npt.NDArray[np.uint32]:
        """Return the numbers of hashes as small integers: 0 for "none", otherwise the number plus one."""
        if not len(hashes):
            return np.empty(0, np.uint32)
        numbers, indices = self._find_distinct(hashes)
        small = np.where(numbers == NONE, 0, numbers + 1).astype(np.uint32)
        result: npt.NDArray[np.uint32] = small[indices]
        return result

    def _find_distinct(self, hashes: Longs) -> tuple[Longs, npt.NDArray[np.int32]]:
        encoded = arrow_of(hashes).dictionary_encode()
        numbers = self._number_groups(longs_of(pa.chunked_array([encoded.dictionary])))
        return numbers, np.frombuffer(encoded.indices.buffers()[1], np.int32)[encoded.indices.offset :][: len(hashes)]

    def _number_groups(self, distinct: Longs) -> Longs:
        order = np.argsort(distinct)
        ascending = distinct[order]  # searches in ascending order hit the processor's cache
        places = np.searchsorted(self._hashes, ascending)
        is_known = np.append(self._hashes, NONE)[places] == ascending
        is_known &= ascending != NONE
        numbers = np.full(len(distinct), NONE, np.int64)
        numbers[order[is_known]] = self._numbers[places[is_known]]
        new = ~is_known & (ascending != NONE)
        if new.any():
            numbers[np.sort(order[new])] = np.arange(len(self._hashes), len(self._hashes) + int(new.sum()))
            self._numbers = np.insert(self._numbers, places[new], numbers[order[new]])
            self._hashes = np.insert(self._hashes, places[new], ascending[new])
        return numbers
