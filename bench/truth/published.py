"""Passes a capture from the bridge to a store, as the service does after manifest and segments have arrived."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from headwater.graph.associations import Manifest
from headwater.graph.records import AssociationStore
from headwater.spark_listener.lineage.datasets import source_datasets

_MOMENT = "2026-01-01T00:00:00Z"


def publish(store: AssociationStore, tenant: str, capture: Mapping[str, Any], segments: Path, *, mode: str = "active") -> None:
    """Publish a capture, so that it can be traced. `segments` has a folder for each capture.

    Raises:
        InvalidCaptureError: the store refuses the capture.
    """
    name = str(capture["capture"])
    manifest = {
        "started": _MOMENT, "ended": _MOMENT, "mode": mode, **capture,
        "run": {"namespace": "truth", "job": "truth", "runId": str(uuid4())},
        "application": {"id": "truth", "name": "truth", "spark": "4"},
        "sources": [_named(source) for source in capture["sources"]],
        "sink": _named(capture["sink"]),
        "collectedFrom": [
            {"namespace": namespace, "name": name}
            for source in capture.get("collectedFrom") or ()
            for namespace, name in source_datasets(source)
        ],
    }  # fmt: skip
    for segment in capture["segments"]:
        store.stage_segment(tenant, name, segment["name"], segments / name / segment["name"])
    store.publish(tenant, Manifest.from_json(manifest))


def _named(described: Mapping[str, Any]) -> dict[str, Any]:
    path = str(described["path"])
    scheme, _, rest = path.partition("://")
    if not rest:
        return {**described, "dataset": {"namespace": "file", "name": path.removeprefix("file:")}}
    bucket, _, key = rest.partition("/")
    return {**described, "dataset": {"namespace": f"{scheme.replace('s3a', 's3')}://{bucket}", "name": key}}
