"""A home with a worker, and a receiver of its webhooks."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.home.settings import load_settings
from headwater.backend.triggers.actions import Site
from headwater.backend.triggers.model import ENDED, Trigger, TriggerState
from headwater.backend.triggers.owners import HOME
from headwater.backend.triggers.service import Entry, Triggers
from headwater.backend.triggers.store import TriggerStore, open_store
from headwater.backend.worker.thread import Worker
from headwater.backend.workspace import Workspace
from tests.backend.events import body
from tests.backend.triggers.receiver import Receiver, receiver


@pytest.fixture
def there() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@dataclass
class TriggeredHome:
    """A home whose worker drives its triggers."""

    workspace: Workspace
    worker: Worker
    store: TriggerStore
    triggers: Triggers

    async def send(self, *events: Any, tenant: str = "default") -> None:
        """Send events, and wait until the graph has them."""
        self.workspace.events.submit(tenant, body(*events)).result()
        while await self.workspace.projector.pending(tenant):  # noqa: ASYNC110 - the worker has its own loop
            await asyncio.sleep(0.02)

    async def create(
        self,
        when: Mapping[str, Any],
        do: Mapping[str, Any] | None = None,
        *,
        name: str = "t",
        owner: Mapping[str, Any] = HOME,
        **limits: Any,
    ) -> Trigger:
        stated = {"name": name, "when": when, "do": do or {"webhook": {"target": "there"}}, "limits": limits}
        return await self.triggers.create("default", stated, owner)

    async def seen(self, tenant: str = "default") -> None:
        """Wait until causes were found in all that was sent."""
        last = self.workspace.log.latest(tenant)
        while self.store.definitions.cursor(tenant) < last or self.store.causes.has_checks(tenant):  # noqa: ASYNC110 - likewise
            await asyncio.sleep(0.02)

    async def ended(self, trigger: Trigger, count: int, *, patience: float = 240) -> list[Entry]:
        """Wait until so many causes are recorded and their executions ended, and return them, the first one first."""
        deadline = time.monotonic() + patience
        while True:
            found = await self.triggers.history(trigger, first=1_000)
            if len(found) >= count and all(one.execution is None or one.execution.state in ENDED for one in found):
                return found[::-1]
            assert time.monotonic() < deadline, found
            await asyncio.sleep(0.05)

    async def stopped(self, name: str, *, patience: float = 240) -> Trigger:
        """Wait until a trigger is no longer active, and return it. It stops after its refused execution has ended."""
        deadline = time.monotonic() + patience
        while (found := await self.triggers.get("default", name)).state is TriggerState.ACTIVE:
            assert time.monotonic() < deadline, found
            await asyncio.sleep(0.05)
        return found

    def audit(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.workspace.home.audit.read_text().splitlines()]


@pytest.fixture
async def home(tmp_path: Path, there: Receiver) -> AsyncIterator[TriggeredHome]:
    there.list_in(tmp_path / "home")
    settings = load_settings(home=tmp_path / "home")
    async with await Workspace.open(settings) as workspace:
        worker = Worker(workspace)
        store = open_store(settings)
        worker.start()
        try:
            yield TriggeredHome(workspace, worker, store, Triggers(store, Site(workspace)))
        finally:
            await asyncio.to_thread(worker.stop)
            store.close()
