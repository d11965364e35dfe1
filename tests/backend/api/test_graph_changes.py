"""Followers of a graph: one that cannot get all news gets an error, and one that leaves is forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from headwater.backend.api.graph_changes import Live
from headwater.errors import UnavailableError
from headwater.graph.stores.sqlite import SqliteStore
from tests.stated import CLEAN, REPORT, TENANT, state_pipeline


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    graph = SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    yield graph
    await graph.close()


async def test_all_who_follow_are_told_and_who_leaves_is_forgotten(store: SqliteStore) -> None:
    live = Live(store, pause=0.01)
    first, second = live.runs(), live.runs()
    assert [await anext(first), await anext(second)] == [[], []]
    await state_pipeline(store)
    for follower in (first, second):
        told: set[str] = set()
        while not {f"run:{CLEAN}", f"run:{REPORT}"} <= told:
            told.update(await asyncio.wait_for(anext(follower), 60))
        await follower.aclose()
    assert not live._followers
    assert live._looking is not None
    await asyncio.wait_for(live._looking, 60)
    third = live.runs()
    assert await asyncio.wait_for(anext(third), 60) == [], "it begins again, with what is written from then on"
    await third.aclose()


async def test_who_is_too_far_behind_is_told_so(store: SqliteStore) -> None:
    live = Live(store, pause=0.01, most=1)
    slow, quick = live.runs(), live.runs()
    assert [await anext(slow), await anext(quick)] == [[], []]
    await state_pipeline(store)
    # The quick follower gets both runs, or ends if one look found both. Then both wait for the slow one.
    told: set[str] = set()
    with suppress(UnavailableError):
        while not {f"run:{CLEAN}", f"run:{REPORT}"} <= told:
            told.update(await asyncio.wait_for(anext(quick), 60))
    with pytest.raises(UnavailableError, match="ask for less"):
        await asyncio.wait_for(anext(slow), 60)


async def test_a_graph_that_was_dropped_ends_the_following(store: SqliteStore) -> None:
    await state_pipeline(store)
    follower = Live(store, pause=0.01).runs()
    assert await anext(follower) == []
    await store.drop(TENANT)
    with pytest.raises(UnavailableError, match="made anew"):
        await asyncio.wait_for(anext(follower), 60)
