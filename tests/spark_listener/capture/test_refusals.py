"""Unsupported operators are refused by name. The query runs unchanged, and is still described."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.graph.trace import Semantics

pytestmark = pytest.mark.spark


def numbered() -> list[dict[str, Any]]:
    return [{"id": i, "k": i % 4, "l": [i, i + 1]} for i in range(40)]


CASES = {
    "LogicalRDD": lambda frame: frame.sparkSession.createDataFrame(frame.rdd, frame.schema),
    "Aggregate": lambda frame: frame.selectExpr("id", "map(k, id % 2) m").groupBy("m").count(),
}


@pytest.mark.parametrize("operator", CASES)
def test_operators_that_are_not_covered(spark: SparkSession, table: Any, write: Any, operator: str) -> None:
    frame = CASES[operator](spark.read.parquet(table("rows", numbered())))
    captured = write(frame)
    assert captured.capture["status"] == "refused"
    assert [(p["operator"], p["kind"]) for p in captured.capture["problems"]] == [(operator, "refused")]
    assert (captured.capture["boundaries"], captured.capture["segments"]) == ([], [])
    assert captured.event["plan"]["sink"]["columns"]
    assert spark.read.parquet(str(captured.out)).count() == frame.count()


def test_a_filter_that_lets_a_bad_record_pass_by_runs_on(spark: SparkSession, tmp_path: Path, write: Any) -> None:
    (tmp_path / "a.csv").write_text("0,1,1\n1,5,oops\n2,3,4\n")
    frame = spark.read.csv(str(tmp_path / "a.csv"), schema="id int, a int, b int", mode="FAILFAST")
    captured = write(frame.filter("a < 4"))
    assert sorted(row["id"] for row in spark.read.parquet(str(captured.out)).collect()) == [0, 2]
    (problem,) = captured.capture["problems"]
    assert (problem["kind"], "FAILFAST" in problem["reason"]) == ("refused", True)
    (tmp_path / "b.csv").write_text("0,1,1\n")
    assert write(spark.read.csv(str(tmp_path / "b.csv"), schema="id int, a int, b int", mode="FAILFAST")).capture["status"] == "complete"


def test_a_relation_that_the_optimizer_took_out_is_said_to_be_missing(spark: SparkSession, table: Any, write: Any) -> None:
    spark.read.parquet(table("kept", numbered())).createOrReplaceTempView("kept")
    spark.read.parquet(table("dropped", numbered())).createOrReplaceTempView("dropped")
    captured = write(spark.sql("select distinct kept.k from kept left join dropped on kept.k = dropped.k"))
    (problem,) = captured.capture["problems"]
    assert captured.capture["status"] == "partial"
    assert (problem["kind"], problem["operator"].endswith("/dropped")) == ("missing", True)


def test_a_common_table_expression_that_is_not_deterministic(spark: SparkSession, table: Any, write: Any) -> None:
    spark.read.parquet(table("rows", numbered())).createOrReplaceTempView("numbered")
    captured = write(spark.sql("with c as (select id, rand(1) as x from numbered) select a.id from c a join c b on a.x = b.x"))
    assert [p["operator"] for p in captured.capture["problems"]] == ["CTERelationDef"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"mode": "DROPMALFORMED"}, "DROPMALFORMED"), ({"encoding": "UTF-16LE"}, "UTF-16LE")],
)
def test_csv_records_that_are_not_lines(spark: SparkSession, tmp_path: Path, write: Any, options: dict[str, Any], reason: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text('1,"a\nb"\n2,c\n')
    captured = write(spark.read.csv(str(path), schema="id int, s string", **options))
    ((problem,),) = [captured.capture["problems"]]
    assert (problem["operator"], reason in problem["reason"]) == ("Scan CSV", True)


def test_xml_that_is_read_line_by_line(spark: SparkSession, tmp_path: Path, write: Any) -> None:
    (tmp_path / "a.xml").write_text("<rows>\n<row><id>1</id></row>\n</rows>\n")
    captured = write(spark.read.schema("id long").xml(str(tmp_path / "a.xml"), rowTag="row", multiLine=False))
    assert captured.capture["status"] == "refused"
    assert captured.event["plan"]["sources"][0]["format"] == "xml"


@pytest.mark.parametrize("by", ["option", "session"])
def test_xml_by_spark_s_older_parser_which_takes_other_elements_for_records(
    spark: SparkSession, tmp_path: Path, write: Any, conf: Any, by: str
) -> None:
    (tmp_path / "a.xml").write_text("<rows>\n<row/><row><id>1</id></row>\n</rows>\n")
    options: dict[str, Any] = {"rowTag": "row"}
    if by == "session":
        conf(legacy__useLegacyXMLParser=True)
    else:
        options["useLegacyXMLParser"] = True
    captured = write(spark.read.schema("id long").options(**options).xml(str(tmp_path / "a.xml")))
    ((problem,),) = [captured.capture["problems"]]
    assert (problem["operator"], "older parser" in problem["reason"]) == ("Scan XML", True)
    assert [row.id for row in spark.read.parquet(str(captured.out)).collect()] == [1], "the other parser gives two"


def test_the_user_s_own_use_of_hidden_metadata(spark: SparkSession, table: Any, write: Any) -> None:
    captured = write(spark.read.parquet(table("rows", numbered())).select("id", "_metadata.row_index"))
    assert captured.capture["status"] == "refused"


LOST = {
    "beside the same relation": "select k from (select k, (select max(id) from kept) most from kept)",
    "where another subquery reads it": "select k, (select min(id) from kept) a from (select k, (select max(id) from kept) b from kept)",
    "of a common table expression": "with c as (select k, (select max(id) from kept) most from kept) select k from c where k > 1",
    "an EXISTS that decides nothing": "select k from kept where 1 = 1 or exists (select 1 from kept o where o.id = kept.k)",
}


@pytest.mark.parametrize("query", LOST)
def test_a_subquery_that_nothing_uses_is_said_to_be_missing(spark: SparkSession, table: Any, write: Any, query: str) -> None:
    spark.read.parquet(table("kept", numbered())).createOrReplaceTempView("kept")
    captured = write(spark.sql(LOST[query]))
    (problem,) = captured.capture["problems"]
    assert captured.capture["status"] == "partial"
    assert (problem["kind"], problem["operator"].endswith("/kept")) == ("missing", True)


KEPT = {
    "merged": "select k, (select max(id) from kept) most, (select min(id) from kept) least from kept",
    "joins": "select k from kept where k in (select id from kept) and exists (select 1 from kept o where o.id = kept.k + 1)",
    "repeated": "with c as (select k, (select max(id) from kept) m from kept) select a.k from c a join c b on a.k = b.m - 38",
    "correlated": "select k, (select max(o.id) from kept o where o.k = kept.k) most from kept",
}


@pytest.mark.parametrize("query", KEPT)
def test_subqueries_that_are_used_are_not(spark: SparkSession, table: Any, write: Any, query: str) -> None:
    spark.read.parquet(table("kept", numbered())).createOrReplaceTempView("kept")
    assert write(spark.sql(KEPT[query])).capture["status"] == "complete"


def test_a_window_that_nothing_uses_is_missing_from_influences_alone(spark: SparkSession, table: Any, write: Any, traced: Any) -> None:
    spark.read.parquet(table("kept", numbered())).createOrReplaceTempView("kept")
    windows = "select *, sum(id) over (partition by k) s, max(id) over (order by id) m from kept"
    captured = write(spark.sql(f"select id, s from ({windows})"))
    (problem,) = captured.capture["problems"]
    assert (problem["kind"], problem["operator"]) == ("influence", "Window m")
    assert any("nothing uses this result" in reason for reason, _ in traced(captured, "id").said)
    assert not traced(captured, "id", semantics=Semantics.WITNESS).said
    assert write(spark.sql(f"select id, s + m x from ({windows}) where m > 3")).capture["status"] == "complete"
