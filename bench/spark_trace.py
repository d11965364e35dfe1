"""Measures a large trace on Spark: time, driver memory, shuffles. It follows all rows of an output back through groups of ten.

python -m bench.spark_trace [--rows 22000000] [--master local-cluster[2,1,1024]]

Of eleven associations ten lead from a group to a record, and one from a row of the output to its group. First, DuckDB and Spark trace a
tenth of the rows, and their answers must be equal. Then Spark traces all of them. Each trace runs in a separate process. The executors
are separate processes, too, so the driver is the same as on a cluster. *Survived* is the maximum of the old generation of its heap.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench import keeping
from headwater.graph.records import ANYWHERE, AssociationStore, block_of
from headwater.graph.trace import TraceAnswer, TraceRequest, trace
from tests.jvm import submit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HEAP = "512m"
_DUCKDB = "duckdb"
_PARTITIONS = 16  # partitions of a shuffle; the default of 200 is for more executors than this machine has


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=22_000_000)
    parser.add_argument("--master", default="local-cluster[2,1,1024]")
    parser.add_argument("--ask", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.ask:
        print(json.dumps(_asked(Path(options.ask[0]), options.ask[1])))
        return
    for rows, places in ((options.rows // 10, (_DUCKDB, options.master)), (options.rows, (options.master,))):
        with TemporaryDirectory(prefix="headwater-spark-trace-") as folder:
            keeping.make(Path(folder), "groups", rows, partial(_file, Path(folder)))
            keeping.keep(Path(folder))
            answers = []
            for place in places:
                answers.append(_ask(folder, place))
                print(json.dumps({"associations": rows, "on": place, **answers[-1]}), flush=True)
        if len({found["answer"] for found in answers}) != 1:
            raise SystemExit(f"The answers about {rows} associations differ.")


def _file(folder: Path, name: str, rows: int) -> Mapping[str, Any]:
    """Make a file with this number of equal rows, because a trace uses their positions only."""
    path = folder / "data" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    column = pa.array(np.zeros(rows, np.int64))
    pq.write_table(pa.table({"k": column, "v": column}), path)
    block = block_of(path)
    return {"path": block.path, "length": block.length, "modified": block.modified}


def _ask(folder: str, place: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.spark_trace", "--ask", folder, place]
    env = os.environ | {
        "PYSPARK_SUBMIT_ARGS": submit("--conf spark.ui.enabled=false").replace("--driver-memory 1g", f"--driver-memory {_HEAP}")
    }
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=env).stdout)
    return found


def _asked(folder: Path, place: str) -> dict[str, Any]:
    """Trace all rows of the output in this process. Returns the costs, and a hash of the answer."""
    store = AssociationStore(folder / "associations", sources=ANYWHERE)
    request = TraceRequest(dataset=str(folder / "data" / "out"), where="true", values=False)
    with ExitStack() as stack:
        if place == _DUCKDB:
            began = time.perf_counter()
            answer = asyncio.run(trace(None, store, "default", request))
            driver: dict[str, int] = {}
        else:
            from headwater.backend.traces.spark_session import spark_session
            from headwater.graph.trace.on_spark.connection import SparkConnection
            from headwater.graph.trace.on_spark.walk import open_spark_session

            spark = stack.enter_context(spark_session(place))
            connection = SparkConnection(spark, shares_files=True)
            began = time.perf_counter()
            answer = asyncio.run(trace(None, store, "default", request, session_factory=partial(open_spark_session, connection)))
            driver = _driver(spark) | {"shuffle_megabytes": _shuffle_megabytes(spark)}
        seconds = round(time.perf_counter() - began, 1)
    store.close()
    return {
        "seconds": seconds, "exact": answer.exact, "records": answer.total, "answer": _hash(answer), "python_megabytes": keeping.peak(),
        **driver, "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip


def _driver(spark: SparkSession) -> dict[str, int]:
    """Return the peak memory of the driver's JVM, in megabytes."""
    from pyspark import SparkContext

    pools = spark._jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()  # type: ignore[union-attr]  # noqa: SLF001
    (old,) = (pool for pool in pools if pool.getName() == "Tenured Gen")
    jvm = SparkContext._gateway.proc.pid  # type: ignore[union-attr]  # noqa: SLF001
    return {"driver_megabytes": keeping.peak(jvm), "driver_survived_megabytes": old.getPeakUsage().getUsed() // 1_000_000}


def _shuffle_megabytes(spark: SparkSession) -> int:
    """Return the megabytes that all executors wrote for shuffles."""
    status = spark.sparkContext._jsc.sc().statusStore()  # noqa: SLF001  # PySpark has no public way
    executors = status.executorList(False)
    return sum(int(executors.apply(place).totalShuffleWrite()) for place in range(executors.size())) // 1_000_000


def _hash(answer: TraceAnswer) -> str:
    path = [(hop.run, hop.output, hop.inputs, hop.operations, hop.records) for hop in answer.path]
    records = [(record.file, record.row) for record in answer.records]
    told = repr((answer.exact, answer.total, records, path, answer.incomplete))
    return hashlib.sha256(told.encode()).hexdigest()[:16]


if __name__ == "__main__":
    main()
