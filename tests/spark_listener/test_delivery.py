"""The content of the spool reaches a service, whatever the service does meanwhile."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import ConfigurationError, InvalidInputError, UnavailableError
from headwater.spark_listener.delivery.http import HttpDelivery
from headwater.spark_listener.delivery.leftovers import deliver_folder, deliver_leftovers
from headwater.spark_listener.delivery.sender import Sender
from headwater.spark_listener.spool import SpoolFolder
from tests.ports import free_port


class Receiver:
    """A real HTTP server that keeps requests and gives prepared answers."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.manifests: list[Any] = []
        self.segments: dict[str, bytes] = {}
        self.headers: list[dict[str, str]] = []
        self.answers: list[int] = []  # statuses to give before all is well
        self.lose: set[str] = set()  # segments that get lost once
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def _body(self) -> bytes:
                receiver.headers.append(dict(self.headers))
                raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                return gzip.decompress(raw) if self.headers.get("Content-Encoding") == "gzip" else raw

            def _answer(self, status: int, content: Any = None) -> None:
                body = json.dumps(content or {}).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_PUT(self) -> None:
                body, name = self._body(), self.path.rsplit("/", 1)[-1]
                if name in receiver.lose:
                    receiver.lose.discard(name)
                else:
                    assert sha256(body).hexdigest() == self.headers["X-Headwater-Sha256"]
                    receiver.segments[name] = body
                self._answer(204)

            def do_POST(self) -> None:
                body = json.loads(self._body())
                if receiver.answers:
                    self._answer(receiver.answers.pop(0), {"message": "as told", "field": "eventTime"})
                elif self.path == "/api/v1/lineage":
                    receiver.events.append(body)
                    self._answer(201)
                else:
                    missing = [s["name"] for s in body["segments"] if s["name"] not in receiver.segments]
                    if missing:
                        self._answer(409, {"missing": missing})
                    else:
                        receiver.manifests.append(body)
                        self._answer(201)

            def log_message(self, *_: Any) -> None:
                pass

        self._handler = Handler
        self.server: ThreadingHTTPServer | None = None
        self.port = free_port()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def up(self) -> None:
        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), self._handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def down(self) -> None:
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()
            self.server = None


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    receiver.up()
    yield receiver
    receiver.down()


@pytest.fixture
def folder(tmp_path: Path) -> SpoolFolder:
    return SpoolFolder.create(tmp_path / "spool", "app", limit=1 << 30)


def capture(folder: SpoolFolder, name: str = "c1") -> dict[str, Any]:
    """A capture with two real segment files."""
    (folder.segments / name).mkdir()
    segments = []
    for i in range(2):
        data = f"{name} {i}".encode() * 100
        (folder.segments / name / f"{name}-{i}.seg").write_bytes(data)
        segments.append({"name": f"{name}-{i}.seg", "bytes": len(data), "sha256": sha256(data).hexdigest()})
    manifest = {"capture": name, "segments": segments}
    assert folder.capture(manifest)
    return manifest


def event(number: int) -> dict[str, Any]:
    return {"eventType": "COMPLETE", "number": number, "inputs": []}


def test_events_segments_and_manifests_arrive_and_leave_the_spool(receiver: Receiver, folder: SpoolFolder) -> None:
    folder.event(event(1))
    manifest = capture(folder)
    delivered = deliver_folder(folder, HttpDelivery(receiver.url, "key"))
    assert delivered.arrived == 2
    assert receiver.events == [event(1)]
    assert receiver.manifests == [manifest]
    assert receiver.segments["c1-1.seg"] == b"c1 1" * 100
    assert {headers["Authorization"] for headers in receiver.headers} == {"Bearer key"}
    assert not folder.has_pending()
    assert list(folder.segments.iterdir()) == []


def test_a_segment_that_got_lost_is_sent_again(receiver: Receiver, folder: SpoolFolder) -> None:
    receiver.lose = {"c1-0.seg"}
    manifest = capture(folder)
    deliver_folder(folder, HttpDelivery(receiver.url, None))
    assert receiver.manifests == [manifest]
    assert set(receiver.segments) == {"c1-0.seg", "c1-1.seg"}


def test_a_short_failure_is_retried(receiver: Receiver, folder: SpoolFolder) -> None:
    receiver.answers = [503, 500, 429]
    folder.event(event(1))
    deliver_folder(folder, HttpDelivery(receiver.url, None))
    assert receiver.events == [event(1)]


def test_an_item_that_is_refused_for_good_does_not_hold_up_the_others(receiver: Receiver, folder: SpoolFolder) -> None:
    receiver.answers = [422]
    folder.event(event(1))
    folder.event(event(2))
    delivered = deliver_folder(folder, HttpDelivery(receiver.url, None))
    assert len(delivered.refused) == 1
    assert "eventTime" in delivered.refused[0]
    assert receiver.events == [event(2)]
    assert not folder.has_pending()


def test_a_segment_that_is_gone_costs_its_capture_alone(receiver: Receiver, folder: SpoolFolder) -> None:
    capture(folder)
    (folder.segments / "c1" / "c1-0.seg").unlink()
    folder.event(event(1))
    delivered = deliver_folder(folder, HttpDelivery(receiver.url, None))
    assert "c1-0.seg" in delivered.refused[0]
    assert receiver.events == [event(1)]


def test_a_wrong_key_keeps_everything(receiver: Receiver, folder: SpoolFolder) -> None:
    receiver.answers = [401]
    folder.event(event(1))
    with pytest.raises(ConfigurationError, match="HEADWATER_API_KEY"):
        deliver_folder(folder, HttpDelivery(receiver.url, "wrong"))
    assert folder.has_pending()


def test_a_service_that_is_away_keeps_everything(receiver: Receiver, folder: SpoolFolder) -> None:
    receiver.down()
    folder.event(event(1))
    with pytest.raises(UnavailableError):
        deliver_folder(folder, HttpDelivery(receiver.url, None, retries=False))
    assert folder.has_pending()


def test_segments_of_a_shared_location_are_read_there(receiver: Receiver, folder: SpoolFolder, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "c9").mkdir(parents=True)
    (shared / "c9" / "a.seg").write_bytes(b"bytes")
    manifest = {"capture": "c9", "segments": [{"name": "a.seg", "bytes": 5, "sha256": sha256(b"bytes").hexdigest()}]}
    for location in (str(shared), shared.as_uri()):
        folder.capture(manifest, segments=location)
        receiver.segments.clear()
        assert deliver_folder(folder, HttpDelivery(receiver.url, None)).refused == []
        assert receiver.segments == {"a.seg": b"bytes"}
    assert (shared / "c9" / "a.seg").exists()


def test_the_sender_delivers_while_the_program_runs(receiver: Receiver, folder: SpoolFolder, tmp_path: Path) -> None:
    sender = Sender(receiver.url, None, tmp_path / "spool")
    sender.add(folder)
    folder.event(event(1))
    sender.wake()
    wait_for(lambda: receiver.events == [event(1)])
    folder.event(event(2))
    assert sender.finish(60)
    assert receiver.events == [event(1), event(2)]


def test_the_sender_waits_for_a_service_that_comes_back(receiver: Receiver, folder: SpoolFolder, tmp_path: Path) -> None:
    receiver.down()
    sender = Sender(receiver.url, None, tmp_path / "spool")
    sender.add(folder)
    folder.event(event(1))
    sender.wake()
    wait_for(lambda: sender.problem is not None)
    receiver.up()
    wait_for(lambda: receiver.events == [event(1)])
    assert sender.finish(60)


def test_the_end_of_the_program_does_not_wait_for_a_service_that_is_away(receiver: Receiver, folder: SpoolFolder, tmp_path: Path) -> None:
    receiver.down()
    sender = Sender(receiver.url, None, tmp_path / "spool")
    sender.add(folder)
    folder.event(event(1))
    assert not sender.finish(2)  # which comes back
    assert folder.has_pending()


def test_what_a_dead_application_left_goes_with_the_next_sender_and_its_run_is_stated_to_have_aborted(
    receiver: Receiver, tmp_path: Path
) -> None:
    start = {
        "eventType": "START",
        "eventTime": "2026-01-01T00:00:00Z",
        "run": {"runId": "r", "facets": {"headwater_capture": {"problems": []}}},
        "job": {"name": "j"},
    }
    dead = SpoolFolder.create(tmp_path / "spool", "dead", limit=1 << 20)
    dead.describe(start=start)
    dead.event(start)
    dead.close()
    with (dead.path / "log").open("ab") as log:
        log.write(b"12345678 torn")
    living = SpoolFolder.create(tmp_path / "spool", "living", limit=1 << 20)
    living.event(event(1))
    sender = Sender(receiver.url, None, tmp_path / "spool")
    sender.wake()
    wait_for(lambda: not dead.path.exists())
    assert sender.finish(60)
    assert [e["eventType"] for e in receiver.events] == ["START", "ABORT"]
    facets = receiver.events[1]["run"]["facets"]
    assert facets["headwater_capture"]["status"] == "partial"
    assert "1 line" in facets["headwater_capture"]["problems"][0]["reason"]
    assert "errorMessage" in facets
    assert living.has_pending()


def test_leftovers_stay_when_they_cannot_be_delivered_now(receiver: Receiver, tmp_path: Path) -> None:
    dead = SpoolFolder.create(tmp_path, "dead", limit=1 << 20)
    dead.event(event(1))
    dead.describe(ended=True)
    dead.close()
    receiver.down()
    with pytest.raises(UnavailableError):
        deliver_leftovers(tmp_path, HttpDelivery(receiver.url, None, retries=False))
    receiver.up()
    assert deliver_leftovers(tmp_path, HttpDelivery(receiver.url, None)).arrived == 1
    assert not dead.path.exists()


def test_a_refusal_names_what_the_service_said(receiver: Receiver, folder: SpoolFolder) -> None:
    receiver.answers = [400]
    folder.event(event(1))
    with pytest.raises(InvalidInputError, match="as told"):
        HttpDelivery(receiver.url, None).send(next(folder.pending()), folder)


def wait_for(condition: Any, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.02)
