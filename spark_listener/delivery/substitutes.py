"""Makes a smaller document in place of one that the service refuses permanently. It states the loss at the run, where users look.

A refused manifest would leave a run with a ledger that promises records, and a refused event would leave an unknown run. The substitute
names the same run, states the refusal, and contains nothing that could exceed a limit of the intake.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headwater.spark_listener.spool import Item, ItemKind

_MOST_DATASETS = 1_000
_LONGEST_REASON = 300
_IDENTITY = ("format", "capture", "run", "application", "started", "ended", "mode", "execution", "recaptured")
_KEPT_RUN_FACETS = ("parent", "nominalTime", "processing_engine")


def substitute(item: Item, reason: str) -> Item | None:
    """Return the document to send in place of a refused item. None if the item names no run."""
    problem = {"reason": f"the service refused it: {reason}"[:_LONGEST_REASON], "kind": "refused"}
    try:
        if item.kind is ItemKind.CAPTURE:
            return replace(item, body=_refused_manifest(item.body, {"operator": "manifest", **problem}))
        return replace(item, body=_bare_event(item.body, {"operator": "event", **problem}))
    except (KeyError, TypeError, AttributeError):
        return None


def _refused_manifest(manifest: Mapping[str, Any], problem: Mapping[str, str]) -> dict[str, Any]:
    """Return the manifest of a capture without records, because its segments cannot be read without the refused manifest."""
    body = {name: manifest[name] for name in _IDENTITY if name in manifest}
    return {**body, "status": "refused", "problems": [problem], "sources": [], "operators": [], "boundaries": [], "segments": []}


def _bare_event(event: Mapping[str, Any], problem: Mapping[str, str]) -> dict[str, Any]:
    run, job = event["run"], event["job"]
    facets = run.get("facets") or {}
    kept = {name: facets[name] for name in _KEPT_RUN_FACETS if name in facets}
    ledger = facets.get("headwater_capture")
    if isinstance(ledger, Mapping):
        identity = {name: value for name, value in ledger.items() if isinstance(value, str | int | float)}
        kept["headwater_capture"] = {**identity, "status": "partial", "problems": [{**problem, "kind": "missing"}]}
    datasets = {
        side: [{"namespace": one["namespace"], "name": one["name"]} for one in (event.get(side) or ())[:_MOST_DATASETS]]
        for side in ("inputs", "outputs")
    }
    bare = {name: event[name] for name in ("eventType", "eventTime", "producer", "schemaURL")}
    return {
        **bare,
        "run": {"runId": run["runId"], "facets": kept},
        "job": {"namespace": job["namespace"], "name": job["name"]},
        **datasets,
    }
