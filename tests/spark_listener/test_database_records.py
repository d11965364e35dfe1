"""Rows of a real PostgreSQL by record, end to end: job, trace, values, both ways.

A changed row is never shown as the one that was read.
"""

from __future__ import annotations

import contextlib
import json
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pg8000.native
import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.errors import UnsupportedError
from headwater.graph.storage import Remote
from headwater.graph.storage.tables import RowRequest
from headwater.graph.trace import Semantics
from headwater.spark_listener.capture import Bridge
from tests.databases import PASSWORD, USER, Postgres, postgres, postgres_driver
from tests.spark_listener.keyed import KeyedReader, keyed_session

pytestmark = [
    pytest.mark.spark,
    pytest.mark.lake,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

TABLES = (
    "CREATE TABLE orders (id int PRIMARY KEY, customer smallint, total numeric(10,2), note varchar(20), at timestamp)",
    "INSERT INTO orders SELECT i, i % 7, i * 1.5, 'n' || i, '2026-01-01'::timestamp + i * interval '1 hour' FROM generate_series(0, 99) i",
    "CREATE TABLE customers (code bigint PRIMARY KEY, name text)",
    "INSERT INTO customers SELECT i, 'c' || i FROM generate_series(0, 6) i",
    "CREATE TABLE large (id bigint PRIMARY KEY, v int)",
    "INSERT INTO large VALUES (0, 1), (1099511627776, 2), (4611686018427387909, 3), (9223372036854775806, 4)",
    "CREATE TABLE negative (id bigint PRIMARY KEY, v int)", "INSERT INTO negative VALUES (-1, 1), (5, 2)",
    "CREATE TABLE keyless (id int, v int)", "INSERT INTO keyless VALUES (1, 10), (2, 20), (2, 21)",
    "CREATE TABLE parent (id int PRIMARY KEY)", "CREATE TABLE child () INHERITS (parent)", "INSERT INTO parent VALUES (1)",
    "CREATE VIEW seen AS SELECT * FROM orders",
    'CREATE SCHEMA "Odd.One"', 'CREATE TABLE "Odd.One"."a ""%41:b" ("the "":id" int PRIMARY KEY, "select $$" text)',
    """INSERT INTO "Odd.One"."a ""%41:b" VALUES (3, 'x''; DROP TABLE orders; --')""",
    "CREATE TABLE parted (id int PRIMARY KEY, v int) PARTITION BY RANGE (id)",
    "CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10)",
    "CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (10) TO (20)",
    "INSERT INTO parted SELECT i, i * 10 FROM generate_series(5, 14) i",
)  # fmt: skip


class Shop(KeyedReader):
    """A database, and a session that reads it."""

    def __init__(self, server: Postgres, spark: SparkSession, bridge: Bridge, folder: Path) -> None:
        self.server = server
        super().__init__(spark, bridge, folder, server.root(seconds=3), secret=PASSWORD)

    def table(self, name: str, **options: Any) -> DataFrame:
        given = {"url": self.server.url, "user": USER, "password": PASSWORD, "dbtable": name} | options
        return self.spark.read.format("jdbc").options(**given).load()

    def keys(self, dataset: Any, where: str, **more: Any) -> set[tuple[str, int]]:
        """Tables and keys that an answer has, which must be exact."""
        answer = self.exact(dataset, where, **more)
        return {(record.file.rpartition(".")[2], record.row) for record in answer.records if record.file and record.row is not None}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    (jar,) = postgres_driver().glob("*.jar")
    folder = tmp_path_factory.mktemp("rows")
    with postgres() as server:
        server.run(*TABLES)
        with keyed_session(folder, f"--jars {jar} --driver-class-path {jar}", keys={"keyless": "id"}) as (spark, bridge):
            yield Shop(server, spark, bridge, folder)


def test_a_row_is_known_by_its_key_and_its_values_are_read_again(shop: Shop) -> None:
    out = shop.write(shop.table("orders").where("customer = 3 AND id > 50").selectExpr("id", "total * 2 AS twice"))
    answer = shop.traced(out, "id = 94")
    assert answer.exact
    (record,) = answer.records
    assert (record.dataset.endswith("shop.public.orders"), record.row) == (True, 94)
    assert record.file == f"{shop.server.namespace}/shop.public.orders"
    assert record.values == {"id": 94, "customer": 3, "total": 141, "note": "n94", "at": "2026-01-04 22:00:00"}
    assert answer.incomplete == []


READS: dict[str, Callable[[Shop], DataFrame]] = {
    "whole": lambda shop: shop.table("orders"),
    "partitions": lambda shop: shop.table("orders", partitionColumn="id", lowerBound="10", upperBound="80", numPartitions="4"),
    "another's partitions": lambda shop: shop.table(
        "orders", partitionColumn="customer", lowerBound="1", upperBound="5", numPartitions="3"
    ),
    "predicates": lambda shop: shop.spark.read.jdbc(
        shop.server.url, "orders", predicates=["id < 40", "id >= 40"], properties={"user": USER, "password": PASSWORD}
    ),
    "pushed filter": lambda shop: shop.table("public.orders").where("total > 30 AND note LIKE 'n%'"),
    "a limit": lambda shop: shop.table("orders").limit(7),
}


@pytest.mark.parametrize("read", READS)
def test_each_row_is_its_own_however_it_is_read(shop: Shop, read: str) -> None:
    plain = READS[read](shop).selectExpr("note")
    out = shop.write(plain)
    rows = shop.spark.read.parquet(str(out)).collect()
    assert rows
    for row in rows[:: max(1, len(rows) // 5)]:
        assert shop.keys(out, f"note = '{row.note}'") == {("orders", int(row.note[1:]))}


def test_the_key_is_read_beside_what_the_query_reads_and_filters_are_pushed_as_without(shop: Shop) -> None:
    shop.write(shop.table("orders").where("customer = 2").select("note"))
    shop.server.run("ALTER SYSTEM SET log_statement = 'all'", "SELECT pg_reload_conf()")
    time.sleep(0.5)
    shop.write(shop.table("orders").where("customer = 2").select("note"))
    shop.server.run("ALTER SYSTEM SET log_statement = 'none'", "SELECT pg_reload_conf()")
    reads = [line for line in (shop.server.folder / "log").read_text().splitlines() if 'SELECT "' in line and '"note"' in line]
    assert reads
    for line in reads:
        asked = line[line.index("SELECT") : line.index("FROM")]
        assert {'"id"', '"note"'} <= {part.strip() for part in asked.removeprefix("SELECT").split(",")}, line
        assert '"total"' not in asked
        assert '"customer" = 2' in line, line


def test_joins_groups_and_windows_over_tables_and_files(shop: Shop) -> None:
    orders, customers = shop.table("orders"), shop.table("customers")
    joined = orders.join(customers, orders.customer == customers.code).groupBy("name").sum("total")
    out = shop.write(joined)
    assert shop.keys(out, "name = 'c4'") == {("customers", 4)} | {("orders", i) for i in range(4, 100, 7)}
    next_job = shop.write(shop.spark.read.parquet(str(out)).where("name <> 'c1'").selectExpr("upper(name) AS big"))
    assert shop.keys(next_job, "big = 'C4'") == {("customers", 4)} | {("orders", i) for i in range(4, 100, 7)}
    itself = shop.write(orders.alias("a").join(orders.alias("b"), "id").selectExpr("id", "a.note"))
    assert shop.keys(itself, "id = 5") == {("orders", 5)}


def test_a_witness_is_chosen_by_values_that_are_read_again(shop: Shop) -> None:
    out = shop.write(shop.table("orders").groupBy("customer").agg({"total": "max"}).toDF("customer", "most"))
    assert shop.keys(out, "customer = 3", semantics=Semantics.WITNESS, column="most") == {("orders", 94)}


def test_forward_from_a_row_by_its_key_and_by_a_predicate(shop: Shop) -> None:
    out = shop.write(shop.table("customers").selectExpr("name AS called"))
    uri = f"{shop.server.namespace}/shop.public.customers"
    for asked in ({"rows": [(uri, 3)]}, {"where": "name = 'c3'"}):
        answer = shop.traced(uri, forward=True, to=str(out), **asked)
        assert answer.exact, answer.incomplete
        assert [record.values for record in answer.records] == [{"called": "c3"}]


def test_keys_of_all_sizes(shop: Shop) -> None:
    out, uri = shop.write(shop.table("large")), f"{shop.server.namespace}/shop.public.large"
    for key in (0, 1 << 40, (1 << 62) + 5, (1 << 63) - 2):
        assert shop.keys(out, f"id = {key}") == {("large", key)}
        answer = shop.traced(uri, rows=[(uri, key)], forward=True)
        assert [record.values["id"] for record in answer.records] == [key]


def test_a_key_that_no_reference_holds_is_said_to_be_missing(shop: Shop) -> None:
    out = shop.write(shop.table("negative"))
    answer = shop.traced(out, "id = -1")
    assert (answer.exact, list(answer.records)) == (False, [])
    assert any("less than 0" in entry.reason for entry in answer.incomplete)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("seen", "no primary key"), ("parent", "inherit"),
        ("(SELECT * FROM orders) t", "query has no primary key"), ("orders!sessionInitStatement", "depends on a statement"),
    ],
)  # fmt: skip
def test_what_has_no_key_is_refused_by_name(shop: Shop, name: str, reason: str) -> None:
    name, _, option = name.partition("!")
    shop.write(shop.table(name, **({option: "SET search_path TO public"} if option else {})))
    (problem,) = [problem for problem in shop.event["capture"]["problems"] if problem["kind"] == "refused"]
    assert reason in problem["reason"]
    assert shop.event["capture"]["status"] == "refused"


def test_a_declared_key_is_taken_and_one_that_several_rows_have_is_said(shop: Shop) -> None:
    out = shop.write(shop.table("keyless"))
    assert shop.keys(out, "v = 10") == {("keyless", 1)}
    answer = shop.traced(out, "v = 20")
    assert [(record.row, record.values) for record in answer.records] == [(2, {})]
    assert any("several rows have this key" in entry.reason for entry in answer.incomplete)


def test_odd_names_and_values_are_read_as_they_are(shop: Shop) -> None:
    out = shop.write(shop.table('"Odd.One"."a ""%41:b"').toDF("key", "text"))
    answer = shop.traced(out, "key = 3")
    assert [record.values for record in answer.records] == [{'the ":id': 3, "select $$": "x'; DROP TABLE orders; --"}]
    assert shop.keys(shop.write(shop.table("parted")), "id = 12") == {("parted", 12)}


def test_a_row_that_changed_since_says_so_and_shows_no_value(shop: Shop) -> None:
    shop.server.run("CREATE TABLE moving (id int PRIMARY KEY, v int)", "INSERT INTO moving SELECT i, i FROM generate_series(1, 5) i")
    first = shop.write(shop.table("moving").selectExpr("id AS k", "v"))
    shop.server.run("UPDATE moving SET v = 20 WHERE id = 2", "DELETE FROM moving WHERE id = 3", "VACUUM FREEZE moving")
    moving = f"{shop.server.namespace}/shop.public.moving"
    forward = shop.traced(moving, "v >= 1", forward=True, to=str(first))
    assert not forward.exact
    assert sorted(record.values["k"] for record in forward.records) == [1, 4, 5]
    assert any("1 of its rows, such as 2, were left out" in entry.reason for entry in forward.incomplete)
    for key in (2, 3):
        forward = shop.traced(moving, rows=[(moving, key)], forward=True, to=str(first))
        assert (forward.exact, [record.values["k"] for record in forward.records]) == (True, [key])
    second = shop.write(shop.table("moving").selectExpr("id AS k", "v"))

    def seen(out: Path, key: int) -> tuple[dict[str, Any], list[str]]:
        answer = shop.traced(out, f"k = {key}")
        assert answer.exact
        (record,) = answer.records
        assert record.row == key
        return dict(record.values), [entry.reason for entry in answer.incomplete]

    assert seen(first, 1) == ({"id": 1, "v": 1}, [])
    values, (reason,) = seen(first, 2)
    assert (values, "has changed since the run read it" in reason) == ({}, True)
    values, (reason,) = seen(first, 3)
    assert (values, "no record of this key any more" in reason) == ({}, True)
    assert seen(second, 2) == ({"id": 2, "v": 20}, [])
    shop.server.run("DROP TABLE moving", "CREATE TABLE moving (id int PRIMARY KEY, v int)", "INSERT INTO moving VALUES (1, 100)")
    values, (reason,) = seen(first, 1)
    assert (values, "has changed" in reason or "made anew" in reason) == ({}, True)


@pytest.mark.parametrize(
    ("alteration", "reason"),
    [
        (["ALTER TABLE {0} RENAME COLUMN v TO x", "ALTER TABLE {0} RENAME COLUMN w TO v"], "was altered since"),
        (["ALTER TABLE {0} DROP COLUMN v", "ALTER TABLE {0} ADD COLUMN v int DEFAULT 7"], "was altered since"),
        (["ALTER TABLE {0} RENAME COLUMN id TO old", "ALTER TABLE {0} RENAME COLUMN w TO id"], "was altered since"),
        (["ALTER TABLE {0} DROP COLUMN v"], "was altered since"),
        (["ALTER TABLE {0} DROP COLUMN id"], "has no column id any more"),
        (["DROP TABLE {0}"], "there is no table"),
    ],
)
def test_a_table_that_was_altered_since_shows_no_value(shop: Shop, alteration: list[str], reason: str) -> None:
    name = f"altered{uuid4().hex[:8]}"
    shop.server.run(f"CREATE TABLE {name} (id int PRIMARY KEY, v int, w int)", f"INSERT INTO {name} VALUES (1, 10, 1)")
    out = shop.write(shop.table(name).selectExpr("id AS k", "v"))
    assert shop.keys(out, "k = 1") == {(name, 1)}
    assert not shop.traced(out, "k = 1").incomplete
    shop.server.run(*(statement.format(name) for statement in alteration))
    answer = shop.traced(out, "k = 1")
    assert [(record.row, record.values) for record in answer.records] == [(1, {})]
    assert any(reason in entry.reason for entry in answer.incomplete), answer.incomplete


def test_a_row_of_a_partition_that_was_attached_since_shows_no_value(shop: Shop) -> None:
    shop.server.run(
        "CREATE TABLE swapped (id int PRIMARY KEY, v int) PARTITION BY RANGE (id)",
        "CREATE TABLE swapped_1 PARTITION OF swapped FOR VALUES FROM (0) TO (10)", "INSERT INTO swapped VALUES (1, 10)",
        "CREATE TABLE swapped_2 (id int PRIMARY KEY, v int)", "INSERT INTO swapped_2 VALUES (1, 20)",
    )  # fmt: skip
    out = shop.write(shop.table("swapped"))
    shop.server.run(
        "ALTER TABLE swapped DETACH PARTITION swapped_1", "ALTER TABLE swapped ATTACH PARTITION swapped_2 FOR VALUES FROM (0) TO (10)"
    )
    answer = shop.traced(out, "id = 1")
    assert [(record.row, record.values) for record in answer.records] == [(1, {})]
    assert any("partition that was attached since" in entry.reason for entry in answer.incomplete)


def test_values_that_spark_was_told_to_read_otherwise_choose_no_witness(shop: Shop) -> None:
    table = shop.table("orders", customSchema="total INT")
    out = shop.write(table.groupBy("customer").agg({"total": "max"}).toDF("customer", "most"))
    answer = shop.traced(out, "customer = 3", semantics=Semantics.WITNESS, column="most")
    assert not answer.exact
    assert len(answer.records) > 1


def test_groups_over_a_table_are_written_whatever_a_trace_may_take(shop: Shop) -> None:
    out = shop.write(shop.table("orders").groupBy("customer").sum("total").toDF("customer", "whole"))
    assert shop.keys(out, "customer = 3") == {("orders", i) for i in range(3, 100, 7)}
    assert not [boundary for boundary in shop.event["capture"]["boundaries"] if boundary.get("derive")]


def test_a_manifest_that_names_what_the_database_knows_of_itself_reads_nothing(shop: Shop) -> None:
    remote = shop.remote(shop.server.root(seconds=3))
    asked = RowRequest(key="oid", keys=[10], columns=[("rolpassword", "string")])
    for name in ("pg_catalog.pg_authid", "information_schema.tables", "pg_toast.pg_toast_1255"):
        table = remote.table(f"{shop.server.namespace}/shop.{name}")
        with pytest.raises(UnsupportedError, match="of the database itself"):
            table.store.rows(table.parts, asked)
    for uri in (f"{shop.server.namespace}/postgres.public.orders", "postgres://127.0.0.1:1/shop.public.orders"):
        with pytest.raises(UnsupportedError, match="no root states"):
            remote.table(uri)


def test_a_witness_by_values_that_changed_is_a_superset(shop: Shop) -> None:
    shop.server.run("CREATE TABLE best (id int PRIMARY KEY, v int)", "INSERT INTO best SELECT i, i FROM generate_series(1, 5) i")
    out = shop.write(shop.table("best").groupBy().max("v").toDF("most"))
    shop.server.run("UPDATE best SET v = 0 WHERE id = 5")
    answer = shop.traced(out, "most = 5", semantics=Semantics.WITNESS)
    assert not answer.exact
    assert {record.row for record in answer.records} == {1, 2, 3, 4, 5}


def test_without_settings_of_the_service_rows_have_keys_and_no_values(shop: Shop) -> None:
    out = shop.write(shop.table("orders").where("id = 7").select("note"))
    answer = shop.traced(out, "note = 'n7'", store=shop.store_of(Remote(())))
    assert [(record.row, record.values) for record in answer.records] == [(7, {})]
    (entry,) = answer.incomplete
    assert "not readable here" in entry.reason
    assert answer.exact


@pytest.mark.parametrize("fault", ["down", "silent", "password", "locked"])
def test_a_database_that_does_not_answer_is_said_within_the_deadline(shop: Shop, fault: str) -> None:
    out = shop.write(shop.table("orders").where("id = 8").select("note"))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        more = {
            "down": {"endpoint": "127.0.0.1:1"},
            "silent": {"endpoint": f"127.0.0.1:{port}"},
            "password": {"password": "wrong"},
            "locked": {},
        }
        store = shop.store_of(shop.remote(shop.server.root(seconds=1, **more[fault])))
        with pg8000.native.Connection(USER, host="127.0.0.1", port=shop.server.port, database="shop", password=PASSWORD) as other:
            if fault == "locked":
                other.run("BEGIN")
                other.run("LOCK TABLE orders IN ACCESS EXCLUSIVE MODE")
            began = time.monotonic()
            answer = shop.traced(out, "note = 'n8'", store=store)
            assert time.monotonic() - began < 25
    assert [(record.row, record.values) for record in answer.records] == [(8, {})]
    (entry,) = answer.incomplete
    assert "cannot be read" in entry.reason
    assert PASSWORD not in json.dumps([entry.what, entry.reason])


def test_a_database_that_is_slow_costs_the_query_two_seconds_and_its_records(shop: Shop) -> None:
    """Nothing goes through to the database from the moment of planning on, for three seconds."""
    with _proxy(shop.server.port) as proxy:
        url = f"jdbc:postgresql://127.0.0.1:{proxy.port}/shop"
        frame = shop.table("customers", url=url)
        shop.write(frame.limit(3))
        assert shop.event["capture"]["status"] == "complete"
        frame = shop.table("customers", url=url)
        proxy.silent_until = time.monotonic() + 3
        out = shop.write(frame)
    assert shop.spark.read.parquet(str(out)).count() == 7
    (problem,) = shop.event["capture"]["problems"]
    assert "no answer within 2.0 s" in problem["reason"]
    assert shop.event["capture"]["cost"]["planning_ms"] < 2_900


class _Proxy(socketserver.ThreadingTCPServer):
    """Hands bytes on to a server, but for the times when it is silent."""

    daemon_threads = True

    def __init__(self, behind: int) -> None:
        super().__init__(("127.0.0.1", 0), _Pipe)
        self.behind = behind
        self.silent_until = 0.0
        self.port = int(self.server_address[1])


class _Pipe(socketserver.BaseRequestHandler):
    server: _Proxy

    def handle(self) -> None:
        time.sleep(max(0.0, self.server.silent_until - time.monotonic()))
        with socket.create_connection(("127.0.0.1", self.server.behind)) as there:
            back = threading.Thread(target=self._copy, args=(there, self.request), daemon=True)
            back.start()
            self._copy(self.request, there)
            back.join()

    @staticmethod
    def _copy(given: socket.socket, to: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while read := given.recv(65536):
                to.sendall(read)
            to.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def _proxy(behind: int) -> Iterator[_Proxy]:
    with _Proxy(behind) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        yield proxy
        proxy.shutdown()
