"""The partitions of an output that a replay compares: those that the program wrote again."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.backend.rerun.replay.model import Difference, Replay
from headwater.backend.rerun.replay.replayed_places import place_named
from headwater.backend.rerun.replay.results import dataset_differences
from headwater.errors import UnsupportedError
from headwater.graph.records import ANYWHERE


def _write(folder: Path, *rows: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "part-00000.csv").write_text("\n".join(["k,v", *rows]) + "\n")


def _replay(folder: Path, *, written: str, within: str = "", marks: tuple[str, ...] = ()) -> Replay:
    """A replay of a dataset with three days. The program wrote one again, with another value."""
    for day in (1, 2, 3):
        _write(folder / "d" / f"day={day}", f"{day},1", f"{day},2")
    shadow = folder / "shadow"
    again = shadow / str(folder / "d").lstrip("/")
    _write(again / written, "2,1", "2,9")
    for mark in marks:
        (again / mark / "_SUCCESS").touch()
    output = f"dataset:file:{folder}/d"
    return Replay(id="1", tenant="t", output=output, within=within, started_at="", shadow=str(shadow), process=1, exclude={})


def _compared(replay: Replay) -> tuple[list[Difference], int]:
    return dataset_differences(replay, replay.output, ANYWHERE, Path(replay.shadow).parent)


@pytest.mark.parametrize("within", ["", "day=2"])
def test_partitions_that_the_program_does_not_write_are_not_lost(tmp_path: Path, within: str) -> None:
    replay = _replay(tmp_path, written="day=2", within=within, marks=("day=2",))
    (change,), total = _compared(replay)
    assert (total, change.before, change.after) == (1, {"k": 2, "v": 2, "day": 2}, {"k": 2, "v": 9, "day": 2})


def test_a_program_that_writes_the_whole_dataset_loses_partitions(tmp_path: Path) -> None:
    assert _compared(_replay(tmp_path, written="day=2", marks=("",)))[1] == 5


def test_of_a_whole_dataset_one_partition_is_compared_where_it_is_asked_for(tmp_path: Path) -> None:
    assert _compared(_replay(tmp_path, written="day=2", within="day=2", marks=("",)))[1] == 1


def test_what_was_written_without_a_mark_and_what_was_not_written_is_not_compared(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="which of them it wrote as a whole is not known"):
        _compared(_replay(tmp_path, written="day=2"))
    with pytest.raises(UnsupportedError, match=r"wrote day=2 of .*, and not day=1"):
        _compared(_replay(tmp_path, written="day=2", within="day=1", marks=("day=2",)))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("/lake/d/day=2", "day=2"),
        ("file:/lake/d/day=2/", "day=2"),
        ("dataset:file:/lake/d/day=2", "day=2"),
        ("d/day=2/hour=3", "day=2/hour=3"),
        ("/lake/d/day=2/part-00000.csv", "day=2"),
        ("/lake/d", ""),
        ("/lake/other/day=2", ""),
        (None, ""),
    ],
)
def test_the_partition_that_a_text_names(text: str | None, place: str) -> None:
    assert place_named("dataset:file:/lake/d", text) == place
