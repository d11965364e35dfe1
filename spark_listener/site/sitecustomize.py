"""Lets `spark.headwater.enabled` in Spark's configuration switch capture on, in programs that nobody starts by `headwater run`.

The folder of this file, which `python -m headwater.spark_listener --site` prints, goes onto PYTHONPATH in `conf/spark-env.sh`.
Python imports it when it starts. It must not fail, and costs a program without Spark a few milliseconds; another `sitecustomize` of the
environment is run after it, as without it.
"""

import contextlib
import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

if not any(part.startswith("pyspark.") for part in sys.orig_argv[1:3]):  # the workers of Spark's tasks start no Spark
    with contextlib.suppress(Exception):
        from headwater.spark_listener.switch import watch

        watch()

_elsewhere = [place for place in sys.path if os.path.realpath(place or ".") != os.path.dirname(os.path.realpath(__file__))]
_other = PathFinder.find_spec("sitecustomize", _elsewhere)
if _other is not None and _other.loader is not None:
    _module = module_from_spec(_other)
    _other.loader.exec_module(_module)
