"""`python -m bench.spark.program FOLDER`: run the queries of FOLDER/queries.json captured into FOLDER/home, their answers in FOLDER/out."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bench.spark.session import start, with_distinct_names
from bench.spark.spool import SpoolWatch

_PATIENCE = 600  # seconds


def main(folder: Path) -> None:
    """Run them."""
    import headwater

    asked = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
    spark = start(folder, tables={name: Path(path) for name, path in asked["tables"].items()})
    headwater.attach(spark, mode=asked["mode"], home=str(folder / "home"), quiet=True, exit_wait=_PATIENCE)
    watch = SpoolWatch(folder / "home")
    for name, text in asked["texts"].items():
        with_distinct_names(spark.sql(text)).write.parquet(str(folder / "out" / name))
        watch.until_run_ends()
    spark.stop()  # at the end of the process what was recorded is taken into the home


if __name__ == "__main__":
    main(Path(sys.argv[1]))
