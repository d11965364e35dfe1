"""Writes Spark's events to the spool, as OpenLineage events and manifests.

`scribe` begins and ends the application's run, and passes each event of the capture bridge to the runs of its kind: `query_runs`,
`stream_runs`, `rdd_runs`, `operation_runs`. Unfinished work is in `running`, `framing`, `streams` and `rdd_jobs`. `writer` writes
everything.
"""

from headwater.spark_listener.scribe.scribe import Scribe

__all__ = ["Scribe"]
