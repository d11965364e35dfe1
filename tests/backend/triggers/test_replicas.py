"""Three replicas that are killed in turn fire each cause exactly once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

import pytest

from headwater.backend.home.folder import Home
from headwater.backend.ingest.intake.receive import EventIntake
from headwater.backend.ingest.log.postgres.address import Address
from headwater.backend.ingest.log.postgres.log import PostgresLog
from headwater.backend.tables.postgres import PostgresDatabase
from headwater.backend.triggers.store import TriggerStore
from headwater.backend.triggers.store.tables import SCHEMA
from tests.backend.events import run_event
from tests.backend.triggers.contract import HOME, data, definition
from tests.backend.triggers.receiver import Receiver, receiver
from tests.databases import PASSWORD, USER, Postgres, postgres

pytestmark = [pytest.mark.lake, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]
_BATCH = 200  # events that are sent at once


class Replica:
    """A process of `replica.py`, over a home of its own."""

    def __init__(self, home: Path, environment: dict[str, str]) -> None:
        self._home = home
        self._environment = {**environment, "HEADWATER_HOME": str(home)}
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        with (self._home / "replica.log").open("a") as log:
            command = [sys.executable, "-m", "tests.backend.triggers.replica"]
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=os.environ | self._environment)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n", (self._home / "replica.log").read_text()

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.communicate()


@contextmanager
def replicas(folder: Path, there: Receiver, server: Postgres) -> Iterator[list[Replica]]:
    """Three replicas that share everything but their homes."""
    environment = {
        "HEADWATER_INGEST_LOG": f"postgresql://127.0.0.1:{server.port}/shop", "HEADWATER_INGEST_LOG_USER": USER,
        "HEADWATER_INGEST_LOG_PASSWORD": PASSWORD, "HEADWATER_STORE": f"sqlite:///{folder}/graph.db",
        "HEADWATER_API_KEY": "a-key-that-all-replicas-have",
    }  # fmt: skip
    with ExitStack() as stack:
        started = []
        for number in range(3):
            home = Home.at(folder / f"home-{number}").create()
            there.list_in(home.path)
            started.append(stack.enter_context(Replica(home.path, environment)))
        yield started


def fire_under_kills(folder: Path, *, causes: int, kills: int) -> dict[str, Any]:
    """Send events that cause executions, kill a replica whenever some more have arrived, and check that each arrived once."""
    with postgres() as server, receiver() as there, replicas(folder, there, server) as running, ExitStack() as stack:
        address = Address.of(f"postgresql://127.0.0.1:{server.port}/shop", user=USER, password=PASSWORD)
        store = TriggerStore(PostgresDatabase(SCHEMA, address))
        stack.callback(store.close)
        log = PostgresLog(address)
        stack.callback(log.close)
        trigger = store.definitions.create("default", definition("t", data("dataset:file:/out/1"), concurrent=16), HOME, since=0)
        began, intake, sent, killed = time.monotonic(), EventIntake(log), 0, 0
        while sent < causes:
            size = min(_BATCH, causes - sent)
            numbers = range(sent, sent + size)
            intake.submit("default", json.dumps([run_event(7 * number + 1) for number in numbers]).encode()).result()
            sent += size
            while killed < kills and sent >= causes * (killed + 1) // (kills + 1):
                there.wait(lambda now: len(now.requests) > causes * killed // (kills + 1), patience=600)  # noqa: B023 - called at once
                running[killed % 3].kill()
                running[killed % 3].start()
                killed += 1
        there.wait(lambda now: len(now.requests) >= causes and len(set(now.causes())) == causes, patience=3_000)
        deadline = time.monotonic() + 600
        while dict(server.run("SELECT state, count(*) FROM headwater.trigger_execution GROUP BY state")) != {"complete": causes}:
            assert time.monotonic() < deadline, server.run("SELECT state, count(*) FROM headwater.trigger_execution GROUP BY state")
            time.sleep(0.1)
        seconds = time.monotonic() - began
        keys = {(document["cause"], document["execution"]) for _, document in there.requests}
        assert len({cause for cause, _ in keys}) == len({execution for _, execution in keys}) == len(keys) == causes
        rows = server.run("SELECT count(*), count(DISTINCT cause), count(DISTINCT execution) FROM headwater.trigger_cause")
        assert rows == [[causes, causes, causes]]
        assert len(store.causes.of(trigger.id, first=causes + 1)) == causes
        calls = Counter(document["execution"] for _, document in there.requests)
        return {"causes": causes, "kills": killed, "repeated calls": sum(calls.values()) - causes, "seconds": round(seconds, 1)}


def test_each_cause_fires_once_while_replicas_are_killed(tmp_path: Path) -> None:
    assert fire_under_kills(tmp_path, causes=60, kills=3)["kills"] == 3


@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_ten_thousand_causes_fire_once_each(tmp_path: Path) -> None:
    causes = int(os.environ.get("CAUSES", "10000"))
    print(fire_under_kills(tmp_path, causes=causes, kills=30))  # noqa: T201 - the figures of the run
