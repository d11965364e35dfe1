"""`python -m bench.spark.rdd_program FOLDER TEXT [PROGRAM …]`: run RDD programs over TEXT with capture into FOLDER/home, to FOLDER/out.

The programs are those of the suite `rdd`, all by default, and *first lines*, which reads a little of each file, so that the service
knows the text.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from bench.spark.session import start
from bench.spark.spool import SpoolWatch

FIRST_LINES = "first lines"
_PATIENCE = 1200  # seconds


def _first_lines(lines: Any) -> Any:
    import headwater

    return lines.mapPartitions(headwater.row_wise(lambda some: islice(some, 10)))


def main(folder: Path, text: str, names: Sequence[str] = ()) -> None:
    import headwater
    from bench.suites.rdd import TEXT_PROGRAMS
    from headwater.spark_listener.delivery.embedded import store

    spark = start(folder, memory="2g")
    atexit.register(store, folder / "home", _PATIENCE)  # runs after the exit functions of `attach`, because the last one runs first
    headwater.attach(spark, mode="active", home=str(folder / "home"), quiet=True)
    watch = SpoolWatch(folder / "home")
    programs = {**TEXT_PROGRAMS, FIRST_LINES: _first_lines}
    for name in names or TEXT_PROGRAMS:
        programs[name](spark.sparkContext.textFile(text)).saveAsTextFile(str(folder / "out" / name))
        watch.until_run_ends()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
