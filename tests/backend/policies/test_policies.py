"""Applied policies: versions, states of deviations, and the check of each run after its projection."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from headwater.backend.home.settings import load_settings
from headwater.backend.policies.follower import PolicyFollower
from headwater.backend.policies.service import Policies
from headwater.backend.policies.store import SCHEMA, FiledState, PolicyStore, PolicyVersion, filed_id
from headwater.backend.tables import SqliteDatabase
from headwater.backend.workspace import Workspace
from headwater.errors import InvalidInputError, NotFoundError, UnavailableError
from headwater.graph.policies import Deviation, Severity
from tests.backend.events import facet, run_event

TENANT = "default"
NO_LEAK = "policy: lake\nrules:\n- name: no-leak\n  must_not_flow: {from: '*raw*', to: {namespace: 's3://lake', dataset: 'public/*'}}\n"


P, Q = PolicyVersion("p", 1, "rules", "ann", 0.0), PolicyVersion("q", 1, "rules", "ann", 0.0)


def _id(deviation: Deviation, policy: str = "p") -> str:
    return filed_id(policy, deviation)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[PolicyStore]:
    made = PolicyStore(SqliteDatabase(SCHEMA, tmp_path / "policies.db", clock=clock))
    yield made
    made.close()


def _deviation(name: str) -> Deviation:
    path = (f"dataset:n:{name}", "job:n:j", "dataset:n:out")
    return Deviation("r", Severity.ERROR, None, path[0], path[2], f"{name} flows", path)


def test_a_deviation_is_open_then_accepted_then_open_again_and_fixed(store: PolicyStore, clock: Clock) -> None:
    one, other = _deviation("a"), _deviation("b")
    assert {each.id for each in store.file(TENANT, P, [one, other], replaces=True)} == {_id(one), _id(other)}
    assert store.file(TENANT, P, [one, other], replaces=True) == []
    store.accept(TENANT, _id(one), "agreed", "ann", until=2_000.0)
    assert _states(store) == {_id(one): FiledState.ACCEPTED, _id(other): FiledState.OPEN}
    clock.now = 2_001.0
    assert _states(store) == {_id(one): FiledState.OPEN, _id(other): FiledState.OPEN}
    assert store.file(TENANT, P, [one], replaces=True) == []
    assert _states(store) == {_id(one): FiledState.OPEN, _id(other): FiledState.FIXED}
    with pytest.raises(NotFoundError):
        store.accept(TENANT, _id(other), "late", "ann", until=3_000.0)


def test_an_accepted_deviation_that_was_fixed_is_open_when_it_comes_back(store: PolicyStore) -> None:
    one = _deviation("a")
    store.file(TENANT, P, [one], replaces=True)
    store.accept(TENANT, _id(one), "agreed", "ann", until=2_000.0)
    store.file(TENANT, P, [], replaces=True)
    assert [each.deviation for each in store.file(TENANT, P, [one], replaces=False)] == [one]
    assert _states(store) == {_id(one): FiledState.OPEN}


def test_tenants_and_policies_are_apart(store: PolicyStore) -> None:
    store.file(TENANT, P, [_deviation("a")], replaces=True)
    store.file(TENANT, Q, [_deviation("b")], replaces=True)
    store.file("other", P, [], replaces=True)
    assert len(_states(store)) == 2
    assert store.deviations("other") == []
    assert store.open_about(TENANT, "p", ["job:n:j"]) == {_id(_deviation("a"))}
    assert store.open_about(TENANT, "p", ["job:n:other"]) == set()


def test_a_version_is_added_only_for_a_new_text(store: PolicyStore) -> None:
    assert [store.add_version(TENANT, "p", text, "ann").version for text in ("a", "a", "b", "a")] == [1, 1, 2, 3]
    store.add_version(TENANT, "q", "c", "ann")
    assert [(each.name, each.version) for each in store.current(TENANT)] == [("p", 3), ("q", 1)]
    store.remove(TENANT, "p", "bob")
    assert [each.name for each in store.current(TENANT)] == ["q"]
    with pytest.raises(NotFoundError):
        store.remove(TENANT, "p", "bob")


def _states(store: PolicyStore) -> dict[str, FiledState]:
    return {each.id: each.state for each in store.deviations(TENANT)}


class Here:
    """A home, its policies, and the follower of its log."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.policies = Policies(workspace.settings, workspace.graph)
        self.follower = PolicyFollower(self.policies, workspace.log, workspace.graph)

    async def project(self, number: int, job: str, source: str, output: str) -> None:
        """Project the event of a run."""
        event = run_event(
            number, job={"namespace": "jobs", "name": job}, inputs=[_dataset(source)], outputs=[_dataset(output)],
        )  # fmt: skip
        await self.workspace.events.submit(TENANT, json.dumps(event).encode()).durable()
        await self.workspace.settle()

    async def run(self, number: int, job: str, source: str, output: str) -> list[str]:
        """Project the event of a run, let the follower check it, and return the messages of new deviations."""
        await self.project(number, job, source, output)
        return [each.deviation.message for each in await self.follower.step(TENANT)]


def _dataset(name: str) -> dict[str, Any]:
    return {"namespace": "s3://lake", "name": name}


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Here]:
    async with await Workspace.open(load_settings(home=tmp_path / "home")) as workspace:
        found = Here(workspace)
        yield found
        await found.policies.close()


async def test_each_run_is_checked_after_its_projection(here: Here) -> None:
    await here.policies.apply(TENANT, NO_LEAK, "ann")
    assert await here.run(1, "clean", "raw/people", "clean/people") == []
    assert await here.run(2, "publish", "clean/people", "public/report") == [
        "Data of the dataset raw/people flows to the dataset public/report."
    ]
    assert await here.run(3, "publish", "clean/people", "public/report") == []
    assert [each.state for each in await here.policies.deviations(TENANT)] == [FiledState.OPEN]


async def test_a_deviation_whose_flow_a_job_gave_up_is_fixed(here: Here) -> None:
    await here.run(1, "copy", "raw/people", "public/report")
    _, report = await here.policies.apply(TENANT, NO_LEAK, "ann")
    assert len(report.deviations) == 1
    assert await here.run(2, "copy", "side/people", "public/report") == []
    assert [each.state for each in await here.policies.deviations(TENANT)] == [FiledState.FIXED]


async def test_a_policy_with_an_unknown_name_is_refused_and_not_stored(here: Here) -> None:
    text = NO_LEAK.replace("*raw*", "raw/people")
    with pytest.raises(InvalidInputError, match="Nothing is known of dataset raw/people"):
        await here.policies.apply(TENANT, text, "ann")
    assert await here.policies.current(TENANT) == []
    version, _ = await here.policies.apply(TENANT, text, "ann", allows_unknown=True)
    assert (version.version, version.author) == (1, "ann")


@pytest.mark.parametrize(
    ("reason", "days"), [("", 1), (" ", 1), ("x" * 2_001, 1), ("a\u202eb", 1), ("a\x00", 1), ("x", 0), ("x", float("nan")), ("x", 1e9)]
)
async def test_an_acceptance_needs_a_reason_and_an_end(here: Here, reason: str, days: float) -> None:
    with pytest.raises(InvalidInputError):
        await here.policies.accept(TENANT, "none", reason=reason, by="ann", days=days)


async def test_a_check_stores_nothing(here: Here) -> None:
    await here.project(1, "copy", "raw/people", "public/report")
    assert len((await here.policies.check(TENANT, NO_LEAK)).deviations) == 1
    assert not here.workspace.settings.folder.policies.exists()


async def test_a_fact_that_was_missing_is_fixed_by_the_next_run(here: Here) -> None:
    text = "policy: p\nrules:\n- name: owned\n  must_have: {of: 'clean/*', owner: true}\n"
    await here.policies.apply(TENANT, text, "ann")
    assert await here.run(1, "clean", "raw/people", "clean/people") == ["The dataset clean/people has no owner."]
    event = run_event(2, job={"namespace": "jobs", "name": "clean"}, inputs=[_dataset("raw/people")], outputs=[_dataset("clean/people")])
    event["outputs"][0]["facets"] = {"ownership": facet(owners=[{"name": "ann"}])}
    await here.workspace.events.submit(TENANT, json.dumps(event).encode()).durable()
    await here.workspace.settle()
    assert await here.follower.step(TENANT) == []
    assert [each.state for each in await here.policies.deviations(TENANT)] == [FiledState.FIXED]


async def test_the_flows_of_a_job_event_are_checked(here: Here) -> None:
    await here.policies.apply(TENANT, NO_LEAK, "ann")
    event = run_event(1, job={"namespace": "jobs", "name": "copy"}, inputs=[_dataset("raw/people")], outputs=[_dataset("public/report")])
    del event["run"], event["eventType"]
    event["schemaURL"] = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/JobEvent"
    await here.workspace.events.submit(TENANT, json.dumps(event).encode()).durable()
    await here.workspace.settle()
    assert len(await here.follower.step(TENANT)) == 1


async def test_a_check_of_an_earlier_version_files_nothing(here: Here) -> None:
    await here.run(1, "copy", "raw/people", "public/report")
    earlier, report = await here.policies.apply(TENANT, NO_LEAK, "ann")
    await here.policies.remove(TENANT, "lake", "ann")
    assert here.policies.store.file(TENANT, earlier, report.deviations) == []
    assert [each.state for each in await here.policies.deviations(TENANT)] == [FiledState.FIXED]


def test_one_flow_may_deviate_from_two_policies(store: PolicyStore) -> None:
    one = _deviation("a")
    store.file(TENANT, P, [one])
    store.file(TENANT, Q, [one])
    store.accept(TENANT, _id(one, "q"), "agreed", "ann", until=2_000.0)
    assert _states(store) == {_id(one, "p"): FiledState.OPEN, _id(one, "q"): FiledState.ACCEPTED}
    assert [each.policy for each in store.deviations(TENANT, states=[FiledState.ACCEPTED])] == ["q"]
    assert len(store.deviations(TENANT, most=1)) == 1


@pytest.mark.parametrize("kind", ["FAIL", "ABORT", "START"])
async def test_a_run_that_did_not_complete_ends_no_flow_and_writes_nothing(here: Here, kind: str) -> None:
    await here.run(1, "copy", "raw/people", "public/report")
    await here.policies.apply(TENANT, NO_LEAK + "- name: fresh\n  must_have: {of: 'public/*', freshness: 7d}\n", "ann")
    event = run_event(2, kind, job={"namespace": "jobs", "name": "copy"}, inputs=[_dataset("other")], outputs=[_dataset("public/report")])
    event["eventTime"] = datetime.now(UTC).isoformat()
    await here.workspace.events.submit(TENANT, json.dumps(event).encode()).durable()
    await here.workspace.settle()
    assert await here.follower.step(TENANT) == []
    await here.policies.check_all(TENANT)
    found = {each.deviation.rule: each.state for each in await here.policies.deviations(TENANT)}
    assert found == {"no-leak": FiledState.OPEN, "fresh": FiledState.OPEN}


async def test_a_job_whose_check_failed_is_checked_again(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    await here.policies.apply(TENANT, NO_LEAK, "ann")
    await here.follower.step(TENANT)  # the first step checks everything
    await here.project(1, "copy", "raw/people", "public/report")
    with monkeypatch.context() as broken:
        broken.setattr(here.policies.store, "file", Mock(side_effect=UnavailableError("The disk is away.")))
        with pytest.raises(UnavailableError):
            await here.follower.step(TENANT)
    assert len(await here.follower.step(TENANT)) == 1
