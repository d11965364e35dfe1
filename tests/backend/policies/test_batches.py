"""The entries that are checked together make no difference: a flow that a later entry gives up is filed, too."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.backend.home.settings import load_settings
from headwater.backend.policies.follower import PolicyFollower
from headwater.backend.policies.service import Policies
from headwater.backend.policies.store import FiledDeviation, FiledState
from headwater.backend.workspace import Workspace
from tests.backend.events import facet, run_event

TENANT = "default"
NO_LEAK = "policy: lake\nrules:\n- name: no-leak\n  must_not_flow: {from: 'raw/*', to: 'public/*'}\n"


class Home:
    """A home with a policy, and the follower of its log."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.policies = Policies(workspace.settings, workspace.graph)
        self.follower = PolicyFollower(self.policies, workspace.log, workspace.graph)

    async def send(self, *events: dict[str, Any]) -> None:
        """Project all events, before the follower checks one of them."""
        await self.workspace.events.submit(TENANT, json.dumps(events).encode()).durable()
        await self.workspace.settle()

    async def check(self) -> list[FiledDeviation]:
        new = []
        while await self.workspace.graph.offset(TENANT) > self.policies.store.cursor(TENANT):
            new += await self.follower.step(TENANT)
        return new

    async def filed(self) -> set[tuple[str, str, FiledState]]:
        return {(each.deviation.source, each.deviation.target, each.state) for each in await self.policies.deviations(TENANT)}


@asynccontextmanager
async def _open(folder: Path, policy: str = NO_LEAK) -> AsyncIterator[Home]:
    async with await Workspace.open(load_settings(home=folder)) as workspace:
        made = Home(workspace)
        await made.policies.apply(TENANT, policy, "ann", allows_unknown=True)
        await made.follower.step(TENANT)  # the first step checks everything
        yield made
        await made.policies.close()


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    async with _open(tmp_path / "home") as made:
        yield made


def _event(number: int, job: str, sources: Sequence[str], outputs: Sequence[str], kind: str = "COMPLETE") -> dict[str, Any]:
    return run_event(number, kind, job={"namespace": "jobs", "name": job}, inputs=_datasets(sources), outputs=_datasets(outputs))


def _datasets(names: Sequence[str]) -> list[dict[str, Any]]:
    return [{"namespace": "s3://lake", "name": name} for name in names]


async def test_a_flow_that_the_next_event_of_a_request_gives_up_is_filed(home: Home) -> None:
    leak = _event(1, "copy", ["raw/people"], ["public/report"])
    clean = _event(2, "copy", ["side/people"], ["public/report"])
    await home.send(leak, clean)
    opened = await home.check()
    runs = leak["run"]["runId"], clean["run"]["runId"]
    assert [each.deviation.message for each in opened] == [
        f"Data of the dataset raw/people flows to the dataset public/report. Run {runs[0]} did this, and run {runs[1]} gave it up."
    ]
    [filed] = await home.policies.deviations(TENANT)
    assert (filed.state, filed.deviation.message) == (FiledState.FIXED, opened[0].deviation.message)
    assert home.policies.store.opened_after(TENANT, 0, 10)[0][1].id == filed.id  # a trigger sees that it opened
    assert await home.check() == []
    assert await home.policies.check_all(TENANT) == []


async def test_a_path_over_a_job_that_started_before_the_flow_was_given_up_is_filed(home: Home) -> None:
    await home.send(_event(1, "copy", ["raw/people"], ["side/copy"]))
    assert await home.check() == []
    await home.send(_event(2, "publish", ["side/copy"], ["public/report"]), _event(3, "copy", ["clean"], ["side/copy"]))
    assert len(await home.check()) == 1
    assert {state for *_, state in await home.filed()} == {FiledState.FIXED}


async def test_flows_that_never_counted_together_make_no_path(home: Home) -> None:
    await home.send(
        _event(1, "copy", ["raw/people"], ["side/copy"]),
        _event(2, "copy", ["clean"], ["side/copy"]),
        _event(3, "publish", ["side/copy"], ["public/report"]),
    )
    assert await home.check() == []


async def test_a_column_that_the_next_event_does_not_read_is_filed(tmp_path: Path) -> None:
    policy = "policy: p\nrules:\n- name: r\n  must_not_flow: {from: {column: 'secr*'}, to: 'public/*'}\n"

    def event(number: int, column: str) -> dict[str, Any]:
        made = _event(number, "copy", ["raw/people"], ["public/report"])
        field = {"inputFields": [{"namespace": "s3://lake", "name": "raw/people", "field": column}]}
        made["outputs"][0]["facets"] = {"columnLineage": facet(fields={"name": field})}
        return made

    async with _open(tmp_path / "home", policy) as home:
        await home.send(event(1, "secret"), event(2, "name"))
        assert [each.deviation.certain for each in await home.check()] == [True]


def _derived(number: int, *steps: dict[str, Any]) -> dict[str, Any]:
    """Return an event of a job that derives one column from another by some steps."""
    made = _event(number, "copy", ["raw/people"], ["public/report"])
    field = {"namespace": "s3://lake", "name": "raw/people", "field": "name", "transformations": [*steps]}
    made["outputs"][0]["facets"] = {"columnLineage": facet(fields={"who": {"inputFields": [field]}})}
    return made


_STEPS: dict[str, dict[str, Any]] = {
    "direct": {"type": "DIRECT", "subtype": "IDENTITY"}, "masked": {"type": "DIRECT", "subtype": "TRANSFORMATION", "masking": True},
    "indirect": {"type": "INDIRECT", "subtype": "FILTER"},
}  # fmt: skip


@pytest.mark.parametrize("ways", ["direct", "masked", "indirect"])
@pytest.mark.parametrize(
    "kinds",
    [("direct", "masked"), ("masked", "direct"), ("direct", "indirect", "direct", "masked"), ("masked", "indirect"), ("indirect",) * 2],
)
@pytest.mark.parametrize("size", [1, 2, 9])
async def test_each_way_of_a_flow_counts_whichever_events_are_checked_together(
    kinds: Sequence[str], ways: str, size: int, tmp_path: Path
) -> None:
    policy = f"policy: p\nrules:\n- name: r\n  must_not_flow: {{from: {{column: name}}, to: {{column: who}}, ways: {ways}}}\n"
    order = list(_STEPS)
    async with _open(tmp_path / "home", policy) as home:
        events = [_derived(number, _STEPS[kind]) for number, kind in enumerate(kinds)]
        opened = []
        for start in range(0, len(events), size):
            await home.send(*events[start : start + size])
            opened += await home.check()
        is_wrong = [order.index(kind) <= order.index(ways) for kind in kinds]
        assert bool(opened) is any(is_wrong)
        assert {state for *_, state in await home.filed()} == (
            {FiledState.OPEN if is_wrong[-1] else FiledState.FIXED} if any(is_wrong) else set()
        )


async def test_an_event_that_comes_late_is_filed(home: Home) -> None:
    await home.send(_event(5, "copy", ["side/people"], ["public/report"]))
    assert await home.check() == []
    await home.send(_event(1, "copy", ["raw/people"], ["public/report"]))
    assert len(await home.check()) == 1
    assert {state for *_, state in await home.filed()} == {FiledState.FIXED}


async def test_the_start_of_a_run_gives_nothing_up(home: Home) -> None:
    await home.send(
        _event(1, "copy", ["raw/people"], ["side/copy"]),
        _event(2, "copy", ["clean"], ["side/copy"], "START"),
        _event(3, "publish", ["side/copy"], ["public/report"]),
        {**_event(4, "copy", ["clean"], ["side/copy"]), "run": _event(2, "copy", [], [])["run"]},
        _event(5, "publish", ["clean"], ["public/report"]),
    )
    assert len(await home.check()) == 1


async def test_more_events_than_one_step_checks_hide_nothing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.backend.policies.follower._ENTRIES", 2)
    await home.send(*(_event(number, f"other-{number}", ["a"], ["b"]) for number in (1, 2, 3)))
    await home.send(
        _event(4, "copy", ["raw/people"], ["public/report"]), *(_event(n, "copy", ["clean"], ["public/report"]) for n in (5, 6))
    )
    assert len(await home.check()) == 1


async def test_a_flow_of_a_prov_document_is_filed(tmp_path: Path) -> None:
    base, time = "https://example.org/", "2013-02-12T03:00:00Z"
    document = {
        "prefix": {"ex": base},
        "entity": {"ex:raw": {}, "ex:clean": {}, "ex:recipe": {"prov:type": {"$": "prov:Plan", "type": "prov:QUALIFIED_NAME"}}},
        "activity": {"ex:run1": {"prov:startTime": time, "prov:endTime": time}}, "agent": {"ex:tool": {}},
        "used": {"_:u": {"prov:activity": "ex:run1", "prov:entity": "ex:raw"}},
        "wasGeneratedBy": {"_:g": {"prov:entity": "ex:clean", "prov:activity": "ex:run1", "prov:time": time}},
        "wasAssociatedWith": {"_:a": {"prov:activity": "ex:run1", "prov:agent": "ex:tool", "prov:plan": "ex:recipe"}},
    }  # fmt: skip
    other = [{"namespace": base, "name": "other"}]
    policy = "policy: p\nrules:\n- name: r\n  must_not_flow: {from: 'raw', to: 'clean'}\n"
    async with _open(tmp_path / "home", policy) as home:
        home.workspace.prov.submit(TENANT, json.dumps(document).encode())
        await home.send(run_event(9, job={"namespace": base, "name": "recipe"}, inputs=other, outputs=other))
        assert len(await home.check()) == 1
        assert {state for *_, state in await home.filed()} == {FiledState.FIXED}


_NAMES = ["raw/a", "raw/b", "side/c", "side/d", "public/e"]
_KINDS = st.sampled_from(["COMPLETE", "COMPLETE", "START", "FAIL"])
_RUNS = st.lists(
    st.tuples(
        st.sampled_from(["j", "k", "l"]), st.lists(st.sampled_from(_NAMES[:4]), min_size=1, max_size=2, unique=True),
        st.lists(st.sampled_from(_NAMES[2:]), min_size=1, max_size=2, unique=True), _KINDS,
    ),
    min_size=2, max_size=7,
)  # fmt: skip


@settings(max_examples=15, deadline=None)
@given(runs=_RUNS, sizes=st.lists(st.integers(1, 4), min_size=7, max_size=7), times=st.permutations(range(7)), is_late=st.booleans())
def test_batches_hide_no_deviation(
    runs: list[tuple[str, list[str], list[str], str]], sizes: list[int], times: list[int], is_late: bool
) -> None:
    events = [_event(times[n] if is_late else n, *run) for n, run in enumerate(runs)]

    async def compare() -> None:
        with TemporaryDirectory() as folder:
            async with _open(Path(folder) / "singly") as singly, _open(Path(folder) / "batches") as batches:
                for event in events:
                    await singly.send(event)
                    await singly.check()
                waiting = list(events)
                for size in sizes:
                    await batches.send(*waiting[:size])
                    await batches.check()
                    waiting = waiting[size:]
                assert await singly.filed() <= await batches.filed()
                if all(_is_steady(events, side) for side in ("inputs", "outputs")):
                    assert await singly.filed() == await batches.filed()

    asyncio.run(compare())


def _is_steady(events: Sequence[dict[str, Any]], side: str) -> bool:
    """Whether no job states a flow again after a run without it."""
    for job in "jkl":
        runs = [{each["name"] for each in event[side]} for event in events if event["job"]["name"] == job]
        for name in _NAMES:
            stated = [name in run for run in runs]
            if True in stated and False in stated[stated.index(True) : len(stated) - stated[::-1].index(True)]:
                return False
    return True
