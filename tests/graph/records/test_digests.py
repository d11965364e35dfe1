"""The checksums of a kept capture while its files change, also where the change fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.graph.records.digests import changing, digests_of, seal


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    folder = tmp_path / "00000001-0000-4000-8000-000000000000"
    folder.mkdir()
    (folder / "a").write_bytes(b"a" * 100)
    (folder / "b").write_bytes(b"b" * 100)
    seal(folder, folder.name)
    return folder


def test_files_that_changed_get_their_digests(capture: Path) -> None:
    before = dict(digests_of(capture) or {})
    with changing(capture, ("a", "c")):
        (capture / "a").write_bytes(b"A")
        (capture / "c").write_bytes(b"c")
    after = digests_of(capture)
    assert after is not None
    assert (after["b"], after["a"] == before["a"], after["c"] is None) == (before["b"], False, False)


def _change_in_vain(folder: Path) -> None:
    with changing(folder, ("a", "b", "c")):
        (folder / "b").write_bytes(b"half")
        raise OSError("full")


def test_what_a_change_that_fails_left_alone_is_compared_as_before(capture: Path) -> None:
    before = dict(digests_of(capture) or {})
    with pytest.raises(OSError, match="full"):
        _change_in_vain(capture)
    assert digests_of(capture) == {"a": before["a"], "b": None}
