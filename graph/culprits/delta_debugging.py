"""Delta debugging (Zeller's ddmin): a 1-minimal set of records that still fails a test.

A set is 1-minimal if it fails, and no longer fails without any one of its records. Most failures need few records, so a bisection for
each of them comes first. The search never asks the same question twice. If the test ends the search, the smallest failing set so far is
the answer, and the answer says that it is not minimal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headwater.graph.culprits.record_set import RecordSet

Test = Callable[[RecordSet], bool]  # whether the failure still appears with these records only
_FEW = 16


class SearchEndedError(Exception):
    """Raised by a test to end the search: its time limit is over, or a user cancelled it."""


@dataclass(frozen=True, slots=True)
class Minimum:
    """The smallest failing set that a search found, and the number of its tests."""

    records: RecordSet
    is_minimal: bool
    tests: int


def minimize(records: RecordSet, fails: Test) -> Minimum:
    """Return a 1-minimal failing subset of `records`, which fail as a whole. It is empty if the test fails without any record, too."""
    search = _Search(fails, records)
    try:
        search.run()
    except SearchEndedError:
        return Minimum(search.records, is_minimal=False, tests=search.tests)
    return Minimum(search.records, is_minimal=True, tests=search.tests)


class _Search:
    def __init__(self, fails: Test, records: RecordSet) -> None:
        self._fails = fails
        self._known: dict[RecordSet, bool] = {}
        self.records = records
        self.tests = 0

    def run(self) -> None:
        if self._still_fails(RecordSet(())):
            return
        self._collect_needed()
        parts = len(self.records) if len(self.records) <= _FEW else 2  # few records are likely to be minimal
        while len(self.records) >= 2:
            size = len(self.records)
            parts = min(parts, size)
            if self._reduce_to_part(parts):
                parts = 2
            elif parts > 2 and self._reduce_to_complement(parts):
                parts = max(parts - 1, 2)
            elif parts == size:
                return
            else:
                parts = min(2 * parts, size)

    def _collect_needed(self) -> None:
        """Search for a small failing set, one record after the other: each is the last one of the shortest failing prefix.

        A set of k records of n takes about k · log2(n) tests. If more records never hide the failure, the set is minimal.
        """
        needed, left = RecordSet(()), self.records
        while len(left) and not (needed.ranges and self._still_fails(needed)):
            shortest, longest = 0, len(left)  # prefixes: `needed` with the first one does not fail, and with the second one it does
            while longest - shortest > 1:
                middle = (shortest + longest) // 2
                if self._still_fails(needed | left.slice(0, middle)):
                    longest = middle
                else:
                    shortest = middle
            needed, left = needed | left.slice(shortest, longest), left.slice(0, shortest)
        self.records = needed

    def _reduce_to_part(self, parts: int) -> bool:
        for part in self.records.split(parts):
            if self._still_fails(part):
                self.records = part
                return True
        return False

    def _reduce_to_complement(self, parts: int) -> bool:
        size = len(self.records)
        for part in range(parts):
            rest = self.records.without_slice(size * part // parts, size * (part + 1) // parts)
            if self._still_fails(rest):
                self.records = rest
                return True
        return False

    def _still_fails(self, records: RecordSet) -> bool:
        if records not in self._known:
            self.tests += 1
            self._known[records] = self._fails(records)
            if self._known[records] and len(records) < len(self.records):
                self.records = records
        return self._known[records]
