"""The audit logs of several replicas in one database: copied whole and once, searched and verified as one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.audit.lines import MatchingEntries, Wanted, earlier_files, name_of_full
from headwater.backend.audit.log import AuditLog, append_line
from headwater.backend.audit.reader import OwnAudit, SharedAudit
from headwater.backend.audit.shared.copier import AuditCopier
from headwater.backend.ingest.log.postgres.address import Address
from headwater.backend.ingest.log.postgres.migrations import migrate
from headwater.errors import UnavailableError
from tests.backend.audit.test_readers import read_entries, write_entries
from tests.backend.cli.command import headwater
from tests.databases import PASSWORD, USER, Postgres, postgres

# pg8000 leaves its socket open where a server that just starts refuses it, as when a test waits for one.
pytestmark = [pytest.mark.lake, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres() as running:
        yield running


@pytest.fixture
def address(server: Postgres) -> Address:
    server.run("DROP SCHEMA IF EXISTS headwater CASCADE")
    found = Address.of(f"postgresql://127.0.0.1:{server.port}/shop", user=USER, password=PASSWORD)
    migrate(found)
    return found


class Replica:
    """A home with an audit log, which is copied when a test says so."""

    def __init__(self, home: Path, address: Address, **options: Any) -> None:
        home.mkdir(exist_ok=True)
        self.path = home / "audit.jsonl"
        self.address, self._options = address, options
        self.copier = self._new()

    def start(self) -> None:
        """As a service that starts anew."""
        self.copier.close()
        self.copier = self._new()

    def _new(self) -> AuditCopier:
        return AuditCopier(self.path, self.address, partial(append_line, self.path), **self._options)

    def write(self, *numbers: int, **members: Any) -> None:
        for number in numbers:
            append_line(self.path, {"who": "key:ann", "tenant": "default", "what": "trace", "on": [f"n{number}"], **members})

    def copy(self) -> None:
        self.copier.copy()
        self.copier.copy()  # where the first found that it must look for its place

    @property
    def lines(self) -> list[bytes]:
        return [line for file in (*earlier_files(self.path), self.path) for line in file.read_bytes().split(b"\n") if line]


@pytest.fixture
def replica(tmp_path: Path, address: Address) -> Iterator[Callable[..., Replica]]:
    opened: list[Replica] = []

    def start(name: str, **options: Any) -> Replica:
        opened.append(Replica(tmp_path / name, address, **options))
        return opened[-1]

    yield start
    for one in opened:
        one.copier.close()


def _copied(server: Postgres) -> list[bytes]:
    return [bytes(line) for (line,) in server.run("SELECT line FROM headwater.audit_line ORDER BY chain, number")]


def _found(address: Address, most: int = 1000, **wanted: Any) -> MatchingEntries:
    audit = SharedAudit(address)
    try:
        return audit.latest(Wanted(**wanted), most)
    finally:
        audit.close()


def _shown(address: Address, most: int = 1000, **wanted: Any) -> list[str]:
    return [entry["on"][0] for entry in _found(address, most, **wanted).entries if entry["what"] == "trace"]


def _breaks(address: Address) -> list[str]:
    audit = SharedAudit(address)
    try:
        found = audit.verify()
    finally:
        audit.close()
    assert found.broken == len(found.breaks)
    return [f"{one.line}: {one.reason}" for one in found.breaks]


def test_every_line_is_copied_once_whoever_wrote_it_and_however_often_the_copier_starts(
    replica: Callable[..., Replica], server: Postgres
) -> None:
    mine = replica("mine")
    mine.copy()
    mine.write(1, 2)
    mine.copy()
    mine.path.rename(name_of_full(mine.path, datetime.now(UTC)))  # put aside in the middle of a turn
    mine.write(3, who='odd "\\ {},\u0000é\ud800', on=["a\\b", '{"x"}'])
    mine.start()
    mine.write(4)
    mine.copy()
    mine.path.open("ab").write(b'{"torn')
    mine.copy()
    mine.path.rename(name_of_full(mine.path, datetime.now(UTC)))
    mine.write(5)
    mine.path.with_suffix(".chain").unlink()
    mine.start()
    mine.copy()
    assert _copied(server) == mine.lines
    assert len(mine.lines) == 6
    assert server.run("SELECT count(DISTINCT chain) FROM headwater.audit_line") == [[1]]
    assert all(mine.copier.is_copied(file) for file in earlier_files(mine.path))


def test_files_that_are_not_copied_are_kept(replica: Callable[..., Replica], server: Postgres) -> None:
    mine = replica("mine")
    log = AuditLog(mine.path, most_bytes=1, kept=1, may_remove=mine.copier.is_copied)
    log.start()
    log.close()
    mine.write(*range(3))
    log = AuditLog(mine.path, most_bytes=1, kept=1, may_remove=mine.copier.is_copied)
    log.start()
    log.close()
    assert len(earlier_files(mine.path)) > 1
    mine.copy()
    log = AuditLog(mine.path, most_bytes=1, kept=1, may_remove=mine.copier.is_copied)
    log.start()
    log.close()
    mine.copy()
    assert len(earlier_files(mine.path)) <= 2
    assert len(_copied(server)) >= 9
    assert _breaks(mine.address) == []


def test_an_auditor_finds_the_lines_of_all_replicas_by_time(replica: Callable[..., Replica], address: Address, server: Postgres) -> None:
    first, second = replica("first"), replica("second")
    for number in range(0, 10, 2):
        first.write(number, who="key:ann")
        second.write(number + 1, who="key:bob", tenant="other", decision="refused")
    middle = datetime.now(UTC)
    first.write(10)
    for one in (first, second):
        one.copy()
    assert _shown(address) == [f"n{number}" for number in range(11)]
    assert _shown(address, most=3) == ["n8", "n9", "n10"]
    assert _shown(address, tenant="other") == ["n1", "n3", "n5", "n7", "n9"]
    assert _shown(address, who="bob", dataset="n5") == ["n5"]
    assert _shown(address, decision="refused", until=middle, most=2) == ["n7", "n9"]
    assert _shown(address, since=middle) == ["n10"]
    assert _shown(address, who="x' OR true --") == []
    found = _found(address, 1)
    assert found.left_at is not None
    assert found.entries[0]["number"] == 6
    chains = {chain for (chain,) in server.run("SELECT chain FROM headwater.audit_chain")}
    assert found.entries[0]["chain"] in chains
    assert len(chains) == 2


CHANGES = {
    "a changed line": ["UPDATE headwater.audit_line SET line = replace(encode(line, 'escape'), 'n3', 'n9')::bytea WHERE number = 3"],
    "a changed line with its digest": [
        "UPDATE headwater.audit_line SET line = replace(encode(line, 'escape'), 'n3', 'n9')::bytea WHERE number = 3",
        "UPDATE headwater.audit_line SET digest = sha256(line) WHERE number = 3",
    ],
    "a removed line": ["DELETE FROM headwater.audit_line WHERE number = 3"],
    "a removed line, and the others closed up": [
        "DELETE FROM headwater.audit_line WHERE number = 3",
        "UPDATE headwater.audit_line SET number = number - 1 WHERE number = 4",
        "UPDATE headwater.audit_line SET number = number - 1 WHERE number = 5",
    ],
    "two lines in another order": [
        "UPDATE headwater.audit_line SET number = 99 WHERE number = 3",
        "UPDATE headwater.audit_line SET number = 3 WHERE number = 4",
        "UPDATE headwater.audit_line SET number = 4 WHERE number = 99",
    ],
    "the first lines": ["DELETE FROM headwater.audit_line WHERE number < 3"],
    "the first lines, and the others closed up": [
        "DELETE FROM headwater.audit_line WHERE number = 1",
        *(f"UPDATE headwater.audit_line SET number = {n - 1} WHERE number = {n}" for n in range(2, 6)),
    ],
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_done_to_the_copy_shows(replica: Callable[..., Replica], address: Address, server: Postgres, change: str) -> None:
    mine = replica("mine")
    mine.write(1, 2, 3, 4, 5)
    mine.copy()
    assert _breaks(address) == []
    server.run(*CHANGES[change])
    assert _breaks(address) != []


def test_readers_are_the_same_in_a_common_log(replica: Callable[..., Replica], address: Address) -> None:
    mine = replica("mine")
    write_entries(mine.path)
    mine.copy()
    audit = SharedAudit(address)
    try:
        assert read_entries(audit) == read_entries(OwnAudit(mine.path))
        assert read_entries(audit).uncertain == 1
    finally:
        audit.close()


def _two(replica: Callable[..., Replica]) -> tuple[Replica, Replica]:
    """A replica that has gone, and another that stated its end."""
    gone, other = replica("gone"), replica("other", stated_every=0)
    gone.write(*range(5))
    gone.copy()
    other.write(10)
    other.copier.turn()
    other.copy()
    return gone, other


def test_an_end_that_is_cut_off_shows_by_what_another_replica_states(
    replica: Callable[..., Replica], address: Address, server: Postgres
) -> None:
    _two(replica)
    assert _breaks(address) == []
    gone = "chain = (SELECT chain FROM headwater.audit_line WHERE subjects = 'n0')"
    server.run(
        f"UPDATE headwater.audit_chain SET number = 3, telling = 3 WHERE {gone}",
        f"DELETE FROM headwater.audit_line WHERE {gone} AND number > 3",
    )
    (cut,) = _breaks(address)
    assert cut.startswith("5: it is gone, and line 2 of chain")


def test_a_chain_that_is_written_anew_or_removed_shows_by_what_another_replica_states(
    replica: Callable[..., Replica], address: Address, server: Postgres
) -> None:
    gone, _ = _two(replica)
    (chain,) = server.run("SELECT chain FROM headwater.audit_line WHERE subjects = 'n0'")[0]
    server.run(f"DELETE FROM headwater.audit_line WHERE chain = '{chain}'", f"DELETE FROM headwater.audit_chain WHERE chain = '{chain}'")
    (removed,) = _breaks(address)
    assert "it is gone" in removed
    gone.path.unlink()
    gone.write(*range(90, 96))
    gone.path.with_suffix(".chain").write_text(json.dumps({"chain": chain, "copied": 0}))
    gone.start()
    gone.copy()
    (forged,) = _breaks(address)
    assert "it is not the line that line 2 of chain" in forged


def test_idle_replicas_do_not_go_on_to_state_each_others_ends(replica: Callable[..., Replica], server: Postgres) -> None:
    both = [replica("first", stated_every=0), replica("second", stated_every=0)]
    for one in both:
        one.write(1)
    for _ in range(5):
        for one in both:
            one.copier.turn()
            one.copy()
    (count,) = server.run("SELECT count(*) FROM headwater.audit_line WHERE encode(line, 'escape') LIKE '%audit.heads%'")[0]
    assert count == 2


def test_a_copy_that_lost_its_end_is_made_whole_by_its_replica_which_says_so(
    replica: Callable[..., Replica], address: Address, server: Postgres
) -> None:
    mine = replica("mine")
    mine.write(*range(5))
    mine.copy()
    server.run("DELETE FROM headwater.audit_line WHERE number > 2")
    mine.start()
    mine.copy()
    assert _copied(server) == mine.lines
    assert json.loads(mine.lines[-1])["what"] == "audit.copied_again"
    assert _breaks(address) == []
    server.run("DELETE FROM headwater.audit_line WHERE number > 1")  # while it is at work
    mine.write(7)
    mine.copy()
    assert _copied(server) == mine.lines
    assert json.loads(mine.lines[-1])["what"] == "audit.copied_again"


def test_a_home_that_was_cut_off_goes_on_as_a_chain_of_its_own_and_shows(
    replica: Callable[..., Replica], address: Address, server: Postgres
) -> None:
    mine = replica("mine")
    mine.write(*range(5))
    mine.copy()
    whole = mine.path.read_bytes()
    mine.path.write_bytes(b"".join(whole.splitlines(keepends=True)[:3]))
    mine.write(9)
    mine.copy()
    assert _shown(address) == ["n0", "n1", "n2", "n3", "n4", "n9"]
    (forked,) = _breaks(address)
    assert forked.startswith("1: it goes on after line 3 of chain")


def test_what_is_too_old_is_removed_from_the_beginning_and_a_line_says_so(
    replica: Callable[..., Replica], address: Address, server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, mine = replica("gone"), replica("mine", days=1)
    gone.write(1, 2)
    gone.copy()
    mine.write(3, 4, 5)
    mine.copy()
    _age(server, "number <= 2")
    mine.copier.turn()
    assert _shown(address) == ["n5"]
    assert _breaks(address) == []
    assert len(server.run("SELECT chain FROM headwater.audit_chain")) == 1
    assert any(json.loads(line)["what"] == "audit.removed" for line in mine.lines)
    server.run("DELETE FROM headwater.audit_line WHERE subjects = 'n5'")
    assert _breaks(address) != []


def _age(server: Postgres, which: str) -> None:
    """Make lines two days old, in the columns that decide about their removal."""
    old = (datetime.now(UTC) - timedelta(days=2)).isoformat(timespec="microseconds")
    server.run(f"UPDATE headwater.audit_line SET at = '{old}' WHERE {which}")


def test_lines_wait_in_the_home_while_the_database_is_away(tmp_path: Path, replica: Callable[..., Replica], address: Address) -> None:
    mine = replica("mine")
    mine.write(1)
    nowhere = Address(address.host, 1, address.database, None, USER, PASSWORD)
    away = AuditCopier(mine.path, nowhere, lambda _: None)
    with pytest.raises(UnavailableError):
        away.copy()
    assert not away.is_copied(mine.path)
    mine.copy()
    assert _shown(address) == ["n1"]


def test_the_command_lists_and_verifies_what_all_replicas_wrote(
    tmp_path: Path, replica: Callable[..., Replica], address: Address, server: Postgres
) -> None:
    first, second = replica("first"), replica("second")
    first.write(1)
    second.write(2)
    for one in (first, second):
        one.copy()
    environment: dict[str, Any] = {
        "HEADWATER_INGEST_LOG": f"postgresql://127.0.0.1:{server.port}/shop", "HEADWATER_INGEST_LOG_USER": USER,
        "HEADWATER_INGEST_LOG_PASSWORD": PASSWORD, "HEADWATER_HOME": str(first.path.parent),
    }  # fmt: skip
    listed = json.loads(headwater("audit", "--format", "json", **environment).stdout)
    assert [entry["on"] for entry in listed] == [["n1"], ["n2"]]
    own = json.loads(headwater("audit", "--this-home", "--format", "json", **environment).stdout)
    assert [entry["on"] for entry in own] == [["n1"]]
    verified = headwater("audit", "--verify", **environment)
    heads = [line.rpartition("head: ")[2] for line in verified.stdout.splitlines() if line.startswith("chain ")]
    assert len(heads) == 2
    assert all(headwater("audit", "--verify", "--head", head, **environment).returncode == 0 for head in heads)
    server.run("DELETE FROM headwater.audit_line WHERE subjects = 'n2'")
    found = [headwater("audit", "--verify", "--head", head, code=1, **environment).stderr for head in heads]
    assert sorted("is the digest of no line" in said for said in found) == [False, True]
    assert all("its end is gone" in said for said in found)
