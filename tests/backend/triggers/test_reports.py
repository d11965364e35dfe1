"""Reports that a trigger writes: their rows, their files, and the rights of the owner."""

from __future__ import annotations

import csv
import stat
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.access.keys import KeyRing
from headwater.backend.policies import Policies
from headwater.backend.triggers.model import TriggerState
from headwater.backend.triggers.owners import key_owner
from headwater.errors import HeadwaterError
from headwater.graph.access.patterns import Namespaces
from headwater.graph.access.rights import Rights
from headwater.graph.access.scopes import Scope
from headwater.graph.model import node_id
from tests.backend.events import facet, run_event
from tests.backend.triggers.conftest import TriggeredHome
from tests.backend.triggers.receiver import Receiver

MANUAL: dict[str, Any] = {"manual": {}}
_POLICY = """policy: lake
rules:
- name: no-leak
  must_not_flow: {from: 'raw', to: 'out*'}
- name: term
  must_expire: {of: 'raw', after: 30d}
"""
_ODD = "out<b>=1"
_OUT = node_id("dataset", "n", _ODD)


async def _lake(home: TriggeredHome) -> None:
    """A column of `raw` reaches a dataset whose name is markup."""
    field = {"namespace": "n", "name": "raw", "field": "email", "transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}]}
    output = {"namespace": "n", "name": _ODD, "facets": {"columnLineage": facet(fields={"=cmd": {"inputFields": [field]}})}}
    await home.send(
        run_event(1, job={"namespace": "jobs", "name": "load"}, inputs=[], outputs=[{"namespace": "n", "name": "raw"}]),
        run_event(2, job={"namespace": "jobs", "name": "copy"}, inputs=[{"namespace": "n", "name": "raw"}], outputs=[output]),
    )
    policies = Policies(home.workspace.settings, home.workspace.graph)
    await policies.apply("default", _POLICY, "ann")
    await policies.close()


async def _report(home: TriggeredHome, **parts: Any) -> Path:
    """Fire a trigger with a report, and return the file."""
    trigger = await home.create(MANUAL, {"report": parts}, name=f"r-{parts['of']}-{parts.get('format', 'csv')}")
    await home.triggers.fire("default", trigger.definition.name)
    (entry,) = await home.ended(trigger, 1)
    assert entry.execution is not None
    assert (entry.execution.state, entry.execution.error) == ("complete", None)
    (path,) = (home.workspace.home.reports / "default" / trigger.definition.name).iterdir()
    assert path.name in str(entry.execution.result)
    return path


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


async def test_each_report_has_its_rows(home: TriggeredHome) -> None:
    await _lake(home)
    (deviation,) = _rows(await _report(home, of="deviations"))
    assert (deviation["state"], deviation["rule"]) == ("open", "no-leak")
    retention = _rows(await _report(home, of="retention", within="1d"))
    assert {(row["dataset"], row["overdue"]) for row in retention} == {("dataset:n:raw", "yes"), (_OUT, "yes")}
    lineage = _rows(await _report(home, of="lineage", node=_OUT))
    assert {row["id"] for row in lineage} >= {"job:jobs:copy", "dataset:n:raw", "job:jobs:load"}
    impact = _rows(await _report(home, of="impact", node="raw"))
    assert {row["id"] for row in impact} >= {"job:jobs:copy", _OUT}
    column = _rows(await _report(home, of="column", node="column:n:raw:email"))
    assert [(row["kind"], row["job"]) for row in column] == [("read", "job:jobs:copy")]


async def test_names_are_no_formulas_and_no_markup(home: TriggeredHome) -> None:
    await _lake(home)
    (name,) = [row["name"] for row in _rows(await _report(home, of="impact", node="column:n:raw:email")) if row["kind"] == "column"]
    assert name == "'=cmd"
    page = (await _report(home, of="lineage", node=_OUT, format="html")).read_text()
    assert page.startswith("<!doctype html>")
    assert "<b>" not in page
    text = (await _report(home, of="impact", node="raw", format="html")).read_text()
    assert "out&lt;b&gt;=1" in text


async def test_a_report_is_for_the_owner_of_the_home_and_the_newest_stay(home: TriggeredHome) -> None:
    await _lake(home)
    trigger = await home.create(MANUAL, {"report": {"of": "retention", "keep": 2}}, name="some")
    for count in range(1, 4):
        await home.triggers.fire("default", "some")
        entries = await home.ended(trigger, count)
    folder = home.workspace.home.reports / "default" / "some"
    executions = [entry.execution for entry in entries[1:]]
    assert sorted(path.name.rpartition("-")[2] for path in folder.iterdir()) == sorted(
        f"{execution.id[:8]}.csv" for execution in executions if execution is not None
    )
    for path in (folder, folder.parent, folder.parent.parent, *folder.iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


async def test_a_target_gets_the_rows(home: TriggeredHome, there: Receiver) -> None:
    await _lake(home)
    await _report(home, of="deviations", target="there")
    ((_, document),) = there.requests
    assert "no-leak" in document["text"]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({}, "report.of is ''"), ({"of": "all"}, "report.of is 'all'"), ({"of": "lineage"}, "needs node"),
        ({"of": "lineage", "node": "nothing"}, "No dataset is named"), ({"of": "deviations", "node": "raw"}, "about everything"),
        ({"of": "column", "node": "raw"}, "is no column"), ({"of": "impact", "node": "raw", "within": "1d"}, "report of retention"),
        ({"of": "retention", "within": "soon"}, "report of retention"), ({"of": "retention", "keep": 0}, "keep is 0"),
        ({"of": "retention", "keep": True}, "keep is True"), ({"of": "retention", "format": "pdf"}, "format is 'pdf'"),
        ({"of": "retention", "target": "nobody"}, "no target"), ({"of": "retention", "path": "/etc"}, "takes no 'path'"),
    ],
)  # fmt: skip
async def test_a_faulty_report_is_refused(home: TriggeredHome, parts: dict[str, Any], message: str) -> None:
    await home.send(run_event(1, outputs=[{"namespace": "n", "name": "raw"}]))
    with pytest.raises(HeadwaterError, match=message):
        await home.create(MANUAL, {"report": parts})


async def test_an_owner_who_reads_some_namespaces_gets_no_report(home: TriggeredHome) -> None:
    ring = KeyRing(home.workspace.home.named_keys)
    scopes = frozenset({Scope.READ, Scope.REPLAY})
    try:
        key, _ = ring.create("some", Rights(scopes, {Scope.READ: Namespaces.of(["n"])}), tenant="default")
    finally:
        ring.close()
    trigger = await home.create(MANUAL, {"report": {"of": "deviations"}}, name="some", owner=key_owner(key.id, key.name))
    await home.triggers.fire("default", "some")
    stopped = await home.stopped("some")
    assert stopped.state is TriggerState.STOPPED
    assert "in some namespaces only" in str(stopped.reason)
    assert not home.workspace.home.reports.exists()
    assert trigger.definition.name == "some"
