"""Tables of databases and topics of Kafka are named by the rules, whatever their URLs hold; and no secret of a URL is kept."""

from __future__ import annotations

import pytest

from headwater.spark_listener.lineage.connected import connected
from headwater.spark_listener.lineage.datasets import inputs_of, output_of, unknown_datasets
from headwater.spark_listener.lineage.jdbc import database_of, parts_of

PG = "jdbc:postgresql://db.example:5433/shop"
ORDERS = ("postgres://db.example:5433", "shop.public.orders")
CUSTOMERS = ("postgres://db.example:5433", "shop.public.customers")


@pytest.mark.parametrize(
    ("url", "table", "namespace", "name"),
    [
        (PG, "orders", *ORDERS),
        (PG, "public.Orders", *ORDERS),
        (PG, '"Orders"', ORDERS[0], "shop.public.Orders"),
        (PG, '"sales.eu"."a ""b"""', ORDERS[0], 'shop."sales.eu"."a ""b"""'),
        (PG, "other.public.orders", ORDERS[0], "other.public.orders"),
        (f"{PG}?currentSchema=sales,public", "orders", ORDERS[0], "shop.sales.orders"),
        ("jdbc:postgresql://DB.example/shop", "orders", "postgres://db.example:5432", "shop.public.orders"),
        ("jdbc:postgresql:shop", "orders", "postgres://localhost:5432", "shop.public.orders"),
        ("jdbc:postgresql://[::1]:5433/a%20b", "orders", "postgres://[::1]:5433", "a b.public.orders"),
        ("jdbc:postgresql://one:1,two:2/shop", "orders", "postgres://one:1", "shop.public.orders"),
        ("jdbc:mysql://db/shop?useSSL=false", "`orders`", "mysql://db:3306", "shop.orders"),
        ("jdbc:mysql://db/shop", "other.Orders", "mysql://db:3306", "other.Orders"),
        ("jdbc:mariadb:replication://db:3307/shop", "orders", "mysql://db:3307", "shop.orders"),
        ("jdbc:sqlserver://db\\inst:1434;databaseName=shop;encrypt=true", "[Orders]", "mssql://db:1434", "shop.dbo.Orders"),
        ("jdbc:oracle:thin:@//db:1522/svc.example", "scott.orders", "oracle://db:1522", '"svc.example".SCOTT.ORDERS'),
        ("jdbc:oracle:thin:@db:1521:orcl", "scott.orders", "oracle://db:1521", "orcl.SCOTT.ORDERS"),
        (
            "jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=db)(PORT=1523))(CONNECT_DATA=(SERVICE_NAME=svc)))",
            "s.t", "oracle://db:1523", "svc.S.T",
        ),
        ("jdbc:redshift://c.eu-west-1.example:5439/dev", "t", "redshift://c.eu-west-1.example:5439", "dev.public.t"),
        ("jdbc:snowflake://org-account.snowflakecomputing.com/?db=D&schema=S", "t", "snowflake://org-account", "D.S.T"),
        ("jdbc:trino://db:8443/hive/sales", "orders", "trino://db:8443", "hive.sales.orders"),
        ("jdbc:db2://db:50000/SHOP", "s.t", "db2://db:50000", "SHOP.S.T"),
        ("jdbc:h2:mem:shop;DB_CLOSE_DELAY=-1", "orders", "h2", '"mem:shop".orders'.replace('"', "")),
    ],
)  # fmt: skip
def test_a_table_is_named_by_the_rules(url: str, table: str, namespace: str, name: str) -> None:
    found = connected({"jdbc": {"url": url, "dbtable": table}})
    assert found is not None
    assert (list(found.datasets), found.problem) == ([(namespace, name)], None)


LEAKS = [
    "jdbc:postgresql://app:hunter2@db/shop", "jdbc:postgresql://app:hun@ter/hunter2@db/shop", "jdbc:postgresql://db/shop?user=a&password=hunter2",
    "jdbc:mysql://app:hunter2@db:1/shop", "jdbc:mysql://(host=db,port=1,user=app,password=hunter2)/shop",
    "jdbc:mysql://address=(host=db)(port=1)(user=app)(password=hunter2)/shop",
    "jdbc:sqlserver://db;user=sa;password={hunter2};databaseName=x",
    "jdbc:sqlserver://db;databaseName=x;password=hunter2", "jdbc:oracle:thin:scott/hunter2@//db:1521/x",
    "jdbc:oracle:thin:scott/hunter2@db",
    'jdbc:oracle:thin:scott/"hun@hunter2"@db:1521:x', "jdbc:h2:tcp://app:hunter2@db/~/x;PASSWORD=hunter2",
    "jdbc:hunter2 no url", "hunter2@@@",
    "jdbc:snowflake://hunter2@org.snowflakecomputing.com?password=hunter2", "jdbc:teradata://db/USER=a,PASSWORD=hunter2,DATABASE=x",
    "jdbc:derby:/data/x;user=a;password=hunter2", "jdbc:unknown:app/hunter2@db:1/x", "jdbc:postgresql://db/x?password=hunter2@y",
]  # fmt: skip


@pytest.mark.parametrize("url", LEAKS)
def test_no_secret_of_a_url_is_in_a_name(url: str) -> None:
    database = database_of(url)
    parts = parts_of("t", database)
    assert parts is not None
    assert "hunter2" not in repr((database.table(parts), database.whole()))


def test_two_tables_of_one_database_are_two_datasets() -> None:
    plan = {"sources": [jdbc(0, dbtable="orders"), jdbc(1, dbtable="customers"), jdbc(2, dbtable="Public.orders")]}
    assert [(dataset.namespace, dataset.name) for dataset in inputs_of(plan)] == [ORDERS, CUSTOMERS]


JOINED = "SELECT o.id, c.name AS who, o.total * 2 AS twice FROM orders o JOIN Customers c ON o.customer = c.id WHERE c.vip"
WITH = (
    "WITH v AS (SELECT * FROM customers WHERE vip), n AS (SELECT id, name, name FROM v) SELECT o.id, n.name AS who, "
    "o.total + o.total AS twice FROM (SELECT id, customer, total FROM orders) o JOIN n ON o.customer = n.id"
)


@pytest.mark.parametrize("told", [{"query": JOINED}, {"dbtable": f'({JOINED}) AS "t 1"'}, {"query": WITH}])
def test_a_query_reads_its_tables_and_their_columns(told: dict[str, str]) -> None:
    source = jdbc(0, **told) | {"columns": [{"name": name, "type": "int"} for name in ("id", "who", "twice")]}
    columns = [{"attr": place, "name": name, "type": "int"} for place, name in enumerate(("id", "who", "twice"))]
    plan = {
        "sources": [source],
        "operators": [{"id": 0, "op": "Write", "children": [1]}, {"id": 1, "op": "Scan", "source": 0, "columns": columns}],
        "sink": {"path": "file:/out", "format": "parquet", "mode": "overwrite", "columns": columns},
    }
    assert {(dataset.namespace, dataset.name) for dataset in inputs_of(plan)} == {ORDERS, CUSTOMERS}
    assert all("schema" not in dataset.facets for dataset in inputs_of(plan))  # the result's columns are no table's
    output = output_of(plan, None)
    assert output is not None
    facet = output.facets["columnLineage"]
    found = {
        column: {(entry["name"], entry["field"], entry["transformations"][0]["subtype"]) for entry in made["inputFields"]}
        for column, made in facet["fields"].items()
    }
    assert found == {
        "id": {("shop.public.orders", "id", "IDENTITY")},
        "who": {("shop.public.customers", "name", "IDENTITY")},
        "twice": {("shop.public.orders", "total", "TRANSFORMATION")},
    }
    decides = {(entry["name"], entry["field"], entry["transformations"][0]["subtype"]) for entry in facet["dataset"]}
    assert decides >= {("shop.public.customers", "vip", "FILTER"), ("shop.public.orders", "customer", "JOIN")}


@pytest.mark.parametrize(
    "told",
    [
        {"query": "SELEC nothing that parses (("}, {"query": "SELECT 1; DROP TABLE orders"}, {"query": "DELETE FROM orders"},
        {"query": "SELECT " + "(" * 5000 + "1" + ")" * 5000}, {"query": "x" * 100_000}, {"dbtable": "(("}, {"dbtable": "a b c"}, {},
    ],
)  # fmt: skip
def test_what_cannot_be_parsed_is_the_database_as_a_whole_and_said(told: dict[str, str]) -> None:
    plan = {"sources": [jdbc(0, **told)]}
    assert [(dataset.namespace, dataset.name) for dataset in inputs_of(plan)] == [(ORDERS[0], "shop")]
    (problem,) = unknown_datasets(plan)
    assert problem["kind"] == "missing"
    assert "which tables of shop" in problem["reason"]


def test_a_union_takes_columns_by_their_place() -> None:
    source = jdbc(0, query="SELECT a AS x, b AS y FROM t UNION ALL SELECT c, a FROM u") | {"columns": [{"name": "x"}, {"name": "y"}]}
    found = connected(source)
    assert found is not None
    assert found.by_query is not None
    named = {column: {(table[1], field) for table, field, _ in reads} for column, reads in found.by_query.columns.items()}
    assert named == {"x": {("shop.public.t", "a"), ("shop.public.u", "c")}, "y": {("shop.public.t", "b"), ("shop.public.u", "a")}}


def test_topics_are_named_by_the_first_broker() -> None:
    found = connected({"kafka": {"servers": "SASL_SSL://one:9093, two:9093", "topics": ["a", "b"]}})
    assert found is not None
    assert list(found.datasets) == [("kafka://one:9093", "a"), ("kafka://one:9093", "b")]
    unknown = connected({"kafka": {"servers": "one", "topics": []}})
    assert unknown is not None
    assert unknown.problem


def jdbc(number: int, **told: str) -> dict[str, object]:
    return {"source": number, "format": "jdbc", "jdbc": {"url": PG, **told}, "columns": []}
