"""The store of a home."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.backend.tables.database import Database
from headwater.backend.tables.sqlite import SqliteDatabase
from headwater.backend.triggers.model import Combination, ExecutionState
from headwater.backend.triggers.store import TriggerStore
from headwater.backend.triggers.store.cause_writer import Match
from headwater.backend.triggers.store.executions import LEASE
from headwater.backend.triggers.store.tables import SCHEMA
from headwater.errors import DamagedError
from tests.backend.triggers.contract import HOME, Opens, StoreContract, data, definition, fact, record


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def again(self, tmp_path: Path, clock: Clock) -> Iterator[Opens]:
        opened: list[Database] = []

        def opens() -> Database:
            opened.append(SqliteDatabase(SCHEMA, tmp_path / "triggers.db", clock=clock))
            return opened[-1]

        yield opens
        for database in opened:
            database.close()

    @pytest.fixture
    def database(self, again: Opens) -> Database:
        return again()

    @pytest.fixture
    def expire(self, clock: Clock) -> Callable[[], None]:
        def later() -> None:
            clock.now += LEASE + 10.0

        return later

    @pytest.fixture
    def age(self, clock: Clock) -> Callable[[float], None]:
        def later(seconds: float) -> None:
            clock.now += seconds

        return later

    def test_the_file_is_for_its_owner_alone(self, store: TriggerStore, tmp_path: Path) -> None:
        assert (tmp_path / "triggers.db").stat().st_mode & 0o777 == 0o600

    def test_a_damaged_file_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "damaged.db").write_bytes(b"no database" * 1000)
        with pytest.raises(DamagedError, match=r"damaged\.db"):
            SqliteDatabase(SCHEMA, tmp_path / "damaged.db")


_STEPS = st.lists(
    st.tuples(st.sampled_from(["find", "find twice", "crash", "claim", "finish", "lose", "manual"]), st.integers(0, 5)), max_size=40
)


class _CrashError(Exception):
    pass


class _Crashing:
    """A database whose process ends after some statements of a transaction."""

    def __init__(self, database: SqliteDatabase, after: int) -> None:
        self._database, self._left = database, after

    def transaction(self):
        return _Transaction(self)

    def ask(self, sql, **values):
        return self._database.ask(sql, **values)

    def clock(self) -> float:
        return self._database.clock()

    def statement(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise _CrashError


class _Transaction:
    def __init__(self, crashing: _Crashing) -> None:
        self._crashing = crashing

    def __enter__(self) -> Self:
        self._inner = self._crashing._database.transaction()
        self._connection = self._inner.__enter__()
        return self

    def __exit__(self, *exception) -> bool | None:
        return self._inner.__exit__(*exception)

    def run(self, sql, **values):
        self._crashing.statement()
        return self._connection.run(sql, **values)

    def now(self) -> float:
        return self._connection.now()


@given(steps=_STEPS, combination=st.sampled_from(list(Combination)))
def test_each_cause_is_ordered_once_whatever_crashes(steps, combination) -> None:
    clock = Clock()
    database = SqliteDatabase(SCHEMA, None, clock=clock)
    store = TriggerStore(database)
    members = [data()] if combination is Combination.ONE else [data(), data("other")]
    trigger = store.definitions.create("a", definition("t", *members, combination=combination, concurrent=3), HOME, since=0)
    claimed: list = []
    ended: list[str] = []
    for number, (step, value) in enumerate(steps):
        clock.now += 1.0
        match = Match(trigger.id, value % len(members), fact(f"v{value}", at=clock.now))
        if step == "find":
            record(store, match)
        elif step == "find twice":
            after = store.definitions.cursor("a")
            store.causes.record("a", [match], after=after, upto=after + 1)
            store.causes.record("a", [match], after=after, upto=after + 1)
        elif step == "crash":
            before = store.causes.of(trigger.id, first=99)
            try:
                record(TriggerStore(_Crashing(database, value)), match)
            except _CrashError:
                assert store.causes.of(trigger.id, first=99) == before  # all of it or nothing
            record(store, match)  # the next process finds it again
        elif step == "claim":
            claimed += store.executions.claim("a", f"p{number}", most=2, may_run=lambda _: True)
        elif step == "finish" and claimed:
            claim = claimed.pop(value % len(claimed))
            if store.executions.finish(claim.execution, _holder(database, claim), ExecutionState.COMPLETE):
                ended.append(claim.cause.id)
        elif step == "lose" and claimed:
            clock.now += LEASE + 1.0
            store.executions.recover(lambda *_: value % 2 == 0)  # noqa: B023 - called at once
            claimed.clear()
    causes = [cause for cause in store.causes.of(trigger.id, first=999) if cause.execution]
    rows = database.ask("SELECT cause FROM trigger_execution")
    assert sorted(row[0] for row in rows) == sorted(cause.id for cause in causes)  # one execution for each cause, and no other
    assert len(ended) == len(set(ended))
    database.close()


def _holder(database: SqliteDatabase, claim) -> str:
    return database.ask("SELECT holder FROM trigger_execution WHERE id = :id", id=claim.execution.id)[0][0]
