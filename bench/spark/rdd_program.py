"""`python -m bench.spark.rdd_program FOLDER TEXT`: run grep and word count over TEXT, captured into FOLDER/home, written to FOLDER/out."""

from __future__ import annotations

import atexit
import sys
from pathlib import Path

from bench.spark.session import start
from bench.spark.spool import SpoolWatch

_PATIENCE = 1200  # seconds


def main(folder: Path, text: str) -> None:
    """Run them."""
    import headwater
    from bench.suites.rdd import TEXT_PROGRAMS
    from headwater.spark_listener.delivery.embedded import store

    spark = start(folder, memory="2g")
    atexit.register(store, folder / "home", _PATIENCE)  # runs after what `attach` registers: the last first
    headwater.attach(spark, mode="active", home=str(folder / "home"), quiet=True)
    watch = SpoolWatch(folder / "home")
    for name, program in TEXT_PROGRAMS.items():
        program(spark.sparkContext.textFile(text)).saveAsTextFile(str(folder / "out" / name))
        watch.until_run_ends()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
