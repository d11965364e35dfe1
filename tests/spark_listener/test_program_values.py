"""Answers about a program that read results of queries and may have put their values into later ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.captured import traced
from tests.spark_listener.spark import logged, script
from tests.spark_listener.warm_spark import WarmSpark

pytestmark = pytest.mark.spark

PROGRAM = """
    from pyspark.sql import SparkSession, functions as F

    spark = SparkSession.builder.getOrCreate()
    spark.range(5).selectExpr("id", "id * 10 AS v").coalesce(1).write.parquet("t")
    spark.range(9).selectExpr("id AS w").coalesce(1).write.parquet("u")
    t, u = spark.read.parquet("t"), spark.read.parquet("u")

    def save(name, frame):
        frame.coalesce(1).write.parquet(name)

    save("no_filter", t.where("v > 6"))
    t.show()
    spark.range(3).collect()
    save("no_look", t.where("v > 6"))
    first = t.first().v
    save("no_literal", t.select("id"))
    save("literal", u.where(F.col("w") > F.lit(first)))
    save("list", u.where(F.col("w").isin([row.v for row in t.take(2)])))
    save("argument", spark.sql("SELECT * FROM {u} WHERE w > :first", args={"first": first}, u=u))
    save("text", spark.sql(f"SELECT * FROM {{u}} WHERE w > {first}", u=u))
    save("rows", spark.createDataFrame(t.collect()))
    save("pandas", spark.createDataFrame(t.toPandas()))
    values = spark.sparkContext.broadcast({row.id: row.v for row in t.toLocalIterator()})
    save("closure", u.select(F.udf(lambda w: values.value.get(w))("w").alias("x")))
    spark.sql("DECLARE VARIABLE top BIGINT")
    t.createOrReplaceTempView("t")
    spark.sql("SET VAR top = (SELECT count(*) FROM t)")
    save("parameter", spark.sql("EXECUTE IMMEDIATE 'SELECT * FROM parquet.`u` WHERE w > ?' USING top"))
    save("variable", spark.sql("SELECT * FROM {u} WHERE w > top", u=u))
"""
CLEAN = {"no_filter", "no_look", "no_literal", "variable"}  # of the last the capture says that records are missing


@pytest.fixture(scope="module")
def folder(warm_spark: WarmSpark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("values")
    path = script(folder, "program.py", PROGRAM)
    done = warm_spark.run(["-m", "headwater", "run", str(path)], folder, HEADWATER_HOME=str(folder / "home"))
    assert done.returncode == 0, done.stderr
    return folder


def test_a_query_with_values_after_results_were_read_is_noted(folder: Path) -> None:
    manifests = {Path(manifest["sink"]["path"]).name: manifest for manifest in logged(folder / "home", "capture")}
    assert {name for name, manifest in manifests.items() if not manifest.get("collected")} - {"t", "u"} == CLEAN
    assert [name for name, manifest in manifests.items() if manifest["problems"]] == ["variable"]


@pytest.mark.parametrize("name", ["rows", "pandas"])
def test_an_answer_says_that_the_way_ends_at_a_program_that_put_results_back(folder: Path, name: str) -> None:
    file = max((folder / name).glob("*.parquet"))
    (note,) = traced(folder / "home", folder / name, [(file, 0)]).notes
    assert "way ends at the program" in note
    assert f"queries over {folder}/t before" in note


@pytest.mark.parametrize(("name", "exact", "notes"), [("no_look", True, 0), ("literal", True, 1), ("variable", False, 0)])
def test_an_answer_tells_what_the_program_may_have_put_in(folder: Path, name: str, exact: bool, notes: int) -> None:
    (file,) = (folder / name).glob("*.parquet")
    answer = traced(folder / "home", folder / name, [(file, 0)])
    assert (answer.exact, len(answer.notes)) == (exact, notes)


def test_a_row_that_went_into_a_variable_reaches_by_dataset_what_uses_it(folder: Path) -> None:
    (file,) = (folder / "t").glob("*.parquet")
    answer = traced(folder / "home", folder / "t", [(file, 0)], forward=True)
    assert not answer.exact
    assert "variable" in {record.dataset.rpartition("/")[2] for record in answer.records}
