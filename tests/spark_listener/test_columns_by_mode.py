"""Column lineage, schemas and inputs of commands are the same in every mode: capture of records changes nothing of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

from headwater.spark_listener.capture import Bridge
from headwater.spark_listener.lineage.datasets import inputs_of, output_of
from tests import connectors
from tests.jvm import PATIENTLY, start_with
from tests.oracle.laboratory import INTERPRETED
from tests.spark_listener.delta import SETTINGS

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.lake,
    pytest.mark.timeout(1200),
    pytest.mark.xdist_group("tables"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # py4j closes its sockets when they are collected
    pytest.mark.skipif(not pyspark.__version__.startswith("4.1."), reason="the connectors are those of Spark 4.1"),
]

_ICEBERG = {
    "spark.sql.extensions": f"{SETTINGS['spark.sql.extensions']},org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
}
# Each on a table `t`, of Delta at a path and of Iceberg in a catalog, with the columns id, k and s; `changes` and `{raw}` have them, too.
_COMMANDS = {
    "merge": "MERGE INTO {t} t USING changes c ON t.id = c.id WHEN MATCHED AND c.more > 7 THEN DELETE "
    "WHEN MATCHED THEN UPDATE SET s = concat(c.s, t.k) WHEN NOT MATCHED THEN INSERT (id, k, s) VALUES (c.id, c.more, c.s)",
    "merge by source": "MERGE INTO {t} t USING changes c ON t.id = c.id WHEN MATCHED THEN UPDATE SET k = c.more "
    "WHEN NOT MATCHED BY SOURCE AND t.k = 3 THEN UPDATE SET s = upper(t.s)",
    "merge that inserts": "MERGE INTO {t} t USING changes c ON t.id = c.id + 100 "
    "WHEN NOT MATCHED THEN INSERT (id, k, s) VALUES (c.id + 100, c.k, c.s)",
    "update": "UPDATE {t} SET s = upper(s), k = 4 WHERE id > 30",
    "update of all": "UPDATE {t} SET k = k + id",
    "delete": "DELETE FROM {t} WHERE k = 2 AND s LIKE 'n3%'",
    "delete of nothing": "DELETE FROM {t} WHERE id = -1",
    "insert": "INSERT INTO {t} SELECT id, more, concat(s, '!') FROM changes WHERE more > 0",
    "insert of values": "INSERT INTO {t} VALUES (1000, 1, 'x')",
    "overwrite": "INSERT OVERWRITE {t} SELECT id, k + 1, s FROM raw WHERE id < 40",
}  # fmt: skip
_FEW = ("merge", "update", "delete")  # what is run on Delta tables with a change feed, and on Iceberg


class Commands:
    """The commands, each in one mode, on tables that were made anew."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._folder = spark, folder
        self._results: dict[tuple[str, str], dict[str, list[Any]]] = {}
        spark.range(0, 60, 1, 3).selectExpr("cast(id as int) id", "cast(id % 4 as int) k", "concat('n', id) s").write.parquet(
            f"{folder}/raw"
        )
        spark.sql("SELECT 1 id, 9 k, 'm' s, 5 more").coalesce(1).write.parquet(f"{folder}/changes")
        for name in ("raw", "changes"):
            spark.read.parquet(f"{folder}/{name}").createOrReplaceTempView(name)

    def run(self, mode: str, kind: str) -> dict[str, list[Any]]:
        """For each command, what it says of the columns of each output."""
        if (mode, kind) in self._results:
            return self._results[mode, kind]
        table = f"delta.`{self._folder}/{mode}_{kind}/t`" if kind != "iceberg" else f"lake.{mode}.t"
        properties = " TBLPROPERTIES (delta.enableChangeDataFeed = true)" if kind == "feed" else ""
        self._spark.sql(f"CREATE TABLE {table} (id INT, k INT, s STRING) USING {'iceberg' if kind == 'iceberg' else 'delta'}{properties}")
        self._spark.sql(f"INSERT INTO {table} SELECT id, k, s FROM raw")
        bridge = Bridge.install(self._spark, mode=mode, segments=str(self._folder / f"segments_{mode}"), budget=1.0)
        try:
            chosen = {name: command for name, command in _COMMANDS.items() if kind == "delta" or name in _FEW}
            self._results[mode, kind] = {name: self._outputs(bridge, command.format(t=table)) for name, command in chosen.items()}
            return self._results[mode, kind]
        finally:
            bridge.close()

    def _outputs(self, bridge: Bridge, command: str) -> list[Any]:
        self._spark.sql(command)
        assert bridge.flush(PATIENTLY)
        plans: list[Mapping[str, Any]] = []
        while events := bridge.drain(500):
            assert not [event for event in events if event["event"] in ("fault", "off", "dropped")], events
            plans += [event["plan"] for event in events if event["event"] == "query_end" and event["plan"]]
        outputs = [(plan, output) for plan in plans if (output := output_of(plan, {})) is not None]
        return [
            {
                "output": Path(output.name).name,
                "schema": [field["name"] for field in output.facets.get("schema", {}).get("fields", ())],
                "inputs": sorted(Path(dataset.name).name for dataset in inputs_of(plan)),
                **_columns(output.facets.get("columnLineage", {})),
            }
            for plan, output in outputs
        ]


def _columns(facet: Mapping[str, Any]) -> dict[str, list[str]]:
    """Each column with what it is made of and how; what decides about rows."""

    def of(fields: Any) -> list[str]:
        return sorted(f"{Path(one['name']).name}.{one['field']} {step['subtype']}" for one in fields for step in one["transformations"])

    columns = {column: of(made["inputFields"]) for column, made in facet.get("fields", {}).items()}
    return {**columns, "rows": of(facet.get("dataset", ()))}


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    folder = tmp_path_factory.mktemp("modes")
    start_with(connectors.submitted())
    conf = {**SETTINGS, **_ICEBERG, **connectors.CONF, **INTERPRETED, "spark.sql.shuffle.partitions": "2"}
    conf |= {"spark.sql.catalog.lake.warehouse": f"{folder}/lake", "spark.sql.warehouse.dir": f"{folder}/warehouse"}
    spark = SparkSession.builder.master("local[2]").appName("modes").config("spark.ui.enabled", "false").config(map=conf).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    yield Commands(spark, folder)
    spark.stop()


@pytest.mark.parametrize("kind", ["delta", "feed", "iceberg"])
@pytest.mark.parametrize("mode", ["auto", *(pytest.param(mode, marks=pytest.mark.torture) for mode in ("active", "lazy"))])
def test_columns_of_commands_are_the_same_in_every_mode(commands: Commands, mode: str, kind: str) -> None:
    assert commands.run(mode, kind) == commands.run("coarse", kind)
