"""Converts the bridge's report about an ended query to a unit of work for OpenLineage, and to the manifest of its capture.

The manifest comes from the bridge; this module adds what only Python has (the run, the application, the names of datasets). Anything that
the bridge left out becomes a problem, and is never filled in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headwater.spark_listener.lineage.connected import TOLD
from headwater.spark_listener.lineage.datasets import Dataset, inputs_of, output_of, source_datasets, unknown_datasets
from headwater.spark_listener.lineage.events import Work, instant
from headwater.spark_listener.lineage.facets import Facet, Ledger
from headwater.spark_listener.lineage.manifest_secrets import without_secret_literals
from headwater.spark_listener.lineage.names import JobNames
from headwater.spark_listener.lineage.naming import address_of
from headwater.spark_listener.lineage.parents import RunName
from headwater.spark_listener.lineage.places import TablePlaces
from headwater.spark_listener.lineage.quality import quality_of
from headwater.spark_listener.lineage.stages import stages_of
from headwater.spark_listener.outcome import Outcome
from headwater.spark_listener.redact import redact, redact_mapping
from headwater.spark_listener.settings import Mode

_WRITE = "execute InsertIntoHadoopFsRelationCommand"
_SEVERAL = {"operator": "Union", "reason": "records that one statement inserts into several tables are not followed yet", "kind": "refused"}


@dataclass(frozen=True, slots=True)
class Query:
    """The result of a query. `manifest` is None if no records were captured. `unknown` are problems about its datasets and columns."""

    work: Work
    manifest: Mapping[str, Any] | None
    unknown: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryContext:
    """The facts that all queries of an application share. `obstacle` is the reason why no records can be captured at all."""

    application: RunName
    application_id: str
    application_name: str
    spark_version: str
    job_prefix: str
    mode: Mode
    obstacle: Mapping[str, Any] | None = None
    names: JobNames = field(default_factory=JobNames)
    places: TablePlaces = field(default_factory=TablePlaces)


def query_of(event: Mapping[str, Any], started: str, context: QueryContext, *, run_id: str, segments: Path | None) -> Query | None:
    """Return the ended query, which may have no dataset. None if it succeeded and only read a table format's log.

    `segments` is the local folder with its segments.
    """
    failure = failure_of(event.get("error"))
    plan = event.get("plan") or {}
    if failure is None:
        plan = context.places.of(plan)
    unknown: list[Mapping[str, Any]] = []
    inputs = inputs_of(plan, event.get("read") or (), unknown)
    output = output_of(plan, _metrics(event), changed=failure is None, problems=unknown)
    further = _further(event, inputs, unknown, context, changed=failure is None)
    quality = quality_of(plan, event.get("observed"))
    for source in plan.get("sources") or ():
        _state_quality(quality.inputs.get(source.get("source")), source_datasets(source), inputs)
    if output is not None:
        output.facets |= quality.output
    if failure is None and inputs and _is_nothing(inputs, output):
        return None
    run = _run_of(plan, output, context, run_id)
    ended = instant(event["time"])
    manifest = None
    if event.get("capture") and not failure and _is_of_files(event["capture"]):
        manifest = manifest_of(event["capture"], run, started, ended, context, segments)
    writes = output is not None and not (plan.get("sink") or {}).get("only_change")
    if further and context.mode.records:
        event = {**event, "problems": [_SEVERAL]}
    unknown += unknown_datasets(event.get("plan") or {})
    ledger = _ledger(event, manifest, context, unknown, writes=writes)
    work = Work(
        run=run, started=started, ended=ended, kind="COMMAND" if output else "QUERY", inputs=inputs,
        outputs=[*([output] if output else []), *further], outcome=failure or Outcome(), ledger=ledger, sql=event.get("sql"),
        stages=stages_of([event.get("stages") or {}], float(event["time"])), run_facets=quality.run,
    )  # fmt: skip
    return Query(work, manifest, unknown)


def _further(
    event: Mapping[str, Any], inputs: list[Dataset], problems: list[Mapping[str, Any]], context: QueryContext, *, changed: bool
) -> list[Dataset]:
    outputs = []
    for part in event.get("more") or ():
        plan = context.places.of(part["plan"])
        known = {(dataset.namespace, dataset.name) for dataset in inputs}
        inputs += [dataset for dataset in inputs_of(plan) if (dataset.namespace, dataset.name) not in known]
        output = output_of(plan, part["metrics"], changed=changed, problems=problems)
        outputs += [output] if output else []
    return outputs


def running_of(plan: Mapping[str, Any], stages: Mapping[str, Any] | None, started: str, context: QueryContext, run_id: str) -> Work | None:
    """Return a query that has not ended. None if it reads and writes nothing with a name."""
    inputs, output = inputs_of(plan), output_of(plan, None, changed=False)
    if _is_nothing(inputs, output):
        return None
    return Work(
        run=_run_of(plan, output, context, run_id), started=started, ended="", kind="COMMAND" if output else "QUERY", inputs=inputs,
        outputs=[output] if output else [], outcome=Outcome(), ledger=Ledger(status="running", mode=context.mode),
        stages=stages_of([stages or {}], float("inf")),
    )  # fmt: skip


def _run_of(plan: Mapping[str, Any], output: Dataset | None, context: QueryContext, run_id: str) -> RunName:
    operators = plan.get("operators") or ()
    operation = str(plan.get("command") or (_WRITE if output else operators[0]["op"] if operators else "query"))
    name = context.names.of(context.job_prefix, operation, (output.namespace, output.name) if output else None)
    return RunName(context.application.namespace, name, run_id)


def _ledger(
    event: Mapping[str, Any],
    manifest: Mapping[str, Any] | None,
    context: QueryContext,
    of_datasets: Sequence[Mapping[str, Any]],
    *,
    writes: bool,
) -> Ledger:
    problems = [_problem(problem) for problem in ((manifest or event.get("capture") or {}).get("problems") or event.get("problems") or ())]
    unknown = [_problem(problem) for problem in of_datasets]
    if context.obstacle:
        problems.append(_problem(context.obstacle))
    if not context.mode.records:
        return Ledger(status="off", mode=context.mode, problems=problems + unknown)
    if manifest is None:
        if writes and not problems and not event.get("error"):
            problems.append(_unseen((event.get("plan") or {}).get("command")))
        return Ledger(status="refused" if writes else "off", mode=context.mode, problems=problems + unknown)
    return ledger_of(manifest, context.mode, problems + unknown)


def ledger_of(manifest: Mapping[str, Any], mode: Mode, problems: list[dict[str, Any]]) -> Ledger:
    expected, arrived = len(manifest["segments"]) + len(manifest.get("lost", ())), len(manifest["segments"])
    cost = {name: float(value) for name, value in (manifest.get("cost") or {}).items() if isinstance(value, (int, float))}
    return Ledger(
        status=manifest["status"],
        mode=mode,
        problems=problems,
        capture=manifest["capture"],
        expected=expected,
        arrived=arrived,
        cost=cost,
    )


def _unseen(command: Any) -> dict[str, Any]:
    if command in (None, _WRITE):
        return {"operator": None, "reason": "the query was not seen by the capture", "kind": "missing"}
    operator = str(command).removeprefix("execute ")
    return {"operator": operator, "reason": "records that this command writes are not followed yet", "kind": "refused"}


def manifest_of(
    parts: Mapping[str, Any], run: RunName, started: str, ended: str, context: QueryContext, segments: Path | None
) -> dict[str, Any]:
    """Return the manifest of a capture from the parts of the JVM or of a recording in Python.

    `segments` is the local folder of its segments.
    """
    manifest = dict(parts)
    manifest |= {
        "run": {"namespace": run.namespace, "job": run.job, "runId": run.run_id},
        "application": {"id": context.application_id, "name": redact(context.application_name), "spark": context.spark_version},
        "started": started,
        "ended": ended,
        "mode": str(context.mode),
        "problems": [_problem(problem) for problem in parts.get("problems") or ()],
        "sources": [_named(source) for source in parts.get("sources") or ()],
    }
    if parts.get("sink"):
        manifest["sink"] = _named(parts["sink"])
    collected = dict.fromkeys(name for source in manifest.pop("collectedFrom", None) or () for name in source_datasets(source))
    if collected:
        manifest["collectedFrom"] = [{"namespace": namespace, "name": name} for namespace, name in collected]
    if segments is not None:
        _check_arrival(manifest, segments)
    manifest.setdefault("status", "partial" if manifest["problems"] else "complete")
    return without_secret_literals(manifest)


def _check_arrival(manifest: dict[str, Any], segments: Path) -> None:
    folder = segments / str(manifest["capture"])
    present = [segment for segment in manifest.get("segments") or () if (folder / str(segment["name"])).is_file()]
    lost = [segment["name"] for segment in manifest.get("segments") or () if segment not in present]
    manifest["segments"] = present
    if lost:
        manifest["lost"] = lost
        manifest["status"] = "partial"
        reason = f"{len(lost)} segment(s) of tasks that succeeded are not there: {', '.join(lost[:3])}"
        manifest["problems"].append({"operator": None, "reason": reason, "kind": "missing"})


def _named(described: Mapping[str, Any]) -> dict[str, Any]:
    known = source_datasets(described) if described.get("format") != "local" else ()
    namespace, name = (known or [("local", str(described["path"]).removeprefix("local:"))])[0]
    options = redact_mapping({key: str(value) for key, value in (described.get("options") or {}).items()})
    if described.get("files") and not described.get("path"):  # a connector's place is its name, and it has at most one dataset
        path = address_of((namespace, name))
        files = [{"path": "/".join([path, *_within(file)]), **file} for file in described["files"]]
        described = {**described, "path": path, "files": [{name: file[name] for name in file if name != "within"} for file in files]}
    described = {member: value for member, value in described.items() if member not in TOLD}
    return {**described, "dataset": {"namespace": namespace, "name": name}, "options": options}


def _within(file: Mapping[str, Any]) -> list[str]:
    return [str(file["within"])] if "within" in file else []


def _state_quality(observed: Mapping[str, Facet] | None, datasets: Sequence[tuple[str, str]], inputs: Sequence[Dataset]) -> None:
    if observed and len(datasets) == 1:
        for dataset in inputs:
            if (dataset.namespace, dataset.name) == datasets[0]:
                dataset.part |= observed


def _is_nothing(inputs: Sequence[Dataset], output: Dataset | None) -> bool:
    """Return whether a query has no dataset, or only reads the log of a Delta table."""
    return output is None and all("/_delta_log/" in dataset.name for dataset in inputs)


def _metrics(event: Mapping[str, Any]) -> Mapping[str, Any]:
    metrics = dict(event.get("metrics") or {})
    capture = event.get("capture") or {}
    sink = (capture.get("sink") or {}).get("boundary")
    rows = [int(segment["rows"]) for segment in capture.get("segments") or () if segment.get("boundary") == sink]
    if rows and not metrics.get("rows"):
        metrics["rows"] = sum(rows)
    return {name: value for name, value in metrics.items() if value}


def _is_of_files(capture: Mapping[str, Any]) -> bool:
    return all(
        described and (described.get("path") or described.get("files")) and described.get("format")
        for described in [*(capture.get("sources") or ()), capture.get("sink")]
    )


def failure_of(error: Any) -> Outcome | None:
    if not error:
        return None
    cancelled = False
    if isinstance(error, Mapping):
        cancelled = bool(error.get("cancelled"))
        error = f"{error['class']}: {error.get('message')}" if error.get("class") else error.get("message")
    return Outcome(error=str(error), language="JAVA", cancelled=cancelled)


def _problem(problem: Mapping[str, Any]) -> dict[str, Any]:
    operator = problem.get("operator")
    return {
        "operator": None if operator is None else str(operator),
        "reason": redact(str(problem.get("reason", ""))),
        "kind": str(problem.get("kind", "fault")),
    }
