"""Packed bodies are unpacked within bounds."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib

import pytest

from headwater.backend.ingest.intake.bodies import BodyTooLargeError, unpack
from headwater.errors import InvalidInputError

_LIMIT = 1000


def test_plain_bodies_pass() -> None:
    assert unpack(b"x", encoding=None, limit=_LIMIT) == b"x"
    assert unpack(b"x", encoding="identity", limit=_LIMIT) == b"x"


def test_gzip_is_unpacked_also_in_several_members() -> None:
    assert unpack(gzip.compress(b"ab") + gzip.compress(b"cd"), encoding="GZIP", limit=_LIMIT) == b"abcd"
    assert unpack(gzip.compress(b"x" * _LIMIT), encoding="gzip", limit=_LIMIT) == b"x" * _LIMIT


@pytest.mark.parametrize("members", [1, 3])
def test_a_bomb_is_refused_before_it_unfolds(members: int) -> None:
    bomb = gzip.compress(b"\0" * 50_000_000) * members
    tracemalloc.start()
    with pytest.raises(BodyTooLargeError):
        unpack(bomb, encoding="gzip", limit=_LIMIT)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000


def test_many_small_members_are_bounded_together() -> None:
    with pytest.raises(BodyTooLargeError):
        unpack(gzip.compress(b"x" * 400) * 3, encoding="gzip", limit=_LIMIT)


_WHOLE = gzip.compress(b"abc", mtime=0)  # the bytes name the tests, so that they are the same in every worker


@pytest.mark.parametrize("body", [b"not gzip", _WHOLE[:-4], _WHOLE[:5], zlib.compress(b"abc")])
def test_what_is_not_whole_gzip_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidInputError, match="gzip"):
        unpack(body, encoding="gzip", limit=_LIMIT)


def test_another_encoding_is_refused_by_name() -> None:
    with pytest.raises(InvalidInputError, match="'br' is not known"):
        unpack(b"", encoding="br", limit=_LIMIT)
