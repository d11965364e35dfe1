"""Patch files of what-if replays: records by place or by key, and lines that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.backend.rerun.replay.patch_file import Patch, read_patch_file
from headwater.errors import InvalidQueryError


def _file(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_a_csv_file_names_records_by_place_or_by_key(tmp_path: Path) -> None:
    places = _file(tmp_path, "a.csv", "file,row,v,name\nraw/a.csv,3,9.8,\nraw/a.csv,4,NULL,it's\n")
    assert read_patch_file(places) == [
        Patch(place=("raw/a.csv", 3), key={}, values={"v": "9.8"}),
        Patch(place=("raw/a.csv", 4), key={}, values={"v": None, "name": "it's"}),
    ]
    keys = _file(tmp_path, "b.csv", "day,station,v\n2024-01-01,O'Hare,1\n2024-01-02,NULL,2\n")
    found = read_patch_file(keys, ["day", "station"])
    assert [patch.values for patch in found] == [{"v": "1"}, {"v": "2"}]
    assert [patch.where for patch in found] == [
        """CAST("day" AS VARCHAR) = '2024-01-01' AND CAST("station" AS VARCHAR) = 'O''Hare'""",
        """CAST("day" AS VARCHAR) = '2024-01-02' AND "station" IS NULL""",
    ]


def test_json_lines_name_records_by_place_or_by_key(tmp_path: Path) -> None:
    lines = _file(
        tmp_path, "a.jsonl", '{"file": "a.csv", "row": 0, "set": {"v": 1.5, "ok": true}}\n\n{"key": {"id": 3}, "set": {"v": null}}\n'
    )
    assert read_patch_file(lines) == [
        Patch(place=("a.csv", 0), key={}, values={"v": "1.5", "ok": "true"}),
        Patch(key={"id": "3"}, values={"v": None}),
    ]


@pytest.mark.parametrize(
    ("name", "text", "keys", "said"),
    [
        ("a.csv", "id,v\n1,2\n", [], "columns id, v"),
        ("a.csv", "id,v\n1,2\n", ["day"], "no column day"),
        ("a.csv", "id,v\n1\n", ["id"], "another number of columns"),
        ("a.csv", "id,v\n1,\n", ["id"], "changes nothing"),
        ("a.csv", "id,v\n", ["id"], "has no record"),
        ("a.csv", "file,row,v\na.csv,-1,2\n", [], "no file and row"),
        ("a.jsonl", "{", [], "no JSON"),
        ("a.jsonl", '{"set": {"v": 1}}', [], "names no record"),
        ("a.jsonl", '{"key": {"id": 1}, "set": {"v": [1]}}', [], "no single value"),
        ("a.jsonl", '{"key": {"id": 1}, "sets": {"v": 1}}', [], "no patch"),
    ],
)
def test_a_line_that_is_no_patch_is_refused_by_its_number(tmp_path: Path, name: str, text: str, keys: list[str], said: str) -> None:
    with pytest.raises(InvalidQueryError, match=said):
        read_patch_file(_file(tmp_path, name, text), keys)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidQueryError, match="cannot be read"):
        read_patch_file(tmp_path / "none.csv")
