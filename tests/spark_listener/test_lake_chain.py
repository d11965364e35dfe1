"""One record through a whole lake: PostgreSQL, an Iceberg table, a Delta table, Parquet on S3 under two schemes, and CSV. All is real.

One program has every connector in one session, as a company's has; its home may read the database and the bucket. Tables are given by
their catalogs' names where they have such, by paths else, and every hop is asked about from both ends.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest

from headwater.backend.home.settings import DEFAULT_TENANT, load_settings
from headwater.backend.workspace import Workspace
from headwater.graph.model import NodeKind
from headwater.graph.trace import Semantics, TraceAnswer, TracedRecord, TraceRequest
from tests.databases import PASSWORD, USER, Postgres, postgres, postgres_driver
from tests.jvm import submit
from tests.lake import s3, table_jars
from tests.lake_home import Home

pytestmark = [
    pytest.mark.lake,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("s3a"),
    pytest.mark.skipif(not pyspark.__version__.startswith("4.1."), reason="the connectors are those of Spark 4.1"),
]

TABLES = (
    "CREATE TABLE orders (id int PRIMARY KEY, customer int, total int)",
    "INSERT INTO orders SELECT i, i % 7, i * 3 FROM generate_series(0, 49) i",
    "CREATE TABLE customers (code bigint PRIMARY KEY, name text)",
    "INSERT INTO customers SELECT i, 'c' || i FROM generate_series(0, 6) i",
)
SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
    "spark.sql.catalog.lake.warehouse": "s3a://lake/warehouse",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}
PROGRAM = """
import sys
from pyspark.sql import SparkSession, functions as F

url, user, password, report = sys.argv[1:]
spark = SparkSession.builder.appName("chain").getOrCreate()


def table(name):
    return spark.read.format("jdbc").options(url=url, user=user, password=password, dbtable=name).load()


table("orders").where("id <> 3").writeTo("lake.shop.orders").using("iceberg").create()
spark.sql("UPDATE lake.shop.orders SET total = total + 1000 WHERE id = 10")
orders = spark.table("lake.shop.orders").join(table("customers"), F.col("customer") == F.col("code"))
orders.select("id", "name", "total").write.format("delta").save("s3a://lake/delta/named")
spark.sql("DELETE FROM delta.`s3a://lake/delta/named` WHERE id = 17")
named = spark.read.format("delta").load("s3a://lake/delta/named")
named.groupBy("name").agg(F.sum("total").alias("sum"), F.max("total").alias("most")).write.parquet("s3a://lake/sums")
spark.read.parquet("s3://lake/sums").where("name <> 'c1'").coalesce(1).write.csv(report, header=True)
"""
OF_C3 = {10, 24, 31, 38, 45}  # of 3, 10, 17, … those that are neither left out nor deleted


class Chain(Home):
    """The home, the database, and where the program's last output lies."""

    def __init__(self, folder: Path, server: Postgres, root: str) -> None:
        super().__init__(folder, root + server.root())
        self.server, self.report = server, folder / "report"

    def uri(self, table: str) -> str:
        """The name of a table of the database."""
        return f"{self.server.namespace}/shop.public.{table}"

    def found(self, dataset: str, **asked: Any) -> list[TracedRecord]:
        """The records of an answer, which is exact, lacks nothing and shows all values."""
        answer = asyncio.run(self._ask(TraceRequest(dataset=dataset, **asked)))
        assert (answer.exact, answer.incomplete) == (True, []), [entry.reason for entry in answer.incomplete]
        assert all(record.values for record in answer.records)
        return list(answer.records)

    async def _ask(self, request: TraceRequest) -> TraceAnswer:
        async with await Workspace.open(load_settings(home=self.home)) as workspace:
            await asyncio.to_thread(workspace.take_spool)
            await workspace.settle()
            return await workspace.trace(DEFAULT_TENANT, request)

    def jobs(self) -> set[str]:
        """The names of all jobs that are known."""

        async def known() -> set[str]:
            async with await Workspace.open(load_settings(home=self.home)) as workspace:
                return {node.name for node in (await workspace.graph.search(DEFAULT_TENANT, "", kinds=[NodeKind.JOB], first=100)).nodes}

        return asyncio.run(known())

    def keys(self, records: list[TracedRecord]) -> set[tuple[str, int | None]]:
        """The tables and keys of rows of the database."""
        assert {record.file for record in records} <= {self.uri("orders"), self.uri("customers")}
        return {(str(record.file).rpartition(".")[2], record.row) for record in records}


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chain]:
    folder = tmp_path_factory.mktemp("chain")
    with postgres() as server, s3(folder / "s3") as store:
        server.run(*TABLES)
        (folder / "s3" / "lake").mkdir()
        chain = Chain(folder, server, store.root("s3://lake"))
        (folder / "job.py").write_text(PROGRAM)
        driver = next(postgres_driver().glob("*.jar"))
        jars = ",".join([store.spark["spark.jars"], *map(str, sorted(table_jars().glob("*.jar"))), str(driver)])
        settings = {**store.spark, **SETTINGS, "spark.jars": jars, "spark.driver.extraClassPath": str(driver)}
        options = " ".join(f"--conf {shlex.quote(f'{name}={value}')}" for name, value in settings.items())
        chain.headwater(
            "run", str(folder / "job.py"), server.url, USER, PASSWORD, f"file:{chain.report}",
            PYSPARK_SUBMIT_ARGS=submit(f"--master local[2] {options}"), HEADWATER_READABLE="s3://lake",
        )  # fmt: skip
        yield chain


def test_each_command_is_a_job_by_one_name_however_long_it_runs(chain: Chain) -> None:
    assert chain.found(str(chain.report), where="name = 'c0'")
    assert {name.removeprefix("chain.execute_") for name in chain.jobs() if name.startswith("chain.execute_")} == {
        "create_table_as_select.orders", "replace_data.orders", "save_into_data_source_command.named", "delete_command.named",
        "insert_into_hadoop_fs_relation_command.sums", "insert_into_hadoop_fs_relation_command.report",
    }  # fmt: skip


def test_a_line_of_the_report_is_traced_back_to_the_rows_of_the_database(chain: Chain) -> None:
    records = chain.found(str(chain.report), where="name = 'c3'")
    assert chain.keys(records) == {("customers", 3)} | {("orders", key) for key in OF_C3}
    orders = {record.row: record.values for record in records if record.file == chain.uri("orders")}
    assert orders == {key: {"id": key, "customer": 3, "total": key * 3} for key in OF_C3}


def test_of_the_largest_order_one_row_is_the_witness(chain: Chain) -> None:
    records = chain.found(str(chain.report), where="name = 'c3'", column="most", semantics=Semantics.WITNESS)
    assert chain.keys(records) == {("customers", 3), ("orders", 10)}


def test_a_row_of_the_database_is_followed_to_its_line(chain: Chain) -> None:
    for chosen in ({"rows": [(chain.uri("orders"), 24)]}, {"where": "id = 24"}):
        (line,) = chain.found(chain.uri("orders"), forward=True, to=str(chain.report), **chosen)
        assert line.values == {"name": "c3", "sum": 1444, "most": 1030}
        assert chain.found(chain.uri("orders"), forward=True, **chosen) == [line]


def test_a_row_that_was_left_out_or_deleted_on_the_way_reaches_no_line(chain: Chain) -> None:
    for key in (3, 17):
        assert chain.found(chain.uri("orders"), rows=[(chain.uri("orders"), key)], forward=True, to=str(chain.report)) == []


@pytest.mark.parametrize(
    ("place", "rows", "tables"),
    [
        ("s3://lake/sums", 1, {"orders", "customers"}), ("s3a://lake/delta/named", 5, {"orders", "customers"}),
        ("s3://lake/warehouse/shop/orders", 5, {"orders"}), ("lake.shop.orders", 5, {"orders"}),
    ],
)  # fmt: skip
def test_each_hop_between_is_met_from_both_ends(chain: Chain, place: str, rows: int, tables: set[str]) -> None:
    records = chain.found(str(chain.report), where="name = 'c3'", to=place)
    assert len(records) == rows
    assert {str(record.file).partition("://")[0] for record in records} == {"s3"}
    chosen = [(str(record.file), int(str(record.row))) for record in records]
    (line,) = chain.found(place, rows=chosen, forward=True, to=str(chain.report))
    assert line.values["name"] == "c3"
    expected = {("orders", key) for key in OF_C3} | {("customers", 3)}
    assert chain.keys(chain.found(place, rows=chosen)) == {(table, key) for table, key in expected if table in tables}
