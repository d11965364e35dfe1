"""An entry at which the worker's process ends each time is set aside, delays no other tenant, and can be taken again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from headwater.backend.access.keys import KeyRing
from headwater.backend.home.settings import load_settings
from headwater.backend.ingest.intake.documents import document_key
from headwater.backend.ingest.log import DeadLetter, Draft, EntryKind, IngestLog, Stage
from headwater.backend.ingest.log.sqlite import SqliteLog
from headwater.backend.projector.current_entries import AtWork, Note, Patience, Stretch, left_in, note_in
from headwater.backend.worker import retry
from headwater.backend.worker.poison_entries import ENDS, Suspect, Suspects
from headwater.backend.workspace import Workspace
from headwater.graph.access.scopes import Scope
from tests.backend.events import run_event
from tests.backend.service import ServiceProcess

_PATIENCE = 120.0
# In the processes that project: a fault of a library in C, and a loop without end.
_FAULTY = """
import sys
if any("headwater.backend.worker" in argument for argument in sys.orig_argv):
    import ctypes, json
    loads = json.loads
    def faulty(text, *arguments, **options):
        raw = text if isinstance(text, bytes) else str(text).encode()
        if b"fault-of-c" in raw:
            ctypes.string_at(0)
        while b"without-end" in raw:
            pass
        return loads(text, *arguments, **options)
    json.loads = faulty
"""


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    """A folder for PYTHONPATH in which such faults are."""
    folder = tmp_path / "faulty"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_FAULTY)
    return folder


def _event(number: int, job: str = "sound") -> dict[str, object]:
    return run_event(number, job={"namespace": "tests", "name": job})


def _until(wanted: Callable[[], bool], service: ServiceProcess) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not wanted():
        assert time.monotonic() < deadline, service.log.read_text()
        time.sleep(0.05)


def _runs(client: httpx.Client) -> int:
    answer = client.post("/graphql", json={"query": "{ service { runs pending } }"}).json()
    return int(answer["data"]["service"]["runs"])


def _other_tenant(service: ServiceProcess) -> httpx.Client:
    with closing(KeyRing(service.home.named_keys)) as ring:
        _, key = ring.create("other", {Scope.READ, Scope.INTAKE}, tenant="other")
    return httpx.Client(base_url=service.url, headers={"Authorization": f"Bearer {key}"}, trust_env=False, timeout=60)


def _store(service: ServiceProcess, *arguments: str, faulty: Path | None = None) -> tuple[int, str]:
    command = [sys.executable, "-m", "headwater", "store", *arguments, "--home", str(service.home.path), "-f", "json"]
    environment = os.environ | ({"PYTHONPATH": str(faulty)} if faulty else {})
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=_PATIENCE)
    return ended.returncode, ended.stdout


@pytest.mark.slow
def test_an_entry_that_ends_the_worker_each_time_is_set_aside_and_can_be_taken_again(tmp_path: Path, faulty: Path) -> None:
    service = ServiceProcess(tmp_path / "home", PYTHONPATH=str(faulty))
    with service, service.client() as client:
        bad = [_event(0), _event(1, "fault-of-c"), _event(2)]
        assert client.post("/api/v1/lineage", json=bad).json()["accepted"] == 3
        service.settled()
        assert _runs(client) == 2
        ready = client.get("/readyz")
        assert ready.status_code == 200
        assert ready.json()["checks"]["quarantine"] == "set aside, since the worker ended each time at them: 1"
    code, checked = _store(service, "check")
    (found,) = [each for each in json.loads(checked) if each["check"] == "set aside"]
    assert code == 1
    assert f"the worker ended {ENDS} times in a row" in found["detail"].lower()
    assert "SIGSEGV" in found["detail"]
    assert {each["check"]: each["ok"] for each in json.loads(checked)}["graph"]

    before = service.log.read_text()
    with service, service.client() as client:  # nothing tries it again by itself
        service.settled()
        client.post("/api/v1/lineage", json=_event(5))
        service.settled()
        assert _runs(client) == 3
        assert "the worker ended" not in service.log.read_text().removeprefix(before)
        code, outcomes = _store(service, "retry", faulty=faulty)
        assert code == 1
        assert [each["detail"] for each in json.loads(outcomes)] == ["the process ended again: SIGSEGV"]
        code, outcomes = _store(service, "retry")  # what was at fault is mended
        assert (code, [each["ok"] for each in json.loads(outcomes)]) == (0, [True])
        assert _runs(client) == 4
        assert client.get("/readyz").json()["checks"]["quarantine"] == "ok"
    assert _store(service, "check")[0] == 0


@pytest.mark.torture  # its seconds are those of a quiet machine
def test_an_entry_without_end_delays_no_other_tenant_and_is_set_aside(tmp_path: Path, faulty: Path) -> None:
    service = ServiceProcess(tmp_path / "home", PYTHONPATH=str(faulty), HEADWATER_ENTRY_SECONDS="2")
    with service, service.client() as client, _other_tenant(service) as other:
        assert client.post("/api/v1/lineage", json=[_event(0), _event(1, "without-end"), _event(2)]).json()["accepted"] == 3
        _until(lambda: "is projected entry by entry, apart" in service.log.read_text(), service)
        sent = 0
        while client.get("/readyz").json()["checks"]["quarantine"] == "ok":
            assert other.post("/api/v1/lineage", json=_event(sent)).status_code == 201
            sent += 1
            _until(lambda: _runs(other) == sent, service)  # noqa: B023 - it is called at once
        service.settled()
        assert _runs(client) == 2
        text = service.log.read_text()
    assert sent > 2  # while the bad entry of the first was tried, again and again
    assert "it was ended after 2 s at one entry" in text
    assert text.count("projection stopped") == 0


@pytest.fixture
def log(tmp_path: Path) -> Iterator[IngestLog]:
    log = SqliteLog(tmp_path / "ingest.db")
    yield log
    log.close()


def _appended(log: IngestLog, number: int) -> int:
    event = _event(number)
    return log.append("t", [Draft(EntryKind.EVENT, document_key(event), json.dumps(event).encode())]).result()[0].offset


def test_ends_at_one_entry_in_a_row_set_it_aside_and_others_do_not(log: IngestLog) -> None:
    first, second = _appended(log, 0), _appended(log, 1)
    suspects = Suspects(log)
    suspects.ended(Stretch("t", first, second), "SIGKILL")  # by whichever of them
    for entry in (first, second) * ENDS:
        suspects.ended(Stretch("t", entry, entry), "SIGKILL")
    assert log.dead_letters("t") == []
    assert Suspects(log).read() == {"t": Suspect(first, second, second, 1)}
    for _ in range(ENDS - 1):
        suspects.ended(Stretch("t", second, second), "SIGSEGV")
    (letter,) = log.dead_letters("t")
    assert (letter.stage, letter.offset, json.loads(letter.body)) == (Stage.QUARANTINE, second, _event(1))
    assert "SIGSEGV" in letter.reason
    suspects.passed("t")
    assert not suspects.read()


def test_once_an_entry_is_set_aside_all_that_wait_of_its_tenant_are_tried_apart(log: IngestLog) -> None:
    bad, *_, latest = [_appended(log, number) for number in range(4)]
    suspects = Suspects(log)
    for _ in range(ENDS):
        suspects.ended(Stretch("t", bad, bad), "SIGSEGV")
    assert suspects.read() == {"t": Suspect(bad, latest)}


def test_all_that_is_set_aside_is_tried_again_however_many_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_settings(home=tmp_path)
    letters = [DeadLetter(Stage.QUARANTINE, "The worker ended.", b"{}", None, offset) for offset in range(1, 151)]
    with closing(SqliteLog(settings.folder.create().log)) as log:
        log.bury("t", letters).result()
    tried: list[int] = []
    monkeypatch.setattr(retry, "_outcomes", lambda _, tenant, offsets, note: tried.extend(offsets) or [])
    retry.retry_set_aside(settings, "t")
    assert tried == list(range(1, 151))


async def test_a_rebuild_passes_over_what_is_set_aside(tmp_path: Path) -> None:
    async with await Workspace.open(load_settings(home=tmp_path)) as workspace:
        offsets = [_appended(workspace.log, number) for number in range(3)]
        for _ in range(ENDS):
            Suspects(workspace.log).ended(Stretch("t", offsets[1], offsets[1]), "SIGSEGV")
        assert await workspace.projector.catch_up() == 3
        assert (await workspace.graph.counts("t"))["run"] == 2
        fingerprint = await workspace.graph.fingerprint("t")
        await workspace.projector.rebuild("t")
        assert await workspace.graph.fingerprint("t") == fingerprint
        assert await workspace.projector.retry("t") == 0
        assert await workspace.projector.retry("t", stage=Stage.QUARANTINE) == 1
        assert (await workspace.graph.counts("t"))["run"] == 3


def test_a_damaged_note_blames_no_other_entry(tmp_path: Path) -> None:
    path = tmp_path / "worker.note"
    AtWork(path).begin(Stretch("sales", 512, 1024))
    whole, note = path.read_bytes(), note_in(path)
    assert note is not None
    places = range(len(whole))
    changed = [whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :] for at in places for bit in range(8)]
    for content in [*changed, *(whole[:at] for at in places), *(whole[:at] + whole[at + 1 :] for at in places)]:
        path.write_bytes(content)
        assert note_in(path) in (None, note), content


def test_a_note_outlives_the_process_that_wrote_it(tmp_path: Path) -> None:
    path = tmp_path / "note"
    assert left_in(path) is None
    if (child := os.fork()) == 0:
        AtWork(path).begin(Stretch("größe 1\n", 5, 7))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert note_in(path) == Note(child, 1, Stretch("größe 1\n", 5, 7))
    at_work = AtWork(path)
    at_work.begin(Stretch("t", 1, 1, writes=True))
    at_work.close()
    at_work.begin(Stretch("t", 2, 2))  # by a thread that goes on for a moment
    assert left_in(path) is None


def test_patience_is_with_reading_alone(tmp_path: Path) -> None:
    at_work, patience = AtWork(tmp_path / "note"), Patience(tmp_path / "note", 10)
    for stretch, is_over in ((Stretch("t", 1, 1), True), (Stretch("t", 1, 5, writes=True), False)):
        at_work.begin(stretch)
        assert [patience.is_over(os.getpid(), now) for now in (0, 9, 11)] == [False, False, is_over]
    at_work.begin(Stretch("t", 1, 1))
    assert not any(patience.is_over(os.getpid() + 1, now) for now in (0, 9, 11))  # what another one left
    at_work.end()
    assert not patience.is_over(os.getpid(), 100)
