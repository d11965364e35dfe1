"""The log that replicas share, on a real PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pg8000.native
import pytest

from headwater.backend.ingest.intake.documents import document_key
from headwater.backend.ingest.log import DeadLetter, Draft, EntryKind, IngestLog, Stage
from headwater.backend.ingest.log.postgres.address import Address
from headwater.backend.ingest.log.postgres.log import PostgresLog
from headwater.backend.ingest.log.postgres.migrations import STEPS, Step, migrate
from headwater.backend.ingest.log.postgres.presence import SharedRole
from headwater.backend.ingest.log.postgres.writer import Append, Session
from headwater.backend.projector.projector import Projector
from headwater.errors import ConfigurationError, UnavailableError
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.stores import open_store
from tests.backend.events import body, run_event
from tests.backend.ingest.log.contract import LogContract, Opens, draft
from tests.databases import PASSWORD, USER, Postgres, _program, postgres

# pg8000 leaves its socket open where a server that just starts refuses it, as when a test waits for one.
pytestmark = [pytest.mark.lake, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres() as running:
        yield running


@pytest.fixture
def address(server: Postgres) -> Address:
    server.run("DROP SCHEMA IF EXISTS headwater CASCADE")
    return Address.of(f"postgresql://127.0.0.1:{server.port}/shop", user=USER, password=PASSWORD)


@pytest.fixture
def same_log(address: Address) -> Iterator[Opens]:
    opened: list[IngestLog] = []

    def again() -> IngestLog:
        opened.append(PostgresLog(address))
        return opened[-1]

    yield again
    for log in opened:
        log.close()


@pytest.fixture
def log(same_log: Opens) -> IngestLog:
    return same_log()


class TestPostgresLog(LogContract):
    pass


def test_a_lease_is_of_one_replica_until_it_ends(log: IngestLog, same_log: Opens) -> None:
    other = same_log()
    assert log.take_lease("project t", seconds=0.6)
    assert log.take_lease("project t", seconds=0.6)  # renewed
    assert not other.take_lease("project t", seconds=5)
    assert other.take_lease("project u", seconds=5)
    time.sleep(0.8)
    assert other.take_lease("project t", seconds=5)  # the first was heard of no more
    assert not log.take_lease("project t", seconds=5)
    log.end_lease("project t")  # not its own any more
    assert not log.take_lease("project t", seconds=5)
    other.end_lease("project t")
    assert log.take_lease("project t", seconds=5)


async def test_a_lease_keeps_replicas_from_double_work_and_no_comparison_from_its_own(
    log: IngestLog, same_log: Opens, tmp_path: Path
) -> None:
    event = run_event(1)
    log.append("default", [Draft(EntryKind.EVENT, document_key(event), body(event))]).result()
    records = AssociationStore(tmp_path / "associations", sources=ANYWHERE)
    graphs = [open_store(f"sqlite:///{tmp_path}/{name}.db") for name in ("graph", "compared")]
    for graph in graphs:
        await graph.open()
    assert same_log().take_lease("project default", seconds=2)
    assert await Projector(log, graphs[0], records).catch_up() == 0
    assert await Projector(log, graphs[1], records, buries=False).catch_up() == 1
    until = time.monotonic() + 30
    while not await Projector(log, graphs[0], records).catch_up():
        assert time.monotonic() < until
        await asyncio.sleep(0.1)
    assert await graphs[0].fingerprint("default") == await graphs[1].fingerprint("default")
    for graph in graphs:
        await graph.close()
    records.close()


def test_connections_that_the_server_ends_are_opened_again(log: IngestLog, server: Postgres, address: Address) -> None:
    log.append("t", [draft("a")]).result()
    assert log.latest("t") == 1

    def cut() -> None:
        server.run(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{address.database}' AND pid <> pg_backend_pid()"
        )

    cut()
    assert log.latest("t") == 1
    cut()
    failed = 0
    while True:  # a failed write is reported to its sender, who sends it again
        try:
            (receipt,) = log.append("t", [draft("b")]).result()
            break
        except UnavailableError:
            failed += 1
            assert failed < 3
    assert receipt.offset == 2
    assert [entry.body for entry in log.read("t", after=0)] == [b"a", b"b"]


def test_a_replica_that_is_paused_while_it_appends_holds_up_the_others_for_seconds_only(log: IngestLog, address: Address) -> None:
    paused = address.connect()
    paused.run("BEGIN")
    paused.run("SELECT number FROM counter FOR UPDATE")
    log.append("t", [draft("a")]).result(30)
    with pytest.raises(Exception):  # noqa: B017, PT012 - its transaction is ended, its connection closed
        paused.run("UPDATE counter SET number = 99")
        paused.run("COMMIT")
    assert log.given() == 1


def test_what_the_server_refuses_of_a_group_fails_alone(log: IngestLog, address: Address) -> None:
    session = Session(address)

    def wrong(connection: pg8000.native.Connection) -> None:
        connection.run("INSERT INTO mark VALUES ('s', 'i', NULL)")

    good, bad, also = session.commit([Append("t", [draft("a")], "now"), wrong, Append("t", [draft("b")], "now")])
    session.close()
    assert ([receipt.offset for receipt in good], [receipt.offset for receipt in also]) == ([1], [2])
    assert isinstance(bad, UnavailableError)
    assert log.latest("t") == 2


def test_a_server_that_is_away_is_told_and_found_again() -> None:
    with postgres() as server:
        address = Address.of(f"postgresql://127.0.0.1:{server.port}/shop", user=USER, password=PASSWORD)
        log = PostgresLog(address)
        log.append("t", [draft("a")]).result()
        control = ["pg_ctl", "-D", f"{server.folder}/data", "-m", "immediate"]
        _as_postgres(server, *control, "stop")
        with pytest.raises(UnavailableError, match="shared log"):
            log.latest("t")
        with pytest.raises(UnavailableError) as refused:
            log.append("t", [draft("b")]).result(30)
        assert PASSWORD not in str(refused.value)
        options = f"-c listen_addresses=127.0.0.1 -c port={server.port} -c unix_socket_directories={server.folder}"
        _as_postgres(server, "pg_ctl", "-D", f"{server.folder}/data", "-o", options, "-l", f"{server.folder}/log", "-w", "start")
        assert log.append("t", [draft("b")]).result(30)[0].offset == 2
        assert [entry.body for entry in log.read("t", after=0)] == [b"a", b"b"]  # what was acknowledged is there
        log.close()


def _as_postgres(server: Postgres, program: str, *arguments: str) -> None:
    who = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
    done = subprocess.run([_program(program), *arguments], cwd=server.folder, capture_output=True, text=True, **who)
    assert done.returncode == 0, done.stdout + done.stderr


def test_replicas_that_start_at_once_make_the_tables_once(address: Address) -> None:
    taken: list[list[int]] = []
    threads = [threading.Thread(target=lambda: taken.append(migrate(address))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == [[], [], [], list(range(1, len(STEPS) + 1))]


def test_an_older_replica_works_beside_a_newer_one_where_the_newer_says_so(address: Address, same_log: Opens) -> None:
    old = same_log()
    adds = (*STEPS, Step(len(STEPS), ("ALTER TABLE entry ADD COLUMN origin text",)))
    assert migrate(address, adds) == [len(STEPS) + 1]
    assert old.append("t", [draft("a")]).result()[0].offset == 1
    assert same_log().read("t", after=0)[0].body == b"a"  # one that starts anew, too
    breaks = (*adds, Step(len(STEPS) + 2, ("ALTER TABLE entry RENAME COLUMN body TO content",)))
    migrate(address, breaks)
    with pytest.raises(ConfigurationError, match="Upgrade"):
        same_log()


def test_an_entry_of_a_kind_that_a_newer_replica_wrote_is_left_to_it(log: IngestLog, address: Address) -> None:
    log.append("t", [draft("a")]).result()
    connection = address.connect()
    connection.run("UPDATE entry SET kind = 'dream'")
    connection.close()
    with pytest.raises(UnavailableError, match="newer"):
        log.read("t", after=0)


def test_many_large_dead_letters_are_read_in_parts(log: IngestLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.backend.ingest.log.postgres.log._READ_BYTES", 2500)
    log.bury("t", [DeadLetter(Stage.PROJECTION, "boom", str(n).encode() * 1000, offset=n) for n in range(5)]).result()
    letters = log.dead_letters("t")
    assert [letter.offset for letter in letters] == [0, 1]
    assert [letter.offset for letter in log.dead_letters("t", after=letters[-1].id, first=1)] == [2]
    monkeypatch.setattr("headwater.backend.ingest.log.postgres.log._READ_BYTES", 10)
    assert [letter.offset for letter in log.dead_letters("t", after=letters[-1].id)] == [2]


def test_many_large_entries_are_read_in_parts(log: IngestLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.backend.ingest.log.postgres.log._READ_BYTES", 2500)
    log.append("t", [draft(str(n) * 1000) for n in range(5)]).result()
    assert [entry.offset for entry in log.read("t", after=0)] == [1, 2]
    monkeypatch.setattr("headwater.backend.ingest.log.postgres.log._READ_BYTES", 10)
    assert [entry.offset for entry in log.read("t", after=2)] == [3]


def test_replicas_work_together_and_a_rebuild_alone(address: Address, same_log: Opens) -> None:
    first, second, third = (SharedRole(same_log(), {"HEADWATER_API_KEY": "a"}) for _ in range(3))  # type: ignore[arg-type]
    assert first.take()
    assert second.take()
    assert not third.take(alone=True)
    second.release()
    assert not third.take(alone=True)
    first.release()
    assert third.take(alone=True)
    assert not first.take()
    third.release()
    assert first.take()
    first.release()


def test_a_replica_says_what_it_has_otherwise_than_the_others(address: Address, same_log: Opens) -> None:
    first = SharedRole(same_log(), {"HEADWATER_API_KEY": "a", "masks.toml": "b"})  # type: ignore[arg-type]
    second = SharedRole(same_log(), {"HEADWATER_API_KEY": "a", "masks.toml": "c"})  # type: ignore[arg-type]
    assert first.take()
    assert second.take()
    assert first.differences == []
    (difference,) = second.differences
    assert re.fullmatch(r"masks.toml is not that of the replica on \S+", difference)
    first.release()
    second.release()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("mysql://h/d", "does not name"),
        ("postgresql://h", "does not name"),
        ("postgresql://u:hunter2@h/d", "user or a password"),
        ("postgresql://h/d?sslmode=prefer", "sslmode"),
        ("postgresql://h/d?options=-cfsync=off", "options"),
        ("postgresql://h:x/d", "no address"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused(url: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why) as refused:
        Address.of(url, user=None, password=None)
    assert "hunter2" not in str(refused.value)


def test_another_machine_is_spoken_to_by_tls() -> None:
    assert Address.of("postgresql://db.example/d", user=None, password=None).tls is not None
    assert Address.of("postgresql://db.example/d?sslmode=disable", user=None, password=None).tls is None


def test_a_wrong_password_is_said_without_it(address: Address) -> None:
    with pytest.raises(ConfigurationError, match="wrong user or password") as refused:
        PostgresLog(Address.of(address.url, user=USER, password="hunter3"))
    assert "hunter3" not in str(refused.value)


def test_a_dead_letter_of_a_tenant_is_not_anothers(log: IngestLog) -> None:
    log.bury("t", [DeadLetter(Stage.INTAKE, "no", b"{}")]).result()
    assert log.dead_letters("u") == []
