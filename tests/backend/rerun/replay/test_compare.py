"""A replayed output against the old one."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from headwater.backend.rerun.replay.compare import compare, first_rows
from headwater.backend.rerun.replay.results import csv_options
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
    with pytest.raises(UnsupportedError, match="is no Parquet"):
        compare("d", tmp_path / "was", tmp_path / "now", sources=ANYWHERE)


def test_a_file_of_the_output_that_leads_out_of_the_data_roots_is_not_compared(tmp_path: Path) -> None:
    before, after = write_csv(tmp_path / "was", "EWR,1,1"), write_csv(tmp_path / "now", "EWR,1,2")
    (tmp_path / "secret.csv").write_text("origin,month,wind\na secret,1,1\n")
    (before / "part-1.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(UnsupportedError, match="leads out of the data roots"):
        compare("d", before, after, sources=DataRoots.of([before]))
    with pytest.raises(UnsupportedError, match="outside of the data roots"):
        compare("d", before, after, sources=DataRoots.of([after]))


def _texts(folder: Path, **files: bytes) -> Path:
    folder.mkdir()
    for name, content in files.items():
        place = folder / name.replace("__", "/").replace("_gz", ".gz").replace("_csv", ".csv").replace("_txt", ".txt")
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(gzip.compress(content) if place.suffix == ".gz" else content)
    return folder


@pytest.mark.parametrize("ends", [(b"\n", b"\r\n"), (b"\r\n", b"\r"), (b"\r", b"\n")])
def test_any_line_end_ends_a_row_of_csv(tmp_path: Path, ends: tuple[bytes, bytes]) -> None:
    one, other = ends
    before = _texts(tmp_path / "was", a_csv=b"k,v" + one + b"1,x" + other + b"2,y" + one)
    after = _texts(tmp_path / "now", a_csv=b"k,v\n1,x\n3,y\n")
    (change,), total = compare("d", before, after, sources=ANYWHERE)
    assert (total, change.before, change.after) == (1, {"k": 2, "v": "y"}, {"k": 3, "v": "y"})
    assert [row.values for row in first_rows(before, ANYWHERE, 9)] == [{"k": 1, "v": "x"}, {"k": 2, "v": "y"}]


@pytest.mark.parametrize("options", [None, {"header": "false"}])
def test_the_first_row_of_csv_without_a_header_is_a_row(tmp_path: Path, options: dict[str, str] | None) -> None:
    before, after = _texts(tmp_path / "was", a_csv=b"ann,rome\nbob,oslo\n"), _texts(tmp_path / "now", a_csv=b"eve,rome\nbob,oslo\n")
    (change,), total = compare("d", before, after, sources=ANYWHERE, options=options)
    assert (total, change.before, change.after) == (1, {"_c0": "ann", "_c1": "rome"}, {"_c0": "eve", "_c1": "rome"})


def test_a_null_an_empty_text_and_the_form_of_a_number_are_differences(tmp_path: Path) -> None:
    before, after = _texts(tmp_path / "was", a_csv=b"k,v\n1,\n2,1.0\n3,007\n"), _texts(tmp_path / "now", a_csv=b'k,v\n1,""\n2,1.00\n3,7\n')
    changes, total = compare("d", before, after, sources=ANYWHERE)
    assert (total, [(change.before or {})["v"] for change in changes]) == (3, [None, 1.0, "007"])


def test_files_of_several_formats_and_compressions_are_all_compared(tmp_path: Path) -> None:
    before = _texts(tmp_path / "was", a_csv_gz=b"k,v\n1,x\n", b_csv=b"k,v\n2,y\n")
    pq.write_table(pa.table({"k": [3], "v": ["z"]}), before / "c.parquet")
    orc.write_table(pa.table({"k": [4], "v": ["w"]}), before / "d.orc")
    after = _texts(tmp_path / "now", a_csv=b"k,v\n1,x\n2,y\n3,z\n5,w\n")
    (change,), total = compare("d", before, after, sources=ANYWHERE)
    assert (total, change.before, change.after) == (1, {"k": "4", "v": "w"}, {"k": "5", "v": "w"})


def test_folders_of_partitions_that_begin_with_an_underscore_are_data(tmp_path: Path) -> None:
    before = tmp_path / "was"
    for folder, value in ((tmp_path / "was", b"1"), (tmp_path / "now", b"2")):
        (folder / "_day=1").mkdir(parents=True)
        (folder / "_day=1" / "a.csv").write_bytes(b"k\n" + value + b"\n")
        (folder / "_temporary").mkdir()
        (folder / "_temporary" / "b.csv").write_bytes(b"k\n9\n")
    (change,), total = compare("d", before, tmp_path / "now", sources=ANYWHERE)
    assert (total, change.before, change.after) == (1, {"k": 1, "_day": 1}, {"k": 2, "_day": 1})


def test_a_damaged_file_is_named_in_plain_words(tmp_path: Path) -> None:
    before, after = write_csv(tmp_path / "was", "EWR,1,1"), write_csv(tmp_path / "now", "EWR,1,1")
    (before / "part-1.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(UnsupportedError, match="a file is damaged"):
        compare("d", before, after, sources=ANYWHERE)


def test_text_is_compared_line_by_line(tmp_path: Path) -> None:
    before, after = _texts(tmp_path / "was", part_00000=b"a b\r\n\nc"), _texts(tmp_path / "now", part_00000=b"a b\nc\n")
    (before / "part_00000").rename(before / "part-00000")
    (change,), total = compare("d", before, after, sources=ANYWHERE)
    assert (total, change.before, change.after) == (1, {"value": ""}, None)


def test_other_columns_of_csv_are_matched_by_name(tmp_path: Path) -> None:
    before, after = _texts(tmp_path / "was", a_csv=b"k,v\n1,x\n"), _texts(tmp_path / "now", a_csv=b"v,k\nx,1\n")
    assert compare("d", before, after, sources=ANYWHERE, options={"header": "true"}) == ([], 0)


def test_chosen_lines_are_compared(tmp_path: Path) -> None:
    before, after = _texts(tmp_path / "was", a_csv=b"k,v\n1,x\n\n2,y\n"), _texts(tmp_path / "now", a_csv=b"k,v\n2,y\n")
    assert compare("d", before, after, sources=ANYWHERE, chosen={"a.csv": [1]}) == ([], 0)
    assert compare("d", before, after, sources=ANYWHERE, chosen={"a.csv": [0]})[1] == 1


def test_options_of_written_csv_are_those_that_the_program_gave(tmp_path: Path) -> None:
    shadow, out = tmp_path / "data", tmp_path / "data" / "out"
    assert csv_options(str(shadow), out) is None
    lines = [[str(out / "day=1"), {"header": "true"}], [str(out / "day=2"), {"header": "true"}], [str(tmp_path / "data" / "other"), {}]]
    (tmp_path / "data.written").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert csv_options(str(shadow), out) == {"header": "true"}
    with (tmp_path / "data.written").open("a") as file:
        file.write(json.dumps([str(out / "day=3"), {"header": "false"}]) + "\n")
    assert csv_options(str(shadow), out) is None
