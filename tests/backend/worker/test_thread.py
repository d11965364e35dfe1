"""The worker's housekeeping next to projection."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path

import pytest

from headwater.backend.home.settings import load_settings
from headwater.backend.worker.thread import Worker
from headwater.backend.workspace import Workspace
from headwater.graph.stores.sqlite.store import SqliteStore
from tests.backend.captures import capture
from tests.backend.events import body, run_event

_DAYS = 3 * 86_400


async def test_staged_segments_are_dropped_by_age_but_never_those_of_a_manifest_that_waits(tmp_path: Path) -> None:
    async with await Workspace.open(load_settings(home=tmp_path / "home")) as workspace:
        taken, segments = capture(0)
        abandoned, others = capture(1)
        for manifest, parts in ((taken, segments), (abandoned, others)):
            for name, content in parts.items():
                (source := tmp_path / "segment").write_bytes(content)
                workspace.captures.stage("default", manifest["capture"], name, source)
        workspace.captures.submit("default", json.dumps(taken).encode())
        long_ago = time.time() - _DAYS  # the service was stopped, or its graph store away, for so long
        staged = workspace.records.root / "default" / "staging"
        for path in (*staged.rglob("*"), staged):
            os.utime(path, (long_ago, long_ago))
        worker = Worker(workspace)
        worker.start()
        try:
            deadline = time.monotonic() + 60
            while any(staged.iterdir()):
                assert time.monotonic() < deadline, worker.state
                await asyncio.sleep(0.05)
        finally:
            worker.stop()
        assert [letter.reason for letter in workspace.log.dead_letters("default")] == []
        assert [entry.capture for entry in workspace.records.catalog.captures("default")] == [taken["capture"]]


async def test_what_is_wrong_with_one_tenants_entries_leaves_the_graph_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = 0

    class Counted(SqliteStore):
        async def open(self) -> list[int]:
            nonlocal opened
            opened += 1
            return await super().open()

    async with await Workspace.open(load_settings(home=tmp_path / "home")) as workspace:
        await workspace.graph.apply("bad", [], offset=10**9)  # the log has lost what the graph has
        workspace.events.submit("bad", body(run_event(0))).result()
        monkeypatch.setattr("headwater.backend.worker.thread.graph_store", lambda _: Counted(str(workspace.home.graph)))
        monkeypatch.setattr("headwater.backend.worker.thread._PAUSE", 0.02)
        worker = Worker(workspace)
        worker.start()
        try:
            deadline = time.monotonic() + 60
            for number in range(1, 6):
                workspace.events.submit("good", body(run_event(number))).result()
                while await workspace.projector.pending("good"):
                    assert time.monotonic() < deadline, worker.state
                    await asyncio.sleep(0.02)
            while worker.state != "behind for a tenant: DamagedError":
                assert time.monotonic() < deadline
                await asyncio.sleep(0.02)
        finally:
            worker.stop()
    assert opened == 1
