"""The queue of tables that traces ask to be kept."""

from headwater.graph.records import Wanted
from headwater.graph.records.slow_tables import WantedTables


def _table(boundary: int) -> Wanted:
    return Wanted("default", "0190a6f2-0000-7000-8000-000000000000", boundary)


def test_what_waits_longest_comes_first_and_once() -> None:
    tables = WantedTables()
    for boundary in (1, 2, 1):
        tables.add(_table(boundary))
    assert [tables.take(), tables.take(), tables.take()] == [_table(1), _table(2), None]


def test_what_was_taken_is_not_asked_for_again() -> None:
    tables = WantedTables()
    tables.add(_table(1))
    assert tables.take() == _table(1)
    tables.add(_table(1))
    assert tables.take() is None


def test_what_is_forgotten_can_be_asked_for_again() -> None:
    tables = WantedTables()
    tables.add(_table(1))
    assert tables.take() == _table(1)
    tables.forget(_table(1))
    assert tables.take() is None
    tables.add(_table(1))
    assert tables.take() == _table(1)


def test_a_long_queue_forgets_what_waits_longest() -> None:
    tables = WantedTables()
    for boundary in range(1_001):
        tables.add(_table(boundary))
    assert tables.take() == _table(1)
