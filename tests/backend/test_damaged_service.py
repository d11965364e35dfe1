"""A running service with a damaged file: `/readyz` names it, and no acknowledged entry is lost."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from headwater.backend.home.settings import load_settings
from headwater.backend.operate.service_diagnosis import diagnose_service
from headwater.backend.workspace import Workspace
from headwater.graph.records import AssociationStore
from tests.backend.captures import capture
from tests.backend.damage import cut, empty, spoil
from tests.backend.events import body, run_event
from tests.backend.service import ServiceProcess

_READY = ("log", "graph", "catalog", "key", "disk", "associations", "segments")
_PAUSE = 0.05  # between two looks: who asks without a pause leaves the service no processor to look with


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """A service that took in an event and two captures, one of them without its manifest yet."""
    with ServiceProcess(tmp_path_factory.mktemp("home")) as service:
        with service.client() as client:
            client.post("/api/v1/lineage", json=run_event(1)).raise_for_status()
            send_capture(client, 1)
            manifest, segments = capture(2)
            send_segment(client, manifest, *next(iter(segments.items())))
        service.settled()
        yield service


def send_capture(client: httpx.Client, number: int) -> dict[str, Any]:
    manifest, segments = capture(number)
    for name, data in segments.items():
        send_segment(client, manifest, name, data)
    client.post("/api/v1/captures", json=manifest).raise_for_status()
    return manifest


def send_segment(client: httpx.Client, manifest: dict[str, Any], name: str, data: bytes) -> None:
    headers = {"X-Headwater-Sha256": sha256(data).hexdigest()}
    client.put(f"/api/v1/captures/{manifest['capture']}/segments/{name}", content=data, headers=headers).raise_for_status()


def told(client: httpx.Client, part: str) -> tuple[int, str]:
    """The status of `/readyz` once it says something of a part, and what that is."""
    deadline = time.monotonic() + 60
    while (answer := client.get("/readyz")).json()["checks"][part] == "ok":
        assert time.monotonic() < deadline, answer.text
        time.sleep(_PAUSE)
    return answer.status_code, answer.json()["checks"][part]


def is_ready(client: httpx.Client) -> None:
    deadline = time.monotonic() + 60
    while (answer := client.get("/readyz")).status_code != 200 or any(answer.json()["checks"][part] != "ok" for part in _READY):
        assert time.monotonic() < deadline, answer.text
        time.sleep(_PAUSE)


def copy_of(service: ServiceProcess, folder: Path) -> ServiceProcess:
    """A service of its own on a copy of the home, to be spoiled for good."""
    home = shutil.copytree(service.home.path, folder / "home", ignore=shutil.ignore_patterns("service.json", "*.lock"))
    return ServiceProcess(Path(home))


def kept(home: Path) -> Path:
    return next(folder for _, folder in AssociationStore.kept_folders(home / "associations"))


@pytest.mark.parametrize(
    ("part", "status", "damage"),
    [
        ("associations", 200, spoil),
        pytest.param("associations", 200, cut, marks=pytest.mark.slow),
        pytest.param("segments", 200, spoil, marks=pytest.mark.slow),
        ("key", 503, spoil),
        ("key", 503, empty),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_readyz_names_the_damaged_file_and_is_well_once_it_is_back(service: ServiceProcess, part: str, status: int, damage: Any) -> None:
    home = service.home.path
    file = {
        "associations": lambda: kept(home) / "b0.parquet",
        "segments": lambda: next((home / "associations").glob("*/staging/*/*.seg")),
        "key": lambda: home / "key",
    }[part]()
    before = file.read_bytes()
    with service.client() as client:
        is_ready(client)
        damage(file, begin=16) if damage is spoil else damage(file)
        assert told(client, part)[0] == status
        assert file.name in told(client, part)[1]
        file.write_bytes(before)
        is_ready(client)


@pytest.mark.parametrize("damage", [spoil, pytest.param(cut, marks=pytest.mark.slow)])
def test_readyz_is_503_with_a_damaged_database(service: ServiceProcess, tmp_path: Path, damage: Any) -> None:
    with copy_of(service, tmp_path) as other, other.client() as client:
        is_ready(client)
        for part, name in (("catalog", "catalog.db"), ("graph", "graph.db"), ("log", "ingest.db")):
            damage(next(other.home.path.rglob(name)))
            status, detail = told(client, part)
            assert (status, name in detail) == (503, True), detail
        assert client.get("/healthz").status_code == 200


@pytest.mark.slow
def test_a_log_that_vanished_is_told(service: ServiceProcess, tmp_path: Path) -> None:
    with copy_of(service, tmp_path) as other, other.client() as client:
        is_ready(client)
        other.home.log.unlink()
        assert told(client, "log") == (503, "ingest.db: it is missing")


@pytest.mark.slow
async def test_a_tenant_of_which_the_log_has_lost_entries_takes_the_service_from_no_other(tmp_path: Path) -> None:
    async with await Workspace.open(load_settings(home=tmp_path)) as workspace:
        await workspace.graph.apply("sales", [], offset=10**9)
        workspace.events.submit("sales", body(run_event(1))).result()
    with ServiceProcess(tmp_path) as service, service.client() as client:
        deadline = time.monotonic() + 60
        while (answer := client.get("/readyz")).json()["checks"]["projector"] in {"starting", "running"}:
            assert time.monotonic() < deadline
            await asyncio.sleep(_PAUSE)
        assert (answer.status_code, answer.json()["checks"]["projector"]) == (200, "behind for a tenant: DamagedError")
        found = next(finding for finding in diagnose_service(tmp_path) if finding.check == "projector")
        assert (found.state, bool(found.advice)) == ("note", True)
        client.post("/api/v1/lineage", json=run_event(2)).raise_for_status()
        service.settled()


def test_nothing_of_a_question_is_told_to_a_stranger(service: ServiceProcess) -> None:
    with service.client(key=False) as stranger:
        assert str(service.home.path) not in json.dumps(stranger.get("/readyz").json())
