"""Each bound of the intake, reached from the Spark side: the ledger of the run and the next program's summary name what was refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.home.settings import load_settings
from headwater.backend.ingest.intake.scan import MAX_DEPTH
from headwater.backend.workspace import Workspace, deliver_spool
from headwater.graph.ledger import Ledger, ledger_of
from headwater.graph.model import NodeKind, node_id
from headwater.spark_listener.delivery.route import Route
from headwater.spark_listener.settings import Settings
from headwater.spark_listener.spool import SpoolFolder
from tests.backend.captures import capture
from tests.backend.events import run_event

_TENANT = "default"


def _nested(levels: int) -> dict[str, Any]:
    expression: dict[str, Any] = {"fn": "attr", "attr": 1}
    for _ in range(levels):
        expression = {"fn": "+", "args": [expression]}
    return expression


def _manifest_bounds() -> dict[str, Callable[[dict[str, Any]], None]]:
    def scan(manifest: dict[str, Any], **changes: Any) -> None:
        manifest["operators"][1].update(changes)

    return {
        "nested too deeply": lambda manifest: scan(manifest, predicates=[_nested(MAX_DEPTH)]),
        "more than 32 MB": lambda manifest: scan(manifest, text="x" * (33 << 20)),
        "objects and arrays": lambda manifest: scan(manifest, predicates=[{}] * 400_001),
        "more than 2,000,000 values": lambda manifest: manifest["sources"][0].update(splits=list(range(2_000_002))),
        "more than 500,000 escapes": lambda manifest: scan(manifest, text="\\" * 500_001),
        "gone from": lambda manifest: manifest["segments"].append({**manifest["segments"][0], "name": "b0-s1.0-p9-a99.seg"}),
    }


def _event_bounds() -> dict[str, Callable[[dict[str, Any]], None]]:
    return {
        "nested too deeply": lambda event: event["run"]["facets"].update(deep=_nested(MAX_DEPTH)),
        "more than 8 MB": lambda event: event["run"]["facets"].update(sql={"query": "x" * (9 << 20)}),
        "20000 items": lambda event: event.update(inputs=[{"namespace": "file", "name": f"/{number}"} for number in range(20_001)]),
        "50000 items": lambda event: event["outputs"][0].update(facets={"schema": {"fields": [{"name": "c", "type": "int"}] * 50_001}}),
    }


@pytest.mark.parametrize("reason", list(_manifest_bounds()))
def test_a_refused_manifest_is_named_in_the_ledger_and_in_the_next_summary(tmp_path: Path, reason: str) -> None:
    manifest, segments = capture(1)
    folder = SpoolFolder.create(tmp_path / "spool", "app", limit=1 << 30)
    place = folder.segments / manifest["capture"]
    place.mkdir(parents=True)
    for name, data in segments.items():
        (place / name).write_bytes(data)
    _manifest_bounds()[reason](manifest)
    assert folder.capture(manifest)
    ledger, refusals = _delivered(folder, tmp_path, manifest["run"]["runId"])
    (problem,) = ledger.problems
    assert (ledger.status, problem.operator, problem.kind) == ("refused", "manifest", "refused")
    assert reason in problem.reason
    assert reason in refusals[0]


@pytest.mark.parametrize("reason", list(_event_bounds()))
def test_a_refused_event_leaves_its_run_with_a_ledger_that_says_so(tmp_path: Path, reason: str) -> None:
    event = run_event(1)
    event["run"].setdefault("facets", {})["headwater_capture"] = {"capture": None, "status": "complete", "problems": [], "mode": "active"}
    event.setdefault("outputs", []).append({"namespace": "file", "name": "/out"})
    _event_bounds()[reason](event)
    folder = SpoolFolder.create(tmp_path / "spool", "app", limit=1 << 30)
    assert folder.event(event)
    ledger, refusals = _delivered(folder, tmp_path, event["run"]["runId"])
    assert (ledger.status, [problem.kind for problem in ledger.problems]) == ("partial", ["missing"])
    assert reason in ledger.problems[0].reason
    assert reason in refusals[0]


def _delivered(folder: SpoolFolder, home: Path, run: str) -> tuple[Ledger, tuple[str, ...]]:
    """The ledger of a run once the spool is taken in, and what the next program's summary says of it."""
    folder.describe(ended=True)
    folder.close(remove_if_done=False)
    delivered = deliver_spool(home)
    assert len(delivered.refused) == 1

    async def properties() -> Any:
        async with await Workspace.open(load_settings(home=home)) as workspace:
            (node,) = await workspace.graph.get(_TENANT, [node_id(NodeKind.RUN, run)])
            return node.properties

    refusals = Route(Settings(home=home), None, None).finish().refused
    assert Route(Settings(home=home), None, None).finish().refused == (), "it is said once"
    return ledger_of(asyncio.run(properties())), refusals
