"""The projector: the log becomes graph and records, whatever comes late, twice or broken, and however often it is stopped."""

from __future__ import annotations

import asyncio
import errno
import json
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.home.settings import load_settings
from headwater.backend.ingest.intake.documents import document_key
from headwater.backend.ingest.log import DeadLetter, Draft, EntryKind, Stage
from headwater.backend.projector.projector import BATCH, Projector
from headwater.backend.workspace import Workspace
from headwater.errors import DamagedError, UnavailableError
from headwater.graph.model import GraphBatch
from tests.backend.captures import capture
from tests.backend.damage import spoil
from tests.backend.events import body, run_event

_TENANT = "default"


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with await Workspace.open(load_settings(home=tmp_path / "home")) as workspace:
        yield workspace


def _send(workspace: Workspace, *events: dict[str, Any]) -> None:
    assert not workspace.events.submit(_TENANT, body(*events)).result().rejected


def _send_capture(workspace: Workspace, number: int, folder: Path) -> dict[str, Any]:
    manifest, segments = capture(number)
    for name, data in segments.items():
        (folder / name).write_bytes(data)
        workspace.captures.stage(_TENANT, manifest["capture"], name, folder / name)
    workspace.captures.submit(_TENANT, json.dumps(manifest).encode())
    return manifest


def _append(workspace: Workspace, document: Any, kind: EntryKind = EntryKind.EVENT) -> int:
    """Past the intake: what an older release may have let in."""
    return workspace.log.append(_TENANT, [Draft(kind, document_key(document), json.dumps(document).encode())]).result()[0].offset


async def _other(tmp_path: Path, name: str, events: Sequence[dict[str, Any]]) -> str:
    async with await Workspace.open(load_settings(home=tmp_path / name)) as other:
        for event in events:
            _send(other, event)
        await other.settle()
        return await other.graph.fingerprint(_TENANT)


async def test_events_and_captures_become_graph_and_records(workspace: Workspace, tmp_path: Path) -> None:
    _send(workspace, run_event(1))
    manifest = _send_capture(workspace, 1, tmp_path)
    assert await workspace.projector.catch_up() == 2
    assert await workspace.graph.offset(_TENANT) == workspace.log.latest(_TENANT)
    assert workspace.records.count(_TENANT) == 1
    counts = await workspace.graph.counts(_TENANT)
    assert counts["run"] == 2
    assert counts["partition"] == 4  # two files read, two written
    run = f"run:{manifest['run']['runId']}"
    assert [node.id for node in await workspace.graph.get(_TENANT, [run])] == [run]


async def test_the_order_of_arrival_makes_no_difference(tmp_path: Path) -> None:
    events = [run_event(n, kind) for n in range(20) for kind in ("START", "COMPLETE")]
    expected = await _other(tmp_path, "a", events)
    assert await _other(tmp_path, "b", events[::-1]) == expected
    assert await _other(tmp_path, "c", [*events[::2], *events, *events[1::2]]) == expected


async def test_a_rebuild_gives_the_same_graph(workspace: Workspace, tmp_path: Path) -> None:
    for number in range(150):
        _send(workspace, run_event(number))
    _send_capture(workspace, 1, tmp_path)
    await workspace.projector.catch_up()
    fingerprint = await workspace.graph.fingerprint(_TENANT)
    assert await workspace.projector.rebuild(_TENANT) == 151
    assert await workspace.graph.fingerprint(_TENANT) == fingerprint
    assert workspace.records.count(_TENANT) == 1


async def test_it_goes_on_where_it_was_stopped(workspace: Workspace, tmp_path: Path) -> None:
    events = [run_event(number) for number in range(2_000)]
    _send(workspace, *events)
    stops = iter([False, True])
    assert 0 < await workspace.projector.catch_up(until=lambda: next(stops)) < len(events)
    task = asyncio.create_task(workspace.projector.catch_up())
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await workspace.projector.catch_up()
    assert await workspace.projector.pending(_TENANT) == 0
    assert await workspace.graph.fingerprint(_TENANT) == await _other(tmp_path, "whole", events)


_POISON: list[tuple[Any, EntryKind]] = [
    ({"eventTime": "2013-02-12T03:00:00Z", "run": {"runId": 5}}, EntryKind.EVENT),
    ([1, 2], EntryKind.EVENT),
    ({"job": {"namespace": "n", "name": "j"}, "eventTime": "never"}, EntryKind.EVENT),
    ({"format": 99}, EntryKind.CAPTURE),
    (capture(7)[0], EntryKind.CAPTURE),  # its segments never came
]


@pytest.mark.parametrize(("document", "kind"), _POISON)
async def test_a_poison_entry_becomes_a_dead_letter_and_stops_nobody(workspace: Workspace, document: Any, kind: EntryKind) -> None:
    _send(workspace, run_event(1))
    offset = _append(workspace, document, kind)
    _send(workspace, run_event(2))
    assert await workspace.projector.catch_up() == 3
    assert (await workspace.graph.counts(_TENANT))["run"] == 2
    (letter,) = workspace.log.dead_letters(_TENANT)
    assert (letter.stage, letter.offset, json.loads(letter.body)) == (Stage.PROJECTION, offset, document)
    assert "Error: " in letter.reason
    await workspace.projector.rebuild(_TENANT)
    assert len(workspace.log.dead_letters(_TENANT)) == 1


async def test_a_body_that_is_not_json_stops_nobody(workspace: Workspace) -> None:
    workspace.log.append(_TENANT, [Draft(EntryKind.EVENT, b"k" * 32, b"\xff")]).result()
    _send(workspace, run_event(2))
    assert await workspace.projector.catch_up() == 2
    letters: list[DeadLetter] = workspace.log.dead_letters(_TENANT)
    assert [letter.body for letter in letters] == [b"\xff"]


class _Moody:
    """A real graph store that answers only from the nth call of `apply` on (`of` one tenant), or never for one run."""

    def __init__(self, graph: Any, *, away: int = 0, refuses: str = "", of: str | None = None) -> None:
        self._graph = graph
        self._of = of
        self._away = away
        self._refuses = refuses

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)

    async def apply(self, tenant: str, batches: Sequence[GraphBatch], *, offset: int | None = None) -> None:
        if self._away and self._of in (None, tenant):
            self._away -= 1
            raise UnavailableError("The store is away.")
        if self._refuses and any(node.id == self._refuses for batch in batches for node in batch.nodes):
            raise ValueError("this node I will not have")
        await self._graph.apply(tenant, batches, offset=offset)


async def test_a_store_that_comes_back_gets_everything(workspace: Workspace) -> None:
    _send(workspace, run_event(1), run_event(2))
    projector = Projector(workspace.log, _Moody(workspace.graph, away=2), workspace.records)
    assert await projector.catch_up() == 2
    assert workspace.log.dead_letters(_TENANT) == []
    assert (await workspace.graph.counts(_TENANT))["run"] == 2


async def test_a_store_that_stays_away_loses_nothing(workspace: Workspace) -> None:
    _send(workspace, run_event(1))
    projector = Projector(workspace.log, _Moody(workspace.graph, away=1000), workspace.records, patience=0.3)
    with pytest.raises(UnavailableError):
        await projector.catch_up()
    assert workspace.log.dead_letters(_TENANT) == []
    assert await workspace.projector.catch_up() == 1


async def test_what_the_store_refuses_is_found_among_its_neighbours(workspace: Workspace) -> None:
    _send(workspace, *[run_event(number) for number in range(10)])
    refused = f"run:{run_event(4)['run']['runId']}"
    projector = Projector(workspace.log, _Moody(workspace.graph, refuses=refused), workspace.records)
    assert await projector.catch_up() == 10
    (letter,) = workspace.log.dead_letters(_TENANT)
    assert json.loads(letter.body) == run_event(4)
    assert "this node I will not have" in letter.reason
    assert (await workspace.graph.counts(_TENANT))["run"] == 9
    assert await workspace.projector.pending(_TENANT) == 0


async def test_what_a_damaged_graph_refused_is_projected_after_the_repair(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home")
    async with await Workspace.open(settings) as workspace:
        _send(workspace, run_event(1))
        await workspace.projector.catch_up()
    spoil(settings.folder.graph)
    async with await Workspace.open(settings, without_graph=True) as workspace:
        _send(workspace, run_event(2), run_event(3))
        with pytest.raises(DamagedError, match=r"graph\.db is damaged"):
            await workspace.projector.catch_up()
        assert workspace.log.dead_letters(_TENANT) == []
    for path in settings.folder.path.glob("graph.db*"):
        path.unlink()
    async with await Workspace.open(settings) as workspace:
        assert await workspace.projector.catch_up() == 3
        assert (await workspace.graph.counts(_TENANT))["run"] == 3


async def test_a_full_disk_is_no_fault_of_the_entry(workspace: Workspace) -> None:
    _send(workspace, run_event(1))

    class _Full(_Moody):
        async def apply(self, tenant: str, batches: Sequence[GraphBatch], *, offset: int | None = None) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        await Projector(workspace.log, _Full(workspace.graph), workspace.records).catch_up()
    assert workspace.log.dead_letters(_TENANT) == []
    assert await workspace.projector.catch_up() == 1


async def test_a_dead_letter_that_can_be_projected_now_is_dead_no_longer(workspace: Workspace, tmp_path: Path) -> None:
    manifest, segments = capture(1)
    offset = _append(workspace, manifest, EntryKind.CAPTURE)  # its segments come after it
    poison = _append(workspace, [1, 2])
    await workspace.projector.catch_up()
    assert workspace.log.refused(_TENANT) == 2
    for name, data in segments.items():
        (tmp_path / name).write_bytes(data)
        workspace.captures.stage(_TENANT, manifest["capture"], name, tmp_path / name)
    assert await workspace.projector.retry(_TENANT) == 1
    assert [letter.offset for letter in workspace.log.dead_letters(_TENANT)] == [poison]
    assert workspace.records.count(_TENANT) == 1
    assert (await workspace.graph.get(_TENANT, [f"run:{manifest['run']['runId']}"]))[0].id
    assert offset < poison


async def test_a_capture_whose_files_are_damaged_holds_up_no_other(workspace: Workspace, tmp_path: Path) -> None:
    manifest = _send_capture(workspace, 1, tmp_path)
    await workspace.projector.catch_up()
    kept = workspace.records.table(_TENANT, manifest["capture"], 0).with_name("manifest.json")
    whole = kept.read_bytes()
    kept.write_bytes(whole[: len(whole) // 2])
    _send(workspace, run_event(1))
    assert await workspace.projector.rebuild(_TENANT) == 2
    (letter,) = workspace.log.dead_letters(_TENANT)
    assert f"{kept} is damaged" in letter.reason
    assert (await workspace.graph.counts(_TENANT))["run"] == 1
    kept.write_bytes(whole)
    assert await workspace.projector.retry(_TENANT) == 1
    assert workspace.log.dead_letters(_TENANT) == []


async def test_a_log_that_ends_before_what_the_graph_has_is_damaged(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home")
    async with await Workspace.open(settings) as workspace:
        _send(workspace, run_event(1), run_event(2))
        await workspace.projector.catch_up()
    for path in settings.folder.path.glob("ingest.db*"):
        path.unlink()
    async with await Workspace.open(settings) as workspace:
        with pytest.raises(DamagedError, match=r"ingest\.db ends at entry 0; the graph has what came up to entry 2"):
            await workspace.projector.catch_up()


async def test_a_tenant_that_sends_much_holds_up_no_other(workspace: Workspace) -> None:
    many = [run_event(number) for number in range(BATCH + 100)]
    for tenant, events in (("busy", many), ("quiet", many[:1])):
        assert not workspace.events.submit(tenant, body(*events)).result().rejected
    asked = 0

    def until() -> bool:  # a batch of each tenant, and no more
        nonlocal asked
        asked += 1
        return asked > 2

    await workspace.projector.catch_up(until=until)
    assert await workspace.projector.pending("quiet") == 0
    assert await workspace.projector.pending("busy") == 100
    assert await workspace.projector.catch_up() > 0
    assert await workspace.projector.pending("busy") == 0


async def test_what_is_wrong_with_one_tenants_entries_holds_up_no_other(workspace: Workspace) -> None:
    for tenant in ("bad", "good"):
        assert not workspace.events.submit(tenant, body(*(run_event(number) for number in range(300)))).result().rejected
    await workspace.graph.apply("bad", [], offset=10**9)  # the log has lost what the graph has
    for _ in range(2):
        with pytest.raises(DamagedError):
            await workspace.projector.catch_up()
        assert await workspace.projector.pending("good") == 0


async def test_a_store_that_is_away_for_one_tenant_is_not_waited_for_while_others_have_turns(workspace: Workspace) -> None:
    for tenant in ("away", "b", "c", "d"):
        assert not workspace.events.submit(tenant, body(*(run_event(number) for number in range(300)))).result().rejected
    projector = Projector(workspace.log, _Moody(workspace.graph, away=10**6, of="away"), workspace.records, patience=15.0)
    began = time.monotonic()

    def spent() -> bool:  # as the worker asks: a turn of all tenants takes no longer than the patience
        return time.monotonic() - began > 10.0

    with pytest.raises(UnavailableError):
        await projector.catch_up(until=spent)
    assert [await workspace.projector.pending(tenant) for tenant in ("away", "b", "c", "d")] == [300, 0, 0, 0]
