"""A session with Delta and capture, for tests: what a table of Delta is made of, as its own log says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from headwater.graph.trace import Semantics, TraceRequest, trace
from tests import connectors
from tests.oracle.laboratory import INTERPRETED, TENANT, Laboratory, laboratory_in

SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",  # or VACUUM has 10,000 tasks
}


@contextmanager
def delta_in(folder: Path, *, budget: float = 0.0, compiled: bool = True) -> Iterator[Laboratory]:
    """A laboratory whose session reads and writes tables of Delta. `compiled`: as Spark does it by itself."""
    how = {} if compiled else INTERPRETED
    conf = {**SETTINGS, **connectors.CONF, **how, "spark.sql.warehouse.dir": str(folder / "warehouse")}
    with laboratory_in(folder, budget=budget, submitted=connectors.submitted(), conf=conf) as laboratory:
        yield laboratory


@contextmanager
def delta_over_raw(folder: Path, *, compiled: bool = True) -> Iterator[Laboratory]:
    """A laboratory with a view `raw` of sixty records, in files that no capture wrote."""
    with delta_in(folder, compiled=compiled) as laboratory:
        raw = laboratory.spark.range(0, 60, 1, 3).selectExpr("cast(id as int) id", "cast(id % 4 as int) k", "concat('n', id) s")
        with laboratory.without_capture():
            raw.write.parquet(f"{laboratory.folder}/raw")
        laboratory.spark.read.parquet(f"{laboratory.folder}/raw").createOrReplaceTempView("raw")
        yield laboratory


def written(laboratory: Laboratory, action: Callable[[], object]) -> Mapping[str, Any]:
    """The capture of an action, published."""
    laboratory.forget()
    action()
    capture = laboratory.captured()
    if capture["status"] != "refused":
        laboratory.publish(capture)
    return capture


def rows(laboratory: Laboratory, path: str) -> list[tuple[Any, ...]]:
    """The rows of a table, by Spark."""
    with laboratory.without_capture():
        return sorted(map(tuple, laboratory.spark.read.format("delta").load(path).collect()), key=str)


def asked(laboratory: Laboratory, dataset: str, where: str, **request: Any) -> Any:
    """The answer of a trace of some rows, which must be exact."""
    wanted = TraceRequest(dataset=dataset, where=where, semantics=Semantics.INFLUENCE, **{"limit": 100, **request})
    answer = asyncio.run(trace(None, laboratory.store, TENANT, wanted))
    assert answer.exact, answer.incomplete
    assert not answer.incomplete
    return answer


def behind(laboratory: Laboratory, path: str, ids: Any) -> dict[int, set[tuple[str, int]]]:
    """For some rows of a table, by id: the name of the dataset and the id of each record behind it."""
    found = {}
    for number in ids:
        answer = asked(laboratory, path, f"id = {number}")
        assert len(answer.selected) == 1
        found[number] = {(Path(record.dataset.split("%2F")[-1]).name, record.values["id"]) for record in answer.records}
    return found


def from_raw(*ids: int) -> dict[int, set[tuple[str, int]]]:
    """The result of `behind` for rows that each come from the record of their own id."""
    return {number: {("raw", number)} for number in ids}


def made(
    laboratory: Laboratory, name: str, *statements: str, columns: str = "id int, k int, s string", by: str = "", **properties: str
) -> str:
    """A table of twelve rows in two files, and what statements made of it; `{t}` in them is its name."""
    path = laboratory.folder / name
    table = f"delta.`{path}`"
    listed = ", ".join(f"'delta.{key}' = '{value}'" for key, value in properties.items())
    laboratory.spark.sql(f"CREATE TABLE {table} ({columns}) USING delta {by} " + (f"TBLPROPERTIES ({listed})" if listed else ""))
    for begin in (0, 6):
        values = ", ".join(f"({i}, {i % 3}, 'n{i}')" for i in range(begin, begin + 6))
        laboratory.spark.sql(f"INSERT INTO {table} VALUES {values}")
    for statement in statements:
        laboratory.spark.sql(statement.format(t=table))
    laboratory.forget()
    return str(path)


def traced(laboratory: Laboratory, frame: Any, name: str, key: str = "id", values: str = "id") -> dict[Any, set[Any]]:
    """Write a frame as Parquet; for each row, by `key`, the `values` of the table's records behind it, as the trace reads them."""
    out = laboratory.folder / name
    with laboratory.without_capture():
        expected = sorted(map(str, frame.collect()))
    laboratory.forget()
    frame.write.parquet(str(out))
    capture = laboratory.captured()
    assert capture["status"] == "complete", capture["problems"]
    assert not [boundary for boundary in capture["boundaries"] if "derived" in boundary]
    laboratory.publish(capture)
    assert sorted(map(str, laboratory.spark.read.parquet(str(out)).collect())) == expected
    result: dict[Any, set[Any]] = {}
    for path in sorted(out.glob("*.parquet")):
        for row, record in enumerate(pq.ParquetFile(path).read().to_pylist()):
            request = TraceRequest(dataset=str(out), rows=[(f"file:{path}", row)], semantics=Semantics.INFLUENCE)
            answer = asyncio.run(trace(None, laboratory.store, TENANT, request))
            assert answer.exact, answer.incomplete
            assert not answer.incomplete
            result[record[key]] = {entry.values[values] for entry in answer.records}
    return result


def each(*ids: int) -> dict[int, set[int]]:
    return {i: {i} for i in ids}
