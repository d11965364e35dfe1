"""What the listener reads, written into the spool as OpenLineage and manifests.

`scribe` begins and ends the application's own run and gives each event of the capture bridge to the runs of its kind: `query_runs`,
`stream_runs`, `rdd_runs`, `operation_runs`. What goes on is in `running`, `framing`, `streams` and `rdd_jobs`. All that is written goes
through `writer`.
"""

from headwater.spark_listener.scribe.scribe import Scribe

__all__ = ["Scribe"]
