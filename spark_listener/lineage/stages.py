"""The stages and tasks that Spark ran for a query or the save of an RDD, as a run facet. It needs no capture.

`StageLog.java` limits the size: a job's facet stays below some 30 kB. The rest is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headwater.spark_listener.lineage.events import instant
from headwater.spark_listener.lineage.facets import STAGES, Facet, facet
from headwater.spark_listener.redact import redact

_MOST = 100  # stages of a run: an RDD may be saved by several jobs
_LONGEST = 500  # characters of a call or an error


def stages_of(logs: Iterable[Mapping[str, Any]], ended: float) -> Facet | None:
    """Return the facet of a run that ended at `ended`, in milliseconds, from the logs of its jobs. None without a known stage.

    Its `stages` are `{"stage", "attempt", "call", "tasks", "failed", "parents", "startedAt", "endedAt", "error", "shown"}`: `tasks` is the
    number of tasks, `failed` the number of failed attempts, `parents` the stages whose output it read, `shown` the listed attempts,
    `{"task", "partition", "attempt", "state", "startedAt", "endedAt"}`. `leftOut` counts further stages.
    """
    logs = list(logs)
    stages = [_stage(stage, ended) for log in logs for stage in log.get("stages") or ()]
    more = sum(int(log.get("more") or 0) for log in logs)
    return facet(STAGES, stages=stages[:_MOST], leftOut=more + len(stages[_MOST:])) if stages else None


def _stage(stage: Mapping[str, Any], over: float) -> dict[str, Any]:
    about = {name: stage[name] for name in ("stage", "attempt", "tasks", "failed", "parents")}
    about |= {name: redact(str(stage[name]))[:_LONGEST] for name in ("call", "error") if stage.get(name)}
    return about | _times(stage, over) | {"shown": [_task(task, over) for task in stage["shown"]]}


def _task(task: Mapping[str, Any], over: float) -> dict[str, Any]:
    return {name: task[name] for name in ("task", "partition", "attempt", "state")} | _times(task, over)


def _times(part: Mapping[str, Any], over: float) -> dict[str, str]:
    """Return start and end as instants. A cancelled stage that worked after the end of its query has no end time."""
    times = {"startedAt": part.get("started"), "endedAt": part.get("ended")}
    return {name: instant(at) for name, at in times.items() if at and at <= over}
