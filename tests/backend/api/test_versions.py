"""Blocks of a running service: enrolled, held, dropped and restored by callers with the scopes for it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headwater.backend.access.keys import KeyRing
from headwater.client import AsyncClient, Client
from headwater.errors import HeadwaterError, NotFoundError
from headwater.graph.access.scopes import ROLES
from headwater.graph.model import node_id
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.stores.sqlite import SqliteStore
from headwater.spark_listener.registry import Registry
from tests.backend.service import ServiceProcess
from tests.captured import project_captures
from tests.graph.jobs import Job, write_csv

_COLUMNS = {"k": "string", "v": "int"}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The folder of a dataset with a block that was replaced and the block that replaced it."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    records = AssociationStore(home / "associations", sources=ANYWHERE)
    Registry(home).add_roots([str(tmp_path / "data")])
    for clock in (1, 2):
        raw = write_csv(tmp_path / "data" / "raw" / f"{clock}.csv", [*_COLUMNS], [["a", clock]])
        job = Job(records, "copy", clock, part=f"run{clock}")
        job.write(job.scan(raw, "csv", _COLUMNS, {"header": "true"}), tmp_path / "data" / "out", "parquet", [*_COLUMNS], files=1)

    async def fill() -> None:
        graph = SqliteStore(str(home / "graph.db"))
        await graph.open()
        await project_captures(graph, records)
        await graph.close()

    asyncio.run(fill())
    records.close()
    return tmp_path / "data" / "out"


@pytest.fixture
def service(out: Path) -> Iterator[ServiceProcess]:
    with ServiceProcess(out.parents[1] / "home") as running:
        yield running


def _client(service: ServiceProcess, role: str) -> Client:
    with closing(KeyRing(service.home.named_keys)) as ring:
        return Client(service.url, ring.create(role, ROLES[role], tenant="default")[1])


def _settle(client: Client) -> None:
    """Wait until the graph contains all declarations."""
    while client.execute("{ service { pending } }")["service"]["pending"]:
        time.sleep(0.05)


def test_blocks_are_enrolled_held_dropped_and_restored(service: ServiceProcess, out: Path) -> None:
    client, dataset = Client(service.url, service.home.key()), node_id("dataset", "file", str(out))
    planned = client.collect_blocks(dataset)
    assert [verdict["isCollectable"] for verdict in planned["verdicts"]] == [True, False]
    with pytest.raises(NotFoundError, match="is not enrolled"):
        client.collect_blocks(dataset, apply=True)
    assert client.enrol_dataset(dataset)["path"] == str(out)
    version = planned["verdicts"][0]["version"]
    client.hold(version, "case 17")
    _settle(client)
    assert client.collect_blocks(dataset, apply=True)["id"] is None
    assert "a legal hold covers it: case 17" in client.collect_blocks(dataset)["verdicts"][0]["reasons"]
    planned = asyncio.run(AsyncClient(service.url, service.home.key()).compact_blocks(dataset, apply=True))
    assert (planned["state"], planned["blocks"]) == ("planned", [2])
    assert "the current version has one block, so there is nothing to merge" in planned["reasons"]
    client.hold(version, None)
    _settle(client)
    dropped = client.collect_blocks(dataset, apply=True, trash_days=3)
    assert dropped["id"] is not None
    assert [path.name for path in out.iterdir()] == ["run2-00000.parquet"]
    assert client.restore_blocks(dropped["id"]) == str(out)
    assert len([*out.iterdir()]) == 2
    client.withdraw_dataset(dataset)
    lines = [json.loads(line) for line in service.home.audit.read_text().splitlines()]
    assert {"versions.enrol", "versions.gc", "versions.gc.end", "versions.restore", "versions.withdraw"} <= {line["what"] for line in lines}


@pytest.mark.parametrize("role", ["viewer", "steward"])
def test_only_callers_with_the_scope_change_blocks(service: ServiceProcess, out: Path, role: str) -> None:
    client, dataset = _client(service, role), node_id("dataset", "file", str(out))
    for ask in (client.enrol_dataset, client.withdraw_dataset, client.collect_blocks, client.compact_blocks, client.restore_blocks):
        with pytest.raises(HeadwaterError, match=r"may .* not (admin|replay)"):
            ask(dataset)
    engineer = _client(service, "engineer")
    assert len(engineer.collect_blocks(dataset)["verdicts"]) == 2
    with pytest.raises(HeadwaterError, match=r"may .* not (admin|replay)"):
        engineer.enrol_dataset(dataset)
