"""Local files, opened without links, known by what was opened, and compared when a question ends."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.errors import SourceChangedError
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.storage import LocalFile, OpenedFiles, open_resolved
from headwater.graph.trace.tracer import get_tracer


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a" / "b" / "file"
    path.parent.mkdir(parents=True)
    path.write_text("what was looked at")
    return path


def _read(path: str) -> str:
    return Path(path).read_text()


@pytest.mark.parametrize("part", ["a", "a/b", "a/b/file"])
def test_no_part_of_a_path_may_become_a_link(tmp_path: Path, file: Path, part: str) -> None:
    looked_at = LocalFile.now(file, OpenedFiles())
    (tmp_path / part).rename(tmp_path / "aside")
    (tmp_path / part).symlink_to(tmp_path / "aside")  # to the very same file
    with pytest.raises(OSError, match="link"):
        open_resolved(file)
    with pytest.raises(SourceChangedError, match="was replaced"):
        looked_at.content()
    with pytest.raises(SourceChangedError, match="was replaced"):
        _ = looked_at.scan


@pytest.mark.parametrize("change", ["replaced", "rewritten", "longer", "gone", "folder", "pipe"])
def test_another_file_is_never_read_in_the_place_of_the_one_looked_at(file: Path, change: str) -> None:
    looked_at = LocalFile.now(file, OpenedFiles())
    status = file.stat()
    if change == "replaced":  # of the same length and times
        other = file.with_name("other")
        other.write_text("what took its place"[:18])
        os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
        other.replace(file)
    elif change == "rewritten":
        file.write_text("what was looked at")
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + 1))  # a nanosecond
    elif change == "longer":
        with file.open("a") as more:
            more.write("!")
    else:
        file.unlink()
        if change == "folder":
            file.mkdir()
        elif change == "pipe":
            os.mkfifo(file)
    for read in (looked_at.content, lambda: looked_at.scan, lambda: looked_at.descriptor):
        with pytest.raises(SourceChangedError, match="was replaced"):
            read()


def test_what_is_open_stays_what_it_was_whatever_takes_its_place(file: Path) -> None:
    opened = OpenedFiles()
    looked_at = LocalFile.now(file, opened)
    name = looked_at.scan
    file.with_name("other").write_text("another")
    file.with_name("other").replace(file)
    assert _read(name) == "what was looked at"
    assert looked_at.content() == b"what was looked at"
    opened.check()
    opened.close()
    with pytest.raises(FileNotFoundError):
        _read(name)
    with pytest.raises(SourceChangedError, match="the question has ended"):
        looked_at.content()


def test_a_question_during_which_a_file_is_written_is_not_answered(tmp_path: Path, file: Path) -> None:
    store = AssociationStore(tmp_path / "associations", sources=ANYWHERE)

    def ask(*, excused: bool) -> str:
        with get_tracer(store).session("default") as session:
            _, stored = session.look.file(str(file))
            content = bytes(stored.content())
            file.write_bytes(content + b"!")
            if excused:
                session.look.excuse(stored)
        return content.decode()

    try:
        with pytest.raises(SourceChangedError, match=r"a/b/file changed while it was read"):
            ask(excused=False)
        assert ask(excused=True) == "what was looked at!", "the answer says it itself"
    finally:
        store.close()


def test_a_large_file_is_mapped_and_a_small_one_copied(file: Path) -> None:
    os.truncate(file, 40 << 20)
    content = LocalFile.now(file, OpenedFiles()).content()
    assert not isinstance(content, bytes)
    assert len(content) == 40 << 20
    os.truncate(file, 0)
    assert LocalFile.now(file, OpenedFiles()).content() == b""


_MANY = """
import resource, sys
from pathlib import Path
from headwater.errors import UnsupportedError
from headwater.graph.storage import LocalFile, OpenedFiles
soft, hard = map(int, sys.argv[2:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
opened, files = OpenedFiles(), sorted(Path(sys.argv[1]).iterdir())
try:
    names = [LocalFile.now(file, opened).scan for file in files]
    print([Path(name).read_text() for name in names] == [file.name for file in files])
except UnsupportedError as error:
    print(error)
"""


@pytest.mark.parametrize(("soft", "hard", "said"), [(64, 1024, "True"), (64, 64, "more files at once than the process may open: 64")])
def test_a_question_about_many_files_opens_as_many_as_the_process_may(tmp_path: Path, soft: int, hard: int, said: str) -> None:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < hard:
        pytest.skip("the limit is lower here")
    (tmp_path / "many").mkdir()
    for number in range(200):
        (tmp_path / "many" / f"{number}").write_text(f"{number}")
    command = [sys.executable, "-c", _MANY, str(tmp_path / "many"), str(soft), str(hard)]
    assert said in subprocess.run(command, capture_output=True, text=True, check=True).stdout
