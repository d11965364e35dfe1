"""Recaptures that a service runs: one at a time with its replays, each program once, and none that is not registered."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from headwater.backend.rerun import queued_jobs as module
from headwater.backend.rerun.recapture.jobs import RecaptureJob, RecaptureJobs
from headwater.backend.rerun.recapture.service import Plan, Recaptured
from headwater.errors import InvalidQueryError, UnavailableError, UnsupportedError
from headwater.graph.model import GraphBatch, Node, NodeKind, Stamp, node_id
from headwater.graph.records import FileBlock
from headwater.graph.stores.sqlite import SqliteStore
from tests.backend.recapturing import Recapturing
from tests.graph.jobs import TENANT


async def _ended(jobs: RecaptureJobs, identifier: str) -> RecaptureJob:
    async with asyncio.timeout(120):
        while not (found := await jobs.get(TENANT, identifier)) or not found.has_ended:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.02)
    return found


async def test_one_that_fails_says_why_and_keeps_nothing(here: Recapturing) -> None:
    here.register(content="other")
    jobs = RecaptureJobs(here.service, asyncio.Lock())
    assert await jobs.possible(TENANT, [here.dataset, "dataset:s3:x"]) == [here.dataset]
    job = await _ended(jobs, await jobs.start(TENANT, str(here.out)))
    assert (job.state, job.dataset, job.outputs) == ("failed", here.dataset, ())
    assert job.error
    assert "out/part-00000 holds other bytes" in job.error
    assert "The program is not deterministic" in job.error
    assert job.ended_at
    assert list(here.replays.iterdir()) == []
    assert [one.id for one in await jobs.list(TENANT, 5)] == [job.id]
    assert await jobs.get("sales", job.id) is None
    assert await jobs.list("sales", 5) == []
    await jobs.close()


async def test_a_program_waits_for_its_turn_and_is_queued_once(here: Recapturing, monkeypatch: pytest.MonkeyPatch) -> None:
    here.register()
    turn = asyncio.Lock()
    jobs = RecaptureJobs(here.service, turn)
    async with turn:  # a replay runs
        first = await jobs.start(TENANT, here.dataset)
        assert await jobs.start(TENANT, str(here.out)) == first
        waiting = await jobs.get(TENANT, first)
        assert waiting
        assert waiting.state == "queued"
        assert not here.marker.exists()
        monkeypatch.setattr(module, "_MOST_WAITING", 1)
        other = here.out.parent / "other"
        await here.wrote(other, "0190a6f2-0000-7000-8000-00000000000c")
        with pytest.raises(UnavailableError, match="wait for their turn"):
            await jobs.start(TENANT, str(other))
        await jobs.close()
    assert not here.marker.exists(), "closed before its turn came"


def test_the_end_of_the_service_does_not_wait_for_a_program(tmp_path: Path) -> None:
    process = tmp_path / "process"

    async def start_and_close() -> None:
        graph = SqliteStore(str(tmp_path / "graph.db"))
        await graph.open()
        here = Recapturing(tmp_path, graph)
        await here.wrote()
        here.register(then=f"import time; pathlib.Path({str(process)!r}).write_text(str(os.getpid())); time.sleep(60)")
        jobs = RecaptureJobs(here.service, asyncio.Lock())
        await jobs.start(TENANT, here.dataset)
        async with asyncio.timeout(120):
            while not process.exists() or not process.read_text():  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.02)
        await jobs.close()
        here.registry.close()
        here.records.close()
        await graph.close()

    with asyncio.Runner() as runner:
        runner.run(start_and_close())
        began = time.monotonic()
    assert time.monotonic() - began < 30
    os.kill(int(process.read_text()), signal.SIGKILL)  # it is there still: it runs on to its own end


@pytest.mark.parametrize("named", ["out", "dataset:x", "run:0190a6f2-0000-7000-8000-00000000000b", "", "dataset:a:b:c"])
async def test_only_a_dataset_is_recaptured(here: Recapturing, named: str) -> None:
    here.register()
    with pytest.raises(InvalidQueryError, match="neither the id of a dataset nor a path"):
        await RecaptureJobs(here.service, asyncio.Lock()).start(TENANT, named)


async def test_what_is_not_registered_is_neither_offered_nor_run(here: Recapturing, tmp_path: Path) -> None:
    jobs = RecaptureJobs(here.service, asyncio.Lock())
    assert await jobs.possible(TENANT, [here.dataset]) == []
    with pytest.raises(UnsupportedError, match="is not registered on this home"):
        await jobs.start(TENANT, here.dataset)
    assert await jobs.list(TENANT, 5) == []
    assert not (tmp_path / "it-ran").exists()


async def test_it_waits_for_the_files_of_its_own_program_alone(here: Recapturing, monkeypatch: pytest.MonkeyPatch) -> None:
    here.register()
    block = FileBlock("file:/data/out/day=2/part-00000", 1, 1)
    assert not await here.service.are_kept(TENANT, [block])
    asked: list[Sequence[FileBlock]] = []

    async def are_kept(tenant: str, blocks: Sequence[FileBlock]) -> bool:
        asked.append(blocks)
        return len(asked) > 2  # the first time is that of the plan

    async def keep(tenant: str, plan: Plan) -> Recaptured:
        return Recaptured([plan.output], 1, {}, [block])

    monkeypatch.setattr(here.service, "are_kept", are_kept)
    monkeypatch.setattr(here.service, "run", keep)
    jobs = RecaptureJobs(here.service, asyncio.Lock())
    job = await _ended(jobs, await jobs.start(TENANT, here.dataset))
    assert (job.state, asked[1:]) == ("complete", [[block], [block]])


async def test_a_partition_is_recaptured_by_itself_and_a_dataset_of_that_name_goes_first(here: Recapturing) -> None:
    place = f"{here.dataset}/day=1"
    assert await here.service.target(TENANT, place) == (here.dataset, "day=1")
    own = node_id(NodeKind.DATASET, "file", str(here.out / "day=1"))
    await here.graph.apply(TENANT, [GraphBatch(Stamp("2026-01-01T00:00:00.000000Z", "k"), [Node(own, NodeKind.DATASET, "day=1", {}, {})])])
    assert await here.service.target(TENANT, place) == (own, "")
