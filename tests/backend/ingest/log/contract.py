"""The contract of every ingest log. A module of tests gives a fixture `log`, a new log, and `same_log`, which opens that log once more."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import pytest

from headwater.backend.ingest.log import DeadLetter, Draft, EntryKind, IngestLog, Receipt, Stage
from headwater.errors import UnavailableError

Opens = Callable[[], IngestLog]


def draft(text: str, kind: EntryKind = EntryKind.EVENT) -> Draft:
    return Draft(kind, sha256(text.encode()).digest(), text.encode())


class LogContract:
    def test_entries_come_back_byte_for_byte_in_order(self, log: IngestLog) -> None:
        texts = ['{"a": 1}', '{ "b":\t2 }', '{"ü": "\\u00fc"}', "\\ \" ' {} \0"]
        log.append("t", [draft(text) for text in texts]).result()
        assert [entry.body.decode() for entry in log.read("t", after=0)] == texts
        assert [entry.offset for entry in log.read("t", after=1)] == [2, 3, 4]
        assert [entry.offset for entry in log.read("t", after=1, limit=2)] == [2, 3]
        assert log.key_at("t", 2) == draft(texts[1]).key.hex()
        assert log.key_at("u", 2) == ""
        second, nothing = log.entry_at("t", 2), log.entry_at("t", 9)
        assert second is not None
        assert second.body.decode() == texts[1]
        assert nothing is None

    def test_entries_are_read_from_the_last_to_the_first(self, log: IngestLog) -> None:
        log.append("t", [draft("a"), draft("b")]).result()
        log.append("u", [draft("other")]).result()
        log.append("t", [draft("c", EntryKind.CAPTURE)]).result()
        assert [(entry.offset, entry.body) for entry in log.read_back("t", before=None)] == [(4, b"c"), (2, b"b"), (1, b"a")]
        assert [entry.offset for entry in log.read_back("t", before=4, limit=1)] == [2]
        assert log.read_back("t", before=1) == []

    def test_a_document_sent_again_gets_the_offset_of_the_first(self, log: IngestLog) -> None:
        first = log.append("t", [draft("a"), draft("b")]).result()
        again = log.append("t", [draft("b"), draft("c"), draft("a"), draft("c")]).result()
        assert first == [Receipt(1, duplicate=False), Receipt(2, duplicate=False)]
        assert again == [
            Receipt(2, duplicate=True), Receipt(3, duplicate=False), Receipt(1, duplicate=True), Receipt(3, duplicate=True)
        ]  # fmt: skip
        assert log.counts("t") == {"event": 3, "capture": 0, "declaration": 0, "prov": 0, "dead_letters": 0}

    def test_many_documents_at_once_keep_their_order_and_know_each_other(self, log: IngestLog) -> None:
        """More than one statement holds, of two tenants, with documents that come twice in one append, in one commit and later."""
        texts = [str(number) for number in range(150)]
        appends = [log.append("t", [draft(text) for text in texts[:n]]) for n in (1, 5, 23, 150)]
        other = log.append("u", [draft(text) for text in [*texts[:70], *texts[:70]]]).result()
        fresh = [receipt.offset for append in appends for receipt in append.result() if not receipt.duplicate]
        assert fresh == sorted(fresh)
        assert [entry.body.decode() for entry in log.read("t", after=0)] == texts
        assert [receipt.duplicate for receipt in other] == [False] * 70 + [True] * 70
        assert [receipt.offset for receipt in other[:70]] == [receipt.offset for receipt in other[70:]]

    def test_tenants_do_not_see_each_other(self, log: IngestLog) -> None:
        log.append("a", [draft("x")]).result()
        receipt = log.append("b", [draft("x")]).result()[0]
        assert not receipt.duplicate
        assert [entry.offset for entry in log.read("b", after=0)] == [receipt.offset]
        assert log.tenants() == ["a", "b"]
        assert (log.latest("a"), log.latest("b"), log.latest("c")) == (1, 2, 0)
        assert log.pending("b", after=0) == 1
        assert log.given() == 2

    def test_it_is_there_when_it_is_opened_again(self, log: IngestLog, same_log: Opens) -> None:
        log.append("t", [draft("a", EntryKind.CAPTURE)]).result()
        log.close()
        assert [(entry.kind, entry.body) for entry in same_log().read("t", after=0)] == [(EntryKind.CAPTURE, b"a")]

    def test_concurrent_appends_share_commits_and_lose_nothing(self, log: IngestLog) -> None:
        with ThreadPoolExecutor(16) as pool:
            receipts = list(pool.map(lambda n: log.append("t", [draft(str(n % 400))]).result()[0], range(800)))
        assert sum(not receipt.duplicate for receipt in receipts) == 400
        assert sorted({receipt.offset for receipt in receipts}) == list(range(1, 401))

    def test_who_reads_while_others_append_sees_no_offset_before_all_smaller_ones(self, log: IngestLog, same_log: Opens) -> None:
        other, reader, seen = same_log(), same_log(), list[int]()
        with ThreadPoolExecutor(8) as pool:
            done = [pool.submit(lambda n=n: (log, other)[n % 2].append("t", [draft(str(n))]).result()) for n in range(300)]
            while len(seen) < 300:
                seen += [entry.offset for entry in reader.read("t", after=seen[-1] if seen else 0)]
        assert seen == list(range(1, 301))
        assert all(future.result() for future in done)

    def test_dead_letters_keep_every_byte_and_count_repeats(self, log: IngestLog) -> None:
        body = bytes(range(256))
        letter = DeadLetter(Stage.INTAKE, "not UTF-8", body, "$")
        log.bury("t", [letter]).result()
        log.bury("t", [letter, DeadLetter(Stage.PROJECTION, "boom", b"{}", offset=7)]).result()
        log.bury("u", [letter]).result()
        assert log.buried() == 3
        first, second = log.dead_letters("t")
        assert (first.body, first.reason, first.field, first.times) == (body, "not UTF-8", "$", 2)
        assert (second.stage, second.offset, second.times) == (Stage.PROJECTION, 7, 1)
        assert [letter.id for letter in log.dead_letters("t", after=first.id)] == [second.id]
        assert log.refused("t") == 1
        assert [letter.offset for letter in log.dead_letters("t", stage=Stage.PROJECTION)] == [7]
        log.forgive("t", [7]).result()
        assert log.refused("t") == 0

    def test_what_is_set_aside_is_told_apart_from_what_was_refused(self, log: IngestLog) -> None:
        for stage in (Stage.PROJECTION, Stage.QUARANTINE):
            log.bury("t", [DeadLetter(stage, "boom", b"{}", offset=7)]).result()
        assert (log.buried(), log.buried(Stage.QUARANTINE), log.refused("t")) == (2, 1, 1)
        assert [log.buried_at("t", stage) for stage in (Stage.PROJECTION, Stage.QUARANTINE)] == [[7], [7]]
        assert log.buried_at("other", Stage.QUARANTINE) == []
        log.forgive("t", [7]).result()
        assert [letter.stage for letter in log.dead_letters("t")] == [Stage.QUARANTINE]
        log.forgive("t", [7], stage=Stage.QUARANTINE).result()
        assert log.buried() == 0

    def test_a_reason_that_no_database_holds_is_kept_all_the_same(self, log: IngestLog) -> None:
        log.bury("t", [DeadLetter(Stage.INTAKE, "a \0 in it", b"\0", "$.\0")]).result()
        (letter,) = log.dead_letters("t")
        assert (letter.body, letter.reason[:2], letter.reason[-3:]) == (b"\0", "a ", " it")

    def test_offsets_go_on_after_what_was_lost(self, log: IngestLog) -> None:
        log.append("t", [draft("a")]).result()
        log.go_on_after(41).result()
        log.go_on_after(7).result()
        assert log.append("t", [draft("b")]).result() == [Receipt(42, duplicate=False)]
        assert log.given() == 42

    def test_marks_are_kept_by_source(self, log: IngestLog, same_log: Opens) -> None:
        log.mark("file:a", "x", "1").result()
        log.mark("file:a", "x", "2").result()
        log.mark("file:b", "x", "3").result()
        assert (same_log().marks("file:a"), log.marks("file:b"), log.marks("file:c")) == ({"x": "2"}, {"x": "3"}, {})

    def test_a_closed_log_refuses(self, log: IngestLog) -> None:
        log.close()
        with pytest.raises(UnavailableError, match="closed"):
            log.append("t", [draft("a")]).result()
