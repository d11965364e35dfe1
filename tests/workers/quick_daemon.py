"""PySpark's daemon for the tests: the same workers, without the work that dominates a small task.

Before each task a worker has Python look again at its import path. Spark puts two zip files and a jar of five thousand entries
on a worker's path, and their directories are read again: 0.1 s of processor time. The installed PySpark needs none of the three.
After each task a worker collects garbage. Objects from before the fork are frozen, so that the collection looks at the task's own alone.

tests/jvm.py names this module to Spark, and puts its folder on the path of workers. No other module may lie here: workers could import it.
"""

from __future__ import annotations

import gc
import sys

sys.path[:] = [entry for entry in sys.path if not entry.endswith((".zip", ".jar"))]
for entry in [entry for entry in sys.path_importer_cache if entry.endswith((".zip", ".jar"))]:
    del sys.path_importer_cache[entry]

from pyspark import daemon  # noqa: E402  # of what is installed, not of the zip file

if __name__ == "__main__":
    gc.collect()
    gc.freeze()
    daemon.manager()
