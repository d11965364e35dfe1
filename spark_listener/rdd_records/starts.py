"""Gives references to the incoming records of a Python stage. Shipped by value to workers without Headwater: standard library only.

A stage of PySpark is one iterator through the program's functions. Each makes its results from the record that it read last. So a start
notes at each read the number of results so far, and the tap at the stage's end computes from which record each result was made. A start
does nothing until a tap arms it, and then for one pass over one partition.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, repeat
from operator import itemgetter
from typing import Any, NamedTuple

from headwater.spark_listener.rdd_records.keys import Hashed, KeyHashes, check_hash, equals_itself_alone, is_small

NONE = -(2**63)
COMPILED = True  # whether to use the loops in C if a worker has them
_VERSION = 3  # version of their interface: a worker may have another Headwater than the driver
_MOST_COUNTED = 65_536  # groups that the compiled loops collect: a block of a segment
_CHUNK = 4096  # pulls between two checks of the notes
_ODD = 0x9E3779B97F4A7C15  # spreads the numbers of partitions over 64 bits


class Counter(NamedTuple):
    """A counter in C for the records that a stage reads, and its module."""

    of: Any
    loops: Any


class Start:
    """Numbers or names the records that enter a stage. `width` is the number of references of each record."""

    width = 1

    def __init__(self) -> None:
        self._armed = False
        self._split = 0
        self.current: Sequence[int] = (NONE,)  # references of the last pulled record, if results are taken one by one

    def counter(self, split: int) -> Counter | None:  # noqa: ARG002  # for those that can
        """Return a counter in C for a partition's records, if their references are their numbers. None: count in Python."""
        return None

    def arm(self, split: int, out: list[Any] | None, counter: Any = None, wanted: Mapping[int, frozenset[int]] | None = None) -> None:
        """Note references in the next pass. `out` collects results; if it is None, they are taken one by one, or a `counter` counts.

        One by one, only records with a `wanted` reference pass, by its place in the record's references (None: all).
        """
        self._armed, self._split, self._out, self._counter, self._wanted = True, split, out, counter, wanted
        self._marks: list[int] = []  # number of results at each pull
        self._noted: list[Any] = []  # the note of each pulled record
        self._pulled = self._done = 0
        self._last: Any = None
        self._fault: Exception | None = None
        self._references = [array("q") for _ in range(self.width)]

    def __call__(self, split: int, iterator: Iterable[Any]) -> Iterable[Any]:  # noqa: ARG002  # as PySpark calls functions
        if not self._armed:
            return self.unarmed(iterator)
        self._armed = False
        if self._counter is not None:
            counted: Iterable[Any] = self._counter.over(iterator)
            return counted
        if self._out is not None:
            return self._gathered(iter(iterator), self._out)
        records = self.one_by_one(iter(iterator))
        return records if self._wanted is None else self._chosen(records, self._wanted)

    def _chosen(self, records: Iterator[Any], wanted: Mapping[int, frozenset[int]]) -> Iterator[Any]:
        return (record for record in records if any(self.current[place] in found for place, found in wanted.items()))

    def within(self, split: int, references: array[int]) -> frozenset[int]:  # noqa: ARG002  # for those that can tell
        """Return those of some ascending references that a partition's records may have."""
        return frozenset(references)

    def unarmed(self, iterator: Iterable[Any]) -> Iterable[Any]:
        """Return the records while no tap needs references."""
        return iterator

    def one_by_one(self, iterator: Iterator[Any]) -> Iterator[Any]:
        """Yield the records. `current` has the references of the last record read."""
        raise NotImplementedError

    def note(self, iterator: Iterator[Any], out: list[Any], mark: Callable[[int], None]) -> Iterator[Any]:
        """Yield some records, each marked with the number of results so far. Note a record if its reference is not its number."""
        for record in iterator:
            mark(len(out))
            yield record

    def references(self, noted: Sequence[Any], first: int, count: int) -> list[Sequence[int]]:
        """Return references of `count` consecutive records from the `first`-th on, column by column."""
        raise NotImplementedError

    def of_last(self) -> list[int]:
        return [NONE] * self.width if self._last is None else self._last

    def called(self, split: int) -> None:
        """Note that a function may read records of a partition, or none."""

    def finish(self, *, partly: bool = False) -> None:
        """End the pass. With `partly`, it ended early, and counts up to there."""

    def abandon(self) -> None:
        """End the pass without `finish`, because the rest of the partition is not needed."""

    def taken(self) -> list[array[int]]:
        """Return the references of all results since the last call, and drop them.

        Raises:
            Exception: the fault that occurred when they were computed.
        """
        self._settle()
        if self._fault is not None:
            raise self._fault
        made, self._references, self._done = self._references, [array("q") for _ in range(self.width)], 0
        return made

    def _gathered(self, iterator: Iterator[Any], out: list[Any]) -> Iterator[Any]:
        while True:
            before = self._pulled + len(self._marks)
            yield from self.note(islice(iterator, _CHUNK), out, self._marks.append)
            if self._pulled + len(self._marks) - before < _CHUNK:
                return
            self._settle()  # records without results would fill the memory

    def _settle(self) -> None:
        """Convert marks to references of the results so far. Never raises, because the program's functions run around it."""
        try:
            if self._fault is None:
                self._settle_marks()
        except Exception as fault:  # noqa: BLE001  # `taken` raises it
            self._fault = fault
        self._pulled += len(self._marks)
        self._done = len(self._out or ())
        self._marks.clear()
        self._noted.clear()

    def _settle_marks(self) -> None:
        results, marks, done = len(self._out or ()), self._marks, self._done
        count = len(marks)
        if results > done:
            known = self.references(self._noted, self._pulled, count)
            if count == results - done and marks == list(range(done, results)):
                made: list[Iterable[int]] = list(known)
            elif (results - done) * 8 < count:
                places = [bisect_right(marks, result) - 1 for result in range(done, results)]
                made = [
                    [column[place] if place >= 0 else last for place in places] for column, last in zip(known, self.of_last(), strict=True)
                ]
            else:
                counts = [(marks[0] if marks else results) - done]
                counts += map(int.__sub__, [*marks[1:], results], marks)
                made = [
                    chain.from_iterable(map(repeat, chain((last,), column), counts))
                    for column, last in zip(known, self.of_last(), strict=True)
                ]
            for column, references in zip(self._references, made, strict=True):
                column.extend(references)
        if count:
            self._last = [column[-1] for column in self.references(self._noted[-1:], self._pulled + count - 1, 1)]


def _compiled() -> Any:
    try:
        from headwater.spark_listener.rdd_records import _taps

        return _taps if COMPILED and _taps.VERSION == _VERSION else None
    except Exception:  # noqa: BLE001  # whatever a worker has by that name
        return None


class Numbered(Start):
    """Identifies records by their position in the partition of a source, or of persisted rows."""

    def counter(self, split: int) -> Counter | None:
        loops = _compiled()
        return None if loops is None else Counter(loops.Counter(split << 40), loops)

    def within(self, split: int, references: array[int]) -> frozenset[int]:
        return frozenset(references[bisect_left(references, split << 40) : bisect_left(references, split + 1 << 40)])

    def one_by_one(self, iterator: Iterator[Any]) -> Iterator[Any]:
        for number, record in enumerate(iterator, self._split << 40):
            self.current = (number,)
            yield record

    def references(self, noted: Sequence[Any], first: int, count: int) -> list[Sequence[int]]:  # noqa: ARG002  # for others
        begin = (self._split << 40) + first
        return [range(begin, begin + count)]


class Keyed(Start):
    """Identifies records of groups, `(key, …)`, by the hash of their key. Reports the second hash of each key, combined with its partition.

    A key has groups in several partitions if the program's own function chose these by something else. They share sources, like keys with
    the same hash.
    """

    def __init__(self, checks: Any) -> None:
        super().__init__()
        self._checks = checks  # the Report of the boundary above the groups

    def counter(self, split: int) -> Counter | None:
        loops = _compiled()
        if loops is None:
            return None
        groups = loops.Groups(_MOST_COUNTED, self._add, self._checks.fail, KeyHashes().of_one, self._check, spread(split))
        return Counter(groups, loops)

    def arm(self, split: int, out: list[Any] | None, counter: Any = None, wanted: Mapping[int, frozenset[int]] | None = None) -> None:
        super().arm(split, out, counter, wanted)
        self._hashes = KeyHashes()
        self._alone = 0
        self._compiled = counter
        self._of_split = spread(split)
        self._checks.begin(split)

    def one_by_one(self, iterator: Iterator[Any]) -> Iterator[Any]:
        for record in iterator:
            self.current = (self._record_hashes([record[0]])[0],)
            yield record

    def note(self, iterator: Iterator[Any], out: list[Any], mark: Callable[[int], None]) -> Iterator[Any]:
        note = self._noted.append
        for record in iterator:
            mark(len(out))
            key = record[0]
            note(key if is_small(key) else self._hashed(key))
            yield record

    def references(self, noted: Sequence[Any], first: int, count: int) -> list[Sequence[int]]:  # noqa: ARG002  # for others
        return [self._hashes.of(noted)] if count else [()]

    def _hashed(self, key: Any) -> Hashed:
        try:
            return Hashed(self._hashes.of_one(key), self._check(key))
        except Exception as fault:  # noqa: BLE001  # the program's records go on; the capture says why it is not whole
            self._checks.fail(fault)
            return Hashed(NONE)

    def _settle_marks(self) -> None:
        self._record_hashes(self._noted)
        super()._settle_marks()

    def called(self, split: int) -> None:
        self._checks.called(split)

    def finish(self, *, partly: bool = False) -> None:
        if self._compiled is not None:
            self._compiled.drain()
        self._checks.finish(partly=partly)

    def abandon(self) -> None:
        self._checks.abandon()

    def _add(self, hashes: bytes, checks: bytes) -> None:
        self._checks.add([array("q", hashes), array("q", checks)])

    def _record_hashes(self, keys: Sequence[Any]) -> array[int]:
        try:
            hashes = self._hashes.of(keys) if keys else array("q")
            self._checks.add([hashes, array("q", map(self._check, keys))])
        except Exception as fault:  # noqa: BLE001  # the program's records go on; the capture says why it is not whole
            self._checks.fail(fault)
            hashes = array("q", [NONE]) * len(keys)
        return hashes

    def _check(self, key: Any) -> int:
        kind = type(key)
        if kind is Hashed:
            return int(key.check)
        if kind is str or kind is int or not equals_itself_alone(key):
            return check_hash(key) ^ self._of_split
        self._alone += 1  # groups of NaN share a hash, and stay distinct like groups with colliding hashes
        return self._split << 40 | self._alone


def spread(split: int) -> int:
    """Return a 64-bit number for a partition, which changes the second hashes there."""
    return (split * _ODD + 2**63) % 2**64 - 2**63


class Parted(Start):
    """Identifies results of a function over a whole partition by the partition, because each may depend on any record there.

    With `together`, each may depend on any record of any partition.
    """

    def __init__(self, *, together: bool = False) -> None:
        super().__init__()
        self._together = together

    def one_by_one(self, iterator: Iterator[Any]) -> Iterator[Any]:
        self.current = (self._group,)
        return iterator

    def references(self, noted: Sequence[Any], first: int, count: int) -> list[Sequence[int]]:  # noqa: ARG002  # for others
        return [array("q", [self._group]) * count]

    @property
    def _group(self) -> int:
        return 0 if self._together else self._split


class Carried(Start):
    """Takes references from records that carry them, and removes them from the records.

    `shape` is the place of the references. `record`: (record, references); `pair`: (key, (value, references)); `join`: (key, (left,
    right)), each (value, references) or None; `both`: ((left, references), (right, references)).
    """

    def __init__(self, shape: str, widths: Sequence[int]) -> None:
        super().__init__()
        self._shape = shape
        self._widths = tuple(widths)
        self.width = sum(widths)

    def unarmed(self, iterator: Iterable[Any]) -> Iterable[Any]:
        return map(itemgetter(0), iterator if self._shape == "record" else map(self._opened, iterator))

    def one_by_one(self, iterator: Iterator[Any]) -> Iterator[Any]:
        for record, references in map(self._opened, iterator):
            self.current = references
            yield record

    def note(self, iterator: Iterator[Any], out: list[Any], mark: Callable[[int], None]) -> Iterator[Any]:
        note = self._noted.append
        for record, references in map(self._opened, iterator):
            mark(len(out))
            note(references)
            yield record

    def references(self, noted: Sequence[Any], first: int, count: int) -> list[Sequence[int]]:  # noqa: ARG002  # for others
        return list(zip(*noted, strict=True)) if count else [()] * self.width

    def _opened(self, record: Any) -> tuple[Any, tuple[int, ...]]:
        if self._shape == "record":
            opened: tuple[Any, tuple[int, ...]] = record
            return opened
        if self._shape == "pair":
            key, (value, references) = record
            return (key, value), references
        if self._shape == "join":
            key, sides = record
            values, both = zip(*map(self._side, sides, self._widths), strict=True)
            return (key, values), both[0] + both[1]
        (left, ours), (right, theirs) = record
        return (left, right), ours + theirs

    @staticmethod
    def _side(side: Any, width: int) -> tuple[Any, tuple[int, ...]]:
        return (None, (NONE,) * width) if side is None else side
