"""Producers that send without end to a service that may be away, and the laws for what they sent."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Self

import httpx

from headwater.backend.home.settings import load_settings
from headwater.backend.ingest.intake.documents import document_key
from headwater.backend.workspace import Workspace
from tests.backend.events import body, run_event
from tests.backend.service import ServiceProcess

_SENDERS = 4


class Producers:
    """Threads that send batches without end, each batch again until it is acknowledged."""

    def __init__(self, service: ServiceProcess) -> None:
        self._service = service
        self._lock = Lock()
        self.sent = 0
        self._ending = Event()
        self.acknowledged: set[int] = set()
        self.sent_again = self.refused = 0
        self._threads = [Thread(target=self._send) for _ in range(_SENDERS)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()

    def _send(self) -> None:
        key = self._service.home.key()
        with httpx.Client(headers={"X-Api-Key": key}, trust_env=False, timeout=10) as client:
            while not self._ending.is_set():
                numbers = self._batch()
                while not self._try(client, numbers):
                    self._ending.wait(0.02)

    def _batch(self) -> list[int]:
        with self._lock:
            self.sent += 5
            return list(range(self.sent - 5, self.sent))

    def _try(self, client: httpx.Client, numbers: list[int]) -> bool:
        record = self._service.home.service()
        if record is None:
            return False
        try:
            response = client.post(f"{record.url}/api/v1/lineage", content=body(*map(run_event, numbers)))
        except httpx.TransportError:
            with self._lock:
                self.sent_again += 1
            return False
        if response.status_code == 503:  # nothing was taken: the disk is full
            with self._lock:
                self.refused += 1
            return False
        assert response.status_code == 201, response.text
        with self._lock:
            self.acknowledged.update(numbers)
        return True


def check_kept(home: Path, producers: Producers) -> None:
    """All that was acknowledged is in the log, each event once and as it was sent; and the graph is what the log says."""
    rows = sqlite3.connect(f"file:{home / 'ingest.db'}?mode=ro", uri=True).execute("SELECT key, body FROM entry").fetchall()
    kept = [json.loads(text) for _, text in rows]
    assert all(document_key(event) == key for event, (key, _) in zip(kept, rows, strict=True))
    runs = [event["run"]["runId"] for event in kept]
    assert len(set(runs)) == len(runs)
    assert {run_event(number)["run"]["runId"] for number in producers.acknowledged} <= set(runs)
    assert all(run_event(number) in kept for number in sorted(producers.acknowledged)[:50])
    asyncio.run(_graph_is_what_the_log_says(home, len(kept)))


async def _graph_is_what_the_log_says(home: Path, events: int) -> None:
    async with await Workspace.open(load_settings(home=home)) as workspace:
        assert await workspace.settle() == 0
        fingerprint = await workspace.graph.fingerprint("default")
        assert (await workspace.graph.counts("default"))["run"] == events
        assert workspace.role.take()
        assert await workspace.projector.rebuild("default") == events
        assert await workspace.graph.fingerprint("default") == fingerprint
