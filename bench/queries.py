"""`python -m bench.queries [--queries 50000]`: the cost of `coarse` for an application with many queries, and the delay of its events.

The same program runs plain and captured, each in a process of its own. It writes a small table with each tenth query and reads one with
the others. After each twentieth part it prints the used heap of the JVM after a garbage collection, and the own memory of the Python
process. The delay is the time from the end of a query in Spark to the event in the spool. The results are in bench/results/queries.json.
The command exits with 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from bench import results
from bench.figures import rounded

_PARTS = 20
_SETTLED = 5  # parts after which classes are loaded and Spark's own history of queries is full
_MEMORY_MIB, _GROWTH_MIB, _BEHIND_SECONDS, _USUAL_MS = 64.0, 8.0, 1.0, 50.0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.queries", description="Measure an application of many queries.")
    parser.add_argument("--queries", type=int, default=2000, help="how many (default 2000)")
    parser.add_argument("--results", type=Path, default=results.RESULTS, help="folder to write to (default bench/results)")
    parser.add_argument("--program", type=Path, help=argparse.SUPPRESS)  # run the measured program over a folder
    options = parser.parse_args(arguments)
    if options.program:
        program(options.program, options.queries)
        return 0
    with tempfile.TemporaryDirectory(prefix="headwater-bench-queries-", ignore_cleanup_errors=True) as scratch:
        plain, _ = measure(Path(scratch, "plain"), options.queries, captured=False)
        captured, behind = measure(Path(scratch, "coarse"), options.queries, captured=True)
    figures = [*memory(plain, captured), *delays(behind, options.queries)]
    for figure in figures:
        print(f"  {figure['name']:<50} {figure['value']:>9} {figure['unit']:<4} target {figure['target']}: {figure['verdict']}")
    content = results.head("queries") | {"cases": figures, "queries": options.queries, "plain": plain, "coarse": captured}
    print(f"written: {results.write(content, options.results)}")
    return int(any(figure["verdict"] == "missed" for figure in figures))


def measure(folder: Path, queries: int, *, captured: bool) -> tuple[list[Mapping[str, float]], list[float]]:
    """Return the memory that the program printed, and the delay of each end of a query in seconds.

    Raises:
        RuntimeError: the program failed.
    """
    folder.mkdir()
    home = folder / "home"
    command = [sys.executable, *(["-m", "headwater", "run", "--mode", "coarse", "--home", str(home)] if captured else [])]
    command += [str(Path(__file__)), "--program", str(folder), "--queries", str(queries)]
    late: list[float] = []
    log = _Log(home)
    with (folder / "out").open("w+") as out, (folder / "err").open("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, env={**os.environ, "PYTHONPATH": str(results.ROOT)})
        while process.poll() is None:
            late += log.new_ends()
            time.sleep(0.002)
        out.seek(0)
        err.seek(0)
        reports = [json.loads(line) for line in out if line.startswith('{"queries"')]
        if process.returncode or len(reports) != _PARTS:
            raise RuntimeError(f"the program failed with {process.returncode}: {err.read()[-2000:]}")
    return reports, late


def program(folder: Path, queries: int) -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("queries").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").config("spark.log.level", "ERROR").getOrCreate()
    rows = spark.range(20).selectExpr("id", "id % 3 k", "concat('n', id) s").coalesce(1)
    rows.write.mode("overwrite").parquet(f"{folder}/read")
    spark.read.parquet(f"{folder}/read").createOrReplaceTempView("t")
    for number in range(queries):
        query = spark.sql(f"SELECT k, s, id + {number % 50} x FROM t WHERE id > {number % 7} AND k < 2")
        if number % 10 == 9:
            query.write.mode("overwrite").parquet(f"{folder}/written")
        else:
            query.collect()
        if (number + 1) % (queries // _PARTS) == 0:
            print(json.dumps({"queries": number + 1, **_used(spark)}), flush=True)
    spark.stop()


def _used(spark: Any) -> dict[str, float]:
    """Return the used heap of the JVM and the own memory of this process in MiB, after Spark's listeners have received all events."""
    context, jvm = spark.sparkContext._jsc.sc(), spark.sparkContext._jvm  # noqa: SLF001  # PySpark has no public way
    context.listenerBus().waitUntilEmpty(60_000)
    time.sleep(0.5)  # capture's thread finishes its work, too
    for _ in range(2):
        jvm.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    resident = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {"heap_mib": rounded((runtime.totalMemory() - runtime.freeMemory()) / 2**20), "python_mib": rounded(resident / 2**20)}


def memory(plain: Sequence[Mapping[str, float]], captured: Sequence[Mapping[str, float]]) -> list[dict[str, Any]]:
    """Return the additional memory of capture at the end, and its growth after the warm-up, both compared with the plain program."""
    added = [
        ours["heap_mib"] + ours["python_mib"] - theirs["heap_mib"] - theirs["python_mib"]
        for ours, theirs in zip(captured, plain, strict=True)
    ]
    growth = float(np.median(added[-_SETTLED:]) - np.median(added[_SETTLED : 2 * _SETTLED]))
    return [
        _figure("memory added, heap and Python, at most", max(added), "MiB", _MEMORY_MIB),
        _figure("its growth, from the second quarter to the last", growth, "MiB", _GROWTH_MIB),
    ]


def delays(behind: Sequence[float], queries: int) -> list[dict[str, Any]]:
    """Return the figures of the delay from the end of a query to the spool."""
    assert len(behind) >= queries, (len(behind), queries)  # noqa: S101  # each has an end, or the figures say nothing
    return [
        _figure("end of a query to the spool, median", 1000 * float(np.median(behind)), "ms", None),
        _figure("end of a query to the spool, p99", 1000 * float(np.quantile(behind, 0.99)), "ms", _USUAL_MS),
        _figure("listener behind, at most", max(behind), "s", _BEHIND_SECONDS),
    ]


def _figure(name: str, value: float, unit: str, target: float | None) -> dict[str, Any]:
    verdict = None if target is None else "met" if value <= target else "missed"
    return {"name": name, "value": rounded(value), "unit": unit, "target": target, "verdict": verdict}


class _Log:
    """The growing log of the one application of a home."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._file: Any = None
        self._rest = b""

    def new_ends(self) -> list[float]:
        """Return the delays of the ends of queries that arrived since the last call, in seconds."""
        if self._file is None:
            path = next(iter(self._home.glob("spool/*/log")), None)
            if path is None:
                return []
            self._file = path.open("rb")
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        now = time.time()
        events = [json.loads(line[9:])["body"] for line in lines if b'"COMPLETE"' in line]
        return [now - datetime.fromisoformat(event["eventTime"]).timestamp() for event in events if event.get("eventType") == "COMPLETE"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
