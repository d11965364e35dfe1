"""The log of changes is read as long as that costs less than reading the graph."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headwater.graph.stores import change_log

PACKED = [change_log.pack(range(number, number + 3)) for number in range(9)]


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_log, "TOUCHED", 6)


def taken(touched: change_log.Touched, packed: Iterator[bytes | None]) -> int:
    """The number of transactions that were read."""
    return sum(1 for _ in iter(lambda: touched.take(touched.revision + 1, next(packed)), False))


def test_what_transactions_touched_is_taken_together_by_owner() -> None:
    touched = change_log.Touched(7)
    assert touched.take(8, change_log.pack(["a", "b"]), "s")
    assert touched.take(9, change_log.pack(["b", "c"]), "s")
    assert touched.take(10, change_log.pack(["a"]), "t")
    assert (touched.revision, touched.nodes) == (10, {"s": {"a", "b", "c"}, "t": {"a"}})


def test_reading_stops_where_the_transactions_touch_too_much_together() -> None:
    packed = iter(PACKED)
    assert taken(change_log.Touched(0), packed) == 4
    assert next(packed) == PACKED[5]  # nothing beyond the one that was too much was read


def test_the_same_nodes_may_be_touched_again_but_not_for_ever() -> None:
    assert taken(change_log.Touched(0), iter(PACKED[:1] * 99)) == 20


def test_a_gap_and_an_untold_transaction_end_it() -> None:
    assert not change_log.Touched(7).take(9, PACKED[0])
    assert not change_log.Touched(7).take(8, None)
