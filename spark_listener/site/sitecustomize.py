"""Lets `spark.headwater.enabled` in Spark's configuration turn capture on, in programs that `headwater run` does not start.

`python -m headwater.spark_listener --site` prints the folder of this file, which goes onto PYTHONPATH in `conf/spark-env.sh`. Python
imports this file when it starts. The import must not fail, and takes a few milliseconds in a program without Spark. Another `sitecustomize`
of the environment runs after it.
"""

import contextlib
import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

if not any(part.startswith("pyspark.") for part in sys.orig_argv[1:3]):  # workers of Spark's tasks start no Spark
    with contextlib.suppress(Exception):
        from headwater.spark_listener.switch import watch

        watch()

_elsewhere = [place for place in sys.path if os.path.realpath(place or ".") != os.path.dirname(os.path.realpath(__file__))]
_other = PathFinder.find_spec("sitecustomize", _elsewhere)
if _other is not None and _other.loader is not None:
    _module = module_from_spec(_other)
    _other.loader.exec_module(_module)
