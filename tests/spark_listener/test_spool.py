"""The spool keeps what it was given, within its bound, over crashes and damage."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.spark_listener.spool import ItemKind, SpoolFolder, SpoolLog, applications

_MIB = 1024 * 1024


def bodies(folder: SpoolFolder) -> list[Any]:
    return [item.body for item in folder.pending()]


def manifest(capture: str, *sizes: int) -> dict[str, Any]:
    return {"capture": capture, "segments": [{"name": f"s{i}.seg", "bytes": size} for i, size in enumerate(sizes)]}


def test_a_home_that_its_first_program_makes_is_its_owners_alone(tmp_path: Path) -> None:
    SpoolFolder.create(tmp_path / "home" / "spool", "app", limit=_MIB).close()
    assert (tmp_path / "home").stat().st_mode & 0o077 == 0


@pytest.fixture
def folder(tmp_path: Path) -> SpoolFolder:
    return SpoolFolder.create(tmp_path / "spool", "local-1", limit=_MIB)


def test_items_come_back_in_order_until_they_are_acknowledged(folder: SpoolFolder) -> None:
    for number in range(5):
        assert folder.event({"n": number})
    items = list(folder.pending())
    assert [item.body["n"] for item in items] == [0, 1, 2, 3, 4]
    folder.acknowledge(items[2])
    assert bodies(folder) == [{"n": 3}, {"n": 4}]


def test_what_was_acknowledged_stays_so_after_a_restart(folder: SpoolFolder) -> None:
    for number in range(3):
        folder.event({"n": number})
    folder.acknowledge(next(folder.pending()))
    folder.close()
    again = SpoolFolder.take(folder.path)
    assert again is not None
    again.event({"n": 3})
    assert bodies(again) == [{"n": 1}, {"n": 2}, {"n": 3}]


def test_a_torn_line_is_skipped_and_counted_and_the_next_item_is_whole(folder: SpoolFolder) -> None:
    folder.event({"n": 0})
    folder.event({"n": 1})
    folder.close()
    log = folder.path / "log"
    log.write_bytes(log.read_bytes()[:-7])
    again = SpoolFolder.take(folder.path)
    assert again is not None
    assert again.event({"n": 2})
    assert bodies(again) == [{"n": 0}, {"n": 2}]
    assert again.log.damaged == 1


@given(st.data())
def test_no_damage_makes_an_item_that_was_never_written(data: st.DataObject) -> None:
    with TemporaryDirectory() as place:
        path = Path(place) / "log"
        log = SpoolLog(path, limit=_MIB)
        written = [{"n": number, "text": "ü" * number} for number in range(8)]
        for body in written:
            log.append(ItemKind.EVENT, body)
        log.close()
        raw = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 6))):
            at = data.draw(st.integers(0, len(raw) - 1))
            if data.draw(st.booleans()):
                raw[at] = data.draw(st.integers(0, 255))
            else:
                del raw[at : at + data.draw(st.integers(1, 40))]
            if not raw:
                break
        path.write_bytes(bytes(raw))
        damaged = SpoolLog(path, limit=_MIB)
        assert all(item.body in written for item in damaged.pending())
        damaged.close()


def test_a_torn_mark_sends_everything_again(folder: SpoolFolder) -> None:
    folder.event({"n": 0})
    folder.acknowledge(next(folder.pending()))
    folder.close()
    (folder.path / "acknowledged").write_text("")
    again = SpoolFolder.take(folder.path)
    assert again is not None
    assert bodies(again) == [{"n": 0}]


@pytest.mark.parametrize("acknowledged", [1, 9, 11])
def test_no_change_of_a_byte_of_the_mark_leaves_out_what_was_not_acknowledged(tmp_path: Path, acknowledged: int) -> None:
    log = SpoolLog(tmp_path / "log", limit=_MIB)
    for number in range(12):
        log.append(ItemKind.EVENT, {"n": number})
    log.acknowledge(acknowledged)
    log.close()
    mark = tmp_path / "acknowledged"
    whole = mark.read_bytes()
    places = range(len(whole))
    changed = [whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :] for at in places for bit in range(8)]
    for content in [whole, *changed, *(whole[:at] for at in places), *(whole[:at] + whole[at + 1 :] for at in places), b"72", b"-1"]:
        mark.write_bytes(content)
        again = SpoolLog(tmp_path / "log", limit=_MIB)
        pending = [item.seq for item in again.pending()]
        again.close()
        assert pending[-(12 - acknowledged) :] == list(range(acknowledged + 1, 13)), content
        assert content != whole or len(pending) == 12 - acknowledged


def test_what_does_not_fit_is_refused_and_counted(tmp_path: Path) -> None:
    folder = SpoolFolder.create(tmp_path, "small", limit=500)
    taken = [folder.event({"n": number, "text": "x" * 80}) for number in range(10)]
    assert taken == [True] * taken.count(True) + [False] * taken.count(False)
    assert folder.dropped == {"events": taken.count(False)}
    assert (folder.path / "log").stat().st_size <= 500
    folder.drops_stated({"events": 2})
    assert folder.dropped == {"events": taken.count(False) - 2}


def test_segments_count_towards_the_bound_until_they_have_arrived(tmp_path: Path) -> None:
    folder = SpoolFolder.create(tmp_path, "small", limit=10_000)
    for capture in ("a", "b"):
        (folder.segments / capture).mkdir()
    assert folder.capture(manifest("a", 4000, 4000))
    assert not folder.capture(manifest("b", 4000))
    assert folder.dropped == {"captures": 1}
    assert not (folder.segments / "b").exists()
    folder.acknowledge(next(folder.pending()))
    assert not (folder.segments / "a").exists()
    assert folder.capture(manifest("c", 4000))


def test_a_long_run_does_not_grow_the_log_when_everything_arrives(tmp_path: Path) -> None:
    folder = SpoolFolder.create(tmp_path, "long", limit=3 * _MIB)
    for number in range(100):
        assert folder.event({"n": number, "text": "x" * 100_000})
        folder.acknowledge(list(folder.pending())[-1])
    folder.event({"n": 100})
    assert bodies(folder) == [{"n": 100}]
    assert (folder.path / "log").stat().st_size < 2 * _MIB


def test_a_folder_goes_when_all_arrived_and_its_application_has_ended(folder: SpoolFolder) -> None:
    folder.event({"n": 0})
    folder.describe(ended=True)
    assert not folder.close()
    again = SpoolFolder.take(folder.path)
    assert again is not None
    again.acknowledge(next(again.pending()))
    assert again.close()
    assert not folder.path.exists()


def test_the_folder_of_a_living_application_cannot_be_taken(tmp_path: Path, root: Path) -> None:
    program = (
        "import sys, pathlib; from headwater.spark_listener.spool import SpoolFolder\n"
        "folder = SpoolFolder.create(pathlib.Path(sys.argv[1]), 'other', limit=1000); folder.event({'n': 1})\n"
        "print('held', flush=True); sys.stdin.readline()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        (path,) = applications(tmp_path)
        assert SpoolFolder.take(path) is None
        process.kill()
        process.wait()
    taken = SpoolFolder.take(path)
    assert taken is not None
    assert bodies(taken) == [{"n": 1}]
    assert SpoolFolder.take(path) is None


def test_the_frame_is_the_documented_one(folder: SpoolFolder) -> None:
    folder.event({"a": "ö"})
    line = (folder.path / "log").read_bytes()
    from zlib import crc32

    assert line.endswith(b"\n")
    assert int(line[:8], 16) == crc32(line[9:-1])
    assert json.loads(line[9:-1]) == {"seq": 1, "kind": "event", "body": {"a": "ö"}}


def test_a_busy_disk_holds_up_nobody_and_what_is_durable_is_on_it_before_the_log_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, fsync, free, synced = SpoolLog(tmp_path / "log", limit=1 << 20), os.fsync, Event(), list[int]()

    def busy(file: int) -> None:
        assert free.wait(60)
        fsync(file)
        synced.append(os.fstat(file).st_size)

    monkeypatch.setattr(os, "fsync", busy)
    for number in range(50):
        assert log.append(ItemKind.EVENT, {"n": number}, durable=True) is not None
    assert [item.body["n"] for item in log.pending()] == list(range(50))  # whoever reads has them
    assert synced == []
    size = log.size()
    free.set()
    log.close()
    assert synced[-1] == size
    assert len(synced) <= 3  # what was asked for meanwhile was done at once
