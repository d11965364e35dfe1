"""A replay that takes the place of real data: as a whole, refused over changed data, undone, and killed at any point."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.rerun.replay.commit import CommitState, commit, expire, keeps_old_data, output_states, undo
from headwater.backend.rerun.replay.model import Replay, ReplayState
from headwater.errors import NotFoundError, SourceChangedError, UnsupportedError

OLD, NEW = {"_SUCCESS": "", "part-0.csv": "k\n1\n", "day=1/part-1.csv": "k\n2\n"}, {"_SUCCESS": "", "part-9.csv": "k\n8\n"}
# Commits or undoes the replay in a file, and ends without any clean-up before or after a call of a function.
KILLED = """
import os, sys
from pathlib import Path
from headwater.backend.rerun.replay import commit as module
from headwater.backend.rerun.replay.model import Replay

action, file, name, when, number = sys.argv[1:]
replay = Replay.model_validate_json(Path(file).read_text())
original, calls = getattr(module, name), []

def call(*arguments, **options):
    calls.append(arguments)
    if len(calls) == int(number) and when == "before":
        os._exit(9)
    result = original(*arguments, **options)
    if len(calls) == int(number):
        os._exit(9)
    return result

setattr(module, name, call)
module.commit(replay, Path(file).parent, keep_days=1) if action == "commit" else module.undo(replay.id, Path(file).parent)
"""
POINTS = [
    ("_sync_below", "before", 1),
    ("_sync_below", "after", 1),
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


def _replay(out: Path, **changes: Any) -> tuple[Replay, Path]:
    """A complete replay that wrote other rows, and its folder."""
    folder = out.parent.parent / "replays" / ("a" * 32)
    shadow = folder / "data"
    _write(shadow / str(out).lstrip("/"), NEW)
    dataset = f"dataset:file:{out}"
    given: dict[str, Any] = {
        "id": folder.name, "tenant": "t", "output": dataset, "started_at": datetime.now(UTC).isoformat(), "shadow": str(shadow),
        "process": os.getpid(), "exclude": {}, "state": ReplayState.COMPLETE, "changed": [dataset], "before": output_states([dataset]),
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


@pytest.mark.parametrize("change", ["added", "rewritten", "removed", "gone"])
def test_data_that_changed_since_the_replay_is_not_replaced(out: Path, change: str) -> None:
    replay, folder = _replay(out)
    match change:
        case "added":
            (out / "part-2.csv").write_text("k\n3\n")
        case "rewritten":
            (out / "part-0.csv").write_text("k\n7\n")
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
        ({}, "no local folder of files"),
        ({"kind": "selective"}, "kind selective cannot be committed"),
        ({"kind": "verify"}, "kind verify cannot be committed"),
        ({"state": ReplayState.FAILED}, "only a complete one"),
        ({"before": {}}, "no local folder of files"),
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
    ("name", "when", "number"), [("exchange_folders", "before", 1), ("exchange_folders", "after", 1), ("_save", "after", 2)]
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


def _kill(action: str, replay: Replay, folder: Path, name: str, when: str, number: int) -> None:
    file = folder / "replay.json"
    file.write_text(replay.model_dump_json())
    command = [sys.executable, "-c", KILLED, action, str(file), name, when, str(number)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 9, done.stderr
