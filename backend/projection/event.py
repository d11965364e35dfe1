"""Projects an OpenLineage event (RunEvent, JobEvent, DatasetEvent; of any producer, any facet may be absent).

A run's state does not depend on the order of its events: COMPLETE, FAIL and ABORT outrank RUNNING, which outranks START; OTHER does not
change the state. A version is the written or intended output of a run. The run's state and `writtenAt` distinguish the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from headwater.backend.projection.actors import ACTOR, state_actor
from headwater.backend.projection.dataset_names import is_whole, name_of, names_among, part_of
from headwater.backend.projection.datasets import quality_of_part, state_dataset
from headwater.backend.projection.descriptions import state_facets, state_quality
from headwater.backend.projection.facets import block_mode, facet_properties, given, mapping, objects, required, text
from headwater.backend.projection.statement import Statement
from headwater.backend.projection.tasks import STAGES, state_stages
from headwater.errors import InvalidEventError, InvalidInputError
from headwater.graph.model import EdgeKind, GraphBatch, NodeKind, Stamp, node_id, run_key
from headwater.graph.stores.write_times import BARE_END
from headwater.graph.views.recorded_steps import RECORDED

REPLAY = "headwater_replay"  # facet of runs of a committed replay
_STATE_RANK = {"START": 1, "RUNNING": 2, "COMPLETE": 3, "FAIL": 3, "ABORT": 3}
_ENDED = 3
_BASE = {"OVERWRITE", "CREATE", "TRUNCATE"}


def event_stamp(event: Mapping[str, Any], key: str) -> Stamp:
    """Return the time and key for the statements of an event.

    Raises:
        InvalidEventError: the event has no time.
    """
    try:
        return Stamp.at(required(event, "eventTime", "$"), key)
    except InvalidInputError as error:
        raise InvalidEventError(error.message, field="$.eventTime", hint=error.hint) from error


def project_event(event: Mapping[str, Any], stamp: Stamp) -> GraphBatch:
    """Project an event.

    Raises:
        InvalidEventError: the event is invalid. `field` names the fault.
    """
    statement = Statement(stamp)
    statement.meant = names_among([*objects(event.get("inputs")), *objects(event.get("outputs")), *objects([event.get("dataset")])])
    if "run" in event:
        _state_run(statement, event, stamp)
    elif "job" in event:
        job = _state_job(statement, event)
        _state_flows(statement, event, job)
    elif "dataset" in event:
        state_dataset(statement, event["dataset"], "$.dataset")
    else:
        raise InvalidEventError(
            "The event has no run, job or dataset.", field="$", hint="Send a RunEvent, a JobEvent or a DatasetEvent of OpenLineage 2."
        )
    return statement.batch()


def _state_run(statement: Statement, event: Mapping[str, Any], stamp: Stamp) -> None:
    run_id = run_key(required(event["run"], "runId", "$.run"))
    statement.by = run_id
    facets = mapping(event["run"].get("facets"))
    parent = mapping(facets.get("parent"))
    job = _state_job(statement, event, parent or {"job": mapping(facets.get(RECORDED)).get("application")})
    run = statement.run(job, run_id)
    properties, ranks = _run_state(text(event.get("eventType")), stamp)
    # The facts about contents come from the last run that wrote the dataset, not from a later failed run.
    has_written = properties.get("state") == "COMPLETE" or has_written_batches(event)
    replay = mapping(facets.get(REPLAY))
    if not replay:  # a later replay repeats the job's own last run
        statement.describe(job, {"lastRun": run} | ({"lastComplete": run} if has_written else {}))
    properties |= facet_properties({name: facet for name, facet in facets.items() if name != STAGES})
    properties |= given(
        producer=text(event.get("producer")),
        error=text(mapping(facets.get("errorMessage")).get("message")),
        parentRun=_run_of(parent),
        rootRun=_run_of(mapping(parent.get("root"))),
    )
    for dataset, stated in _state_flows(statement, event, job):
        about = given(inputFacets=stated.get("inputFacets"), version=mapping(stated.get("facets")).get("version"))
        # Later events of a run often repeat an input without its facets. The known facts then stay.
        properties[f"input:{dataset}"], ranks[f"input:{dataset}"] = about, int(bool(about))
        state_quality(statement, run, dataset, mapping(stated.get("facets")), mapping(stated.get("inputFacets")), part=part_of(stated))
    ranks |= _state_replay(statement, replay, job, run, properties)
    if properties.get("state") == "COMPLETE" and _ends_bare(event):
        properties[BARE_END] = True
    if statement.unnamed:
        properties["leftOut"] = [_unnamed(name, count) for name, count in statement.unnamed.items()]
    statement.describe(run, properties, ranks=ranks)
    state_stages(statement, facets, run)
    written_at, ranks = _written_at(event, properties, stamp)
    for index, output in enumerate(objects(event.get("outputs"))):
        _state_version(statement, output, f"$.outputs[{index}]", run_id, written_at, ranks)


def _state_replay(statement: Statement, replay: Mapping[str, Any], job: str, run: str, properties: dict[str, Any]) -> dict[str, int]:
    """State which runs a committed replay replaces, and what it read through outputs that were not committed. Returns ranks.

    In place of a dataset that was not committed, the replay read or wrote its own data. The job still reads or writes the dataset.
    """
    for dataset in _datasets(replay.get("alsoReads")):
        statement.link(dataset, job, EdgeKind.READS)
    for dataset in _datasets(replay.get("alsoWrites")):
        statement.link(job, dataset, EdgeKind.WRITES)
    for original in replaced_runs(replay):
        statement.link(node_id(NodeKind.RUN, original), run, EdgeKind.REPLAYS)
    ranks = {}
    for dataset in _datasets(replay.get("through")):
        if f"input:{dataset}" not in properties:
            properties[f"input:{dataset}"], ranks[f"input:{dataset}"] = {}, 0
    return ranks


def replaced_runs(replay: Mapping[str, Any]) -> list[str]:
    """Return the names of the nodes of the runs that a committed replay replaces."""
    stated = replay.get("replaces")
    return [run_key(original) for original in stated if text(original)] if isinstance(stated, list) else []


def _datasets(stated: Any) -> list[str]:
    """Return the ids of datasets in a list that an event states."""
    listed = stated if isinstance(stated, list) else []
    return [identifier for identifier in listed if (text(identifier) or "").startswith(f"{NodeKind.DATASET}:")]


def _unnamed(dataset: str, count: int) -> dict[str, Any]:
    what = "1 column without a name is" if count == 1 else f"{count} columns without a name are"
    return {"operator": dataset, "reason": f"{what} not listed", "kind": "missing"}


def _run_state(kind: str | None, stamp: Stamp) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the state and times of a run, with their ranks. The earliest start wins, and the time of the event with the state."""
    state = (kind or "OTHER").upper()
    rank = _STATE_RANK.get(state)
    if rank is None:
        return {"updatedAt": stamp.time}, {}
    properties, ranks = {"state": state, "updatedAt": stamp.time}, {"state": rank}
    if state == "START":
        properties["startedAt"], ranks["startedAt"] = stamp.time, -_microseconds(stamp)
    if rank == _ENDED:
        properties["endedAt"] = stamp.time
    return properties, ranks


def _ends_bare(event: Mapping[str, Any]) -> bool:
    """Whether the end of a run names no dataset. The datasets of its start then count. Headwater's listener always names outputs."""
    return not event.get("inputs") and not event.get("outputs") and not (text(event.get("producer")) or "").startswith("headwater:")


def _written_at(event: Mapping[str, Any], run: Mapping[str, Any], stamp: Stamp) -> tuple[str | None, dict[str, int]]:
    """Return the time of a run's output: its end, or, for a stream, the earliest time with output."""
    if has_written_batches(event):
        return stamp.time, {"writtenAt": -_microseconds(stamp)}
    return (run.get("endedAt") if run.get("state") == "COMPLETE" else None), {}


def has_written_batches(event: Mapping[str, Any]) -> bool:
    """Whether the event is from a stream that has written, even if the stream is stopped or fails later.

    Headwater's listener counts the batches of a stream. Other producers for Spark report a run for each batch, which ends like any other
    run.
    """
    kind = mapping(mapping(mapping(event["job"]).get("facets")).get("jobType"))
    if text(kind.get("processingType")) != "STREAMING":
        return False
    if text(kind.get("integration")) != "SPARK":
        return True
    ledger = mapping(mapping(event["run"].get("facets")).get("headwater_capture"))
    batches = mapping(ledger.get("leftOut")).get("batches")
    return isinstance(batches, int) and batches > 0


def _microseconds(stamp: Stamp) -> int:
    return int(datetime.fromisoformat(stamp.time).timestamp() * 1_000_000)


def _state_job(statement: Statement, event: Mapping[str, Any], parent: Mapping[str, Any] | None = None) -> str:
    namespace, name = required(event.get("job"), "namespace", "$.job"), required(event["job"], "name", "$.job")
    facets = mapping(event["job"].get("facets"))
    job = statement.describe(statement.job(namespace, name), facet_properties({key: each for key, each in facets.items() if key != ACTOR}))
    state_facets(statement, job, facets)
    inner = _state_pipeline(statement, parent or {})
    contained = state_actor(statement, job, facets.get(ACTOR), inner)
    outer = _state_pipeline(statement, mapping((parent or {}).get("root")))
    if inner and not contained:
        statement.contain(inner, job)
    if outer and outer != inner:
        statement.contain(outer, inner or job)
    return job


def _state_pipeline(statement: Statement, parent: Mapping[str, Any]) -> str | None:
    """State the pipeline in a parent facet, or in its root, and return its id. None means that the facet has no pipeline."""
    job = mapping(parent.get("job"))
    namespace, name = text(job.get("namespace")), text(job.get("name"))
    if namespace is None or name is None:
        return None
    return statement.describe(statement.pipeline(namespace, name), facet_properties(job.get("facets")))


def _run_of(parent: Mapping[str, Any]) -> str | None:
    run = text(mapping(parent.get("run")).get("runId"))
    return node_id(NodeKind.RUN, run_key(run)) if run else None


def _state_flows(statement: Statement, event: Mapping[str, Any], job: str) -> list[tuple[str, Mapping[str, Any]]]:
    inputs = [
        (state_dataset(statement, item, f"$.inputs[{index}]", job=job), item) for index, item in enumerate(objects(event.get("inputs")))
    ]
    for dataset, _ in inputs:
        statement.link(dataset, job, EdgeKind.READS)
    for index, item in enumerate(objects(event.get("outputs"))):
        output = state_dataset(statement, item, f"$.outputs[{index}]", job=job, written=True)
        statement.link(job, output, EdgeKind.WRITES)
        former = _former(statement, mapping(mapping(item.get("facets")).get("lifecycleStateChange")))
        if former not in (None, output):
            statement.link(former, job, EdgeKind.READS)
    return inputs


def _former(statement: Statement, change: Mapping[str, Any]) -> str | None:
    previous = mapping(change.get("previousIdentifier"))
    namespace, name = text(previous.get("namespace")), text(previous.get("name"))
    if text(change.get("lifecycleStateChange")) != "RENAME" or not namespace or not name:
        return None
    return statement.dataset(*statement.meaning(namespace, name))


def _state_version(
    statement: Statement, output: Mapping[str, Any], path: str, run_id: str, written_at: str | None, ranks: Mapping[str, int]
) -> None:
    namespace, name = name_of(output, path)
    version = statement.version(namespace, name, run_id)
    statement.link(node_id(NodeKind.RUN, run_id), version, EdgeKind.WRITES)
    facets = mapping(output.get("facets"))
    state_quality(statement, node_id(NodeKind.RUN, run_id), statement.dataset(namespace, name), facets, part=part_of(output))
    is_part = "subset" in mapping(output.get("outputFacets")) or not is_whole(output)
    change = None if is_part else text(mapping(facets.get("lifecycleStateChange")).get("lifecycleStateChange"))
    about = facet_properties(output.get("outputFacets")) | facet_properties(quality_of_part(output))
    about |= facet_properties({"version": facets["version"]} if "version" in facets else {})
    stated = mapping(facets.get("headwater_block"))
    about |= given(
        block=block_mode(stated.get("mode"), "base" if change in _BASE else None),
        writtenAt=_instant(stated.get("writtenAt")) or written_at,
        undoneAt=_instant(stated.get("undoneAt")),
        replaces=text(stated.get("replaces")),
    )
    statement.describe(version, about, ranks=ranks)


def _instant(stated: Any) -> str | None:
    return Stamp.at(stated, "").time if text(stated) else None
