"""Files that Spark programs move: by Hadoop, by the shell, by renames of tables and partitions. Every move is real."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headwater.graph.trace import TraceAnswer, TraceRequest, trace
from tests.oracle.laboratory import TENANT, Laboratory, laboratory_in

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    folder = tmp_path_factory.mktemp("moved")
    with laboratory_in(folder, budget=0, conf={"spark.sql.warehouse.dir": str(folder / "warehouse")}) as laboratory:
        with laboratory.without_capture():
            laboratory.spark.range(0, 20, 1, 1).selectExpr("cast(id as int) id", "cast(id % 2 as int) k").write.parquet(f"{folder}/raw")
        laboratory.forget()
        yield laboratory


def _ask(laboratory: Laboratory, dataset: str, where: str, **request: object) -> TraceAnswer:
    asked = TraceRequest(**{"dataset": dataset, "where": where, **request})  # type: ignore[arg-type]
    return asyncio.run(trace(None, laboratory.store, TENANT, asked))


def _check(laboratory: Laboratory, report: Path) -> None:
    """A row of the report comes from the raw record of its id, and that record went into the row alone."""
    raw = str(laboratory.folder / "raw")
    back = _ask(laboratory, str(report), "id = 7")
    assert [record.values["id"] for record in back.records if record.dataset.endswith("raw")] == [7], back.incomplete
    assert len(back.records) == 1
    assert back.exact, back.incomplete
    onward = _ask(laboratory, raw, "id = 7", forward=True, to=str(report))
    assert [record.values["id"] for record in onward.records] == [7], onward.incomplete
    assert onward.exact, onward.incomplete


def _rename_by_hadoop(laboratory: Laboratory, old: Path, new: Path) -> None:
    context = laboratory.spark.sparkContext
    hadoop = context._jvm.org.apache.hadoop.fs  # type: ignore[union-attr]
    path = hadoop.Path(str(old))
    assert path.getFileSystem(context._jsc.hadoopConfiguration()).rename(path, hadoop.Path(str(new)))


def _move_by_the_shell(laboratory: Laboratory, old: Path, new: Path) -> None:
    subprocess.run(["mv", str(old), str(new)], check=True)


def _copy_by_the_shell(laboratory: Laboratory, old: Path, new: Path) -> None:
    subprocess.run(["cp", "-rp", str(old), str(new)], check=True)


def _copy_by_python(laboratory: Laboratory, old: Path, new: Path) -> None:
    shutil.copytree(old, new, copy_function=shutil.copy2)


@pytest.mark.parametrize("move", [_rename_by_hadoop, _move_by_the_shell, _copy_by_the_shell, _copy_by_python])
def test_a_moved_folder(laboratory: Laboratory, move: Callable[[Laboratory, Path, Path], None]) -> None:
    folder = laboratory.folder / move.__name__
    laboratory.spark.read.parquet(f"{laboratory.folder}/raw").write.partitionBy("k").parquet(f"{folder}/tmp")
    move(laboratory, folder / "tmp", folder / "hist")
    laboratory.spark.read.parquet(f"{folder}/hist").write.parquet(f"{folder}/report")
    laboratory.take()
    _check(laboratory, folder / "report")


def test_a_single_file_with_a_new_name(laboratory: Laboratory) -> None:
    folder = laboratory.folder / "single"
    laboratory.spark.read.parquet(f"{laboratory.folder}/raw").coalesce(1).write.csv(f"{folder}/tmp", header=True)
    (file,) = (folder / "tmp").glob("part-*.csv")
    file.rename(folder / "day.csv")
    laboratory.spark.read.csv(f"{folder}/day.csv", header=True, schema="id int, k int").write.parquet(f"{folder}/report")
    laboratory.take()
    back = _ask(laboratory, str(folder / "report"), "id = 7")
    assert not back.exact
    assert file.name in str(back.incomplete), "the answer names the file that a run wrote"


def test_a_renamed_table(laboratory: Laboratory) -> None:
    spark = laboratory.spark
    spark.read.parquet(f"{laboratory.folder}/raw").write.saveAsTable("before")
    spark.sql("ALTER TABLE before RENAME TO after")
    spark.table("after").write.parquet(f"{laboratory.folder}/of_after")
    laboratory.take()
    _check(laboratory, laboratory.folder / "of_after")
    # Nobody read the table under its third name, and it is asked about by its folder.
    spark.sql("ALTER TABLE after RENAME TO third")
    spark.table("third").where("id > 100").write.parquet(f"{laboratory.folder}/of_third")
    laboratory.take()
    third = _ask(laboratory, "third", "id = 7")
    assert [record.values["id"] for record in third.records] == [7]
    assert third.exact, third.incomplete


def test_an_exchanged_partition(laboratory: Laboratory) -> None:
    """Hive moves the folder of the partition, and updates both tables."""
    spark, warehouse = laboratory.spark, laboratory.folder / "warehouse"
    frame = spark.read.parquet(f"{laboratory.folder}/raw")
    for table in ("staged", "live"):
        frame.where("id < 0" if table == "live" else "id >= 0").write.partitionBy("k").saveAsTable(table)
    (warehouse / "live").mkdir(exist_ok=True)
    shutil.move(warehouse / "staged" / "k=1", warehouse / "live" / "k=1")
    spark.sql("ALTER TABLE staged DROP IF EXISTS PARTITION (k = 1)")
    spark.sql("ALTER TABLE live ADD IF NOT EXISTS PARTITION (k = 1)")
    spark.table("live").write.parquet(f"{laboratory.folder}/of_live")
    laboratory.take()
    _check(laboratory, laboratory.folder / "of_live")


def test_a_table_with_another_location(laboratory: Laboratory) -> None:
    spark, folder = laboratory.spark, laboratory.folder
    spark.read.parquet(f"{folder}/raw").write.option("path", f"{folder}/first").saveAsTable("placed")
    (folder / "first").rename(folder / "second")
    spark.sql(f"ALTER TABLE placed SET LOCATION '{folder}/second'")
    spark.table("placed").write.parquet(f"{folder}/of_placed")
    laboratory.take()
    _check(laboratory, folder / "of_placed")


def test_lines_of_text(laboratory: Laboratory) -> None:
    folder = laboratory.folder / "lines"
    laboratory.spark.read.parquet(f"{laboratory.folder}/raw").selectExpr("cast(id as string) id").coalesce(1).write.text(f"{folder}/tmp")
    (folder / "tmp").rename(folder / "hist")
    laboratory.spark.read.text(f"{folder}/hist").selectExpr("cast(value as int) id").write.parquet(f"{folder}/report")
    laboratory.take()
    _check(laboratory, folder / "report")
