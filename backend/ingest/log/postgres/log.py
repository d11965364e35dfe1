"""The ingest log that replicas share. Each process has one connection that writes, in groups, and one that reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from hashlib import sha256
from threading import Event
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from headwater.backend.ingest.log.group_commit import GroupCommit
from headwater.backend.ingest.log.model import DeadLetter, Draft, Entry, EntryKind, Receipt, Stage
from headwater.backend.ingest.log.postgres.address import Address, Questions
from headwater.backend.ingest.log.postgres.migrations import migrate
from headwater.backend.ingest.log.postgres.writer import Append, Session, Write
from headwater.errors import DamagedError, UnavailableError

if TYPE_CHECKING:
    from pg8000.native import Connection

    from headwater.backend.home.quick_settings import HomeSettings

_READ_BYTES = 64 << 20  # bytes of entries to read at once
_BEYOND = (1 << 63) - 1  # greater than every offset
_KINDS = frozenset(EntryKind)


def open_postgres_log(settings: HomeSettings) -> PostgresLog:
    return PostgresLog(address_of(settings))


def address_of(settings: HomeSettings) -> Address:
    password = settings.ingest_log_password.get_secret_value() if settings.ingest_log_password else None
    return Address.of(settings.ingest_log or "", user=settings.ingest_log_user, password=password)


class PostgresLog:
    """The log in PostgreSQL (see the protocol). `holder` identifies this process in leases."""

    def __init__(self, address: Address) -> None:
        migrate(address)
        self.address = address
        self.holder = uuid4().hex
        self.appended = Event()
        self._questions = Questions(address)
        self._writer: GroupCommit[Write] = GroupCommit(
            lambda: Session(address), committed=self.appended.set, what=self.name, hint="Send again when it is back."
        )

    @property
    def name(self) -> str:
        return f"The shared log {self.address.url}"

    def append(self, tenant: str, drafts: Sequence[Draft]) -> Future[Sequence[Receipt]]:
        return self._writer.submit(Append(tenant, drafts, _now()))

    def bury(self, tenant: str, letters: Sequence[DeadLetter]) -> Future[None]:
        received = _now()

        def write(connection: Connection) -> None:
            for letter in letters:
                connection.run(
                    "INSERT INTO dead_letter (tenant, stage, hash, number, reason, field, received, body)"
                    " VALUES (:tenant, :stage, :hash, :number, :reason, :field, :received, :body)"
                    " ON CONFLICT (tenant, stage, hash, number)"
                    " DO UPDATE SET times = dead_letter.times + 1, reason = excluded.reason, field = excluded.field",
                    tenant=tenant, stage=letter.stage.value, hash=sha256(letter.body).digest(), number=letter.offset,
                    reason=_text(letter.reason), field=letter.field and _text(letter.field), received=received, body=letter.body,
                )  # fmt: skip

        return self._writer.submit(write)

    def forgive(self, tenant: str, offsets: Sequence[int], *, stage: Stage = Stage.PROJECTION) -> Future[None]:
        def write(connection: Connection) -> None:
            connection.run(
                "DELETE FROM dead_letter WHERE tenant = :tenant AND stage = :stage AND number = ANY (CAST(:numbers AS bigint[]))",
                tenant=tenant, stage=stage.value, numbers=list(offsets),
            )  # fmt: skip

        return self._writer.submit(write)

    def go_on_after(self, offset: int) -> Future[None]:
        return self._writer.submit(lambda connection: connection.run("UPDATE counter SET number = greatest(number, :n)", n=offset))

    def read(self, tenant: str, *, after: int, limit: int = 256) -> list[Entry]:
        return self._entries("number > :offset", "number", tenant, after, limit)

    def read_back(self, tenant: str, *, before: int | None, limit: int = 256) -> list[Entry]:
        return self._entries("number < :offset", "number DESC", tenant, _BEYOND if before is None else before, limit)

    def _entries(self, which: str, order: str, tenant: str, offset: int, limit: int) -> list[Entry]:
        rows = self._questions.ask(
            f"SELECT number, kind, key, received, body FROM (SELECT *, sum(octet_length(body)) OVER (ORDER BY {order}) AS bytes,"
            f" row_number() OVER (ORDER BY {order}) AS place FROM (SELECT * FROM entry WHERE tenant = :tenant AND {which}"
            f" ORDER BY {order} LIMIT :limit) next_ones) summed WHERE place = 1 OR bytes <= :bytes ORDER BY {order}",
            tenant=tenant, offset=offset, limit=limit, bytes=_READ_BYTES,
        )  # fmt: skip
        if odd := next((kind for _, kind, *_ in rows if kind not in _KINDS), None):
            raise UnavailableError(f"{self.name} has entries of kind {odd}, which a newer Headwater wrote.", hint="Upgrade this replica.")
        return [Entry(number, EntryKind(kind), bytes(key).hex(), received, bytes(body)) for number, kind, key, received, body in rows]

    def key_at(self, tenant: str, offset: int) -> str:
        rows = self._questions.ask("SELECT key FROM entry WHERE number = :number AND tenant = :tenant", number=offset, tenant=tenant)
        return bytes(rows[0][0]).hex() if rows else ""

    def latest(self, tenant: str) -> int:
        return self._number("SELECT coalesce(max(number), 0) FROM entry WHERE tenant = :tenant", tenant=tenant)

    def given(self) -> int:
        return self._number("SELECT number FROM counter")

    def pending(self, tenant: str, *, after: int) -> int:
        return self._number("SELECT count(*) FROM entry WHERE tenant = :tenant AND number > :after", tenant=tenant, after=after)

    def tenants(self) -> list[str]:
        rows = self._questions.ask(
            "WITH RECURSIVE t(name) AS (SELECT min(tenant) FROM entry"
            " UNION ALL SELECT (SELECT min(tenant) FROM entry WHERE tenant > name) FROM t WHERE name IS NOT NULL)"
            " SELECT name FROM t WHERE name IS NOT NULL"
        )
        return [name for (name,) in rows]

    def counts(self, tenant: str) -> dict[str, int]:
        entries = dict(self._questions.ask("SELECT kind, count(*) FROM entry WHERE tenant = :tenant GROUP BY kind", tenant=tenant))
        dead = self._number("SELECT count(*) FROM dead_letter WHERE tenant = :tenant", tenant=tenant)
        return {**{kind.value: int(entries.get(kind.value, 0)) for kind in EntryKind}, "dead_letters": dead}

    def entry_at(self, tenant: str, offset: int) -> Entry | None:
        found = self.read(tenant, after=offset - 1, limit=1)
        return found[0] if found and found[0].offset == offset else None

    def refused(self, tenant: str) -> int:
        statement = "SELECT count(*) FROM dead_letter WHERE tenant = :tenant AND stage = :stage"
        return self._number(statement, tenant=tenant, stage=Stage.PROJECTION.value)

    def buried(self, stage: Stage | None = None) -> int:
        statement = "SELECT count(*) FROM dead_letter WHERE stage = coalesce(CAST(:stage AS text), stage)"
        return self._number(statement, stage=stage.value if stage else None)

    def buried_at(self, tenant: str, stage: Stage) -> list[int]:
        statement = "SELECT number FROM dead_letter WHERE tenant = :tenant AND stage = :stage ORDER BY number"
        return [int(number) for (number,) in self._questions.ask(statement, tenant=tenant, stage=stage.value)]

    def dead_letters(self, tenant: str, *, first: int = 100, after: int = 0, stage: Stage | None = None) -> list[DeadLetter]:
        rows = self._questions.ask(
            "SELECT stage, reason, body, field, number, id, received, times FROM"
            " (SELECT *, sum(octet_length(body)) OVER (ORDER BY id) AS bytes, row_number() OVER (ORDER BY id) AS place"
            " FROM (SELECT * FROM dead_letter WHERE tenant = :tenant AND id > :after"
            " AND stage = coalesce(CAST(:stage AS text), stage) ORDER BY id LIMIT :first) next_ones) summed"
            " WHERE place = 1 OR bytes <= :bytes ORDER BY id",
            tenant=tenant, after=after, stage=stage.value if stage else None, first=first, bytes=_READ_BYTES,
        )  # fmt: skip
        return [
            DeadLetter(Stage(stage), reason, bytes(body), field, number, identifier, received, times)
            for stage, reason, body, field, number, identifier, received, times in rows
        ]

    def take_lease(self, work: str, *, seconds: float) -> bool:
        return bool(self._questions.ask(
            "INSERT INTO lease VALUES (:work, :holder, clock_timestamp() + make_interval(secs => CAST(:seconds AS double precision)))"
            " ON CONFLICT (work) DO UPDATE SET holder = excluded.holder, until = excluded.until"
            " WHERE lease.until < clock_timestamp() OR lease.holder = excluded.holder RETURNING 1",
            work=work, holder=self.holder, seconds=seconds,
        ))  # fmt: skip

    def end_lease(self, work: str) -> None:
        self._questions.ask("DELETE FROM lease WHERE work = :work AND holder = :holder", work=work, holder=self.holder)

    def marks(self, source: str) -> Mapping[str, str]:
        return dict(self._questions.ask("SELECT item, state FROM mark WHERE source = :source", source=source))

    def mark(self, source: str, item: str, state: str) -> Future[None]:
        statement = "INSERT INTO mark VALUES (:source, :item, :state) ON CONFLICT (source, item) DO UPDATE SET state = excluded.state"
        return self._writer.submit(lambda connection: connection.run(statement, source=source, item=item, state=state))

    def lost_entries(self, graph: int) -> DamagedError:
        return DamagedError(
            f"{self.name} ends at entry {self.given()}; the graph has what came up to entry {graph}.",
            hint="It is another log, or was restored. Stop all replicas, then run `headwater store repair` on one.",
        )

    def close(self) -> None:
        self._writer.close()
        self._questions.close()

    def _number(self, statement: str, **values: Any) -> int:
        return int(self._questions.ask(statement, **values)[0][0])


def _text(value: str) -> str:
    """Replace characters that PostgreSQL cannot store: NUL and lone surrogates."""
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
