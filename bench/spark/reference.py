"""OpenLineage's own Spark integration for comparison: its jar, and its listener for one query."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.results import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VERSION = "1.53.0"
_LISTENER = "io.openlineage.spark.agent.OpenLineageSparkListener"
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"


def reference_jar() -> Path:
    """Return the jar of the integration. Maven fetches it if it is missing."""
    folder = ROOT / ".tools" / "reference"
    jar = folder / f"openlineage-spark_2.13-{VERSION}.jar"
    if not jar.is_file():
        artifact = f"io.openlineage:openlineage-spark_2.13:{VERSION}"
        subprocess.run(["mvn", "-q", "-B", _COPY, f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"], check=True)
    return jar


@contextmanager
def listening(spark: SparkSession, events: Path) -> Iterator[None]:
    """Let the integration write its events to a file during the block.

    Raises:
        RuntimeError: it wrote nothing, so the figures would compare plain with plain.
    """
    context = spark.sparkContext._jsc.sc()  # noqa: SLF001  # PySpark has no public way
    before = events.stat().st_size if events.exists() else 0
    listener = _new(spark, events)
    context.addSparkListener(listener)
    try:
        yield
    finally:
        context.listenerBus().waitUntilEmpty(60_000)
        context.removeSparkListener(listener)
    if not events.exists() or events.stat().st_size == before:
        raise RuntimeError(f"OpenLineage's integration wrote nothing to {events}")


def _new(spark: SparkSession, events: Path) -> Any:
    """Return a listener with its own settings, because Headwater's agent would treat settings of the session as a backend."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001  # as above
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    loader.addURL(jvm.java.net.URI(reference_jar().as_uri()).toURL())  # repeated calls are harmless
    conf = spark.sparkContext._jsc.sc().getConf()  # noqa: SLF001  # a copy
    conf.set("spark.openlineage.transport.type", "file").set("spark.openlineage.transport.location", str(events))
    arguments = jvm.java.util.ArrayList()
    arguments.add(conf)
    return jvm.java.lang.Class.forName(_LISTENER, True, loader).getConstructors()[0].newInstance(arguments.toArray())
