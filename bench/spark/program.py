"""`python -m bench.spark.program FOLDER`: run the queries of FOLDER/queries.json with capture into FOLDER/home, and write to FOLDER/out.

Queries are `texts` by name, or the programs of the `suite` pigmix.
"""

from __future__ import annotations

import atexit
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.spark.session import start, with_distinct_names
from bench.spark.spool import SpoolWatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PATIENCE = 600  # seconds


def main(folder: Path) -> None:
    import headwater
    from headwater.spark_listener.delivery.embedded import store

    asked = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
    spark = start(folder, tables={name: Path(path) for name, path in asked["tables"].items()})
    atexit.register(store, folder / "home", _PATIENCE)  # runs after the exit functions of `attach`, because the last one runs first
    headwater.attach(spark, mode=asked["mode"], home=str(folder / "home"), quiet=True)
    watch = SpoolWatch(folder / "home")
    for name, frame in _frames(spark, asked):
        with_distinct_names(frame).write.parquet(str(folder / "out" / name))
        watch.until_run_ends()
    spark.stop()


def _frames(spark: SparkSession, asked: Mapping[str, Any]) -> Iterator[tuple[str, DataFrame]]:
    for name, text in asked.get("texts", {}).items():
        yield name, spark.sql(text)
    if asked.get("suite") == "pigmix":
        from bench.suites.pigmix import PROGRAMS

        for name, program in PROGRAMS.items():
            made = program(spark)
            for number, frame in enumerate(made if isinstance(made, tuple) else (made,)):
                yield f"{name}-{number}", frame


if __name__ == "__main__":
    main(Path(sys.argv[1]))
