"""The store that replicas share, on a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from headwater.backend.ingest.log.postgres.address import Address
from headwater.backend.saved_views import CallersViews, Holder
from headwater.backend.tables.database import Database
from headwater.backend.tables.postgres import PostgresDatabase
from headwater.backend.triggers.store.executions import LEASE
from headwater.backend.triggers.store.tables import SCHEMA
from headwater.errors import ConfigurationError, NotFoundError
from tests.backend.triggers.contract import Opens, StoreContract
from tests.databases import PASSWORD, USER, Postgres, postgres

pytestmark = pytest.mark.lake


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres() as running:
        yield running


@pytest.fixture
def address(server: Postgres) -> Address:
    server.run("DROP SCHEMA IF EXISTS headwater CASCADE")
    return Address.of(f"postgresql://127.0.0.1:{server.port}/shop", user=USER, password=PASSWORD)


class TestPostgresStore(StoreContract):
    @pytest.fixture
    def again(self, address: Address) -> Iterator[Opens]:
        opened: list[Database] = []

        def opens() -> Database:
            opened.append(PostgresDatabase(SCHEMA, address))
            return opened[-1]

        yield opens
        for database in opened:
            database.close()

    @pytest.fixture
    def database(self, again: Opens) -> Database:
        return again()

    @pytest.fixture
    def expire(self, server: Postgres, database: Database) -> Callable[[], None]:
        def later() -> None:
            moved = LEASE + 10.0
            server.run(
                f"UPDATE headwater.trigger_execution SET lease = lease - {moved}, due = due - {moved}",
                f"UPDATE headwater.trigger_clock SET due = due - {moved}",
            )

        return later

    @pytest.fixture
    def age(self, server: Postgres, database: Database) -> Callable[[float], None]:
        def later(seconds: float) -> None:
            server.run(f"UPDATE headwater.trigger_cause SET recorded = recorded - {seconds}, at = at - {seconds}")

        return later

    def test_tables_of_a_newer_release_are_refused(self, server: Postgres, again: Opens) -> None:
        again()
        server.run("INSERT INTO headwater.trigger_step VALUES (999)")
        with pytest.raises(ConfigurationError, match="newer"):
            again()


async def test_saved_views_are_shared_by_replicas(address: Address) -> None:
    database = PostgresDatabase(SCHEMA, address)
    try:
        ann, bob = (CallersViews(lambda _: database, Holder(name, name, sees_all=True, is_admin=False), lambda _: None) for name in "ab")
        first = await ann.save("t", "report", "/?a", shared=True)
        again = await ann.save("t", "report", "/?b", shared=True, replace=True)
        assert (first["id"], again["location"]) == (again["id"], "/?b")
        await bob.save("t", "report", "/?c", shared=False)
        assert [(view["location"], view["mine"]) for view in await bob.list("t")] == [("/?c", True), ("/?b", False)]
        assert await bob.list("other") == []
        with pytest.raises(NotFoundError):
            await bob.remove("t", first["id"])
        assert (await ann.change("t", first["id"], name="new", shared=False))["name"] == "new"
        await ann.remove("t", first["id"])
        assert await ann.list("t") == []
    finally:
        database.close()
