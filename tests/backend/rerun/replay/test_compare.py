"""A replayed output against the old one."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.backend.rerun.replay.compare import compare
from headwater.errors import UnsupportedError
from headwater.graph.records import ANYWHERE, DataRoots


def write_csv(folder: Path, *lines: str) -> Path:
    folder.mkdir()
    (folder / "part-0.csv").write_text("\n".join(["origin,month,wind", *lines]) + "\n")
    return folder


def test_a_corrected_row_stands_beside_the_old_one(tmp_path: Path) -> None:
    before = write_csv(tmp_path / "was", "EWR,1,42.5", "EWR,2,1048.3", "JFK,2,31.0")
    after = write_csv(tmp_path / "now", "JFK,2,31.0", "EWR,2,44.8", "EWR,1,42.5")
    (change,), total = compare("dataset:file:/r", before, after, sources=ANYWHERE)
    assert total == 1
    assert (change.before or {})["wind"] == 1048.3
    assert (change.after or {})["wind"] == 44.8
    assert change.columns == ["wind"]


def test_a_row_that_vanished_and_a_double_that_became_single_have_no_counterpart(tmp_path: Path) -> None:
    before = write_csv(tmp_path / "was", "EWR,1,1", "EWR,1,1")
    after = write_csv(tmp_path / "now", "EWR,1,1")
    (change,), total = compare("d", before, after, sources=ANYWHERE)
    assert (total, change.after) == (1, None)


def test_equal_outputs_differ_in_nothing_whatever_their_files(tmp_path: Path) -> None:
    table = pa.table({"k": [1, 2, 3]})
    for name, parts in (("was", [table]), ("now", [table.slice(2), table.slice(0, 2)])):
        (tmp_path / name).mkdir()
        for number, part in enumerate(parts):
            pq.write_table(part, tmp_path / name / f"part-{number}.parquet")
    assert compare("d", tmp_path / "was", tmp_path / "now", sources=ANYWHERE) == ([], 0)


def _write(folder: Path, **columns: list[object]) -> Path:
    folder.mkdir()
    pq.write_table(pa.table(columns), folder / "part-0.parquet")
    return folder


def test_a_renamed_column_is_a_difference_and_another_order_is_none(tmp_path: Path) -> None:
    before = _write(tmp_path / "was", a=[1, 2], b=["x", "y"])
    renamed = _write(tmp_path / "renamed", c=[1, 2], b=["x", "y"])
    changes, total = compare("d", before, renamed, sources=ANYWHERE)
    assert total == 2
    assert [(change.columns, (change.before or {})["a"], (change.after or {})["c"]) for change in changes] == [
        (["a", "c"], 1, 1),
        (["a", "c"], 2, 2),
    ]
    assert compare("d", before, _write(tmp_path / "turned", b=["x", "y"], a=[1, 2]), sources=ANYWHERE) == ([], 0)


def test_a_column_that_one_side_lacks_is_null_there(tmp_path: Path) -> None:
    before = _write(tmp_path / "was", a=[1, 2])
    added, total = compare("d", before, _write(tmp_path / "more", a=[1, 2], tags=[["x"], None]), sources=ANYWHERE)
    assert (total, [change.columns for change in added]) == (1, [["tags"]])


def test_a_format_that_cannot_be_compared_is_named(tmp_path: Path) -> None:
    for name in ("was", "now"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part-0.bin").write_bytes(b"?")
    with pytest.raises(UnsupportedError, match="no Parquet, CSV or JSON"):
        compare("d", tmp_path / "was", tmp_path / "now", sources=ANYWHERE)


def test_a_file_of_the_output_that_leads_out_of_the_data_roots_is_not_compared(tmp_path: Path) -> None:
    before, after = write_csv(tmp_path / "was", "EWR,1,1"), write_csv(tmp_path / "now", "EWR,1,2")
    (tmp_path / "secret.csv").write_text("origin,month,wind\na secret,1,1\n")
    (before / "part-1.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(UnsupportedError, match="leads out of the data roots"):
        compare("d", before, after, sources=DataRoots.of([before]))
    with pytest.raises(UnsupportedError, match="outside of the data roots"):
        compare("d", before, after, sources=DataRoots.of([after]))
