"""Starts a Spark session for a trace that is too large for one process (`headwater trace --on-spark`).

The session uses Spark's own settings (`spark-defaults.conf`, `PYSPARK_SUBMIT_ARGS`) and the given master.
Capture is off.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headwater.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LEAST = (4, 0)  # the first version that converts to and from Arrow tables


@contextmanager
def spark_session(master: str) -> Iterator[SparkSession]:
    """Start a session on a master (`local[*]`, `yarn`, `spark://…`) and stop it afterwards. An existing session of the process is reused.

    Spark's web UI shows traced data and needs no key, so it is off unless Spark's settings turn it on.

    Raises:
        ConfigurationError: Spark cannot start with these settings.
    """
    import pyspark
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    if tuple(map(int, pyspark.__version__.split(".")[:2])) < _LEAST:
        raise ConfigurationError(f"Traces on Spark need Spark 4.0 or later; this is {pyspark.__version__}.", hint="Install pyspark>=4.")
    if (running := SparkSession.getActiveSession()) is not None:
        yield running
        return
    os.environ["HEADWATER_MODE"] = "off"
    logging.getLogger("SQLQueryContextLogger").disabled = True  # this logger would print the stack trace of an unsupported statement
    try:
        SparkContext._ensure_initialized()  # noqa: SLF001 - before, Spark's own settings are not known
        shown = str(SparkConf().get("spark.ui.enabled", "false"))
        spark = SparkSession.builder.master(master).appName("headwater trace").config("spark.ui.enabled", shown).getOrCreate()
    except (PySparkException, Py4JError, ValueError) as error:
        raise ConfigurationError(f"Spark cannot be started on {master!r}: {str(error).splitlines()[0]}.") from error
    try:
        spark.sparkContext.setLogLevel("ERROR")
        yield spark
    finally:
        spark.stop()
