"""The capture of the bench of large traces, and DuckDB's answer, with which Spark's is compared."""

from functools import partial
from pathlib import Path

from bench import keeping, spark_trace


def test_every_record_that_went_into_a_group_is_found(tmp_path: Path) -> None:
    rows = 11_000
    keeping.make(tmp_path, "groups", rows, partial(spark_trace._file, tmp_path))
    keeping.keep(tmp_path)
    found = spark_trace._asked(tmp_path, "duckdb")
    assert (found["exact"], found["records"]) == (True, rows - rows // 11)
    assert found["answer"] == spark_trace._asked(tmp_path, "duckdb")["answer"]
