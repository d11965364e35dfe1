"""The log keeps what it acknowledged, once, in order, for every process that has it open."""

from __future__ import annotations

import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path

import pytest

from headwater.backend.ingest_log import DeadLetter, Draft, EntryKind, IngestLog, Receipt, Stage
from headwater.errors import ConfigurationError, UnavailableError


def _draft(text: str, kind: EntryKind = EntryKind.EVENT) -> Draft:
    return Draft(kind, sha256(text.encode()).digest(), text.encode())


@pytest.fixture
def log(tmp_path: Path):
    log = IngestLog(tmp_path / "ingest.db")
    yield log
    log.close()


def test_entries_come_back_byte_for_byte_in_order(log: IngestLog) -> None:
    texts = ['{"a": 1}', '{ "b":\t2 }', '{"ü": "\\u00fc"}']
    log.append("t", [_draft(text) for text in texts]).result()
    assert [entry.body.decode() for entry in log.read("t", after=0)] == texts
    assert [entry.offset for entry in log.read("t", after=1)] == [2, 3]


def test_a_document_sent_again_gets_the_offset_of_the_first(log: IngestLog) -> None:
    first = log.append("t", [_draft("a"), _draft("b")]).result()
    again = log.append("t", [_draft("b"), _draft("c"), _draft("a")]).result()
    assert first == [Receipt(1, duplicate=False), Receipt(2, duplicate=False)]
    assert again == [Receipt(2, duplicate=True), Receipt(3, duplicate=False), Receipt(1, duplicate=True)]
    assert log.counts("t") == {"event": 3, "capture": 0, "declaration": 0, "prov": 0, "dead_letters": 0}


def test_tenants_do_not_see_each_other(log: IngestLog) -> None:
    log.append("a", [_draft("x")]).result()
    receipt = log.append("b", [_draft("x")]).result()[0]
    assert not receipt.duplicate
    assert [entry.offset for entry in log.read("b", after=0)] == [receipt.offset]
    assert log.tenants() == ["a", "b"]
    assert (log.latest("a"), log.latest("b"), log.latest("c")) == (1, 2, 0)
    assert log.pending("b", after=0) == 1


def test_it_is_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    first = IngestLog(tmp_path / "ingest.db")
    first.append("t", [_draft("a", EntryKind.CAPTURE)]).result()
    first.close()
    second = IngestLog(tmp_path / "ingest.db")
    assert [(entry.kind, entry.body) for entry in second.read("t", after=0)] == [(EntryKind.CAPTURE, b"a")]
    second.close()


def test_only_its_owner_can_read_the_file(log: IngestLog, tmp_path: Path) -> None:
    log.append("t", [_draft("a")]).result()
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}


def test_concurrent_appends_share_commits_and_lose_nothing(log: IngestLog) -> None:
    with ThreadPoolExecutor(16) as pool:
        receipts = list(pool.map(lambda n: log.append("t", [_draft(str(n % 400))]).result()[0], range(800)))
    assert sum(not receipt.duplicate for receipt in receipts) == 400
    assert sorted({receipt.offset for receipt in receipts}) == list(range(1, 401))


def _append_many(path: Path, begin: int) -> int:
    log = IngestLog(path)
    receipts = [log.append("t", [_draft(str(begin + n))]).result()[0] for n in range(100)]
    log.close()
    return sum(not receipt.duplicate for receipt in receipts)


def test_two_processes_append_to_one_log(tmp_path: Path) -> None:
    path = tmp_path / "ingest.db"
    with get_context("spawn").Pool(2) as pool:
        new = pool.starmap(_append_many, [(path, 0), (path, 50)])
    log = IngestLog(path)
    assert sum(new) == 150  # half of each is the other's
    assert sorted(int(entry.body) for entry in log.read("t", after=0, limit=1000)) == list(range(150))
    log.close()


def test_dead_letters_keep_every_byte_and_count_repeats(log: IngestLog) -> None:
    body = bytes(range(256))
    letter = DeadLetter(Stage.INTAKE, "not UTF-8", body, "$")
    log.bury("t", [letter]).result()
    log.bury("t", [letter, DeadLetter(Stage.PROJECTION, "boom", b"{}", offset=7)]).result()
    first, second = log.dead_letters("t")
    assert (first.body, first.reason, first.field, first.times) == (body, "not UTF-8", "$", 2)
    assert (second.stage, second.offset, second.times) == (Stage.PROJECTION, 7, 1)
    assert [letter.id for letter in log.dead_letters("t", after=first.id)] == [second.id]


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


def test_a_closed_log_refuses(tmp_path: Path) -> None:
    log = IngestLog(tmp_path / "ingest.db")
    log.close()
    with pytest.raises(UnavailableError, match="closed"):
        log.append("t", [_draft("a")]).result()


def test_a_log_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "ingest.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(ConfigurationError, match="newer Headwater"):
        IngestLog(tmp_path / "ingest.db")
