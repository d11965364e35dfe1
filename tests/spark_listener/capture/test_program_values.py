"""Values that queries read and that come into later queries past their plans: by variables of SQL, and by the program itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

pytestmark = pytest.mark.spark


@pytest.fixture
def variables(spark: SparkSession, table: Any) -> Iterator[str]:
    """A table `limits`, the path of another, and no variables left behind."""
    spark.read.parquet(table("limits", [{"id": "l0", "most": 2}, {"id": "l1", "most": 3}])).createOrReplaceTempView("limits")
    spark.sql("DECLARE OR REPLACE VARIABLE plain INT DEFAULT 2")
    yield table("values", [{"id": f"v{number}", "v": number} for number in range(6)])
    for name in ("plain", "top", "next", "both", "other"):
        spark.sql(f"DROP TEMPORARY VARIABLE IF EXISTS {name}")


def _missing(captured: Any) -> list[str]:
    return [problem["reason"].split(" had ")[0] for problem in captured.capture["problems"] if problem["kind"] == "missing"]


SETS = {
    "subquery": ["SET VAR top = (SELECT max(most) FROM limits)"],
    "expression": ["SET VAR top = 1 + (SELECT max(most) FROM limits WHERE id > 'a')"],
    "rows": ["SET VAR (top) = (SELECT most FROM limits ORDER BY most LIMIT 1)"],
    "into": ["EXECUTE IMMEDIATE 'SELECT max(most) FROM limits' INTO top"],
    "another variable": ["SET VAR next = (SELECT max(most) FROM limits)", "SET VAR top = next + 1"],
    "literal afterwards": ["SET VAR top = (SELECT max(most) FROM limits)", "SET VAR top = 3"],  # plans of before have the old value
}
USES: dict[str, Callable[[SparkSession, str], DataFrame]] = {
    "filter": lambda spark, path: spark.sql(f"SELECT * FROM parquet.`{path}` WHERE v < TOP"),
    "column": lambda spark, path: spark.sql(f"SELECT *, session.top AS t FROM parquet.`{path}`"),
    "subquery": lambda spark, path: spark.sql(f"SELECT * FROM parquet.`{path}` WHERE v IN (SELECT most FROM limits WHERE most < top)"),
    "column of a frame": lambda spark, path: spark.read.parquet(path).where(F.expr("v < top")),
}


@pytest.mark.parametrize("how", SETS)
def test_what_a_variable_holds_of_a_table_is_said_to_be_missing(spark: SparkSession, write: Any, variables: str, how: str) -> None:
    for name in ("top", "next"):
        spark.sql(f"DECLARE OR REPLACE VARIABLE {name} INT")
    for statement in SETS[how]:
        spark.sql(statement)
    captured = write(USES["filter"](spark, variables))
    assert _missing(captured) == ["the variable top"]
    read = [source["path"].rpartition("/")[2] for source in captured.event["plan"]["sources"]]
    assert (read[0], {*read[1:]}, len(captured.capture["sources"])) == ("values", {"limits"}, 1)


@pytest.mark.parametrize("how", USES)
def test_wherever_a_query_uses_it(spark: SparkSession, write: Any, variables: str, how: str) -> None:
    spark.sql("DECLARE OR REPLACE VARIABLE top INT")
    spark.sql("SET VAR top = (SELECT max(most) FROM limits)")
    assert _missing(write(USES[how](spark, variables))) == ["the variable top"]


def test_variables_of_the_programs_own_values_lack_nothing(spark: SparkSession, write: Any, variables: str) -> None:
    spark.sql("DECLARE OR REPLACE VARIABLE other INT")
    spark.sql("SET VAR other = plain + 1")
    assert _missing(write(spark.sql(f"SELECT * FROM parquet.`{variables}` WHERE v < plain + other"))) == []
    spark.sql("DECLARE OR REPLACE VARIABLE both INT")
    spark.sql("SET VAR both = (SELECT max(most) FROM limits)")
    assert _missing(write(spark.sql(f"SELECT * FROM parquet.`{variables}` WHERE v < plain"))) == []
