"""A tap hands on each record as soon as the program's function gives it, and before that function runs again."""

from __future__ import annotations

import math
import uuid
import weakref
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

from headwater.spark_listener.rdd_records.keys import check_hash, stable_hash
from headwater.spark_listener.rdd_records.starts import Keyed, Numbered, spread
from headwater.spark_listener.rdd_records.taps import Carrying, Gathering, Grouping, Recording, Report, Written


class Own:
    """A key that may hash otherwise in another worker."""


class Marked(uuid.UUID):
    """A part of a key whose instances a test counts."""


pytestmark = pytest.mark.usefixtures("loops")


class PersistedRows(Report):
    """A report that keeps its rows where the test sees them."""

    def __init__(self) -> None:
        super().__init__("", "", 0, (), None)
        self.rows: list[tuple[int, ...]] = []
        self.fault: BaseException | None = None
        self.ended = ""

    def begin(self, split: int) -> None:
        pass

    def called(self, split: int) -> None:
        pass

    def finish(self, *, partly: bool = False) -> None:
        self.ended = self.ended or ("partly" if partly else "finished")

    def abandon(self) -> None:
        self.ended = self.ended or "abandoned"

    def add(self, columns: Sequence[array[int]]) -> None:
        self.rows += zip(*columns, strict=True)

    def fail(self, fault: BaseException) -> None:
        self.fault = self.fault or fault


def tapped(
    kind: type[Recording], function: Callable[[Iterable[Any]], Iterable[Any]], records: Iterable[Any]
) -> tuple[Iterator[Any], PersistedRows]:
    report = PersistedRows()
    tap = kind(Numbered(), lambda _split, entered: function(entered), report, reads=True)
    return iter(tap(0, records)), report


def reused_pair(records: Iterable[Any]) -> Iterator[Any]:
    buffer: list[Any] = [None, None]
    for record in records:
        buffer[:] = [f"key {record}", record]
        yield buffer


def reused_value(records: Iterable[Any]) -> Iterator[Any]:
    buffer = [0]
    for record in records:
        buffer[0] = record
        yield f"key {record}", buffer


@pytest.mark.parametrize("function", [reused_pair, reused_value])
def test_a_record_that_its_program_uses_again_is_handed_on_as_it_was_given(function: Callable[[Iterable[Any]], Iterator[Any]]) -> None:
    passed, report = tapped(Grouping, function, range(2_000))
    seen = [(key, value if isinstance(value, int) else value[0]) for key, value in passed]
    assert seen == [(f"key {n}", n) for n in range(2_000)]
    assert report.fault is None
    assert report.rows == [(stable_hash(f"key {n}"), n) for n in range(2_000)]


@pytest.mark.parametrize("kind", [Grouping, Written])
def test_the_program_is_never_ahead_of_what_takes_its_records(kind: type[Recording]) -> None:
    given: list[int] = []

    def counted(records: Iterable[Any]) -> Iterator[Any]:
        for record in records:
            given.append(record)
            yield str(record), record

    passed, _ = tapped(kind, counted, range(1_000))
    for taken, _record in enumerate(passed, 1):
        assert len(given) == taken


@pytest.mark.parametrize("kind", [Grouping, Written, Gathering, Carrying])
def test_functions_are_called_when_a_tap_is_called(kind: type[Any]) -> None:
    called: list[str] = []

    def function(_split: int, records: Iterable[Any]) -> list[Any]:
        called.append("function")
        return [(record, record) for record in records]

    more: dict[str, Any] = {"shape": "record"} if kind is Carrying else {"report": PersistedRows()}
    tap = kind(Numbered(), function, reads=True, **more)
    passed = tap(0, iter("ab"))
    assert called == ["function"]
    assert len(list(passed)) == 2


def test_a_failing_program_has_given_what_came_before() -> None:
    def fails(records: Iterable[Any]) -> Iterator[Any]:
        for record in records:
            if record == 700:
                raise ValueError("at 700")
            yield record, record

    passed, _ = tapped(Grouping, fails, range(1_000))
    seen = []

    def take() -> None:
        for key, _ in passed:
            seen.append(key)

    with pytest.raises(ValueError, match="at 700"):
        take()
    assert seen == list(range(700))


def test_records_that_are_no_pairs_go_on_and_end_the_recording() -> None:
    passed, report = tapped(Grouping, lambda records: records, range(10))
    assert list(passed) == list(range(10))
    assert isinstance(report.fault, TypeError)


def test_a_row_for_each_line_of_a_text() -> None:
    passed, report = tapped(Written, lambda records: records, ["one", "two\nlines", b"three\r\nof\rthem", "", 7])
    assert list(passed) == [b"one", b"two\nlines", b"three\r\nof\rthem", b"", b"7"]
    assert report.rows == [(n,) for n in (0, 1, 1, 2, 2, 2, 3, 4)]


class Shouting(str):
    __slots__ = ()

    def encode(self, *_: str) -> bytes:
        return self.upper().encode("latin-1")


def test_text_is_made_of_records_as_pyspark_makes_it() -> None:
    records = ["ä𝄞", Shouting("ä"), b"\xff", 2.5, None, ("a", "ä")]
    passed, report = tapped(Written, lambda given: given, records)
    assert list(passed) == ["ä𝄞".encode(), b"\xc4", b"\xff", b"2.5", b"None", "('a', 'ä')".encode()]
    assert report.rows == [(n,) for n in range(6)]


@pytest.mark.parametrize("record", ["\ud800", type("Unwilling", (), {"__str__": lambda _: "\ud800"})()])
def test_a_text_that_cannot_be_written_is_the_error_of_the_program(record: object) -> None:
    passed, report = tapped(Written, lambda given: given, ["a", record])
    assert next(passed) == b"a"
    with pytest.raises(UnicodeEncodeError):
        next(passed)
    assert report.fault is None


KEYS = ["a", "b", 1, -1, -2, 0, True, 2**70, None, (1, None), (1, -1), (1, -2), ("a", (None, 2.5)), (), 2.5, b"x", math.nan, -1.0]


def test_each_key_is_noted_by_its_hash() -> None:
    passed, report = tapped(Grouping, lambda records: records, [(key, n) for n, key in enumerate(KEYS)])
    assert len(list(passed)) == len(KEYS)
    assert (report.fault, report.ended) == (None, "finished")
    assert report.rows == [(stable_hash(key), n) for n, key in enumerate(KEYS)]


@pytest.mark.parametrize("records", [[(Own(), 1)], [((1, Own()), 1)], [([], 1)], [()]])
def test_a_key_without_a_hash_ends_the_recording_alone(records: list[Any]) -> None:
    passed, report = tapped(Grouping, lambda given: given, [("a", 0), *records, ("b", 2)])
    assert list(passed) == [("a", 0), *records, ("b", 2)]
    assert report.fault is not None


@pytest.mark.parametrize("kind", [Grouping, Written])
def test_what_each_result_is_made_of_whatever_a_record_gives(kind: type[Recording]) -> None:
    count = 150_000

    def several(records: Iterable[int]) -> Iterator[Any]:
        for record in records:
            for _ in range(record % 4):
                yield str(record), record

    passed, report = tapped(kind, several, range(count))
    made = [n for n in range(count) for _ in range(n % 4)]
    assert sum(1 for _ in passed) == len(made)
    assert [row[-1] for row in report.rows] == made


def test_who_stops_early_leaves_nothing() -> None:
    passed, report = tapped(Grouping, lambda records: records, [("a", n) for n in range(10)])
    assert next(passed) == ("a", 0)
    del passed
    assert (report.ended, report.rows) == ("abandoned", [])


def test_a_pass_whose_rows_cannot_be_written_goes_on() -> None:
    class Full(PersistedRows):
        def add(self, columns: Sequence[array[int]]) -> None:
            raise OSError("no space")

    report = Full()
    records = [("a", n) for n in range(140_000)]
    assert list(Grouping(Numbered(), None, report, reads=True)(0, iter(records))) == records
    assert isinstance(report.fault, OSError)


@pytest.mark.parametrize("key", [math.nan, (1, math.nan), ("a", (math.nan,))])
@pytest.mark.parametrize("one_by_one", [True, False])
def test_groups_of_nan_are_told_apart_as_keys_that_share_a_hash(key: Any, one_by_one: bool) -> None:
    checks = PersistedRows()
    start = Keyed(checks)
    for split in (0, 1):
        out: list[Any] = []
        start.arm(split, None if one_by_one else out)
        for record in start(split, [(key, 1), (key, 2), ("a", 3)]):
            out.append(record)  # noqa: PERF402  # the start looks at how many there are
        if not one_by_one:
            start.taken()
    of_nan = {row for row in checks.rows if row[0] == stable_hash(key)}
    assert len({check for _, check in of_nan}) == 4
    assert {row[0] for row in set(checks.rows) - of_nan} == {stable_hash("a")}


def _of_groups(
    kind: type[Recording], records: Iterable[Any], function: Callable[[Iterable[Any]], Iterable[Any]]
) -> tuple[list[Any], PersistedRows, PersistedRows]:
    checks, report = PersistedRows(), PersistedRows()
    start = Keyed(checks)
    tap = kind(start, lambda split, entered: function(start(split, entered)), report, reads=False)
    return list(tap(3, records)), checks, report


@pytest.mark.parametrize("times", [1, 5_000])
def test_what_is_made_of_groups_has_the_hash_of_their_key_and_each_group_two(times: int) -> None:
    keys = [key for key in KEYS if key == key] * times  # noqa: PLR0124  # but for NaN

    def some(records: Iterable[Any]) -> Iterator[Any]:
        for number, record in enumerate(records):
            for _ in range(number % 3):
                yield record[1]

    passed, checks, report = _of_groups(Written, ((key, n) for n, key in enumerate(keys)), some)
    assert passed == [b"%d" % n for n in range(len(keys)) for _ in range(n % 3)]
    assert (checks.fault, report.fault, checks.ended, report.ended) == (None, None, "finished", "finished")
    assert report.rows == [(stable_hash(key),) for n, key in enumerate(keys) for _ in range(n % 3)]
    assert set(checks.rows) == {(stable_hash(key), check_hash(key) ^ spread(3)) for key in keys}


def test_keys_that_differ_in_any_part_differ_in_their_second_hash() -> None:
    keys = [key for key in KEYS if key == key and key is not True and type(key) is not float]  # noqa: PLR0124
    keys += [5, 5 + 2**61 - 1, 5 - 2**61 + 1]
    tuples = [(a, b) for a in keys for b in keys]
    assert len(set(map(check_hash, tuples))) == len(set(tuples))


@pytest.mark.parametrize("records", [[(Own(), 1)], [((1, Own()), 1)]])
def test_a_group_whose_key_has_no_hash_ends_the_recording_alone(records: list[Any]) -> None:
    passed, checks, _ = _of_groups(Written, [("a", 0), *records, ("b", 2)], lambda given: (record[1] for record in given))
    assert passed == [b"0", b"1", b"2"]
    assert checks.fault is not None


def test_groups_of_nan_in_a_whole_pass() -> None:
    nan = math.nan
    _, checks, report = _of_groups(Written, [(nan, 0), ((1, nan), 1), (nan, 2), ("a", 3)], lambda given: (record[1] for record in given))
    assert report.rows == [(stable_hash(key),) for key in (nan, (1, nan), nan, "a")]
    assert len({row for row in checks.rows if row[0] == stable_hash(nan)}) == 2


@pytest.mark.parametrize("one_by_one", [True, False])
@pytest.mark.parametrize("key", ["a", "long " * 100, 7, ("a", 1), b"x"])
def test_a_key_with_groups_in_two_partitions_is_told_as_keys_that_share_a_hash(key: Any, one_by_one: bool) -> None:
    checks = PersistedRows()
    for split in (0, 1, 1):
        out: list[Any] = []
        start = Keyed(checks)
        start.arm(split, None if one_by_one else out)
        for record in start(split, [(key, 1)]):
            out.append(record)  # noqa: PERF402  # the start looks at how many there are
        if not one_by_one:
            assert [list(column) for column in start.taken()] == [[stable_hash(key)]]
    for split in (0, 1):  # in the form that a tap passes on
        assert len(list(Grouping(Keyed(checks), None, PersistedRows(), reads=True)(split, iter([(key, 1)])))) == 1
    assert {one for one, _ in checks.rows} == {stable_hash(key)}
    assert len({check for _, check in checks.rows}) == 2
    assert len({check for _, check in checks.rows[-2:]}) == 2


def test_large_keys_are_not_kept() -> None:
    alive: weakref.WeakSet[Any] = weakref.WeakSet()

    def large(records: Iterable[int]) -> Iterator[Any]:
        for record in records:
            key = (bytes(100) + bytes([record % 256]), Marked(int=record % 7))
            alive.add(key[1])
            yield key, record

    most = 0
    passed, report = tapped(Grouping, large, range(500))
    for record in passed:
        del record
        most = max(most, len(alive))
    assert most < 10
    assert (report.fault, len(report.rows)) == (None, 500)


def test_what_a_function_pulled_counts_where_it_stops_early() -> None:
    for count, ended in ((0, "partly"), (3, "partly"), (10, "finished")):
        passed, report = tapped(Gathering, lambda records: records, range(10))
        assert [record for _, record in zip(range(count), passed, strict=False)] == list(range(count))
        if count == 10:
            assert next(passed, None) is None
        del passed
        assert [row[-1] for row in report.rows] == list(range(count))
        if count:
            assert report.ended == ended


def test_a_start_that_is_not_pulled_to_its_end_leaves_nothing() -> None:
    checks = PersistedRows()
    carried = iter(Carrying(Keyed(checks), None, reads=True, shape="record")(0, [("a", 1), ("b", 2)]))
    assert next(carried) == (("a", 1), (stable_hash("a"),))
    del carried
    assert checks.ended == "abandoned"


def test_a_text_that_ends_its_iterator_is_an_error_as_in_a_generator() -> None:
    class Ends:
        def __str__(self) -> str:
            raise StopIteration

    passed, _ = tapped(Written, lambda records: records, ["a", Ends(), "b"])
    assert next(passed) == b"a"
    with pytest.raises(RuntimeError, match="generator raised StopIteration"):
        next(passed)
