"""The OpenLineage events of a TPC-DS run: 99 queries, each with its result written, under capture in mode coarse. Made once and cached.

`python -m bench.graphs.events FOLDER` runs the queries, in a separate process because it starts a JVM.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench.data.cache import kept
from bench.results import ROOT

_SCALE = 0.01
_LOG = "events.ndjson"


def tpcds_events() -> list[bytes]:
    """Return the events, in the order of sending."""

    def make(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "bench.graphs.events", str(folder)], cwd=ROOT, check=True)

    return (kept("events-tpcds", make) / _LOG).read_bytes().splitlines()


def main(folder: Path) -> None:
    from bench.data.dialect import for_spark
    from bench.data.tpc import benchmark
    from bench.spark.capturing import capturing
    from bench.spark.session import start, with_distinct_names

    made = benchmark("tpcds", _SCALE)
    spark = start(folder, tables=made.tables)
    with capturing(spark, "coarse", folder / "home") as watch:
        for number, text in made.queries.items():
            frame = with_distinct_names(spark.sql(for_spark(text)))
            frame.write.mode("overwrite").parquet(str(folder / "out" / f"q{number}"))
            watch.until_run_ends()
            print(f"  query {number} of {len(made.queries)}", flush=True)
        (application,) = [path for path in (folder / "home" / "spool").iterdir() if path.is_dir()]
        lines = (application / "log").read_bytes().splitlines()
    spark.stop()
    events = [json.dumps(item["body"]) for item in (json.loads(line[9:]) for line in lines) if item["kind"] == "event"]
    (folder / _LOG).write_text("\n".join(events) + "\n", encoding="utf-8")
    print(f"  {len(events)} events", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
