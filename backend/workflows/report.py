"""The report of Headwater about a run whose program reported no lineage, as a program of plain Python does.

Headwater gave the program its blocks and took its output, so the datasets and the version are known. The report waits in the folder of the
run until the run is committed. Only outputs that the program's own lineage does not name are reported.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from headwater.backend.workflows.ledger import Run
from headwater.backend.workflows.model import Task
from headwater.paths import name_of_path
from headwater.spark_listener.spool import SpoolFolder

_NAME = "report.json"
_REPORTED = "reported.txt"  # outputs that the program's own lineage names, one path in each line
_APPLICATION = "headwater"  # its name in the spool
_MOST_BYTES = 16 * 1024 * 1024
_PRODUCER = "headwater:/workflow"
_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_PARENT_SCHEMA = "https://openlineage.io/spec/facets/1-1-0/ParentRunFacet.json#/$defs/ParentRunFacet"


def write_report(folder: Path, run: Run, task: Task, parent: Mapping[str, str], inputs: Iterable[Path], outputs: Iterable[Path]) -> None:
    """Write the events of a run to its folder. `parent` has the variables that name the workflow's run."""
    of_parent = {
        "_producer": _PRODUCER, "_schemaURL": _PARENT_SCHEMA, "run": {"runId": parent["OPENLINEAGE_PARENT_RUN_ID"]},
        "job": {"namespace": parent["OPENLINEAGE_PARENT_JOB_NAMESPACE"], "name": parent["OPENLINEAGE_PARENT_JOB_NAME"]},
    }  # fmt: skip
    event = {
        "producer": _PRODUCER, "schemaURL": _SCHEMA, "run": {"runId": str(UUID(run.id)), "facets": {"parent": of_parent}},
        "job": {"namespace": task.namespace, "name": task.program}, "inputs": _datasets(inputs),
    }  # fmt: skip
    ended = datetime.now(UTC).isoformat(timespec="milliseconds")
    events = [
        {**event, "eventType": "START", "eventTime": run.started_at, "outputs": []},
        {**event, "eventType": "COMPLETE", "eventTime": ended, "outputs": _datasets(outputs)},
    ]
    (folder / _NAME).write_text(json.dumps(events), encoding="utf-8")


def spool_report(folder: Path) -> list[str]:
    """Put the events about outputs that the program did not report into the spool of the run, and return the names of the outputs."""
    try:
        events: list[dict[str, Any]] = json.loads((folder / _NAME).read_text(encoding="utf-8"))
    except FileNotFoundError:  # the task has no capture
        return []
    reported = _read_reported(folder)
    for event in events:
        event["outputs"] = [output for output in event["outputs"] if output["name"] not in reported]
    if unreported := [output["name"] for output in events[-1]["outputs"]]:
        own = SpoolFolder.create(folder / "home" / "spool", _APPLICATION, limit=_MOST_BYTES)
        try:
            for event in events:
                own.event(event, durable=True)
        finally:
            own.close()
    return unreported


def note_outputs(folder: Path, names: Collection[str]) -> None:
    """Note that the program's own lineage names some outputs, before it is delivered."""
    if names:
        with (folder / _REPORTED).open("a", encoding="utf-8") as file:
            file.writelines(f"{name}\n" for name in names)


def _read_reported(folder: Path) -> set[str]:
    try:
        return set((folder / _REPORTED).read_text(encoding="utf-8").splitlines())
    except FileNotFoundError:
        return set()


def _datasets(folders: Iterable[Path]) -> list[dict[str, str]]:
    names = [name_of_path(str(folder)) for folder in folders]
    return [{"namespace": namespace, "name": name} for namespace, name in names]
