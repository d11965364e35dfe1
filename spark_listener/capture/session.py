"""Captures one query of a running session, for `headwater.lineage`.

The session's own capture, if it has one, does not see the query: its rules are removed meanwhile, and the query is marked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from headwater.errors import CaptureUnavailableError
from headwater.spark_listener.capture.bridge import Bridge
from headwater.spark_listener.lineage.events import instant
from headwater.spark_listener.lineage.parents import RunName
from headwater.spark_listener.lineage.queries import QueryContext, query_of
from headwater.spark_listener.settings import Mode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OURS = f"headwater.lineage {uuid4()}"  # unique, so that no description of a user hides a query
_DESCRIPTION = "spark.job.description"
_RULE = "headwater.rewrite.core.CaptureRule"
_WAIT_MS = 5_000


def captured_write(frame: DataFrame, out: Path, segments: Path) -> dict[str, Any]:
    """Write a DataFrame as Parquet, and return the manifest of its capture. All its associations are written.

    Raises:
        CaptureUnavailableError: capture does not work in this session, or no event of the query arrived.
    """
    spark = frame.sparkSession
    context = spark.sparkContext
    with _alone(spark, segments) as bridge:
        with mark_as_ours(context):
            frame.write.parquet(str(out))
        bridge.flush()
        ends = [event for event in bridge.drain(_WAIT_MS) if event["event"] == "query_end" and event.get("capture")]
    if not ends:
        raise CaptureUnavailableError("Nothing was heard of the query.", hint="Ask again while no other query runs in this session.")
    if any("recorded" in operator for operator in ends[-1]["capture"]["operators"]):
        raise CaptureUnavailableError(
            "The frame reads one that was made of an RDD.", hint="Write it, and ask for the lineage of what was written: `headwater trace`."
        )
    run = RunName("shell", "lineage", str(uuid4()))
    shared = QueryContext(
        application=run, application_id=str(context.applicationId), application_name=str(context.appName),
        spark_version=str(context.version), job_prefix="lineage", mode=Mode.ACTIVE,
    )  # fmt: skip
    query = query_of(ends[-1], instant(ends[-1]["time"]), shared, run_id=run.run_id, segments=segments)
    if query is None or query.manifest is None:
        raise CaptureUnavailableError("The query was not captured.")
    return dict(query.manifest)


@contextmanager
def mark_as_ours(context: Any) -> Iterator[None]:
    """Mark the jobs of this thread as Headwater's own, so that the session's capture leaves them out."""
    before = context.getLocalProperty(_DESCRIPTION)
    context.setLocalProperty(_DESCRIPTION, OURS)
    try:
        yield
    finally:
        context.setLocalProperty(_DESCRIPTION, before)  # None removes it


@contextmanager
def _alone(spark: Any, segments: Path) -> Iterator[Bridge]:
    """Install a separate capture in a session, and remove the existing rules meanwhile."""
    optimizer = spark._jsparkSession.experimental()  # noqa: SLF001  # PySpark has no public way to the JVM's session
    rules = optimizer.extraOptimizations()
    put = getattr(optimizer, "extraOptimizations_$eq")
    others = rules.take(0)
    for place in range(rules.size()):
        if rules.apply(place).getClass().getName() != _RULE:
            others = others.appended(rules.apply(place))
    put(others)
    try:
        bridge = Bridge.install(spark, mode="active", segments=str(segments))
        try:
            yield bridge
        finally:
            bridge.close()
    finally:
        put(rules)
