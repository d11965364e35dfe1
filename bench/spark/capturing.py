"""Starts capture in a session for one query, as `headwater.attach(spark)` does, and ends it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.spark.spool import SpoolWatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROOM = 1 << 50  # bytes of the spool; nothing is delivered here, so a full spool would drop a capture


@contextmanager
def capturing(spark: SparkSession, mode: str, home: Path) -> Iterator[SpoolWatch]:
    """Run listener, rules and scribe of a separate application during the block. Its start is spooled before. No other rules rewrite.

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
    """Remove all extra optimizer rules of the session during the block."""
    experimental: Any = spark._jsparkSession.experimental()  # noqa: SLF001  # PySpark has no public way to them
    rules = experimental.extraOptimizations()
    put = getattr(experimental, "extraOptimizations_$eq")
    put(rules.take(0))
    try:
        yield
    finally:
        put(rules)
