"""A tenant whose small bodies take long has them read elsewhere, and nobody else has."""

from __future__ import annotations

from contextlib import suppress

from headwater.backend.ingest.bodies.inline_budget import InlineTime
from headwater.errors import InvalidInputError


class _Clocks:
    now = 100.0
    processor = 0.0


def _take(inline: InlineTime, clocks: _Clocks, tenant: str, seconds: float, times: int = 1) -> None:
    for _ in range(times):
        with inline.counted(tenant):
            clocks.processor += seconds


def _inline() -> tuple[InlineTime, _Clocks]:
    clocks = _Clocks()
    return InlineTime(lambda: clocks.now, lambda: clocks.processor), clocks


def test_any_number_of_usual_bodies_is_read_at_once() -> None:
    inline, clocks = _inline()
    _take(inline, clocks, "a", 0.002, times=10_000)
    assert inline.has_left("a")


def test_a_tenant_whose_bodies_take_long_has_them_read_elsewhere_until_the_time_is_forgiven() -> None:
    inline, clocks = _inline()
    _take(inline, clocks, "a", 0.04)
    assert inline.has_left("a"), "one body may take long"
    _take(inline, clocks, "a", 0.04)
    assert not inline.has_left("a")
    assert inline.has_left("b"), "another tenant"
    clocks.now += 0.5
    assert not inline.has_left("a")
    clocks.now += 0.2
    assert inline.has_left("a")
    _take(inline, clocks, "a", 0.5)
    clocks.now += 5
    assert not inline.has_left("a")


def test_a_body_that_is_refused_counts_too() -> None:
    inline, clocks = _inline()
    with suppress(InvalidInputError), inline.counted("a"):
        clocks.processor += 0.08
        raise InvalidInputError("refused")
    assert not inline.has_left("a")
