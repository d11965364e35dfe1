"""A disk that is full, or read-only, on a file system of its own: requests are refused, and no acknowledged entry is lost."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from headwater.backend.ingest.log.sqlite import SqliteLog
from headwater.backend.operate.soundness.files import disk_faults
from tests.backend.cli.command import headwater
from tests.backend.events import run_event
from tests.backend.producers import Producers, check_kept
from tests.backend.service import ServiceProcess

_SIZE = "96m"  # the log of changes to the graph alone takes 32


def _mount(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], check=False, capture_output=True).returncode == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system in memory, which is full soon."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if not _mount("-t", "tmpfs", "-o", f"size={_SIZE}", "tmpfs", str(folder)):
        pytest.skip("only root may mount a file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Leave no byte."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while file.write(bytes(size)):
                    pass
            except OSError:
                continue
    return filler


def wait_for(client: httpx.Client, wanted: Callable[[httpx.Response], bool]) -> httpx.Response:
    deadline = time.monotonic() + 60
    while not wanted(answer := client.get("/readyz")):
        assert time.monotonic() < deadline, answer.text
    return answer


@pytest.mark.slow
def test_a_full_disk_is_told_and_nothing_acknowledged_is_lost(disk: Path) -> None:
    acknowledged = []
    home = disk / "home"
    home.mkdir()
    with ServiceProcess(home) as service, service.client() as client:
        wait_for(client, lambda answer: answer.status_code == 200)
        acknowledged += [number for number in range(5) if client.post("/api/v1/lineage", json=run_event(number)).status_code == 201]
        filler = fill(disk)
        told = wait_for(client, lambda answer: answer.status_code == 503)
        assert "No space left" in told.json()["checks"]["disk"]
        statuses = [client.post("/api/v1/lineage", json=run_event(number)).status_code for number in range(5, 60)]
        acknowledged += [number for number, status in enumerate(statuses, start=5) if status == 201]
        assert set(statuses) <= {201, 503}
        assert 503 in statuses
        checked = json.loads(headwater("store", "check", "--home", str(home), "-f", "json", code=1).stdout)
        (full,) = checks_of(checked, "disk")
        assert str(home) in full["detail"]
        assert "No space left" in full["detail"]
        filler.unlink()
        wait_for(client, lambda answer: answer.status_code == 200)
        again = [number for number, status in enumerate(statuses, start=5) if status == 503]
        sent = [client.post("/api/v1/lineage", json=run_event(number)) for number in again]
        assert [answer.text for answer in sent if answer.status_code != 201] == []
        service.settled()
        wait_for(client, lambda answer: answer.status_code == 200)
    log = SqliteLog(home / "ingest.db")
    bodies = {entry.body for entry in log.read("default", after=0, limit=1_000)}
    log.close()
    assert {run_event(number)["run"]["runId"] for number in [*acknowledged, *again]} == {
        json.loads(body)["run"]["runId"] for body in bodies
    }
    headwater("store", "check", "--home", str(home))


@pytest.mark.torture
@pytest.mark.timeout(0)
def test_a_disk_that_fills_again_and_again_under_load(disk: Path) -> None:
    """HEADWATER_ROUNDS times."""
    chance, home = random.Random(20130212), disk / "home"
    home.mkdir()
    service = ServiceProcess(home)
    with service, Producers(service) as producers, service.client() as client:
        for _ in range(int(os.environ.get("HEADWATER_ROUNDS", "3"))):
            before = len(producers.acknowledged)
            while len(producers.acknowledged) < before + 25:
                time.sleep(chance.uniform(0, 0.05))
            refused, filler = producers.refused, fill(disk)
            while producers.refused < refused + 5:
                time.sleep(0.02)
            filler.unlink()
            wait_for(client, lambda answer: answer.status_code == 200)
    assert producers.refused
    check_kept(home, producers)


def checks_of(checked: list[dict[str, str]], name: str) -> list[dict[str, str]]:
    return [check for check in checked if check["check"] == name]


def test_a_read_only_disk_is_told(disk: Path) -> None:
    home = disk / "home"
    home.mkdir()
    headwater("store", "migrate", "--home", str(home))
    assert _mount("--bind", str(home), str(home))
    try:
        assert _mount("-o", "remount,bind,ro", str(home))
        from headwater.backend.home.folder import Home

        (fault,) = disk_faults(Home(home))
        assert "Read-only file system" in str(fault)
        assert str(home) in fault.__str__()
        found = headwater("store", "check", "--home", str(home), "-f", "json", code=1).stdout
        (told,) = checks_of(json.loads(found), "disk")
        assert str(home) in told["detail"]
        said = headwater("serve", "--home", str(home), "--port", "0", code=2).stderr
        assert str(home) in said.replace("\n", "")
        assert "not writable" in said.replace("\n", " ")
    finally:
        subprocess.run(["umount", str(home)], check=True)
