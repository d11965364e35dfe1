"""The stages that Spark ran for a query and their tasks, as a facet of its run: containment is known without a capture, too.

Bounded by the listener (`StageLog.java`): a query's facet stays below some 30 kB whatever it ran. What is left out is counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headwater.spark_listener.lineage.events import instant
from headwater.spark_listener.lineage.facets import PRODUCER, StagesRunFacet
from headwater.spark_listener.redact import redact

_LONGEST = 500  # characters of a call or an error


def stages_of(event: Mapping[str, Any]) -> StagesRunFacet | None:
    """The facet; None where no stage ran, or none is known."""
    told = event.get("stages") or {}
    stages = [_stage(stage, float(event["time"])) for stage in told.get("stages") or ()]
    return StagesRunFacet(stages=stages, leftOut=int(told.get("more") or 0), producer=PRODUCER) if stages else None


def _stage(stage: Mapping[str, Any], over: float) -> dict[str, Any]:
    about = {name: stage[name] for name in ("stage", "attempt", "tasks", "failed", "parents")}
    about |= {name: redact(str(stage[name]))[:_LONGEST] for name in ("call", "error") if stage.get(name)}
    return about | _times(stage, over) | {"shown": [_task(task, over) for task in stage["shown"]]}


def _task(task: Mapping[str, Any], over: float) -> dict[str, Any]:
    return {name: task[name] for name in ("task", "partition", "attempt", "state")} | _times(task, over)


def _times(part: Mapping[str, Any], over: float) -> dict[str, str]:
    """Start and end as instants. What a cancelled stage did after its query was over has no end: nothing ends after what contains it."""
    times = {"startedAt": part.get("started"), "endedAt": part.get("ended")}
    return {name: instant(at) for name, at in times.items() if at and at <= over}
