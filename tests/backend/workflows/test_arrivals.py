"""Whether a workflow has something to read, without a run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headwater.backend.workflows import arrivals
from headwater.backend.workflows.arrivals import SourceWatch
from headwater.backend.workflows.sources import list_files
from headwater.errors import HeadwaterError
from tests.backend.workflows.laboratory import Laboratory, channels, task

FLOW = {
    "workflow": "flow", "channels": channels("raw", "one", "two"),
    "tasks": {
        "first": task("copy", [{"channel": "raw", "mode": "new"}], "one"),
        "second": task("copy", [{"channel": "one", "mode": "new"}], "two"),
    },
}  # fmt: skip


@pytest.fixture
def lab(tmp_path: Path) -> Laboratory:
    laboratory = Laboratory(tmp_path)
    laboratory.register("copy")
    laboratory.apply(FLOW)
    return laboratory


def test_arrived_files_and_unread_blocks_are_work(lab: Laboratory) -> None:
    watch = SourceWatch()

    def has_work(*tasks: str) -> bool:
        return lab.workflows.has_work("flow", tasks, watch)

    assert not has_work("first", "second")
    lab.add("raw", "1.txt", "a")
    assert (has_work("first"), has_work("second")) == (True, False)
    lab.run(tasks=["first"])
    assert (has_work("first"), has_work("second")) == (False, True)
    lab.run()
    assert not has_work("first", "second")
    lab.add("raw", "2.txt", "fail")
    lab.run()
    assert has_work("first"), "the task failed, so its block is unread"


@pytest.mark.parametrize("change", ["added", "removed", "renamed", "in a folder", "replaced"])
def test_each_change_of_a_folder_is_seen_at_once(tmp_path: Path, change: str) -> None:
    watch, source = SourceWatch(), tmp_path / "raw"
    (source / "inner").mkdir(parents=True)
    for name in ("1.txt", "inner/2.txt"):
        (source / name).write_text(name)
    for folder in (source / "inner", source):
        os.utime(folder, (1_000, 1_000))
    known = dict(list_files(source))
    assert [watch.has_changes(source, known) for _ in range(2)] == [False, False]
    match change:
        case "added":
            (source / "3.txt").touch()
        case "removed":
            (source / "1.txt").unlink()
        case "renamed":
            (source / "1.txt").rename(source / "0.txt")
        case "in a folder":
            (source / "inner" / "3.txt").touch()
        case _:
            (tmp_path / "other").write_text("other text")
            (tmp_path / "other").replace(source / "1.txt")
    assert watch.has_changes(source, known)
    assert not watch.has_changes(source, dict(list_files(source)))


def test_a_file_that_is_rewritten_in_its_place_is_seen_at_a_full_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch, source = SourceWatch(), tmp_path / "raw"
    source.mkdir()
    (source / "1.txt").write_text("a")
    os.utime(source, (1_000, 1_000))
    known = dict(list_files(source))
    assert not watch.has_changes(source, known)
    (source / "1.txt").write_text("longer")
    assert not watch.has_changes(source, known), "the look reads the times of folders only"
    monkeypatch.setattr(arrivals, "_FULL_LOOK", 0.0)
    assert watch.has_changes(source, known)


def test_a_folder_that_changed_just_now_is_listed_again(tmp_path: Path) -> None:
    """The time of a folder may be coarse, so a file may arrive without a new time of its folder."""
    watch, source = SourceWatch(), tmp_path / "raw"
    source.mkdir()
    assert not watch.has_changes(source, {})
    status = source.stat()
    (source / "1.txt").touch()
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert watch.has_changes(source, {})


def test_a_source_that_is_gone_or_cannot_be_read_is_no_idle_source(tmp_path: Path) -> None:
    source = tmp_path / "raw"
    assert not SourceWatch().has_changes(source, {})
    assert SourceWatch().has_changes(source, {"1.txt": (1, 1)})
    source.mkdir()
    (source / "link").symlink_to("/etc/hosts")
    with pytest.raises(HeadwaterError):
        SourceWatch().has_changes(source, {})
