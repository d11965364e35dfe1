"""Measures a trace of one record whose data are on an S3 server: its time, and its requests to the server.

python -m bench.lake [--scale 0.1] [--traces 200]

A program joins and groups TPC-H tables on `s3a:` with capture. Then this process traces records of its outputs, with their values. *Warm*
uses the caches of earlier traces. *Cold* begins with empty caches, a new database and new connections, in a process with all modules
loaded. The server is versitygw on this machine. A network adds its round trips for each request.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import obstore
from obstore.store import S3Store

from bench.data.tpc import benchmark
from headwater.graph.records import AssociationStore, DataRoots
from headwater.graph.storage import Remote, read_roots
from headwater.graph.trace import TraceAnswer, TraceRequest, trace
from tests.jvm import submit
from tests.lake import KEY, SECRET, S3Server, s3

_TABLES = ("customer", "orders", "lineitem")
_COLD = 15
_PROGRAM = """
import sys
from pyspark.sql import SparkSession, functions as F

base, spark = sys.argv[1], SparkSession.builder.getOrCreate()
customer, orders, lineitem = (spark.read.parquet(f"{base}/{name}") for name in ("customer", "orders", "lineitem"))
joined = orders.join(customer, orders.o_custkey == customer.c_custkey).join(lineitem, lineitem.l_orderkey == orders.o_orderkey)
joined = joined.filter("l_shipdate > '1995-03-15'")
kept = joined.select("o_orderkey", "c_name", "c_mktsegment", "o_orderdate", "l_linenumber", "l_extendedprice", "l_discount")
kept.write.parquet(f"{base}/joined")
spark.read.parquet(f"{base}/joined").groupBy("o_orderkey").agg(F.sum("l_extendedprice").alias("price")).write.parquet(f"{base}/prices")
"""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--traces", type=int, default=200)
    options = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="headwater-lake-") as folder, s3(Path(folder) / "s3") as server:
        home = _prepared(server, Path(folder), options.scale)
        for dataset in ("data/joined", "data/prices"):
            _measure(home, dataset, options.traces)


def _prepared(server: S3Server, folder: Path, scale: float) -> Path:
    (server.folder / "lake").mkdir()
    home = folder / "home"
    home.mkdir(mode=0o700)
    (home / "storage.toml").write_text(server.root("s3://lake"))
    bucket = S3Store(
        "lake", endpoint=server.endpoint, access_key_id=KEY, secret_access_key=SECRET, region="us-east-1",
        client_options={"allow_http": True},
    )  # fmt: skip
    tables = benchmark("tpch", scale).tables
    for table in _TABLES:
        for file in sorted(tables[table].glob("*.parquet")):
            obstore.put(bucket, f"data/{table}/{file.name}", file)
    (folder / "job.py").write_text(_PROGRAM)
    options = " ".join(f"--conf {shlex.quote(f'{name}={value}')}" for name, value in server.spark.items())
    subprocess.run(
        [str(Path(sys.executable).parent / "headwater"), "run", str(folder / "job.py"), "s3a://lake/data"],
        env={**os.environ, "HEADWATER_HOME": str(home), "PYSPARK_SUBMIT_ARGS": submit(f"--master local[2] {options}")},
        check=True, capture_output=True,
    )  # fmt: skip
    # The first query delivers the spool of the program.
    subprocess.run(
        [str(Path(sys.executable).parent / "headwater"), "trace", "data/prices", "--where", "o_orderkey = 0"],
        env={**os.environ, "HEADWATER_HOME": str(home)}, check=True, capture_output=True,
    )  # fmt: skip
    return home


def _store(home: Path) -> AssociationStore:
    return AssociationStore(home / "associations", sources=DataRoots.of([], remote=Remote(read_roots(home / "storage.toml"))))


def _measure(home: Path, dataset: str, traces: int) -> None:
    store = _store(home)
    listed = store.sources.look().listed(f"s3a://lake/{dataset}") or []
    rnd = random.Random(0)
    places = [(block.path, rnd.randrange(100)) for block in (rnd.choice(listed) for _ in range(traces + 1))]
    _ask(store, dataset, places.pop())
    warm = [_ask(store, dataset, place) for place in places]
    store.close()
    cold = []
    for place in places[:_COLD]:
        store = _store(home)
        cold.append(_ask(store, dataset, place))
        store.close()
    answers = [answer for _, answer in [*warm, *cold]]
    print(json.dumps({
        "dataset": dataset,
        "files": len(listed),
        "traces": traces,
        "exact": all(answer.exact for answer in answers),
        "warm_p50_ms": round(1000 * statistics.median(took for took, _ in warm), 1),
        "warm_p99_ms": round(1000 * sorted(took for took, _ in warm)[int(len(warm) * 0.99) - 1], 1),
        "warm_requests_p50": statistics.median(answer.storage_requests for _, answer in warm),
        "cold_p50_ms": round(1000 * statistics.median(took for took, _ in cold), 1),
        "cold_requests_p50": statistics.median(answer.storage_requests for _, answer in cold),
        "requests_most": max(answer.storage_requests for answer in answers),
        "cold_megabytes_p50": round(statistics.median(answer.storage_bytes for _, answer in cold) / 1e6, 2),
    }))  # fmt: skip


def _ask(store: AssociationStore, dataset: str, place: tuple[str, int]) -> tuple[float, TraceAnswer]:
    began = time.perf_counter()
    answer = asyncio.run(trace(None, store, "default", TraceRequest(dataset=dataset, rows=[place])))
    return time.perf_counter() - began, answer


if __name__ == "__main__":
    main()
