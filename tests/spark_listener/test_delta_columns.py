"""MERGE, UPDATE and DELETE of Delta and the columns of their table, without captured records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest

from headwater.spark_listener.capture import Bridge
from headwater.spark_listener.lineage.columns import ColumnLineage, column_lineage
from headwater.spark_listener.lineage.datasets import sources_of
from tests.jvm import PATIENTLY
from tests.oracle.laboratory import Laboratory
from tests.spark_listener.delta import delta_over_raw

pytestmark = [
    pytest.mark.spark,
    pytest.mark.lake,
    pytest.mark.timeout(1200),
    pytest.mark.xdist_group("tables"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # py4j closes its sockets when they are collected
    pytest.mark.skipif(not pyspark.__version__.startswith("4.1."), reason="the connectors are those of Spark 4.1"),
]


class Commands:
    """A table of Delta at a path, and what commands on it say of its columns in the mode `coarse`."""

    def __init__(self, laboratory: Laboratory) -> None:
        self._laboratory = laboratory
        self.table = f"{laboratory.folder}/changed"
        with laboratory.without_capture():
            laboratory.spark.table("raw").write.format("delta").save(self.table)
            laboratory.spark.sql("SELECT 1 id, 9 k, 'm' s, 5 more").coalesce(1).write.parquet(f"{laboratory.folder}/changes")
        laboratory.spark.read.parquet(f"{laboratory.folder}/changes").createOrReplaceTempView("changes")

    def run(self, command: str) -> tuple[dict[str, set[str]], set[str]]:
        """Each column with what it is made of and how; what decides about rows."""
        laboratory = self._laboratory
        bridge = Bridge.listen(laboratory.spark.sparkContext, mode="coarse", segments=str(laboratory.folder / "none"))
        try:
            with laboratory.without_capture():
                laboratory.spark.sql(command.format(t=f"delta.`{self.table}`"))
            assert bridge.flush(PATIENTLY)
            plans = []
            while events := bridge.drain(500):
                plans += [event["plan"] or {} for event in events if event["event"] == "query_end"]
        finally:
            bridge.close()
        (plan,) = [plan for plan in plans if plan.get("sink") and str(plan.get("command")).endswith("Command")]
        return _shown(column_lineage(plan, sources_of(plan)))


def _shown(found: ColumnLineage) -> tuple[dict[str, set[str]], set[str]]:
    def of(fields: Any) -> set[str]:
        return {f"{Path(name).name}.{field} {step.subtype}" for (_, name, field), steps in fields.items() for step in steps}

    return {column: of(fields) for column, fields in found.columns.items()}, of(found.dataset)


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    with delta_over_raw(tmp_path_factory.mktemp("columns"), compiled=False) as laboratory:
        yield Commands(laboratory)


def test_merge_makes_columns_of_what_its_clauses_say_and_of_what_was_there(commands: Commands) -> None:
    columns, rows = commands.run(
        "MERGE INTO {t} t USING changes c ON t.id = c.id WHEN MATCHED AND c.more > 7 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET s = concat(c.s, t.k) WHEN NOT MATCHED THEN INSERT (id, k) VALUES (c.id, c.more)"
    )
    assert columns == {
        "id": {"changed.id IDENTITY", "changes.id IDENTITY"},
        "k": {"changed.k IDENTITY", "changes.more IDENTITY"},
        "s": {"changed.s IDENTITY", "changes.s TRANSFORMATION", "changed.k TRANSFORMATION"},
    }
    assert rows == {"changed.id JOIN", "changes.id JOIN", "changes.more CONDITIONAL"}


@pytest.mark.slow
def test_a_merge_that_only_inserts_makes_nothing_of_what_was_there(commands: Commands) -> None:
    columns, rows = commands.run(
        "MERGE INTO {t} t USING changes c ON t.id = c.id + 100 WHEN NOT MATCHED THEN INSERT (id, k, s) VALUES (c.id + 100, c.k, c.s)"
    )
    assert columns == {"id": {"changes.id TRANSFORMATION"}, "k": {"changes.k IDENTITY"}, "s": {"changes.s IDENTITY"}}
    assert rows == {"changed.id JOIN", "changes.id JOIN"}


@pytest.mark.slow
def test_update_changes_the_columns_that_it_sets(commands: Commands) -> None:
    columns, rows = commands.run("UPDATE {t} SET s = upper(s), k = 4 WHERE id > 30")
    assert columns == {
        "id": {"changed.id IDENTITY"},
        "k": {"changed.k TRANSFORMATION", "changed.id CONDITIONAL"},
        "s": {"changed.s TRANSFORMATION", "changed.id CONDITIONAL"},
    }
    assert rows == set()


@pytest.mark.slow
def test_delete_leaves_columns_as_they_are(commands: Commands) -> None:
    columns, rows = commands.run("DELETE FROM {t} WHERE k = 2 AND s LIKE 'n3%'")
    assert columns == {column: {f"changed.{column} IDENTITY"} for column in ("id", "k", "s")}
    assert rows == {"changed.k FILTER", "changed.s FILTER"}
