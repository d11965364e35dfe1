"""The written file behind a file in another place: by its name, its length and its time, as far as a storage keeps them."""

from __future__ import annotations

import pytest

from headwater.graph.records import FileBlock
from headwater.graph.records.moved_files import Evidence, identify, name_key

_UNIQUE = "part-00000-6f1c1a52-4d0e-4f6f-9c53-3a8f4a7f0001-c000.parquet"
CERTAIN, LIKELY, UNKNOWN = Evidence.CERTAIN, Evidence.LIKELY, Evidence.UNKNOWN


def _block(path: str, modified: int = 5_000, length: int = 100) -> FileBlock:
    return FileBlock(path, length, modified)


@pytest.mark.parametrize(("file", "written", "evidence"), [
    (_block("file:/b/x.csv"), [_block("file:/a/x.csv")], CERTAIN),
    (_block("hdfs://h:1/b/x.csv"), [_block("hdfs://h:1/a/x.csv")], CERTAIN),
    (_block("file:/b/x.csv"), [_block("file:/a/x.csv"), _block("file:/c/y.csv")], CERTAIN),
    (_block("file:/b/x.csv"), [_block("file:/a/x.csv"), _block("file:/c/x.csv")], UNKNOWN),
    (_block("file:/b/k=1/x.csv"), [_block("file:/a/k=1/x.csv"), _block("file:/a/k=2/x.csv")], CERTAIN),
    (_block("file:/b/k=1/x.csv"), [_block("file:/a/k=1/x.csv"), _block("file:/c/k=1/x.csv")], UNKNOWN),
    (_block("file:/b/y.csv"), [_block("file:/a/x.csv")], UNKNOWN),
    (_block("file:/b/y.csv"), [_block("file:/a/x.csv"), _block("file:/a/z.csv")], UNKNOWN),
    (_block(f"file:/b/{_UNIQUE}", 9_000), [_block(f"file:/a/{_UNIQUE}")], UNKNOWN),
    (_block(f"s3://b/b/{_UNIQUE}", 9_000), [_block(f"s3://b/a/{_UNIQUE}")], LIKELY),
    (_block(f"s3://b/b/{_UNIQUE}"), [_block(f"s3://b/a/{_UNIQUE}")], CERTAIN),
    (_block("s3://b/b/part-00000", 9_000), [_block("s3://b/a/part-00000")], UNKNOWN),
    (_block("s3://b/b/part-00000"), [_block("s3://b/a/part-00000")], UNKNOWN),
    (_block("s3://b/b/y.csv"), [_block("s3://b/a/x.csv")], None),
    (_block(f"s3://b/b/{_UNIQUE}", 1_000), [_block(f"s3://b/a/{_UNIQUE}")], None),
])  # fmt: skip
def test_a_file_is_told_by_what_its_storage_keeps(file: FileBlock, written: list[FileBlock], evidence: Evidence | None) -> None:
    move = identify(file, written)
    assert (move and move.evidence) == evidence
    if move is not None and evidence is not UNKNOWN:
        assert len(move.written) == 1


def test_the_key_of_a_name_is_of_one_tenant_and_one_length() -> None:
    keys = [name_key("a", _block("file:/a/x")), name_key("b", _block("file:/a/x")), name_key("a", _block("file:/a/x", length=101))]
    assert len(set(keys)) == 3
    assert name_key("a", _block("file:/other/x", 9_000)) == keys[0]
    assert all(0 < key < 2**63 for key in keys)
    assert name_key("a", _block("table/key", 0, 0)) == 0
    assert (keys[0] & 1, name_key("a", _block(f"file:/a/{_UNIQUE}")) & 1) == (0, 1)


@pytest.mark.parametrize(("modified", "words"), [(1795942940008, "2026-11-29 09:02:20.008 UTC"), (10**18, f"{10**18} ms")])
def test_a_state_of_a_file_is_written_for_people(modified: int, words: str) -> None:
    assert str(FileBlock("file:/x", 21, modified)) == f"21 bytes, modified at {words}"
