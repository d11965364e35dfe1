"""Random histories: collections and compactions change no trace of kept data, and take no block from a consumer that has not read it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.backend.versions.history import History

STEPS = st.lists(
    st.sampled_from(["base", "delta", "delta", "new:a", "new:b", "all:c", "group:d", "collect", "compact", "forget:d", "forget:c"]),
    min_size=3,
    max_size=12,
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
                elif kind == "collect":
                    await _collect(history)
                elif kind == "compact":
                    await _compact(history)
                else:
                    history.consume(consumer, kind)
        finally:
            await history.close()


async def _collect(history: History) -> None:
    await history.settle()
    before, collector = await history.traces(), history.collector()
    collector.enrol(history.dataset, by="ann")
    await collector.collect(history.dataset, by="ann")
    there = history.files()
    merged = max((place for place, (_, name) in enumerate(history.blocks) if name.startswith("merged")), default=0)
    unread = [name for place in history.read.values() for _, name in history.blocks[max(place, merged) :]]  # others are in the merged block
    assert there >= {*unread, *(name for _, name in history.blocks[history.base :])}
    assert await history.traces() == before


async def _compact(history: History) -> None:
    """Compact the dataset, if nothing forbids it. The old data is deleted at once, if no trace needs it."""
    await history.settle()
    rows, before = await history.rows(), await history.traces()
    history.collector().enrol(history.dataset, by="ann")
    plan = await history.compactor().plan(history.dataset)
    behind = {name for name, count in history.read.items() if name in "ab" and count < len(history.blocks)}
    if plan.reasons:
        return
    assert not behind  # consumers of new blocks have read all of them
    await history.compact(trash_days=0)
    await history.compactor().settle()
    assert history.files() == {history.blocks[-1][1]}
    assert await history.rows() == rows
    after = await history.traces()
    kept = set(before) & set(after)
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert {name for name in before if name[0].startswith("run") and name[2]} <= kept  # every output of a consumer


@settings(max_examples=10, deadline=None)
@given(steps=STEPS, values=st.lists(st.integers(0, 9), min_size=3, max_size=3))
async def test_a_collection_changes_no_trace_and_drops_nothing_unread(steps: list[str], values: list[int]) -> None:
    await _check(steps, values)


@pytest.mark.torture
@pytest.mark.timeout(3600)
@settings(max_examples=220, deadline=None)
@given(steps=STEPS, values=st.lists(st.integers(0, 9), min_size=3, max_size=3))
async def test_a_collection_changes_no_trace_in_many_histories(steps: list[str], values: list[int]) -> None:
    await _check(steps, values)
