"""A Spark session for a trace that is too large for one process.

For `headwater trace --on-spark`. It has what Spark's own settings say (`spark-defaults.conf`, `PYSPARK_SUBMIT_ARGS`), and the master that
is asked for. Nothing of it is captured.
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

_LEAST = (4, 0)  # the first version that takes and gives tables of Arrow


@contextmanager
def spark_session(master: str) -> Iterator[SparkSession]:
    """A session on a master (`local[*]`, `yarn`, `spark://…`), stopped afterwards; in a process that has a session, that one.

    Spark's own pages, which need no key and show what is traced, are served only where Spark's settings ask for them.

    Raises:
        ConfigurationError: Spark cannot be started there.
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
    logging.getLogger("SQLQueryContextLogger").disabled = True  # it would print the whole trace of a statement that is refused by name
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
