"""Triggers of a workflow's file: made by apply, and run by the driver."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from headwater.backend.triggers import workflow_rules
from headwater.backend.triggers.owners import HOME
from headwater.backend.triggers.workflow_rules import apply_rules, rule_problems
from headwater.errors import InvalidInputError
from tests.backend.triggers.conftest import TriggeredHome
from tests.backend.workflows.laboratory import Laboratory, channels, task

FLOW = {
    "workflow": "flow",
    "channels": channels("raw", "one"),
    "tasks": {"first": task("copy", [{"channel": "raw", "mode": "new"}], "one")},
}
NIGHT = {"every": "0 3 * * *", "zone": "Europe/Amsterdam"}


@pytest.fixture
def lab(home: TriggeredHome, tmp_path: Path) -> Laboratory:
    laboratory = Laboratory(tmp_path)
    laboratory.register("copy")
    laboratory.workflows = home.workspace.workflows()
    return laboratory


async def test_a_workflow_makes_changes_and_removes_its_triggers(home: TriggeredHome, lab: Laboratory) -> None:
    async def apply(**triggers: object) -> dict[str, str]:
        workflow = lab.workflows.apply(lab.write({**FLOW, "triggers": triggers}))
        await apply_rules(home.triggers, "default", workflow, HOME)
        return {trigger.name: trigger.id for trigger in await home.triggers.all("default")}

    first = await apply(night=NIGHT, arrival={"on": "raw"})
    assert sorted(first) == ["flow.arrival", "flow.night"]
    second = await apply(night=NIGHT, arrival={"every": "0 4 * * *"})
    assert second["flow.night"] == first["flow.night"], "it keeps its history"
    assert second["flow.arrival"] != first["flow.arrival"]
    assert list(await apply(night=NIGHT)) == ["flow.night"]
    wrong = lab.workflows.apply(lab.write({**FLOW, "triggers": {"night": {"every": "0 99 * * *"}, "zone": {**NIGHT, "zone": "Mars"}}}))
    assert [str(problem).partition(" is not")[0].partition(" no time")[0] for problem in rule_problems(wrong)] == [
        "triggers.night: '0 99 * * *'", "triggers.zone: There is"
    ]  # fmt: skip


async def test_apply_leaves_triggers_that_people_made(home: TriggeredHome, lab: Laboratory) -> None:
    flow = {**FLOW, "triggers": {"night": NIGHT}}
    await apply_rules(home.triggers, "default", lab.workflows.apply(lab.write(flow)), HOME)
    mine = await home.create({"time": {"every": "1h"}}, {"workflow": {"name": "flow"}}, name="flow.mine")
    hook = await home.create({"manual": {}}, name="flow.alert")
    await apply_rules(home.triggers, "default", lab.workflows.apply(lab.write(FLOW)), HOME)
    assert {trigger.name: trigger.id for trigger in await home.triggers.all("default")} == {mine.name: mine.id, hook.name: hook.id}
    workflow = lab.workflows.apply(lab.write({**flow, "triggers": {"night": NIGHT, "mine": NIGHT}}))
    with pytest.raises(InvalidInputError, match=r"declares the trigger flow\.mine, and somebody made") as refusal:
        await apply_rules(home.triggers, "default", workflow, HOME)
    assert "headwater triggers remove flow.mine" in str(refusal.value.hint)
    assert sorted(trigger.name for trigger in await home.triggers.all("default")) == ["flow.alert", "flow.mine"]


async def test_a_trigger_runs_its_workflow_once_for_each_cause(home: TriggeredHome, lab: Laboratory) -> None:
    workflow = lab.workflows.apply(lab.write({**FLOW, "triggers": {"night": NIGHT}}))
    await apply_rules(home.triggers, "default", workflow, HOME)
    trigger = await home.triggers.get("default", "flow.night")
    for number in (1, 2):
        lab.add("raw", f"{number}.txt", f"line {number}")
        for _ in range(2):
            await home.triggers.fire("default", "flow.night", key=f"cause {number}")
        await home.ended(trigger, number)
    results = [entry.execution.result for entry in await home.ended(trigger, 2) if entry.execution is not None]
    assert results == ["ran first", "ran first"]
    assert lab.lines("one") == ["new line 1", "new line 2"]
    lab.add("raw", "3.txt", "fail")
    await home.triggers.fire("default", "flow.night", key="cause 3")
    execution = (await home.ended(trigger, 3))[-1].execution
    assert execution is not None
    assert (execution.state, "The task first failed" in str(execution.error)) == ("failed", True)
    assert lab.lines("one") == ["new line 1", "new line 2"]


async def test_triggers_that_wait_for_each_other_are_refused(home: TriggeredHome, lab: Laboratory) -> None:
    second = task("copy", [{"channel": "raw", "mode": "new"}], "two")
    flow = {**FLOW, "channels": channels("raw", "one", "two"), "tasks": {**FLOW["tasks"], "second": second}}  # type: ignore[dict-item]
    rules = {"one": {"on": "one", "run": ["second"]}, "two": {"on": "two", "run": ["first"]}}
    workflow = lab.workflows.apply(lab.write({**flow, "triggers": rules}))
    with pytest.raises(InvalidInputError, match="would fire itself"):
        await apply_rules(home.triggers, "default", workflow, HOME)


async def test_a_rule_fires_for_the_block_of_a_program_of_plain_python(home: TriggeredHome, tmp_path: Path) -> None:
    lab = Laboratory(tmp_path)  # no script is named like a module of Python
    lab.workflows = home.workspace.workflows()
    lab.register("plain")
    tasks = {
        "first": {**task("plain", [{"channel": "raw", "mode": "new"}], "one"), "capture": "coarse"},
        "second": task("plain", [{"channel": "one", "mode": "new"}], "two"),
    }
    rules = {"arrival": {"on": "one", "run": ["second"]}}
    flow = {"workflow": "flow", "channels": channels("raw", "one", "two"), "tasks": tasks, "triggers": rules}
    await apply_rules(home.triggers, "default", lab.workflows.apply(lab.write(flow)), HOME)
    lab.add("raw", "1.txt", "a")
    await asyncio.to_thread(lab.workflows.run, "flow", tasks=["first"])
    (entry,) = await home.ended(await home.triggers.get("default", "flow.arrival"), 1)
    assert entry.execution is not None
    assert (entry.execution.result, entry.execution.error) == ("ran second", None)
    assert lab.lines("two") == ["new new a"]


async def test_a_rule_on_a_source_fires_only_when_there_is_something_to_read(
    home: TriggeredHome, lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflow_rules, "LOOK", "1s")
    workflow = lab.workflows.apply(lab.write({**FLOW, "triggers": {"arrival": {"on": "raw"}}}))
    await apply_rules(home.triggers, "default", workflow, HOME)
    trigger = await home.triggers.get("default", "flow.arrival")
    for number in (1, 2):
        lab.add("raw", f"{number}.txt", f"line {number}")
        await home.ended(trigger, number)
    results = [entry.execution.result for entry in await home.ended(trigger, 2) if entry.execution is not None]
    assert results == ["ran first", "ran first"]
    assert lab.lines("one") == ["new line 1", "new line 2"]
