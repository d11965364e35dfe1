"""TPC-H at scale factor 0.01 with its tables and answers in other formats and places than Parquet on a disk: traces give their rows again.

`make bench SUITE=tpch ARGS="--truth --tables orc"` does this for all queries. Here are a minimum in a subquery, a maximum of an aggregate,
and a table that is read twice next to an anti-join. Each layout is a program of its own, because its settings are read at the start of
Spark. All of them therefore have the mark `torture`. `make test` has the queries on Parquet (test_truth.py) and each format and place by
itself (test_formats.py, test_avro.py, test_iceberg_records.py, test_lake_programs.py).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

_QUERIES = ("q2", "q15", "q22")
_LAKE = (pytest.mark.lake, pytest.mark.timeout(1200))
_DISK = (pytest.mark.slow, pytest.mark.timeout(1200))
_LONG = pytest.mark.torture


@pytest.mark.parametrize(
    "tables",
    [
        pytest.param("orc", marks=(*_DISK, _LONG)),
        pytest.param("json", marks=(*_DISK, _LONG)),
        pytest.param("csv", marks=(*_DISK, _LONG)),
        pytest.param("hive-orc", marks=(*_DISK, _LONG)),
        pytest.param("avro", marks=(*_LAKE, _LONG)),
        pytest.param("iceberg-v3", marks=(*_LAKE, _LONG)),
        pytest.param("s3", marks=(*_LAKE, _LONG)),
    ],
)
def test_queries_of_tpch_are_answered_as_without_capture_and_traced_exactly(tmp_path: Path, tables: str) -> None:
    command = [sys.executable, "-m", "bench.truth.run", "tpch", "--tables", tables, "--cases", ",".join(_QUERIES)]
    done = subprocess.run([*command, "--rows", "1", "--results", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / f"truth-tpch-{tables}-active-0.01.json").read_text())["queries"]
    assert [(query["query"], query["status"], query["wrong"], query["inexact"]) for query in found] == [
        (query, "complete", [], []) for query in _QUERIES
    ]
    assert all(query["traced"] == 1 and query["plan"] == [] for query in found)
