"""Whoever measures waits for what was left behind, and not for ever."""

from __future__ import annotations

from itertools import count

import pytest

from bench import rest as resting
from bench.rest import rest


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resting, "_SECONDS", 0.01)


def test_it_waits_until_nothing_is_used_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    used = iter([0, 20, 20, 40, 40, 41])
    monkeypatch.setattr(resting, "_used", lambda: next(used))
    rest(most=60)
    assert list(used) == []


def test_it_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = count(step=20)
    monkeypatch.setattr(resting, "_used", lambda: next(busy))
    assert rest(most=0.05) >= 0.05


def test_what_processors_did_is_counted_and_what_they_waited_is_not() -> None:
    before = resting._used()
    while resting._used() == before:  # this is work: within a tick or two it shows
        pass
    assert resting._used() > before
