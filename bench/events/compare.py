"""Checks the events of a case against its expectations, by category."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.events.cases import Case

CATEGORIES = ("datasets", "state", "ended", "one run", "columns", "decides", "lifecycle", "rows", "schemas", "datahub")
_ENDS = ("COMPLETE", "FAIL", "ABORT")
Event = Mapping[str, Any]


def verdicts(case: Case, events: Sequence[Event], faults: Sequence[str], datahub: Sequence[str]) -> dict[str, str | None]:
    """Return the fault in each category of the case, or None for a correct category.

    `faults` are violations of the schemas. `datahub` are facts that DataHub would refuse, leave out or lose.
    """
    runs = _runs(events)
    working = {run: sent for run, sent in runs.items() if any(event.get("inputs") or event.get("outputs") for event in sent)}
    result: dict[str, str | None] = {}
    reads = {_base(item) for event in events for item in event.get("inputs") or ()}
    writes = {_base(item) for event in events for item in event.get("outputs") or ()}
    expected = (set(case.reads.split()), {case.writes} if case.writes else set())
    result["datasets"] = _unless((reads, writes) == expected, f"{sorted(reads)} → {sorted(writes)}")
    states = sorted({event["eventType"] for sent in working.values() for event in sent if event["eventType"] in _ENDS})
    result["state"] = _unless(states == ([case.state] if case.runs else []), f"{states}")
    open_ = [sent[0]["job"]["name"] for sent in runs.values() if not any(event["eventType"] in _ENDS for event in sent)]
    result["ended"] = _unless(not open_, f"{len(open_)} of {len(runs)} run(s) never ended: {open_[:2]}")
    result["one run"] = _unless(len(working) == case.runs, f"{len(working)}: {[sent[0]['job']['name'] for sent in working.values()]}")
    outputs = [item for event in events for item in event.get("outputs") or () if _base(item) == case.writes]
    if case.columns is not None:
        direct = {column: " ".join(sorted(fields)) for column, fields in _direct(outputs).items()}
        wanted = {column: " ".join(sorted(fields.split())) for column, fields in case.columns.items() if fields}
        result["columns"] = _unless({column: fields for column, fields in direct.items() if fields} == wanted, str(direct))
    if case.decides is not None:
        decides = _indirect(outputs)
        result["decides"] = _unless(decides == {part.strip() for part in case.decides.split(",") if part.strip()}, str(sorted(decides)))
    if case.writes:
        changes = {(item.get("facets") or {}).get("lifecycleStateChange", {}).get("lifecycleStateChange") for item in outputs} - {None}
        result["lifecycle"] = _unless(changes == set((case.change or "").split()), str(sorted(changes)))
    if case.rows is not None:
        counts = {(item.get("outputFacets") or {}).get("outputStatistics", {}).get("rowCount") for item in outputs} - {None}
        result["rows"] = _unless(counts == {case.rows}, str(sorted(counts)))
    result["schemas"] = _unless(not faults, "; ".join(faults[:2]))
    result["datahub"] = _unless(not datahub, "; ".join(datahub[:2]))
    return result


def of_case(events: Sequence[Event], began: float, ended: float) -> list[Event]:
    """Return the events of runs that began within a period, without those of the application."""
    inside = {event["run"]["runId"] for event in events if began <= _time(event) <= ended + 1 and not _is_application(event)}
    return [event for event in events if event["run"]["runId"] in inside]


def _unless(right: bool, fault: str) -> str | None:
    return None if right else fault


def _is_application(event: Event) -> bool:
    return bool((event["job"].get("facets") or {}).get("jobType", {}).get("jobType") == "APPLICATION")


def _time(event: Event) -> float:
    return datetime.fromisoformat(event["eventTime"]).timestamp()


def _runs(events: Sequence[Event]) -> dict[str, list[Event]]:
    runs: dict[str, list[Event]] = {}
    for event in events:
        runs.setdefault(event["run"]["runId"], []).append(event)
    return runs


def _base(dataset: Mapping[str, Any]) -> str:
    return Path(dataset["name"]).name


def _fields(found: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for field in found:
        for step in field.get("transformations") or [{"type": "DIRECT"}]:
            yield f"{_base(field)}.{field['field']}", step


def _direct(outputs: Sequence[Mapping[str, Any]]) -> dict[str, set[str]]:
    columns: dict[str, set[str]] = {}
    for output in outputs:
        for column, stated in (output.get("facets") or {}).get("columnLineage", {}).get("fields", {}).items():
            columns.setdefault(column, set()).update(name for name, step in _fields(stated["inputFields"]) if step.get("type") == "DIRECT")
    return columns


def _indirect(outputs: Sequence[Mapping[str, Any]]) -> set[str]:
    found = set()
    for output in outputs:
        lineage = (output.get("facets") or {}).get("columnLineage", {})
        listed = [lineage.get("dataset") or (), *(stated["inputFields"] for stated in lineage.get("fields", {}).values())]
        for fields in listed:
            found |= {f"{name} {step.get('subtype')}" for name, step in _fields(fields) if step.get("type") == "INDIRECT"}
    return found
