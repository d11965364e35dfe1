"""What programs, names and links must not do to a workflow: hang it, break its ledger, or change a committed block."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headwater.backend.workflows import stragglers
from headwater.backend.workflows.channel_folders import open_folder
from headwater.backend.workflows.ledger import Move, MoveKind
from headwater.backend.workflows.shadow import make_move
from headwater.errors import HeadwaterError, InvalidInputError, SourceChangedError
from tests.backend.workflows.laboratory import PROGRAM, Laboratory, channels, task

NEW = {"channel": "raw", "mode": "new"}
FLOW = {"workflow": "flow", "channels": channels("raw", "one"), "tasks": {"first": task("copy", [NEW], "one")}}


@pytest.fixture
def lab(tmp_path: Path) -> Laboratory:
    laboratory = Laboratory(tmp_path)
    laboratory.register("copy")
    return laboratory


@pytest.mark.parametrize("folder", ["", "inner"])
def test_a_name_that_is_not_utf_8_is_refused_by_name(lab: Laboratory, folder: str) -> None:
    lab.apply(FLOW)
    lab.add("raw", "1.txt", "a")
    place = lab.data / "raw" / folder
    place.mkdir(exist_ok=True)
    (place / os.fsdecode(b"caf\xe9.txt")).write_text("b\n")
    with pytest.raises(InvalidInputError, match=r"caf\\xe9\.txt' is not UTF-8") as refusal:
        lab.run()
    assert refusal.value.hint == "Rename it."
    assert lab.lines("one") == []


def test_an_output_with_a_name_that_is_not_utf_8_is_refused(lab: Laboratory) -> None:
    lab.register("copy", PROGRAM + '\nopen(os.fsencode(output) + b"/caf\\xe9", "w").close()\n')
    lab.apply(FLOW)
    lab.add("raw", "1.txt", "a")
    assert "is not UTF-8" in str(lab.run()["first"].error)
    assert (lab.lines("one"), lab.hidden()) == ([], [])


def test_a_workflow_in_a_folder_whose_name_is_not_utf_8_is_refused(lab: Laboratory) -> None:
    inner = Path(os.fsdecode(os.fsencode(lab.data) + b"/caf\xe9"))
    inner.mkdir()
    file = lab.write(FLOW).rename(inner / "workflow.yaml")
    with pytest.raises(InvalidInputError, match="is not UTF-8"):
        lab.workflows.apply(file)


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_a_workflow_is_read_of_regular_files_only(lab: Laboratory, kind: str) -> None:
    file = lab.data / "flow.yaml"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        file = Path("/dev/zero")
    for use in (lab.workflows.check, lab.workflows.apply):
        with pytest.raises(InvalidInputError, match=r"not a regular file|directory"):
            use(file)


@pytest.mark.parametrize("environment", ["inherited", "empty"])
def test_a_process_that_a_program_leaves_behind_keeps_its_block_from_the_channel(
    lab: Laboratory, environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child is in a session of its own. With an empty environment, only its open file shows it."""
    monkeypatch.setattr("headwater.backend.workflows.programs.PATIENCE", 0.2)
    options = "{}" if environment == "inherited" else "{'env': {}}"
    child = f"""
import subprocess
text = "import sys, time; file = open(sys.argv[1], 'a'); print('ready', flush=True); time.sleep(600)"
started = subprocess.Popen(
    [sys.executable, "-c", text, str(output / "part.txt")], start_new_session=True, stdout=subprocess.PIPE, **{options}
)
started.stdout.readline()
(pathlib.Path({str(lab.home)!r}) / "child").write_text(str(started.pid))
"""
    lab.register("copy", PROGRAM + child)
    lab.apply(FLOW)
    lab.add("raw", "1.txt", "a")
    error = str(lab.run()["first"].error)
    process = int((lab.home / "child").read_text())
    try:
        assert "a process that may still write its output did not" in error
        assert f"(process {process})" in error
        assert (lab.lines("one"), lab.hidden()) == ([], [])
        if environment == "inherited":
            _wait_for_end(process)  # we started it, so we end it
    finally:
        if environment == "empty":
            os.kill(process, 9)
    lab.register("copy")
    lab.run()
    assert lab.lines("one") == ["new a"]


def test_a_child_that_ends_soon_is_waited_for(lab: Laboratory) -> None:
    child = """
import subprocess
text = "import os, sys, time; file = open(sys.argv[1], 'a'); print('ready', flush=True); sys.stdin.read(); file.write('later\\\\n')"
started = subprocess.Popen(
    [sys.executable, "-c", text, str(output / "part.txt")], start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
)
started.stdout.readline()
"""  # its input ends with the program
    lab.register("copy", PROGRAM + child)
    lab.apply(FLOW)
    lab.add("raw", "1.txt", "a")
    assert lab.run()["first"].error is None
    assert lab.lines("one") == ["later", "new a"]


def test_processes_of_other_runs_and_readers_are_not_stragglers(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    text = "import sys; file = open(sys.argv[1]); print('ready', flush=True); sys.stdin.read()"
    environment = {**os.environ, stragglers.RUN_VARIABLE: "another"}
    command = [sys.executable, "-c", text, str(file)]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        assert reader.stdin is not None
        reader.stdout.readline()
        assert stragglers.find_stragglers("mine", tmp_path) == []
        assert stragglers.find_stragglers("another", tmp_path) == [reader.pid]
        reader.stdin.close()


@pytest.mark.parametrize("mode", ["delta", "base"])
def test_a_channel_that_a_program_replaces_with_a_link_gets_no_block(lab: Laboratory, mode: str, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    lab.apply({**FLOW, "tasks": {"first": task("copy", [NEW], "one", mode)}})
    lab.add("raw", "1.txt", "a")
    lab.run()
    one = lab.data / "one"
    swap = f"\npathlib.Path({str(one)!r}).rename({str(tmp_path / 'aside')!r}); pathlib.Path({str(one)!r}).symlink_to({str(elsewhere)!r})\n"
    lab.register("copy", PROGRAM + swap)
    lab.add("raw", "2.txt", "b")
    assert "leads through a link" in str(lab.run()["first"].error)
    assert list(elsewhere.iterdir()) == []
    one.unlink()
    (tmp_path / "aside").rename(one)
    lab.register("copy")
    lab.run()
    assert "new b" in lab.lines("one")


def test_an_output_behind_a_link_is_refused(lab: Laboratory, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    swap = f"\noutput.parent.rename({str(elsewhere)!r}); output.parent.symlink_to({str(elsewhere)!r})\n"
    lab.register("copy", PROGRAM + swap)
    lab.apply(FLOW)
    lab.add("raw", "1.txt", "a")
    assert "link" in str(lab.run()["first"].error)
    assert lab.lines("one") == []


@pytest.mark.parametrize("kind", list(MoveKind))
def test_a_move_after_the_commit_waits_until_the_folder_is_back(tmp_path: Path, kind: MoveKind) -> None:
    elsewhere, channel, shadow = tmp_path / "elsewhere", tmp_path / "data" / "one", tmp_path / "data" / ".headwater-x" / "one"
    elsewhere.mkdir()
    (shadow / "block=2").mkdir(parents=True)
    channel.symlink_to(elsewhere)
    move = (
        Move("one", kind, str(shadow), str(channel))
        if kind is MoveKind.EXCHANGE
        else Move("one", kind, str(shadow / "block=2"), str(channel / "block=2"))
    )
    for _ in range(2):
        with pytest.raises(SourceChangedError, match="leads through a link"):
            make_move(move, 2)
    assert list(elsewhere.iterdir()) == []
    channel.unlink()
    channel.mkdir()
    for _ in range(2):
        make_move(move, 2)
    assert [path.name for path in channel.iterdir()] == ["block=2"]


def test_a_folder_is_opened_without_following_links(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with open_folder(tmp_path / "a" / "b") as descriptor:
        assert os.fstat(descriptor).st_ino == (tmp_path / "a" / "b").stat().st_ino
    for path in (tmp_path / "link" / "b", tmp_path / "missing"):
        with pytest.raises(HeadwaterError, match="without following a link"), open_folder(path):
            pass


def _wait_for_end(process: int) -> None:
    deadline = time.monotonic() + 120
    while Path(f"/proc/{process}").exists() and "State:\tZ" not in Path(f"/proc/{process}/status").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
