"""A damaged file of keys, sessions or masks opens nothing to anybody who had no right, and it is said what is wrong."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from headwater.backend.access.keys import KeyRing
from headwater.backend.access.masks import EVERYTHING, Masks, read_masks
from headwater.backend.access.people.ended_sessions import OwnEndedSessions
from headwater.backend.home.settings import load_settings
from headwater.backend.operate.repair import repair
from headwater.backend.operate.soundness.files import quick_faults
from headwater.errors import ConfigurationError, UnavailableError
from headwater.graph.access.rights import Rights
from headwater.graph.access.scopes import Scope
from tests.backend.damage import cut, empty, spoil

_ROUNDS = int(os.environ.get("HEADWATER_ROUNDS", "0")) or 150
_WAYS: list[Callable[[Path], None]] = [lambda path: spoil(path, begin=16), cut, empty]
_NOW = 1_000_000.0


def damaged_copies(path: Path, seed: int) -> list[bytes]:
    """The file with one byte changed, cut from some byte on, or without one byte."""
    drawn, whole, copies = random.Random(seed), path.read_bytes(), []
    for _ in range(_ROUNDS):
        place = drawn.randrange(len(whole))
        changed = bytes([whole[place] ^ 1 << drawn.randrange(8)])
        copies.append(
            drawn.choice([whole[:place] + changed + whole[place + 1 :]] * 4 + [whole[:place], whole[:place] + whole[place + 1 :]])
        )
    return copies


def test_a_changed_byte_gives_no_key_a_right(tmp_path: Path) -> None:
    path = tmp_path / "keys.db"
    ring = KeyRing(path, clock=lambda: _NOW)
    rights = {Scope.READ: Rights(frozenset({Scope.READ})), Scope.INTAKE: Rights(frozenset({Scope.INTAKE}))}
    made = [ring.create(f"key{n}", rights[scope], tenant=f"t{n}", expires=_NOW + 10) for n, scope in enumerate(rights)]
    revoked = ring.create("revoked", rights[Scope.READ], tenant="t0")
    expired = ring.create("expired", rights[Scope.READ], tenant="t0", expires=_NOW + 1)
    ring.revoke("revoked")
    ring.close()
    opened = 0
    for content in damaged_copies(path, seed=1):
        path.write_bytes(content)
        ring = KeyRing(path, clock=lambda: _NOW + 5)
        for key, text in made:
            with suppress(UnavailableError):
                found = ring.find(text)
                assert found is None or (found.tenant, found.rights, found.expires) == (key.tenant, key.rights, key.expires)
                opened += found is not None
        for _, text in (revoked, expired):
            with suppress(UnavailableError):
                assert ring.find(text) is None
        ring.close()
    assert opened  # what was not read of the file changes nothing


def test_a_changed_byte_brings_no_session_back(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    sessions = OwnEndedSessions(path, clock=lambda: _NOW)
    for number in range(20):
        sessions.end(f"{number}", _NOW + 1000 + number)
    for content in damaged_copies(path, seed=2):
        path.write_bytes(content)
        sessions = OwnEndedSessions(path, clock=lambda: _NOW)
        for number in (0, 7, 19):
            with suppress(UnavailableError):
                assert sessions.has(f"{number}", _NOW)
        sessions.close()


@pytest.mark.parametrize("way", _WAYS, ids=["spoiled", "cut", "emptied"])
async def test_damaged_rights_are_named_and_repaired_to_open_nothing(tmp_path: Path, way: Callable[[Path], None]) -> None:
    settings = load_settings(home=tmp_path / "home")
    home = settings.folder.create()
    _, text = KeyRing(home.named_keys).create("one", Rights(frozenset({Scope.READ})), tenant="t")
    OwnEndedSessions(home.ended_sessions).end("a", 4e9)
    for path in (home.named_keys, home.ended_sessions):
        way(path)
    assert {(fault.part, fault.path) for fault in quick_faults(settings)} == {
        ("keys", home.named_keys),
        ("sessions", home.ended_sessions),
    }
    with pytest.raises(UnavailableError):
        KeyRing(home.named_keys).find(text)
    with pytest.raises(UnavailableError):
        OwnEndedSessions(home.ended_sessions).has("b", 0.0)
    assert {each.path for each in await repair(settings)} >= {home.named_keys, home.ended_sessions}
    assert KeyRing(home.named_keys).find(text) is None
    assert OwnEndedSessions(home.ended_sessions).has("a", 1e9)
    assert not OwnEndedSessions(home.ended_sessions).has("later", 5e9)
    assert not list(quick_faults(settings))


@pytest.mark.parametrize("name", ["masks.toml", "people.toml", "intakes.toml", "storage.toml"])
def test_a_damaged_file_of_the_operator_is_named(tmp_path: Path, name: str) -> None:
    settings = load_settings(home=tmp_path / "home")
    path = settings.folder.create().path / name
    path.write_bytes(b"\xff[[")
    assert [(fault.part, fault.path) for fault in quick_faults(settings)] == [("settings", path)]


def test_an_emptied_file_of_masks_masks_everything(tmp_path: Path) -> None:
    path = tmp_path / "masks.toml"
    path.write_text('[[mask]]\ncolumns = ["salary"]\n')
    masks = Masks(path)
    assert masks.of("t") != (EVERYTHING,)
    path.write_text("")
    assert masks.of("t") == (EVERYTHING,)
    with pytest.raises(ConfigurationError, match="states no rule"):
        read_masks(path)
