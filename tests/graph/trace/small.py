"""A small CSV file, and jobs over it that copy or group it."""

from pathlib import Path
from typing import Any

from headwater.graph.records import AssociationStore
from tests.graph.jobs import Job

COLUMNS = {"k": "string", "v": "int"}
RAW = {"header": "true", "nullvalue": "NA"}
ROWS: list[list[Any]] = [["a", 5], ["b", 1], ["a", 9], ["a", None], ["b", 7], ["a", 9]]


def copy(store: AssociationStore, source: Path, target: Path, clock: int, format_: str = "parquet") -> None:
    job = Job(store, f"copy{clock}", clock)
    of_csv = source.suffix == ".csv"
    job.write(job.scan(source, "csv" if of_csv else "parquet", COLUMNS, RAW if of_csv else {}), target, format_, list(COLUMNS))


def grouped(store: AssociationStore, source: Path, target: Path, fn: str, *, distinct: bool = False, **of_function: object) -> None:
    """`fn(v)` by `k`; the values themselves do not matter."""
    job = Job(store, "group", 9)
    scan = job.scan(source, "csv", COLUMNS, RAW)
    call = job.aggregation(fn, job.attr(scan, "v"), distinct=distinct, **of_function)
    job.write(job.aggregate(scan, ["k"], {"x": (call, len, "bigint")}), target, "parquet", ["k", "x"], files=1)
