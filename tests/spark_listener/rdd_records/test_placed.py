"""A program's declaration of a function's results is recorded, and not believed if it is visibly wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count, islice
from typing import Any

import pytest

from headwater.spark_listener.rdd_records import placed
from headwater.spark_listener.rdd_records.placed import Placed, Pulling
from headwater.spark_listener.rdd_records.starts import NONE, Numbered
from headwater.spark_listener.rdd_records.taps import Written
from tests.spark_listener.rdd_records.test_taps import PersistedRows


class Restarted(PersistedRows):
    """A report that keeps its rows, and what it says of them."""

    def __init__(self) -> None:
        super().__init__()
        self.superset: str | None = None

    def restart(self) -> None:
        self.rows.clear()

    def say_superset(self, reason: str) -> None:
        self.superset = reason


SPLIT = 3
FIRST = SPLIT << 40
Made = dict[int, set[int]]


def pairs(records: Iterable[Any]) -> Iterator[Any]:
    """A result of each two records that follow each other."""
    last = None
    for record in records:
        if last is not None:
            yield (last, record)
        last = record


def ran(
    function: Callable[..., Any], of: Callable[[int, Any], Any], records: Iterable[Any], most: int | None = None, **options: Any
) -> Any:
    """The passed records, the recorded inputs of each result (by number, records by number), and the report."""
    report, sink = Restarted(), PersistedRows()
    start = Placed(of, function, report, 1, **options)
    called = (lambda it: function(SPLIT, it)) if options.get("indexed") else function
    inner = Pulling(Numbered(), None, start, reads=True)
    tap = Written(start, lambda split, entered: start(split, called(inner(split, entered))), sink, reads=False)
    passed = list(islice(iter(tap(SPLIT, iter(records))), most))
    start.finish(partly=True)
    made: Made = {}
    for key, reference in report.rows:
        made.setdefault(key - FIRST, set()).update([] if reference == NONE else [reference - FIRST])
    return passed, made, report


def test_results_are_made_of_what_is_declared() -> None:
    passed, made, report = ran(pairs, lambda number, _: (number, number + 1), range(5000))
    assert passed[:2] == [b"(0, 1)", b"(1, 2)"]
    assert made == {n: {n, n + 1} for n in range(4999)}
    assert (report.fault, report.superset) == (None, None)


def test_a_result_may_be_made_of_nothing() -> None:
    def headed(records: Iterable[Any]) -> Iterator[Any]:
        yield "head"
        yield from records

    _, made, report = ran(headed, lambda number, _: [number - 1] if number else [], range(3))
    assert (made, report.fault, report.superset) == ({0: set(), 1: {0}, 2: {1}, 3: {2}}, None, None)


def test_what_the_consumer_did_not_ask_for_is_not_there() -> None:
    passed, made, _ = ran(pairs, lambda number, _: (number, number + 1), range(50), 3)
    assert len(passed) == 3
    assert made == {n: {n, n + 1} for n in range(3)}


def fails(_number: int, _result: Any) -> Any:
    raise StopIteration


WRONG: dict[str, Callable[[int, Any], Any]] = {
    "from one": lambda number, _: (number + 1, number + 2),
    "below none": lambda number, _: [number, -1],
    "no numbers": lambda _, result: str(result),
    "without end": lambda *_: count(),
    "nothing to go through": lambda *_: None,
    "fails": fails,
    "late": lambda number, _: [number] if number < 7 else [99],
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_place_makes_all_results_of_the_partition_of_all_records(kind: str) -> None:
    passed, made, report = ran(pairs, WRONG[kind], range(10))
    assert [eval(text) for text in passed] == list(pairs(range(10)))
    assert made == {n: set(range(10)) for n in range(9)}
    assert report.fault is None
    assert "is not so" in report.superset


def test_a_record_that_is_pulled_later_has_no_place_yet() -> None:
    _, made, report = ran(iter, lambda number, _: [number + 1], range(4))
    assert made == {n: set(range(4)) for n in range(4)}
    assert "had been pulled" in report.superset


def test_what_would_be_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placed, "_MOST_WHOLE", 50)
    _, made, report = ran(pairs, WRONG["from one"], range(10))
    assert (made, "too much" in str(report.fault)) == ({}, True)
    monkeypatch.setattr(placed, "_MOST_PULLED", 8)
    _, _, report = ran(pairs, lambda number, _: (number, number + 1), range(10))
    assert "more than 8 records" in str(report.fault)


def test_places_without_bound_are_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placed, "_SPARE", 0)
    monkeypatch.setattr(placed, "_MOST_EACH", 2)
    passed, made, report = ran(pairs, lambda number, _: range(number + 2), range(10))
    assert len(passed) == 9
    assert made == {n: set(range(10)) for n in range(9)}
    assert "more than 2 places" in report.superset


@pytest.mark.parametrize("indexed", [False, True])
def test_a_declaration_that_is_so_is_verified(indexed: bool) -> None:
    calls = []

    def function(*given: Any) -> Any:
        calls.append(given[:-1])
        return pairs(given[-1])

    _, made, report = ran(function, lambda number, _: (number, number + 1), range(20), check=5, indexed=indexed)
    assert (report.fault, len(made)) == (None, 19)
    assert calls == [(SPLIT,) if indexed else ()] * 5  # itself, and results 0, 5, 10 and 15


def sums(records: Iterable[int]) -> Iterator[int]:
    """Made of all that came before."""
    total = 0
    for record in records:
        total += record
        yield total


def test_a_declaration_that_is_not_so_is_found_out() -> None:
    _, _, report = ran(sums, lambda number, _: [number], range(20), check=5)
    assert "does not give a result again" in str(report.fault)
    _, made, report = ran(sums, lambda number, _: range(number + 1), range(20), check=5)
    assert (report.fault, made[19]) == (None, set(range(20)))


def test_a_function_that_fails_for_fewer_records_fails_the_recording_alone() -> None:
    def wants_five(records: Iterable[int]) -> list[int]:
        all_records = list(records)
        return all_records if len(all_records) == 5 else [1 // 0]

    passed, _, report = ran(wants_five, lambda number, _: [number], range(5), check=1)
    assert passed == [b"0", b"1", b"2", b"3", b"4"]
    assert isinstance(report.fault, ZeroDivisionError)


def test_records_that_are_not_kept_any_more_are_not_verified_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placed, "_COPIED", 4)
    _, made, report = ran(sums, lambda number, _: range(number + 1), range(20), check=1)
    assert (report.fault, len(made)) == (None, 20)


def test_nothing_is_noted_of_a_pass_that_nobody_asked_for() -> None:
    report = Restarted()
    start = Placed(lambda *_: [0], pairs, report, 1)
    inner = Pulling(Numbered(), None, start, reads=True)
    assert list(start(SPLIT, pairs(inner(SPLIT, range(4))))) == [(0, 1), (1, 2), (2, 3)]
    assert report.rows == []


def test_all_references_of_a_record_are_those_of_its_results() -> None:
    report = Restarted()
    start = Placed(lambda number, _: [number], iter, report, 2)
    start.arm(SPLIT, None)
    for record in range(3):
        start.pulled(record, (record, NONE if record == 1 else record + 10))
    assert list(start(SPLIT, iter("abc"))) == ["a", "b", "c"]
    assert report.rows == [(FIRST, 0, 10), (FIRST + 1, 1, NONE), (FIRST + 2, 2, 12)]
