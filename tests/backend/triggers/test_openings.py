"""The condition `deviation`: something deviates from an applied policy that did not deviate before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from unittest.mock import AsyncMock

import pytest

from headwater.backend.policies import PolicyVersion
from headwater.backend.policies.follower import PolicyFollower
from headwater.backend.policies.store import PolicyStore, open_policy_store
from headwater.backend.triggers.openings import Openings
from headwater.errors import InvalidInputError
from headwater.graph.policies import Deviation, Severity
from tests.backend.events import run_event
from tests.backend.triggers.conftest import TriggeredHome

TENANT = "default"
TEXT = """policy: lake
rules:
- name: no-leak
  must_not_flow: {from: '/raw*', to: '/public*'}
- name: described
  severity: warning
  must_have: {of: '/gold*', description: true}
"""


def _deviation(name: str, rule: str = "no-leak", severity: Severity = Severity.ERROR) -> Deviation:
    path = (f"dataset:file:/raw/{name}", "job:n:j", "dataset:file:/public")
    return Deviation(rule, severity, None, path[0], path[2], f"Data of {name} flows.", path)


@pytest.fixture
def no_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the worker from checking policies. A check marks deviations as fixed that only a test has filed."""
    monkeypatch.setattr(PolicyFollower, "step", AsyncMock(return_value=[]))


@pytest.fixture
async def policies(home: TriggeredHome) -> AsyncIterator[PolicyStore]:
    """The policies of the home, with the policy of `TEXT`."""
    store = open_policy_store(home.workspace.settings)
    store.add_version(TENANT, "lake", TEXT, "ann")
    yield store
    store.close()


def _file(store: PolicyStore, *found: Deviation) -> None:
    store.file(TENANT, PolicyVersion("lake", 1, TEXT, "ann", 0.0), found, replaces=True)


async def _looked(home: TriggeredHome, policies: PolicyStore) -> None:
    """Wait until the home's worker has read all openings."""
    while home.store.definitions.opening(TENANT) < policies.last_opening(TENANT):  # noqa: ASYNC110 - the worker has its own loop
        await asyncio.sleep(0.02)


@pytest.mark.usefixtures("no_checks")
async def test_each_opening_fires_once_with_several_processes(home: TriggeredHome, policies: PolicyStore) -> None:
    _file(policies, _deviation("before"))
    trigger = await home.create({"deviation": {"policy": "lake"}})
    others = [Openings(home.store, home.workspace.settings) for _ in range(3)]

    async def causes() -> list[str]:
        for other in others:
            other._due.clear()
        await asyncio.gather(*(other.look(TENANT) for other in others))
        await _looked(home, policies)
        return [fact.details["message"] for entry in (await home.triggers.history(trigger))[::-1] for fact in entry.cause.facts]

    assert await others[0].look(TENANT) == 0, "the deviation was open before the trigger"
    _file(policies, _deviation("before"), _deviation("a"), _deviation("b"))
    assert sorted(await causes()) == ["Data of a flows.", "Data of b flows."]
    _file(policies, _deviation("before"), _deviation("a"))
    _file(policies, _deviation("before"), _deviation("a"), _deviation("b"))
    assert sorted(await causes()) == ["Data of a flows.", "Data of b flows.", "Data of b flows."], "the fixed deviation came back"
    assert sorted(await causes()) == ["Data of a flows.", "Data of b flows.", "Data of b flows."]
    for other in others:
        other.close()


@pytest.mark.usefixtures("no_checks")
async def test_rule_and_severity_limit_what_fires(home: TriggeredHome, policies: PolicyStore) -> None:
    stated: dict[str, dict[str, Any]] = {
        "all": {}, "leaks": {"policy": "lake", "rule": "no-leak"}, "warnings": {"severity": "warning"}, "errors": {"severity": "error"},
    }  # fmt: skip
    triggers = {name: await home.create({"deviation": parts}, name=name) for name, parts in stated.items()}
    _file(policies, _deviation("a"), _deviation("b", "described", Severity.WARNING), _deviation("c", "described", Severity.INFO))
    await _looked(home, policies)
    counts = {name: len(await home.triggers.history(trigger)) for name, trigger in triggers.items()}
    assert counts == {"all": 3, "leaks": 1, "warnings": 2, "errors": 1}


@pytest.mark.usefixtures("no_checks")
async def test_openings_during_a_pause_never_fire(home: TriggeredHome, policies: PolicyStore) -> None:
    trigger = await home.create({"deviation": {}})
    await home.triggers.pause(TENANT, "t")
    _file(policies, _deviation("a"))
    await home.triggers.resume(TENANT, "t", trigger.owner)
    _file(policies, _deviation("a"), _deviation("b"))
    await _looked(home, policies)
    assert [entry.cause.facts[0].details["message"] for entry in await home.triggers.history(trigger)] == ["Data of b flows."]


async def test_a_run_that_deviates_calls_the_webhook(home: TriggeredHome, policies: PolicyStore) -> None:
    trigger = await home.create({"deviation": {"policy": "lake", "rule": "no-leak"}})
    raw, public = ([{"namespace": "file", "name": name}] for name in ("/raw/a", "/public/b"))
    await home.send(run_event(1, inputs=raw, outputs=public))
    (entry,) = await home.ended(trigger, 1)
    assert entry.execution is not None
    fact = entry.cause.facts[0]
    assert (entry.execution.state, fact.subject, fact.details["target"]) == ("complete", "lake", "dataset:file:/public/b")


@pytest.mark.parametrize(
    ("stated", "field"),
    [
        ({"policy": "other"}, "deviation.policy"), ({"policy": "lake", "rule": "other"}, "deviation.rule"),
        ({"rule": "no-leak"}, "deviation.policy"), ({"severity": "fatal"}, "deviation.severity"), ({"dataset": "x"}, "deviation.dataset"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("policies")
async def test_a_wrong_name_is_refused(home: TriggeredHome, stated: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        await home.create({"deviation": stated})
    assert refused.value.field == field


@pytest.mark.usefixtures("policies")
async def test_a_rehearsal_says_that_deviations_are_not_tested(home: TriggeredHome) -> None:
    document = {"name": "x", "when": {"deviation": {}}, "do": {"webhook": {"target": "there"}}}
    found = await home.triggers.test(TENANT, since=0.0, until=1.0, document=document)
    assert found.notes == ["Deviations from policies are not tested: causes of the kind deviation are missing."]
