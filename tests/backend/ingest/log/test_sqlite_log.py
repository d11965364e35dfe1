"""The log in a file of the home, which several processes may have open."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import pytest

from headwater.backend.ingest.log import DeadLetter, IngestLog, Receipt, Stage
from headwater.backend.ingest.log.sqlite import SqliteLog
from headwater.errors import ConfigurationError, DamagedError, UnavailableError
from tests.backend.ingest.log.contract import LogContract, Opens
from tests.backend.ingest.log.contract import draft as _draft


@pytest.fixture
def same_log(tmp_path: Path) -> Iterator[Opens]:
    opened: list[IngestLog] = []

    def again() -> IngestLog:
        opened.append(SqliteLog(tmp_path / "ingest.db"))
        return opened[-1]

    yield again
    for log in opened:
        log.close()


@pytest.fixture
def log(same_log: Opens) -> IngestLog:
    return same_log()


class TestSqliteLog(LogContract):
    pass


def test_only_its_owner_can_read_the_file(log: IngestLog, tmp_path: Path) -> None:
    log.append("t", [_draft("a")]).result()
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}


def _append_many(path: Path, begin: int) -> int:
    log = SqliteLog(path)
    receipts = [log.append("t", [_draft(str(begin + n))]).result()[0] for n in range(100)]
    log.close()
    return sum(not receipt.duplicate for receipt in receipts)


def test_two_processes_append_to_one_log(tmp_path: Path) -> None:
    path = tmp_path / "ingest.db"
    with get_context("spawn").Pool(2) as pool:
        new = pool.starmap(_append_many, [(path, 0), (path, 50)])
    log = SqliteLog(path)
    assert sum(new) == 150  # half of each is the other's
    assert sorted(int(entry.body) for entry in log.read("t", after=0, limit=1000)) == list(range(150))
    log.close()


def test_a_write_that_fails_is_told_to_its_callers_and_the_log_goes_on(log: IngestLog, tmp_path: Path) -> None:
    log.append("t", [_draft("a")]).result()
    with sqlite3.connect(tmp_path / "ingest.db") as other:
        other.execute("ALTER TABLE entry RENAME TO gone")
    with pytest.raises(UnavailableError, match="could not be written"):
        log.append("t", [_draft("b")]).result()
    with sqlite3.connect(tmp_path / "ingest.db") as other:
        other.execute("ALTER TABLE gone RENAME TO entry")
    other.close()
    assert log.append("t", [_draft("b")]).result() == [Receipt(2, duplicate=False)]


def test_a_log_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "ingest.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(ConfigurationError, match="newer Headwater"):
        SqliteLog(tmp_path / "ingest.db")


def test_a_log_that_vanished_is_not_made_anew_by_who_expects_it(tmp_path: Path) -> None:
    path = tmp_path / "ingest.db"
    with pytest.raises(DamagedError, match="is missing"):
        SqliteLog(path, create=False)
    log = SqliteLog(path)
    for file in tmp_path.iterdir():
        file.unlink()
    with pytest.raises(UnavailableError, match="could not be written"):
        log.append("t", [_draft("a")]).result()  # the writer connects with its first write
    log.close()
    assert list(tmp_path.iterdir()) == []


def test_a_path_of_odd_characters_is_the_file_of_that_name(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path / "a?b%20c#d.db")
    assert log.append("t", [_draft("a")]).result() == [Receipt(1, duplicate=False)]
    log.close()
    assert [file.name for file in tmp_path.iterdir()] == ["a?b%20c#d.db"]


def test_many_large_dead_letters_are_read_in_parts(log: IngestLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.backend.ingest.log.sqlite._READ_BYTES", 2500)
    log.bury("t", [DeadLetter(Stage.PROJECTION, "boom", str(n).encode() * 1000, offset=n) for n in range(5)]).result()
    letters = log.dead_letters("t")
    assert [letter.offset for letter in letters] == [0, 1]
    assert [letter.offset for letter in log.dead_letters("t", after=letters[-1].id, first=1)] == [2]
    monkeypatch.setattr("headwater.backend.ingest.log.sqlite._READ_BYTES", 10)
    assert [letter.offset for letter in log.dead_letters("t", after=letters[-1].id)] == [2]


def test_many_large_entries_are_read_in_parts(log: IngestLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.backend.ingest.log.sqlite._READ_BYTES", 2500)
    log.append("t", [_draft(str(n) * 1000) for n in range(5)]).result()
    assert [entry.offset for entry in log.read("t", after=0)] == [1, 2]
    assert [entry.offset for entry in log.read_back("t", before=None)] == [5, 4]
    monkeypatch.setattr("headwater.backend.ingest.log.sqlite._READ_BYTES", 10)
    assert [entry.offset for entry in log.read("t", after=2)] == [3]
