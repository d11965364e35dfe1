"""Programs that read and write a real PostgreSQL: tables, columns and their names; no password anywhere; no harm done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.databases import PASSWORD, USER, Postgres, postgres, postgres_driver
from tests.spark_listener.spark import environment, logged, run, script

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.lake, pytest.mark.timeout(600)]

TABLES = (
    "CREATE TABLE orders (id int PRIMARY KEY, customer int, total numeric(10,2))",
    "INSERT INTO orders SELECT i, i % 5, i * 1.5 FROM generate_series(1, 40) i",
    "CREATE TABLE customers (id bigint PRIMARY KEY, name text)",
    "INSERT INTO customers SELECT i, 'c' || i FROM generate_series(0, 4) i",
    'CREATE SCHEMA "Sales.EU"',
    'CREATE TABLE "Sales.EU"."Order Items" (id int PRIMARY KEY, "Unit ""Price""" int)',
    """INSERT INTO "Sales.EU"."Order Items" SELECT i, i * 2 FROM generate_series(1, 10) i""",
)
PROGRAM = """
    import os
    from pyspark.sql import SparkSession

    url, user, password = (os.environ[name] for name in ("SHOP_URL", "SHOP_USER", "SHOP_WORD"))
    spark = SparkSession.builder.appName("shop").getOrCreate()
    secret = f"{url}?user={user}&password={password}&ApplicationName=x"

    def table(name, **more):
        return spark.read.format("jdbc").options(url=url, user=user, password=password, dbtable=name, **more).load()

    def query(text, **more):
        return spark.read.format("jdbc").options(url=secret, query=text, **more).load()

    orders, customers = table("orders"), table("public.customers")
    orders.join(customers, orders.customer == customers.id).select(orders.id, "name", "total").write.parquet("joined")
    table('"Sales.EU"."Order Items"').write.parquet("quoted")
    joined = "orders o JOIN customers c ON o.customer = c.id WHERE c.id > 1"
    query(f"SELECT o.id, c.name AS who, o.total * 2 AS twice FROM {joined}").write.parquet("by_query")
    spark.read.jdbc(secret, "(SELECT id, total FROM orders WHERE id < 9) t", properties={"user": user}).write.parquet("in_brackets")
    odd = "LATERAL (VALUES (x.id)) v(y), XMLTABLE('a' PASSING NULL COLUMNS z int)"
    query(f"SELECT x.id FROM orders AS x, {odd} WHERE x.id < 3").write.parquet("odd")
    query("SELECT name, total, (SELECT max(c) FROM (SELECT count(*) c FROM orders o WHERE o.customer = customers.id) x) AS n "
          "FROM customers JOIN orders ON customers.id = customer").write.parquet("unqualified")
    table("orders AS o JOIN (SELECT id AS cid, name FROM customers) c ON customer = cid").select("name", "total").write.parquet("from_join")
    table("customers c").write.parquet("alias")
    table("t", prepareQuery="WITH t AS (SELECT name AS n FROM customers)").write.parquet("prepared")
    twice = orders.selectExpr("id", "total * 2 AS twice").write.format("jdbc").options(url=secret)
    twice.option("dbtable", "copies").save()
    twice.option("dbtable", "public.copies").mode("append").save()
    spark.read.parquet("joined").write.jdbc(url, "joined", "overwrite", {"user": user, "password": password})
    orders.createOrReplaceTempView("o")
    spark.sql(f"CREATE TEMP VIEW c USING jdbc OPTIONS (url '{url}', dbtable 'copies', user '{user}', password '{password}')")
    spark.sql("INSERT INTO c SELECT id + 100, total FROM o")
    spark.stop()
"""


class Shop(NamedTuple):
    """The effects of the program, and its lineage."""

    server: Postgres
    home: Path
    events: list[dict[str, Any]]
    said: str

    def of(self, output: str) -> dict[str, Any]:
        """The last event of the job that wrote a dataset, by the end of its name."""
        return next(event for event in reversed(self.events) if any(d["name"].endswith(output) for d in event["outputs"]))

    def inputs(self, output: str) -> set[tuple[str, str]]:
        return {(dataset["namespace"], dataset["name"]) for dataset in self.of(output)["inputs"]}

    def columns(self, output: str) -> dict[str, set[tuple[str, str]]]:
        """The source tables and columns of each written column."""
        (written,) = self.of(output)["outputs"]
        fields = written["facets"]["columnLineage"]["fields"]
        return {name: {(entry["name"], entry["field"]) for entry in made["inputFields"]} for name, made in fields.items()}


@pytest.fixture(scope="module", params=[pytest.param("coarse", marks=pytest.mark.torture), "auto"])
def shop(tmp_path_factory: pytest.TempPathFactory, root: Path, request: pytest.FixtureRequest) -> Iterator[Shop]:
    with postgres() as server:
        server.run(*TABLES)
        folder = tmp_path_factory.mktemp("shop")
        script(folder, "shop.py", PROGRAM)
        env = environment(root, SHOP_URL=server.url, SHOP_USER=USER, SHOP_WORD=PASSWORD)
        jar = next(postgres_driver().glob("*.jar"))
        jars = f"--jars {jar} --driver-class-path {jar} pyspark-shell"
        env["PYSPARK_SUBMIT_ARGS"] = env["PYSPARK_SUBMIT_ARGS"].replace("pyspark-shell", jars)
        done = run(["-m", "headwater", "run", "--home", "home", "--mode", request.param, "shop.py"], folder, env)
        assert done.returncode == 0, done.stdout + done.stderr
        home = folder / "home"
        yield Shop(server, home, [event for event in logged(home) if event["eventType"] == "COMPLETE"], done.stdout + done.stderr)


def test_tables_are_named_by_database_schema_and_table(shop: Shop) -> None:
    where = shop.server.namespace
    assert shop.inputs("/joined") == {(where, "shop.public.orders"), (where, "shop.public.customers")}
    assert shop.inputs("/quoted") == {(where, 'shop."Sales.EU".Order Items')}
    assert shop.columns("/joined")["name"] == {("shop.public.customers", "name")}


def test_rows_that_were_read_are_counted_by_table_and_those_of_a_query_s_result_are_not(shop: Shop) -> None:
    rows = {
        output: {
            item["name"]: (item.get("inputFacets") or {}).get("inputStatistics", {}).get("rowCount") for item in shop.of(output)["inputs"]
        }
        for output in ("/joined", "/by_query", "/in_brackets")
    }
    assert rows["/joined"]["shop.public.orders"] == 40
    assert rows["/joined"]["shop.public.customers"]
    assert {*rows["/by_query"].values(), *rows["/in_brackets"].values()} == {None}


def test_a_query_is_known_by_its_tables_and_columns(shop: Shop) -> None:
    where = shop.server.namespace
    assert shop.inputs("/by_query") == {(where, "shop.public.orders"), (where, "shop.public.customers")}
    assert shop.columns("/by_query") == {
        "id": {("shop.public.orders", "id")}, "who": {("shop.public.customers", "name")}, "twice": {("shop.public.orders", "total")},
    }  # fmt: skip
    assert shop.inputs("/in_brackets") == {(where, "shop.public.orders")}


def test_columns_without_a_table_are_those_that_the_database_states(shop: Shop) -> None:
    names = {("shop.public.customers", "name")}
    assert shop.columns("/unqualified") == {"name": names, "total": {("shop.public.orders", "total")}}
    assert shop.columns("/from_join") == {"name": names, "total": {("shop.public.orders", "total")}}
    assert shop.columns("/alias")["name"] == names
    assert shop.columns("/prepared") == {"n": names}
    for output in ("/unqualified", "/from_join", "/alias", "/prepared"):
        assert not any(
            "of a query's result" in problem["reason"] for problem in shop.of(output)["run"]["facets"]["headwater_capture"]["problems"]
        )


def test_a_query_that_cannot_be_parsed_is_the_database_and_the_ledger_says_so(shop: Shop) -> None:
    read = shop.inputs("/odd")
    assert read in ({(shop.server.namespace, "shop")}, {(shop.server.namespace, "shop.public.orders")})
    if read == {(shop.server.namespace, "shop")}:
        assert "which tables of shop its query reads is not known" in json.dumps(shop.of("/odd"))


def test_what_is_written_is_named_alike_and_its_change_is_told(shop: Shop) -> None:
    event = shop.of("shop.public.joined")
    (written,) = event["outputs"]
    assert (written["namespace"], written["name"]) == (shop.server.namespace, "shop.public.joined")
    assert written["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "OVERWRITE"
    copies = [event for event in shop.events if any(d["name"] == "shop.public.copies" for d in event["outputs"])]
    assert len(copies) == 3
    assert all({d["name"] for d in event["inputs"]} == {"shop.public.orders"} for event in copies)
    for event in copies:
        fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]
        assert {(entry["name"], entry["field"]) for entry in fields["twice"]["inputFields"]} == {("shop.public.orders", "total")}
    assert shop.server.run("SELECT count(*), sum(id) FROM copies") == [[120, 3 * 820 + 4000]]


def test_no_password_is_anywhere(shop: Shop) -> None:
    assert PASSWORD not in shop.said
    for path in shop.home.rglob("*"):
        if path.is_file():
            assert PASSWORD.encode() not in path.read_bytes(), path
