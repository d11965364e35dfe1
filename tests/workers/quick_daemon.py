"""PySpark's daemon as the tests start it: the same workers, without what a small task spends most of its time on.

Before each task a worker has Python look again at all that it imports from. Spark puts two zip files and a jar of five thousand entries
on a worker's path, whose directories are then read anew: 0.1 s of processor time. The PySpark that is installed needs none of the three.
After each task a worker collects garbage. What is there before it is forked is set apart, so that it looks at what the task left alone.

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
