"""Which bodies are small enough to be read at once, packed ones by what they unpack to."""

from __future__ import annotations

import gzip

import pytest

from headwater.backend.api.bodies import SMALL, small_body


@pytest.mark.parametrize("encoding", ["gzip", "X-GZIP"])
def test_a_packed_body_is_as_small_as_what_it_unpacks_to(encoding: str) -> None:
    text = b"a" * 999
    assert small_body(gzip.compress(text), encoding, 1000) == text
    assert small_body(gzip.compress(text + b"a"), encoding, 1000) is None


def test_a_body_without_encoding_is_measured_as_it_is() -> None:
    assert small_body(b"a" * 999, None, 1000) == b"a" * 999
    assert small_body(b"a" * 1000, None, 1000) is None


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (gzip.compress(b"a")[:-3], "gzip"),
        (b"no gzip", "gzip"),
        (gzip.compress(b"a"), "br"),
        (gzip.compress(b"") * SMALL, "gzip"),
    ],
)
def test_what_is_not_plainly_small_is_left_to_a_reader(body: bytes, encoding: str) -> None:
    assert small_body(body, encoding, 16_384) is None
