"""Named keys: what a key ring keeps, and when a key opens something."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from headwater.backend.access.keys import KeyRing
from headwater.errors import HeadwaterError, InvalidInputError, NotFoundError, UnavailableError
from headwater.graph.access.scopes import ROLES, Scope


class _Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> _Clock:
    return _Clock()


@pytest.fixture
def ring(tmp_path: Path, clock: _Clock) -> KeyRing:
    return KeyRing(tmp_path / "keys.db", clock=clock)


def test_a_key_is_found_by_its_text_alone_and_the_text_is_not_kept(ring: KeyRing, tmp_path: Path) -> None:
    key, text = ring.create("airflow", ROLES["producer"], tenant="default")
    assert ring.find(text) is not None
    for other in (text[:-1], text + "x", text.replace(key.id, "00000000"), text.split("_", 2)[2], "", "hwk_", f"hwk_{key.id}_", "hw_x"):
        assert ring.find(other) is None
    secret = text.split("_", 2)[2].encode()
    files = list(tmp_path.iterdir())
    assert files
    assert all(secret not in file.read_bytes() for file in files)
    assert stat.S_IMODE((tmp_path / "keys.db").stat().st_mode) == 0o600


def test_a_key_opens_nothing_once_it_is_revoked_or_has_expired(ring: KeyRing, clock: _Clock) -> None:
    _, text = ring.create("a", {Scope.READ}, tenant="default", expires=clock.now + 10)
    _, other = ring.create("b", {Scope.READ}, tenant="default")
    clock.now += 9.9
    assert ring.find(text) is not None
    clock.now += 0.1
    assert ring.find(text) is None
    assert ring.revoke("b") == 1
    assert ring.find(other) is None
    assert [key.state(clock.now) for key in ring.listed()] == ["expired", "revoked"]
    with pytest.raises(NotFoundError):
        ring.revoke("b")


def test_what_one_process_revokes_another_heeds_at_once(ring: KeyRing, tmp_path: Path, clock: _Clock) -> None:
    served = KeyRing(tmp_path / "keys.db", clock=clock)
    assert served.find("hwk_00000000_x") is None  # before there is a file
    _, text = ring.create("a", {Scope.READ}, tenant="default")
    assert served.find(text) is not None
    ring.revoke("a")
    assert served.find(text) is None


def test_after_a_rotation_both_keys_open_for_a_while(ring: KeyRing, clock: _Clock) -> None:
    _, old = ring.create("a", ROLES["steward"], tenant="sales")
    key, new = ring.rotate("a", overlap=100)
    assert (key.scopes, key.tenant) == (ROLES["steward"], "sales")
    assert ring.find(old)
    assert ring.find(new)
    clock.now += 100
    assert ring.find(old) is None
    assert ring.find(new)
    _, newest = ring.rotate("a", overlap=0)
    assert ring.find(new) is None
    assert ring.find(newest)


def test_a_rotation_never_makes_the_old_key_live_longer(ring: KeyRing, clock: _Clock) -> None:
    _, old = ring.create("a", {Scope.READ}, tenant="default", expires=clock.now + 5)
    ring.rotate("a", overlap=1_000)
    clock.now += 5
    assert ring.find(old) is None


def test_the_last_use_is_known_to_the_minute(ring: KeyRing, clock: _Clock) -> None:
    _, text = ring.create("a", {Scope.READ}, tenant="default")
    assert ring.listed()[0].used is None
    used = clock.now
    ring.find(text)
    clock.now += 59
    ring.find(text)
    assert ring.listed()[0].used == used
    clock.now += 1
    ring.find(text)
    assert ring.listed()[0].used == used + 60


@pytest.mark.parametrize(
    ("name", "tenant", "scopes", "ends"),
    [
        ("", "default", {Scope.READ}, None),
        ("a b", "default", {Scope.READ}, None),
        ("x" * 65, "default", {Scope.READ}, None),
        ("a", "../other", {Scope.READ}, None),
        ("a", "A", {Scope.READ}, None),
        ("a", "", {Scope.READ}, None),
        ("a", "default", set(), None),
        ("a", "default", {Scope.READ}, 0.0),
        ("a", "sales", {Scope.READ, Scope.OPERATE}, None),
    ],
)
def test_what_cannot_be_a_key_is_refused(ring: KeyRing, name: str, tenant: str, scopes: set[Scope], ends: float | None) -> None:
    with pytest.raises(InvalidInputError):
        ring.create(name, scopes, tenant=tenant, expires=ends)
    assert ring.listed() == []


def test_two_valid_keys_of_one_name_are_refused(ring: KeyRing) -> None:
    ring.create("a", {Scope.READ}, tenant="default")
    with pytest.raises(InvalidInputError, match="rotate"):
        ring.create("a", {Scope.READ}, tenant="default")
    ring.revoke("a")
    ring.create("a", {Scope.READ}, tenant="default")


def test_a_name_is_of_a_tenant_and_the_wrong_one_is_never_meant(ring: KeyRing) -> None:
    ours, _ = ring.create("a", {Scope.READ}, tenant="default")
    theirs, _ = ring.create("a", {Scope.READ}, tenant="sales")
    for act in (lambda: ring.revoke("a"), lambda: ring.rotate("a", overlap=0)):
        with pytest.raises(InvalidInputError, match="default, sales"):
            act()
    with pytest.raises(NotFoundError):
        ring.revoke(theirs.id, tenant="default")
    new, _ = ring.rotate("a", overlap=0, tenant="sales")
    assert (new.name, new.tenant) == ("a", "sales")
    assert ring.valid(ours.id) is not None
    assert ring.valid(theirs.id) is None
    assert ring.rotate(new.id, overlap=5)[0].name == "a"
    assert ring.revoke(ours.id) == 1


def test_a_damaged_file_opens_nothing_and_says_so(ring: KeyRing, tmp_path: Path) -> None:
    _, text = ring.create("a", {Scope.READ}, tenant="default")
    (tmp_path / "keys.db").write_bytes(b"no database" * 1000)
    with pytest.raises(UnavailableError) as raised:
        KeyRing(tmp_path / "keys.db").find(text)
    assert isinstance(raised.value, HeadwaterError)
    assert "keys.db" in str(raised.value)
