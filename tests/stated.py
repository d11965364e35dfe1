"""A small pipeline, raw → clean → report, as events and manifests state it: for tests of what reads the graph."""

from typing import Any

from headwater.backend.projection import WrittenFile, capture_stamp, event_stamp, fold, project_capture, project_event
from headwater.graph.stores.sqlite import SqliteStore

TENANT = "default"
CLEAN, REPORT = "0198a1b2-0000-7000-8000-000000000001", "0198a1b2-0000-7000-8000-000000000002"
APPLICATION = "0198a1b2-0000-7000-8000-0000000000aa"
RAW_FILE = {"path": "file:/data/raw/weather.csv", "length": 900, "modified": 1000}
CLEAN_FILE = {"path": "file:/data/out/clean/part-0.parquet", "length": 500, "modified": 2000}
REPORT_FILE = {"path": "file:/data/out/report/part-0.parquet", "length": 80, "modified": 3000}


def event(run: str, job: str, kind: str, time: str, reads: str, writes: str) -> dict[str, Any]:
    """A run event of an application `flights`."""
    parent = {"run": {"runId": APPLICATION}, "job": {"namespace": "local", "name": "flights"}}
    return {
        "eventType": kind,
        "eventTime": time,
        "producer": "https://example.org/test",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run, "facets": {"parent": parent}},
        "job": {"namespace": "local", "name": job},
        "inputs": [{"namespace": "file", "name": reads}],
        "outputs": [{"namespace": "file", "name": writes}],
    }


def manifest(run: str, job: str, ended: str, reads: str, source: dict[str, Any], writes: str) -> dict[str, Any]:
    """The manifest of one capture, as far as the graph takes it."""
    return {
        "capture": run,
        "run": {"namespace": "local", "job": job, "runId": run},
        "started": ended,
        "ended": ended,
        "mode": "active",
        "status": "complete",
        "problems": [],
        "sources": [{"source": 0, "dataset": {"namespace": "file", "name": reads}, "path": reads, "files": [source]}],
        "operators": [],
        "sink": {"dataset": {"namespace": "file", "name": writes}, "path": writes, "format": "parquet", "mode": "overwrite"},
    }


async def state(
    store: SqliteStore, run: str, job: str, minute: int, reads: tuple[str, dict[str, Any]], writes: tuple[str, dict[str, Any]]
) -> None:
    """Everything that one run of a job states, in the store."""
    started, ended = f"2026-01-31T10:{minute:02}:00Z", f"2026-01-31T10:{minute + 1:02}:00Z"
    batches = []
    for kind, time in (("START", started), ("COMPLETE", ended)):
        stated = event(run, job, kind, time, reads[0], writes[0])
        batches.append(project_event(stated, event_stamp(stated, f"{run}-{kind}")))
    captured = manifest(run, job, ended, reads[0], reads[1], writes[0])
    batches.append(project_capture(captured, capture_stamp(captured, f"{run}-capture"), [WrittenFile(**writes[1], rows=3)]))
    await fold(store, TENANT, batches)


async def state_pipeline(store: SqliteStore) -> None:
    """The pipeline, run once."""
    await state(store, CLEAN, "clean", 1, ("/data/raw/weather.csv", RAW_FILE), ("/data/out/clean", CLEAN_FILE))
    await state(store, REPORT, "report", 3, ("/data/out/clean", CLEAN_FILE), ("/data/out/report", REPORT_FILE))
