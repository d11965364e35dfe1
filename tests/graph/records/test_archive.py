"""The record of a capture in a shared place, for readers other than its writer."""

from __future__ import annotations

import pytest

from headwater.graph.records.archive import KeptObject
from headwater.graph.records.prune_note import Pruned

_FILES = '{"generation":"%s","content":"","files":%%s}' % ("0" * 32)


def test_what_was_written_is_read() -> None:
    kept = KeptObject("0" * 32, "a hash", {"b0.parquet": (12, "0"), "manifest.json": (0, "1")}, Pruned("ann", "now", "all"))
    assert KeptObject.of(kept.text()) == kept


@pytest.mark.parametrize(
    "text",
    [
        "{", "[]", "1", '"x"', "{}", "[" * 100_000, _FILES % "[]", _FILES % "null", _FILES % '{"a.json": [1]}',
        _FILES % '{"a.json": [true, ""]}', _FILES % '{"a.parquet": [1e400, ""]}', _FILES % '{"a.parquet": [-1, ""]}',
        _FILES % f'{{"a.parquet": [{10**30}, ""]}}',
    ],
    ids=range(13),
)  # fmt: skip
def test_whatever_else_stands_there_is_an_error_that_its_readers_expect(text: str) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        KeptObject.of(text.encode())
