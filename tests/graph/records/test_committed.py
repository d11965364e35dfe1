"""Files of a sink as their commit left them: on object stores, whose renames are copies with times of their own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headwater.graph.associations.parts import WrittenFile
from headwater.graph.records import FileBlock, block_at
from headwater.graph.records.tables import files_written


def segment(*files: WrittenFile) -> Any:
    footer = SimpleNamespace(files=files, attempt=7, runs=[[number, 5] for number in range(len(files))])
    return SimpleNamespace(name="b0-s0.0-p0-a7.seg", footer=footer)


def test_a_file_has_the_time_of_its_commit_where_that_is_told() -> None:
    staged = WrittenFile(path="s3a://lake/out/part-0.parquet", length=10, modified=1_000)
    (kept,) = files_written([segment(staged)], [WrittenFile(path=staged.path, length=10, modified=9_000)])
    assert kept.block == FileBlock("s3://lake/out/part-0.parquet", 10, 9_000)
    assert kept.rows == 5


@pytest.mark.parametrize(("name", "length"), [("part-0.parquet", 11), ("part-9.parquet", 10)])
def test_what_is_told_of_another_file_changes_nothing(name: str, length: int) -> None:
    staged = WrittenFile(path="s3a://lake/out/part-0.parquet", length=10, modified=1_000)
    (kept,) = files_written([segment(staged)], [WrittenFile(path=f"s3a://lake/out/{name}", length=length, modified=9_000)])
    assert kept.block == FileBlock("s3://lake/out/part-0.parquet", 10, 1_000)


def test_times_of_object_stores_are_compared_in_whole_seconds_and_others_as_they_are() -> None:
    assert block_at("s3a://lake/a", 1, 1_999) == block_at("s3a://lake/a", 1, 1_000)
    assert block_at("gs://lake/a", 1, 1_999).modified == 1_000
    assert block_at("/data/a", 1, 1_999) == FileBlock("file:/data/a", 1, 1_999)
    assert block_at("hdfs://name/a", 1, 1_999).modified == 1_999
