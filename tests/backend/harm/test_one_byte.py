"""One byte of a home is changed or removed, or a file is cut: no answer is wrong and exact, and `headwater store check` names the file.

HEADWATER_ROUNDS=N tries N damages, other ones by each seed, instead of a short run (`make torture ARGS="--modes bytes"`).
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.backend.home.settings import load_settings
from headwater.backend.operate.soundness.files import all_faults
from headwater.errors import HeadwaterError
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.trace import trace
from tests.backend.damage import whole_in_one_file
from tests.backend.harm import chain
from tests.graph.jobs import TENANT

_ROUNDS = int(os.environ.get("HEADWATER_ROUNDS", "0"))
_SEED = int(os.environ.get("HEADWATER_SEED", "1"))
_TOLD = "associations"  # of these each byte counts; other files have bytes that say nothing


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bytes")
    asyncio.run(chain.make(folder / "home", folder / "data"))
    for file in (folder / "home").rglob("*.db"):
        whole_in_one_file(file)
    AssociationStore(folder / "home" / "associations", sources=ANYWHERE).close()
    return folder


def damages(sound: Path, rounds: int) -> Iterator[tuple[Path, bytes]]:
    """Files of the home, with the content that each has in its round. Small files come as often as large ones."""
    home, drawn = sound / "home", random.Random(_SEED)
    files = sorted(file for file in home.rglob("*") if file.is_file() and file.stat().st_size and not file.name.endswith((".lock", "-shm")))
    for number in range(rounds):
        file = files[number % len(files)]
        whole = file.read_bytes()
        place = drawn.randrange(len(whole))
        before, after = whole[:place], whole[place + 1 :]
        yield (
            file.relative_to(home),
            drawn.choice([before + bytes([whole[place] ^ 1 << drawn.randrange(8)]) + after] * 4 + [before, before + after]),
        )


async def answers(home: Path, data: Path) -> list[object]:
    """The records of each answer that is exact; None for one that is not, and for an error."""
    found: list[object] = []
    for request in chain.questions(data):
        try:
            store = AssociationStore(home / "associations", sources=ANYWHERE)
        except HeadwaterError:
            found.append(None)
            continue
        try:
            answer = await trace(None, store, TENANT, request)
            found.append(chain.records(answer) if answer.exact else None)
        except HeadwaterError:
            found.append(None)
        finally:
            store.close()
    return found


@pytest.mark.slow
async def test_no_answer_is_wrong_and_exact_and_each_damage_is_named(sound: Path, tmp_path: Path) -> None:
    true = await answers(sound / "home", sound / "data")
    assert None not in true
    assert not list(all_faults(load_settings(home=sound / "home")))
    for file, content in damages(sound, _ROUNDS or 100):
        home = chain.copy_of(sound / "home", tmp_path / "home")
        (home / file).write_bytes(content)
        faults = list(all_faults(load_settings(home=home)))
        assert faults or file.parts[0] != _TOLD, (file, _SEED)
        for found, expected in zip(await answers(home, sound / "data"), true, strict=True):
            assert found in (None, expected), (file, _SEED)


async def test_what_the_whole_home_says_is_never_wrong_and_exact(sound: Path, tmp_path: Path) -> None:
    """The law with the log and the graph, as the command line asks."""
    true = [
        chain.records(answer) for answer in await chain.answers(sound / "home", sound / "data") if not isinstance(answer, HeadwaterError)
    ]
    for file, content in damages(sound, _ROUNDS // 10 or 20):
        home = chain.copy_of(sound / "home", tmp_path / "home")
        (home / file).write_bytes(content)
        for found, expected in zip(await chain.answers(home, sound / "data"), true, strict=True):
            assert isinstance(found, HeadwaterError) or not found.exact or chain.records(found) == expected, (file, _SEED)
