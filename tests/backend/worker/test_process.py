"""The worker's process: it works next to the service, is started again, and ends with it, however that ends."""

from __future__ import annotations

import errno
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.backend.home.settings import load_settings
from headwater.backend.ingest.log.registry import open_log
from headwater.backend.worker.process import WorkerProcess
from headwater.graph.records import Wanted
from headwater.spark_listener.spool import SpoolFolder
from tests.backend.events import run_event
from tests.backend.service import ServiceProcess

_PATIENCE = 120.0
_MODULE = "headwater.backend.worker.child"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceProcess]:
    with ServiceProcess(tmp_path, HEADWATER_LOG_FORMAT="json") as service:
        yield service


def _workers(parent: int) -> list[int]:
    """The workers that a process has started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat, command = (folder / "stat").read_text(), (folder / "cmdline").read_text()
        except OSError:
            continue
        if _MODULE in command and int(stat.rpartition(")")[2].split()[1]) == parent:
            found.append(int(folder.name))
    return found


def _worker(service: ServiceProcess, *, but: int = 0) -> int:
    deadline = time.monotonic() + _PATIENCE
    while not (found := [pid for pid in _workers(service.process.pid) if pid != but]):
        assert time.monotonic() < deadline, service.log.read_text()
        time.sleep(0.02)
    return found[0]


def _runs(service: ServiceProcess) -> None:
    deadline = time.monotonic() + _PATIENCE
    with service.client() as client:
        while client.get("/readyz").json()["checks"]["projector"] != "running":
            assert time.monotonic() < deadline, service.log.read_text()
            time.sleep(0.05)


def _is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _ends(pid: int) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not _is_gone(pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _counted(service: ServiceProcess, entries: int) -> str:
    """The measures, once they say that so many entries were projected."""
    deadline = time.monotonic() + _PATIENCE
    with service.client() as client:
        while f"headwater_projected_entries_total {entries}.0" not in (measures := client.get("/metrics").text):
            assert time.monotonic() < deadline, measures
            time.sleep(0.05)
    return measures


def _send(service: ServiceProcess, number: int) -> None:
    with service.client() as client:
        assert client.post("/api/v1/lineage", json=run_event(number)).status_code == 201


@pytest.mark.slow
def test_a_worker_that_was_killed_is_started_again_and_goes_on(service: ServiceProcess) -> None:
    worker = _worker(service)
    _send(service, 1)
    service.settled()
    _counted(service, 1)  # it has reported the entry, and is idle
    os.kill(worker, signal.SIGKILL)
    service.logged("is started again")
    _send(service, 2)
    assert _worker(service, but=worker) != worker
    service.settled()
    _runs(service)
    assert "headwater_worker_restarts_total 1.0" in _counted(service, 2)
    lines = [json.loads(line) for line in service.log.read_text().splitlines() if line.startswith("{")]
    assert [line["level"] for line in lines if line["logger"] == "headwater.worker"] == ["error"]


def test_the_worker_ends_with_a_service_that_is_told_to(service: ServiceProcess) -> None:
    worker = _worker(service)
    _runs(service)
    os.kill(worker, signal.SIGTERM)  # as systemd does, to all processes of a service at once
    service.process.terminate()
    assert service.process.wait(_PATIENCE) == 0
    assert _is_gone(worker)
    assert "the worker ended" not in service.log.read_text()


@pytest.mark.slow
def test_the_worker_ends_with_a_service_that_is_killed_and_the_next_one_goes_on(service: ServiceProcess) -> None:
    worker = _worker(service)
    os.kill(worker, signal.SIGSTOP)  # so that there is something left to project
    _send(service, 1)
    service.kill()
    os.kill(worker, signal.SIGCONT)
    _ends(worker)
    service.start()
    service.settled()


@pytest.mark.slow
def test_a_worker_that_stands_still_holds_up_no_answer(service: ServiceProcess) -> None:
    worker = _worker(service)
    os.kill(worker, signal.SIGSTOP)
    try:
        for number in range(20):
            _send(service, number)
        with service.client() as client:
            assert client.get("/readyz").json()["pending"] == 20
    finally:
        os.kill(worker, signal.SIGCONT)
    service.settled()


@pytest.mark.slow
def test_what_a_worker_writes_has_the_form_of_the_services_lines(service: ServiceProcess) -> None:
    folder = SpoolFolder.create(service.home.spool, "app", limit=1 << 20)
    folder.event(run_event(3), durable=True)
    folder.describe(ended=True)
    folder.close()
    line = next(line for line in service.logged("taken from the spool").splitlines() if "taken from the spool" in line)
    assert json.loads(line)["logger"] == "headwater.worker"


def test_a_worker_hears_what_is_wanted_and_of_a_log_that_never_wakes(tmp_path: Path) -> None:
    """However many tables are asked for, and whether or not the worker listens, whoever asks goes on at once."""
    settings = load_settings(home=tmp_path)
    settings.folder.create()
    log = open_log(settings)
    worker = WorkerProcess(settings, log)
    worker.wanted.add(Wanted("default", "0190a6f2-0000-7000-8000-000000000000", 0))  # nobody is there yet
    worker.start()
    deadline = time.monotonic() + _PATIENCE
    while worker.state != "running":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    pid = worker.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    for number in range(2_000):  # a worker that is waited for never goes on
        worker.wanted.add(Wanted("default", f"0190a6f2-0000-7000-8000-{number:012}", 0))
    os.kill(pid, signal.SIGCONT)
    worker.stop()
    log.close()
    assert worker.state == "stopped"
    assert _is_gone(pid)


def test_a_service_that_has_no_file_left_for_its_worker_tries_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_settings(home=tmp_path)
    settings.folder.create()
    log = open_log(settings)
    ended: list[None] = []
    worker = WorkerProcess(settings, log, on_restart=lambda: ended.append(None))
    dup, faults = os.dup, iter([OSError(errno.EMFILE, "Too many open files")] * 2)

    def scarce(number: int) -> int:
        if fault := next(faults, None):
            raise fault
        return dup(number)

    monkeypatch.setattr(os, "dup", scarce)
    worker.start()
    try:
        deadline = time.monotonic() + _PATIENCE
        while worker.state != "running":
            assert time.monotonic() < deadline, worker.state
            time.sleep(0.02)
        assert len(ended) == 2
    finally:
        worker.stop()
        log.close()
