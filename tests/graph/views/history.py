"""A small history of runs, as events state it: a job that changed its input in March, a column that came and went."""

from __future__ import annotations

from typing import Any

from headwater.backend.projection import event_stamp, fold, project_event
from headwater.graph.stores import GraphStore

JAN, FEB, MAR, APR = (f"2026-0{month}-01T00:00:00Z" for month in (1, 2, 3, 4))


def named(name: str, **facets: Any) -> dict[str, Any]:
    return {"namespace": "file", "name": name, "facets": facets}


def schema(*columns: str) -> dict[str, Any]:
    return {"fields": [{"name": column, "type": "double"} for column in columns]}


def derives(**columns: list[tuple[str, str, str, bool]]) -> dict[str, Any]:
    """Column → (dataset, column, type/subtype, masking) that it is made of."""

    def field(source: tuple[str, str, str, bool]) -> dict[str, Any]:
        kind, _, subtype = source[2].partition("/")
        step = {"type": kind, "subtype": subtype, "masking": source[3]}
        return {"namespace": "file", "name": source[0], "field": source[1], "transformations": [step]}

    return {"fields": {column: {"inputFields": [field(source) for source in sources]} for column, sources in columns.items()}}


async def ran(
    store: GraphStore, tenant: str, at: str, job: str, run: str, inputs: list[Any], outputs: list[Any], kind: str = "COMPLETE"
) -> None:
    event = {
        "eventType": kind,
        "eventTime": at,
        "run": {"runId": run},
        "job": {"namespace": "air", "name": job},
        "inputs": inputs,
        "outputs": outputs,
    }
    await fold(store, tenant, [project_event(event, event_stamp(event, f"{run}{kind}{at}"))])
