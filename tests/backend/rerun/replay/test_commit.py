"""A replay that takes the place of real data: as a whole, refused over changed data, undone, and killed at any point."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.rerun.replay.commit import CommitState, commit, expire, keeps_old_data, undo
from headwater.backend.rerun.replay.exchange import exchange_folders
from headwater.backend.rerun.replay.model import Commit, Replay, ReplayState
from headwater.backend.rerun.replay.output_places import OutputPlaces
from headwater.errors import NotFoundError, SourceChangedError, SourceUnavailableError, UnavailableError, UnsupportedError
from headwater.graph.records.roots import ANYWHERE

OLD, NEW = {"_SUCCESS": "", "part-0.csv": "k\n1\n", "day=1/part-1.csv": "k\n2\n"}, {"_SUCCESS": "", "part-9.csv": "k\n8\n"}
NO_ZONE = '{"replay": "b", "at": "x", "kept_until": "2020-01-01T00:00:00"}'
# Commits or undoes the replay in a file, and ends without any clean-up before or after a call of a function.
KILLED = """
import os, sys
from pathlib import Path
from headwater.backend.rerun.replay import commit as module, exchange
from headwater.backend.rerun.replay.output_places import local_folder
from headwater.backend.rerun.replay.model import Replay

action, file, name, when, number = sys.argv[1:]
replay = Replay.model_validate_json(Path(file).read_text())
owner = {"sync_below": exchange, "exchange_folders": local_folder}.get(name, module)
original, calls = getattr(owner, name), []

def call(*arguments, **options):
    calls.append(arguments)
    if len(calls) == int(number) and when == "before":
        os._exit(9)
    result = original(*arguments, **options)
    if len(calls) == int(number):
        os._exit(9)
    return result

setattr(owner, name, call)
module.commit(replay, Path(file).parent, keep_days=1) if action == "commit" else module.undo(replay.id, Path(file).parent)
"""
POINTS = [
    ("sync_below", "before", 1),
    ("sync_below", "after", 1),
    ("_save", "before", 1),
    ("_save", "after", 1),
    ("exchange_folders", "before", 1),
    ("exchange_folders", "after", 1),
    ("_save", "after", 2),
]


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def _content(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    _write(tmp_path / "data" / "out", OLD)
    return tmp_path / "data" / "out"


def _replay(*outs: Path, **changes: Any) -> tuple[Replay, Path]:
    """A complete replay that wrote other rows, and its folder."""
    out = outs[0]
    folder = out.parent.parent / "replays" / ("a" * 32)
    shadow = folder / "data"
    for each in outs:
        _write(shadow / str(each).lstrip("/"), NEW)
    datasets = [f"dataset:file:{each}" for each in outs]
    given: dict[str, Any] = {
        "id": folder.name, "tenant": "t", "output": datasets[0], "started_at": datetime.now(UTC).isoformat(), "shadow": str(shadow),
        "process": os.getpid(), "exclude": {}, "state": ReplayState.COMPLETE, "changed": datasets,
        "before": OutputPlaces(ANYWHERE).states(datasets)[1],
    }  # fmt: skip
    return Replay(**(given | changes)), folder


def test_a_commit_replaces_the_output_and_an_undo_brings_it_back(out: Path) -> None:
    replay, folder = _replay(out)
    (one,) = commit(replay, folder, keep_days=1).folders
    assert (_content(out), _content(Path(one.old))) == (NEW, OLD)
    assert Path(one.old).name.startswith(".")  # Spark does not read it
    assert commit(replay, folder, keep_days=1).folders == [one]
    assert keeps_old_data(folder)
    undo(replay.id, folder)
    assert (_content(out), [path.name for path in out.parent.iterdir()]) == (OLD, ["out"])
    assert not keeps_old_data(folder)
    with pytest.raises(NotFoundError, match="no commit that could be undone"):
        undo(replay.id, folder)
    with pytest.raises(UnsupportedError, match="was undone"):
        commit(replay, folder, keep_days=1)


@pytest.mark.parametrize("change", ["added", "rewritten", "same length and time", "same bytes in another file", "removed", "gone"])
def test_data_that_changed_since_the_replay_is_not_replaced(out: Path, change: str) -> None:
    replay, folder = _replay(out)
    match change:
        case "added":
            (out / "part-2.csv").write_text("k\n3\n")
        case "rewritten":
            (out / "part-0.csv").write_text("k\n7\n")
        case "same length and time":
            part, status = out / "part-0.csv", (out / "part-0.csv").stat()
            part.write_text("k\n7\n")
            os.utime(part, ns=(status.st_atime_ns, status.st_mtime_ns))
        case "same bytes in another file":
            part = out / "part-0.csv"
            shutil.copy2(part, out / "copy")
            (out / "copy").replace(part)
        case "removed":
            (out / "day=1" / "part-1.csv").unlink()
        case _:
            out.rename(out.with_name("elsewhere"))
    left = _content(out.parent)
    with pytest.raises(SourceChangedError, match="nothing was replaced"):
        commit(replay, folder, keep_days=1)
    assert _content(out.parent) == left


def test_committed_data_that_changed_since_is_not_undone(out: Path) -> None:
    replay, folder = _replay(out)
    commit(replay, folder, keep_days=1)
    (out / "part-9.csv").write_text("k\n1\n")
    with pytest.raises(SourceChangedError):
        undo(replay.id, folder)
    assert _content(out)["part-9.csv"] == "k\n1\n"


def test_replays_that_cannot_take_the_place_of_data_are_refused(out: Path) -> None:
    (out / "_delta_log").mkdir()
    for changes, said in (
        ({}, "cannot take the place of"),
        ({"kind": "selective"}, "kind selective cannot be committed"),
        ({"kind": "verify"}, "kind verify cannot be committed"),
        ({"state": ReplayState.FAILED}, "only a complete one"),
        ({"before": {}}, "cannot take the place of"),
    ):
        replay, folder = _replay(out, **changes)
        with pytest.raises(UnsupportedError, match=said):
            commit(replay, folder, keep_days=1)
    (out / "_delta_log").rmdir()
    replay, folder = _replay(out, within="day=1")
    with pytest.raises(UnsupportedError, match="wrote only a part"):
        commit(replay, folder, keep_days=1)
    assert _content(out) == OLD


def test_old_data_is_removed_when_its_time_is_over(out: Path) -> None:
    replay, folder = _replay(out)
    commit(replay, folder, keep_days=1)
    expire(folder.parent)
    assert keeps_old_data(folder)
    file = folder / "commit.json"
    file.write_text(file.read_text().replace('"kept_until": "2', '"kept_until": "1'))
    expire(folder.parent)
    assert ([path.name for path in out.parent.iterdir()], _content(out)) == (["out"], NEW)
    with pytest.raises(NotFoundError):
        undo(replay.id, folder)


@pytest.mark.parametrize(("name", "when", "number"), POINTS)
def test_a_commit_that_is_killed_leaves_whole_data_and_can_be_run_again(out: Path, name: str, when: str, number: int) -> None:
    replay, folder = _replay(out)
    _kill("commit", replay, folder, name, when, number)
    assert _content(out) in (OLD, NEW)
    (one,) = commit(replay, folder, keep_days=1).folders
    assert (one.state, _content(out), _content(Path(one.old))) == (CommitState.DONE, NEW, OLD)
    undo(replay.id, folder)
    assert (_content(out), [path.name for path in out.parent.iterdir()]) == (OLD, ["out"])


@pytest.mark.parametrize(
    ("name", "when", "number"), [("exchange_folders", "before", 1), ("exchange_folders", "after", 1), ("_save", "after", 1)]
)
def test_an_undo_that_is_killed_leaves_whole_data(out: Path, name: str, when: str, number: int) -> None:
    replay, folder = _replay(out)
    commit(replay, folder, keep_days=1)
    _kill("undo", replay, folder, name, when, number)
    assert _content(out) in (OLD, NEW)
    if _content(out) == NEW:
        undo(replay.id, folder)
    else:
        with pytest.raises(NotFoundError):
            undo(replay.id, folder)
    assert (_content(out), [path.name for path in out.parent.iterdir()]) == (OLD, ["out"])


@pytest.fixture
def outs(out: Path) -> list[Path]:
    """Three outputs of one replay."""
    others = [out.with_name("second"), out.with_name("third")]
    for other in others:
        _write(other, OLD)
    return [out, *others]


def _all(outs: list[Path]) -> list[dict[str, str]]:
    return [_content(each) for each in outs]


def _names(outs: list[Path]) -> list[str]:
    return sorted(path.name for path in outs[0].parent.iterdir())


@pytest.mark.parametrize("number", [1, 2, 3])
def test_outputs_are_committed_together_or_not_at_all(outs: list[Path], number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    replay, folder = _replay(*outs)
    calls: list[Path] = []

    def write_first(one: Path, other: Path) -> None:
        calls.append(other)
        if len(calls) == number:
            _write(other, {"late.csv": "k\n"})
        exchange_folders(one, other)

    monkeypatch.setattr("headwater.backend.rerun.replay.output_places.local_folder.exchange_folders", write_first)
    with pytest.raises(SourceChangedError, match="nothing was replaced"):
        commit(replay, folder, keep_days=1)
    late = {"late.csv": "k\n"}
    assert _all(outs) == [OLD | (late if place == number - 1 else {}) for place in range(3)]
    assert _names(outs) == ["out", "second", "third"]
    assert not keeps_old_data(folder)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("exchange_folders", 2),
        *(
            pytest.param(name, number, marks=pytest.mark.slow)
            for name, number in (("exchange_folders", 1), ("exchange_folders", 3), ("_save", 3))
        ),
    ],
)
def test_a_killed_commit_of_several_outputs_is_whole_after_the_next_look(outs: list[Path], name: str, number: int, when: str) -> None:
    replay, folder = _replay(*outs)
    _kill("commit", replay, folder, name, when, number)
    expire(folder.parent)
    assert _all(outs) in ([OLD] * 3, [NEW] * 3)
    commit(replay, folder, keep_days=1)
    assert _all(outs) == [NEW] * 3
    undo(replay.id, folder)
    assert (_all(outs), _names(outs)) == ([OLD] * 3, ["out", "second", "third"])


def test_a_killed_commit_over_data_that_changed_since_is_put_back(outs: list[Path]) -> None:
    replay, folder = _replay(*outs)
    _kill("commit", replay, folder, "exchange_folders", "after", 2)
    _write(outs[2], {"late.csv": "k\n"})
    expire(folder.parent)
    assert _all(outs) == [OLD, OLD, OLD | {"late.csv": "k\n"}]
    assert _names(outs) == ["out", "second", "third"]


def test_a_killed_commit_whose_outputs_all_changed_since_is_named_and_loses_nothing(outs: list[Path]) -> None:
    replay, folder = _replay(*outs[:2])
    _kill("commit", replay, folder, "exchange_folders", "after", 1)
    for each in outs[:2]:
        _write(each, {"late.csv": "k\n"})
    with pytest.raises(SourceChangedError, match="interrupted between its outputs"):
        commit(replay, folder, keep_days=1)
    with pytest.raises(SourceChangedError, match="interrupted between its outputs"):
        undo(replay.id, folder)
    assert _all(outs[:2]) == [NEW | {"late.csv": "k\n"}, OLD | {"late.csv": "k\n"}]
    hidden = [each.with_name(f".{each.name}.headwater-{replay.id}") for each in outs[:2]]
    assert _all(hidden) == [OLD, NEW]
    assert keeps_old_data(folder)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", [2, *(pytest.param(number, marks=pytest.mark.slow) for number in (1, 3))])
def test_a_killed_undo_of_several_outputs_is_whole_after_the_next_look(outs: list[Path], number: int, when: str) -> None:
    replay, folder = _replay(*outs)
    commit(replay, folder, keep_days=1)
    _kill("undo", replay, folder, "exchange_folders", when, number)
    expire(folder.parent)
    assert _all(outs) in ([OLD] * 3, [NEW] * 3)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_undo_removes_nothing_that_was_written_meanwhile(outs: list[Path], number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    replay, folder = _replay(*outs)
    commit(replay, folder, keep_days=1)
    calls: list[Path] = []

    def write_first(one: Path, other: Path) -> None:
        calls.append(other)
        if len(calls) == number:
            _write(other, {"late.csv": "k\n"})
        exchange_folders(one, other)

    monkeypatch.setattr("headwater.backend.rerun.replay.output_places.local_folder.exchange_folders", write_first)
    with pytest.raises(SourceChangedError, match="its committed data stays"):
        undo(replay.id, folder)
    assert _all(outs) == [NEW | ({"late.csv": "k\n"} if place == 3 - number else {}) for place in range(3)]


@pytest.mark.parametrize("action", ["commit", "undo"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_exchange_whose_storage_does_not_answer_leaves_all_outputs_whole(
    outs: list[Path], action: str, when: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay, folder = _replay(*outs)
    if action == "undo":
        commit(replay, folder, keep_days=-1)
    calls: list[Path] = []

    def fail_once(one: Path, other: Path) -> None:
        calls.append(other)
        if len(calls) == number and when == "before":
            raise SourceUnavailableError("no answer")
        exchange_folders(one, other)
        if len(calls) == number:
            raise SourceUnavailableError("no answer")

    monkeypatch.setattr("headwater.backend.rerun.replay.output_places.local_folder.exchange_folders", fail_once)
    with pytest.raises((UnavailableError, SourceUnavailableError), match="no answer"):
        commit(replay, folder, keep_days=-1) if action == "commit" else undo(replay.id, folder)
    assert action == "undo" or (_all(outs), _names(outs)) == ([OLD] * 3, ["out", "second", "third"])
    expire(folder.parent)
    assert _all(outs) == [NEW if (action, when, number) == ("undo", "before", 1) else OLD] * 3
    assert _names(outs) == ["out", "second", "third"]


def test_writes_into_a_folder_that_an_undo_left_are_kept(out: Path) -> None:
    replay, folder = _replay(out)
    (one,) = commit(replay, folder, keep_days=1).folders
    _kill("undo", replay, folder, "exchange_folders", "after", 1)
    _write(Path(one.old), {"late.csv": "k\n"})
    expire(folder.parent)
    assert (_content(out), _content(Path(one.old))) == (OLD, NEW | {"late.csv": "k\n"})


def test_outputs_in_one_another_are_refused(out: Path) -> None:
    _write(out / "inner", OLD)
    replay, folder = _replay(out, out / "inner")
    with pytest.raises(UnsupportedError, match="cannot be replaced together"):
        commit(replay, folder, keep_days=1)


def _kill(action: str, replay: Replay, folder: Path, name: str, when: str, number: int) -> None:
    file = folder / "replay.json"
    file.write_text(replay.model_dump_json())
    command = [sys.executable, "-c", KILLED, action, str(file), name, when, str(number)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 9, done.stderr


def test_a_commit_after_one_that_was_put_back_has_a_retention_time_of_its_own(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replay, folder = _replay(out)
    with monkeypatch.context() as patch:
        patch.setattr("headwater.backend.rerun.replay.output_places.local_folder.is_unchanged", lambda *_, **__: False)
        with pytest.raises(SourceChangedError):
            commit(replay, folder, keep_days=-1)
    earlier = Commit(replay=replay.id, at="2020-01-01T00:00:00+00:00", kept_until="2020-01-02T00:00:00+00:00")
    (folder / "commit.json").write_text(earlier.model_dump_json())
    made = commit(replay, folder, keep_days=3)
    assert datetime.fromisoformat(made.kept_until) > datetime.now(UTC)
    expire(folder.parent)
    undo(replay.id, folder)
    assert _content(out) == OLD


@pytest.mark.parametrize("content", ["{", "[]", '{"replay": 1}', '{"replay": "b", "at": "x", "kept_until": "never"}', NO_ZONE, "\xff"])
def test_a_damaged_commit_does_not_stop_the_expiry_of_others(out: Path, content: str, caplog: pytest.LogCaptureFixture) -> None:
    replay, folder = _replay(out)
    made = commit(replay, folder, keep_days=-1)
    (folder.parent / "000").mkdir()
    (folder.parent / "000" / "commit.json").write_bytes(content.encode("latin-1"))
    expire(folder.parent)
    assert not Path(made.folders[0].old).exists()
    assert "000/commit.json" in caplog.text


def test_files_that_others_wrote_into_the_old_data_outlive_its_time(out: Path) -> None:
    replay, folder = _replay(out)
    old = Path(commit(replay, folder, keep_days=-1).folders[0].old)
    (old / "late.csv").write_text("k\n9\n")
    expire(folder.parent)
    assert (old / "late.csv").read_text() == "k\n9\n"


def test_old_data_whose_removal_a_crash_interrupted_is_removed_later(out: Path) -> None:
    replay, folder = _replay(out)
    old = Path(commit(replay, folder, keep_days=-1).folders[0].old)
    (old / "part-0.csv").unlink()
    expire(folder.parent)
    assert not old.exists()


def test_a_look_at_commits_writes_none_that_it_does_not_change(out: Path) -> None:
    replay, folder = _replay(out)
    commit(replay, folder, keep_days=1)
    before = (folder / "commit.json").stat().st_ino
    expire(folder.parent)
    assert (folder / "commit.json").stat().st_ino == before
