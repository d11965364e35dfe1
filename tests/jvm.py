"""Options for the JVMs of tests, Spark's and Neo4j's: they live for seconds and see tiny tables.

The second compiler and a parallel collector cost more than such a session can earn back. Without that compiler Java keeps 48 MB for
compiled code, which some hundred queries fill. From there on it would interpret new code. None of this changes the result of a query,
and neither does the daemon that starts Python's workers (workers/quick_daemon.py). Spark's drivers take its classes from the
file that SPARK_SUBMIT_OPTS names, if it exists (scripts/spark_archive.py). Executors get the option here.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from pyspark import SparkContext

PATIENTLY = 120_000  # milliseconds in which Spark is to deliver its events, on whatever machine
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m", "-XX:+UseSerialGC", "-XX:-UsePerfData")
_WORKERS = Path(__file__).parent / "workers"
_SPARK = (
    "--conf spark.sql.ui.explainMode=simple"  # the usual mode: a sixth of a small query
    f" --conf spark.python.daemon.module=quick_daemon --conf 'spark.executorEnv.PYTHONPATH={_WORKERS}'"
)


def submit(options: str = "") -> str:
    """A value for PYSPARK_SUBMIT_ARGS; `options` are more of spark-submit."""
    driver = " ".join(QUICK)
    executors = f"{driver} {os.environ.get('SPARK_SUBMIT_OPTS', '')}".strip()
    java = f"--driver-java-options '{driver}' --conf 'spark.executor.extraJavaOptions={executors}'"
    return f"--driver-memory 1g {java} {_SPARK} {options} pyspark-shell"


def start_with(options: str = "") -> None:
    """Let the next session of this process start in a JVM with these options of spark-submit.

    A process has one JVM, which lives on when its session ends and goes on with the options that it was started with. One that was
    started with others is ended, unless it only has jars that this session does not ask for.
    """
    wanted = submit(options)
    gateway = SparkContext._gateway
    running = os.environ.get("PYSPARK_SUBMIT_ARGS", "") if gateway is not None else ""
    if not options and re.sub(r"--jars \S+", "", running) == wanted:
        return
    if gateway is not None and running != wanted:
        if SparkContext._active_spark_context is not None:
            SparkContext._active_spark_context.stop()
        gateway.shutdown()
        gateway._gateway_client.is_connected = False  # objects of it that are collected later have nobody to tell
        gateway.proc.stdin.close()  # the JVM ends when this pipe does
        gateway.proc.wait(timeout=60)
        SparkContext._gateway = SparkContext._jvm = None
    os.environ["PYSPARK_SUBMIT_ARGS"] = wanted
    os.environ["PYSPARK_PYTHON"] = sys.executable  # workers need what the tests have
