"""Random histories: a collection changes no trace of kept data, and drops no block that a consumer has not read."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.backend.versions.history import History

STEPS = st.lists(
    st.sampled_from(["base", "delta", "new:a", "new:b", "all:c", "group:d", "collect", "forget:d", "forget:c"]), min_size=3, max_size=12
)


async def _check(steps: list[str], values: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = await History.open(Path(folder))
        try:
            history.write("base", [["a", 0]])
            for number, step in enumerate([*steps, "collect"]):
                kind, _, consumer = step.partition(":")
                if kind in ("base", "delta"):
                    history.write(kind, [["ab"[value % 2], value] for value in values[: number % 3 + 1]])
                elif kind == "forget":  # the output of the last run of a consumer is deleted
                    for path in [*history.root.glob(f"{consumer}/*")]:
                        path.unlink()
                elif kind != "collect":
                    history.consume(consumer, kind)
                else:
                    await _collect(history)
        finally:
            await history.close()


async def _collect(history: History) -> None:
    await history.settle()
    before, collector = await history.traces(), history.collector()
    collector.enrol(history.dataset, by="ann")
    await collector.collect(history.dataset, by="ann")
    there = history.files()
    unread = [name for place in history.read.values() for _, name in history.blocks[place:]]
    assert there >= {*unread, *(name for _, name in history.blocks[history.base :])}
    assert await history.traces() == before


@settings(max_examples=10, deadline=None)
@given(steps=STEPS, values=st.lists(st.integers(0, 9), min_size=3, max_size=3))
async def test_a_collection_changes_no_trace_and_drops_nothing_unread(steps: list[str], values: list[int]) -> None:
    await _check(steps, values)


@pytest.mark.torture
@settings(max_examples=500, deadline=None)
@given(steps=STEPS, values=st.lists(st.integers(0, 9), min_size=3, max_size=3))
async def test_a_collection_changes_no_trace_in_many_histories(steps: list[str], values: list[int]) -> None:
    await _check(steps, values)
