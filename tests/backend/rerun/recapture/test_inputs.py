"""Whether inputs are as they were: by the times of files and of the folders that were listed; else refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.rerun.recapture.file_pairs import DiffersError
from headwater.backend.rerun.recapture.inputs import check_inputs
from headwater.errors import UnsupportedError

BEGAN = 1_800_000_000_000


def source(path: Path, *files: Path, **more: Any) -> dict[str, Any]:
    listed = [{"path": f"file:{file}", "length": file.stat().st_size, "modified": file.stat().st_mtime_ns // 1_000_000} for file in files]
    return {"path": f"file:{path}", "format": "parquet", "files": listed, **more}


def old(path: Path, at: float = BEGAN / 1000 - 60) -> None:
    os.utime(path, (at, at))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A partitioned dataset that nobody touched since before the run."""
    folder = tmp_path / "raw"
    (folder / "k=1").mkdir(parents=True)
    (folder / "k=1" / "part 0").write_bytes(b"x")
    for path in (folder / "k=1" / "part 0", folder / "k=1", folder):
        old(path)
    return folder


def test_what_is_older_than_the_run_passes(table: Path) -> None:
    check_inputs([source(table, table / "k=1" / "part 0"), {"path": "local:1", "format": "local"}], BEGAN)


def test_a_file_that_is_newer_is_named(table: Path) -> None:
    old(table / "k=1" / "part 0", BEGAN / 1000 + 1)
    with pytest.raises(DiffersError, match=r"k=1/part 0 is an input, and has changed"):
        check_inputs([source(table, table / "k=1" / "part 0")], BEGAN)


@pytest.mark.parametrize("change", ["moved", "time set back"])
def test_a_file_that_was_changed_and_looks_old_is_named(tmp_path: Path, change: str) -> None:
    file, other = tmp_path / "a.csv", tmp_path / "b.csv"
    file.write_text("1")
    other.write_text("2")
    began = file.stat().st_ctime_ns // 1_000_000
    old(file)
    old(other)
    while other.stat().st_ctime_ns // 1_000_000 <= began:
        old(other)
    if change == "moved":
        other.replace(file)
    else:
        file.write_text("2")
        old(file)
    with pytest.raises(DiffersError, match=r"a\.csv is an input, and has changed"):
        check_inputs([source(file, file)], began)


def test_a_file_that_changed_while_the_second_run_read_it_is_named(table: Path) -> None:
    file = table / "k=1" / "part 0"
    read = source(table, file)
    old(file, BEGAN / 1000 - 30)
    with pytest.raises(DiffersError, match="while the second run read it"):
        check_inputs([read], BEGAN)
    file.unlink()
    with pytest.raises(UnsupportedError, match="cannot be looked at"):
        check_inputs([read], BEGAN)


@pytest.mark.parametrize("folder", [".", "k=1"])
def test_a_folder_in_which_files_came_or_went_is_named(table: Path, folder: str) -> None:
    old(table / folder, BEGAN / 1000 + 1)
    with pytest.raises(DiffersError, match="files came into it or went"):
        check_inputs([source(table, table / "k=1" / "part 0")], BEGAN)


def test_of_a_file_that_was_named_the_folder_may_have_changed(table: Path) -> None:
    file = table / "k=1" / "part 0"
    old(table / "k=1", BEGAN / 1000 + 1)
    check_inputs([source(file, file)], BEGAN)


def test_of_files_that_a_pattern_found_the_folder_may_not_have_changed(table: Path) -> None:
    old(table / "k=1", BEGAN / 1000 + 1)
    with pytest.raises(DiffersError, match="files came into it or went"):
        check_inputs([source(table / "k=1" / "part*", table / "k=1" / "part 0")], BEGAN)


@pytest.mark.parametrize("kind", ["jdbc", "kafka", "iceberg", "stream", "org.example.Input"])
def test_what_is_no_file_is_refused(table: Path, kind: str) -> None:
    with pytest.raises(UnsupportedError, match="cannot be told"):
        check_inputs([source(table, format=kind)], BEGAN)


def test_a_table_with_a_history_is_refused(table: Path) -> None:
    (table / "_delta_log").mkdir()
    old(table)
    with pytest.raises(UnsupportedError, match="reads the table"):
        check_inputs([source(table, table / "k=1" / "part 0")], BEGAN)


def test_files_on_remote_storage_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="remote storage"):
        check_inputs(
            [{"path": "s3://b/raw", "format": "csv", "files": [{"path": "s3://b/raw/a", "length": 1, "modified": 0}]}],
            BEGAN,
        )


def test_a_folder_that_is_gone_is_refused(table: Path) -> None:
    found = source(table, table / "k=1" / "part 0")
    (table / "k=1" / "part 0").unlink()
    (table / "k=1").rmdir()
    old(table)
    with pytest.raises(UnsupportedError, match="cannot be looked at"):
        check_inputs([found], BEGAN)
