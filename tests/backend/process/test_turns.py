"""Turns: no tenant, and no caller of one, keeps the others waiting by asking much."""

from __future__ import annotations

import asyncio

import pytest

from headwater.backend.process.turns import Caller, Turns
from headwater.backend.questions import TooManyQuestionsError
from headwater.errors import UnavailableError

ANN, BOB, SUE = Caller("a", "ann"), Caller("a", "bob"), Caller("b", "sue")


async def order(turns: Turns, first: Caller, *waiting: Caller) -> list[str]:
    """The order of the callers in the places. All wait while the first is at work, and each gives its place back at once."""
    told: list[str] = []

    async def work(caller: Caller) -> None:
        place = await turns.take(caller, 20)
        told.append(caller.name)
        turns.give_back(caller, place)

    place = await turns.take(first, 20)
    tasks = [asyncio.create_task(work(caller)) for caller in waiting]
    await asyncio.sleep(0)
    turns.give_back(first, place)
    await asyncio.gather(*tasks)
    return told


async def test_a_tenant_that_came_last_has_the_next_turn() -> None:
    told = await order(Turns(1, each=1, waiting=9), ANN, ANN, ANN, BOB, BOB, SUE, SUE)
    assert told == ["sue", "bob", "sue", "ann", "bob", "ann"]


async def test_callers_of_one_tenant_take_turns() -> None:
    assert await order(Turns(1, each=1, waiting=9), ANN, ANN, ANN, BOB) == ["bob", "ann", "ann"]


async def test_the_last_place_is_for_another_tenant_once_there_is_one() -> None:
    turns = Turns(3, each=2, waiting=9)
    anns = [await turns.take(ANN, 1) for _ in range(2)]
    bobs = await turns.take(BOB, 1)  # one tenant alone has all places
    for caller, place in ((ANN, anns[0]), (BOB, bobs)):
        turns.give_back(caller, place)
    sues = await turns.take(SUE, 1)
    turns.give_back(SUE, sues)
    await turns.take(BOB, 1)
    with pytest.raises(UnavailableError):
        await turns.take(BOB, 0.01)
    await turns.take(SUE, 1)


async def test_a_caller_who_leaves_or_waits_too_much_holds_up_nobody() -> None:
    turns = Turns(1, each=1, waiting=1)
    place = await turns.take(ANN, 1)
    leaving = asyncio.create_task(turns.take(BOB, 20))
    await asyncio.sleep(0)
    with pytest.raises(TooManyQuestionsError):
        await turns.take(BOB, 20)
    waiting = asyncio.create_task(turns.take(SUE, 20))
    leaving.cancel()
    turns.give_back(ANN, place)
    assert await waiting == place
