"""Capture in a session for as long as a query runs: the whole of it, as `headwater.attach(spark)` starts it, and its end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.spark.spool import SpoolWatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROOM = 1 << 50  # bytes of the spool: nothing is delivered here, so what was counted and removed would fill it, and a capture be dropped


@contextmanager
def capturing(spark: SparkSession, mode: str, home: Path) -> Iterator[SpoolWatch]:
    """Listener, rules and scribe of an application of its own, which has stated its start when this begins. No other rules rewrite.

    Raises:
        RuntimeError: capture turned itself off, or missed events of Spark.
    """
    from headwater.spark_listener.application import Application
    from headwater.spark_listener.breaker import Breaker
    from headwater.spark_listener.invocation import this_invocation
    from headwater.spark_listener.rdd import Origins
    from headwater.spark_listener.settings import load_settings
    from headwater.spark_listener.spark_conf import SparkConf

    settings = load_settings({}, mode=mode, home=str(home), quiet=True, exit_wait=0, spool_bytes=_ROOM)
    breaker = Breaker()
    with without_rules(spark):
        context = spark.sparkContext
        application = Application(context, settings, this_invocation(), breaker, Origins(), SparkConf.of(context))
        try:
            application.adopt(spark)
            watch = SpoolWatch(home)
            watch.until_application_starts()
            yield watch
        finally:
            application.stopped()
            application.folder.close()
    if lost := [reason for _, reason in application.tally.refused if "had no room" in reason]:
        raise RuntimeError(f"what happened was not all seen in mode {mode}: {lost}")
    if not breaker.closed or breaker.faults:
        raise RuntimeError(f"capture failed in mode {mode}: {breaker.reason or breaker.faults}")


@contextmanager
def without_rules(spark: SparkSession) -> Iterator[None]:
    """The session without anybody's optimizer rules; afterwards it has those again that it has now."""
    experimental: Any = spark._jsparkSession.experimental()  # noqa: SLF001  # PySpark has no public way to them
    rules = experimental.extraOptimizations()
    put = getattr(experimental, "extraOptimizations_$eq")
    put(rules.take(0))
    try:
        yield
    finally:
        put(rules)
