"""A program without Spark in a replay: it receives the records to leave out, and writes into the replay's folder only."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headwater.capture import Session
from headwater.errors import UnsupportedError
from headwater.spark_listener.replay import VARIABLE, ReplayOrder
from tests.capture.captured import spooled, taken

ORDERS = "id,amount\n1,20\n2,5\n3,30\n4,12\n"
PLAIN = """
from headwater.capture import Session
with Session("nightly") as session:
    source, target = session.rows("orders.csv", options={"header": True}), session.rows("large.csv", options={"header": True})
    open("large.csv", "a").write("touched\\n")
"""


def _documented(root: Path) -> str:
    """The program of the page about replays."""
    page = (root / "docs" / "reference" / "actors.md").read_text()
    programs: list[str] = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    return next(program for program in programs if "replayable" in program)


@pytest.fixture
def folder(tmp_path: Path, root: Path) -> Path:
    """Where the documented program has run once, and is registered."""
    (tmp_path / "orders.csv").write_text(ORDERS)
    (tmp_path / "nightly.py").write_text(_documented(root))
    _run(root, tmp_path, "nightly.py")
    assert (tmp_path / "large.csv").read_text().split() == ["id,amount", "1,20", "3,30", "4,12"]
    taken(tmp_path / "home")
    _run(root, tmp_path, "-m", "headwater", "jobs", "register", "nightly", "nightly.py")
    return tmp_path


def _run(root: Path, folder: Path, *arguments: str, fails: bool = False) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HEADWATER_", "OPENLINEAGE_"))}
    environment = {**kept, "PYTHONPATH": str(root), "HEADWATER_HOME": str(folder / "home")}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, timeout=300, check=False, capture_output=True, text=True
    )
    assert bool(done.returncode) is fails, done.stdout + done.stderr
    return done.stdout + done.stderr


def _replay(root: Path, folder: Path, *, fails: bool = False) -> str:
    arguments = ("replay", "large.csv", "--without", "orders.csv", "--row", "orders.csv:2", "--format", "json")
    return _run(root, folder, "-m", "headwater", *arguments, fails=fails)


def test_a_replay_leaves_records_out_and_touches_nothing(root: Path, folder: Path):
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*.csv")}
    said = _replay(root, folder)
    found = json.loads(said[said.index("{") : said.rindex("}") + 1])
    assert found["state"] == "complete"
    assert [(each["before"], each["after"]) for each in found["differences"]] == [({"id": 3, "amount": 30}, None)]
    assert {path: path.stat().st_mtime_ns for path in folder.glob("*.csv")} == before
    assert spooled(folder / "home").events == []  # no run of the pipeline


@pytest.mark.slow
def test_a_program_that_does_not_take_part_is_stopped_before_it_writes(root: Path, folder: Path):
    (folder / "nightly.py").write_text(PLAIN)
    _run(root, folder, "-m", "headwater", "jobs", "register", "nightly", "nightly.py")
    content = (folder / "large.csv").read_text()
    assert "cannot be replayed" in _replay(root, folder, fails=True)
    assert (folder / "large.csv").read_text() == content


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """In a replay that leaves out the second record of a file and of a stream."""
    excluded = {f"file:{tmp_path}/in.txt": [1], "stream:in": [7]}
    order = ReplayOrder(replay="1", shadow=str(tmp_path / "shadow"), exclude=excluded, script_sha256="")
    order.save(tmp_path / "order.json")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "order.json"))
    return Session("etl", replayable=True, home=tmp_path / "home")


@pytest.mark.parametrize("changes", [{"keep": {"file:/a": [1]}, "restrict": ["file:/a"]}, {"edits": {"file:/a": {"1": {"v": "2"}}}}])
def test_kinds_that_cover_spark_programs_alone_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]):
    ReplayOrder(replay="1", shadow=str(tmp_path / "shadow"), exclude={}, script_sha256="", **changes).save(tmp_path / "order.json")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "order.json"))
    with pytest.raises(UnsupportedError, match="not on chosen or edited records"):
        Session("etl", replayable=True, home=tmp_path / "home")


def test_each_call_says_whether_a_record_is_left_out(tmp_path: Path, session: Session):
    lines, stream, out = session.rows(tmp_path / "in.txt"), session.stream("in"), session.stream("out")
    actor = session.register("map", "mapper")
    assert [actor.capture(lines[row], out[row]) for row in range(3)] == [False, True, False]
    assert [actor.add_input(stream[place], "t") for place in (6, 7)] == [False, True]
    assert (actor.add_output(out[9], "t"), actor.add_output(out[9], "other")) == (True, False)
    assert (actor.capture_all([lines[0], lines[1]], out[5]), actor.capture_all([lines[0]], out[5])) == (True, False)
    actor.commit()
    session.close()
    assert not (tmp_path / "home").exists()


def test_a_file_that_was_written_elsewhere_or_is_read_by_bytes_ends_the_replay(tmp_path: Path, session: Session):
    with pytest.raises(UnsupportedError, match="left out by number"):
        session.bytes(tmp_path / "in.txt")
    actor, target = session.register("map", "mapper"), session.rows(tmp_path / "out.txt")
    actor.capture(session.stream("in")[0], target[0])
    with pytest.raises(UnsupportedError, match="without asking for its path"):
        actor.commit()
    assert target.write_path == tmp_path / "shadow" / str(tmp_path / "out.txt").lstrip("/")
    assert target.read_path == tmp_path / "out.txt"
    target.write_path.write_text("x\n")
    assert target.read_path == target.write_path
    assert actor.commit() == 1
    session.close()


@pytest.mark.parametrize("name", ["[x]*?", "run #1", "50%25", "b\\s", "{a,b}", "a\\[b"])
def test_a_file_is_read_where_the_replay_wrote_it_whatever_its_name(tmp_path: Path, session: Session, name: str):
    target = session.rows(tmp_path / name)
    assert target.read_path == tmp_path / name
    target.write_path.write_text("x\n")
    assert target.read_path == target.write_path == tmp_path / "shadow" / str(tmp_path / name).lstrip("/")
    session.close()
