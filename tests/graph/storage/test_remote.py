"""Misbehaviour of remote storage: a store of the test's own does things that no real server can be brought to do."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from headwater.errors import SourceUnavailableError
from headwater.graph.storage import Remote
from headwater.graph.storage import remote as module
from headwater.graph.storage.addresses import Address
from headwater.graph.storage.protocol import Stat
from headwater.graph.storage.settings import RootSettings

ROOT = RootSettings(Address("s3", "lake", "data"), seconds=0.5)


class Store:
    """Every path is a file of `length` bytes; folders never end."""

    def __init__(self, length: int = 1 << 40) -> None:
        self.length, self.asked, self.names = length, list[tuple[int, int]](), list[str]()

    def stat(self, path: str) -> Stat:
        return Stat(self.length, 0, "tag")

    def files(self, path: str) -> Iterator[list[tuple[str, Stat]]]:
        if self.names:
            yield [(name, Stat(1, 0, "tag")) for name in self.names]
            return
        for page in itertools.count():
            time.sleep(0.01)
            yield [(f"data/{page}-{number}", Stat(1, 0, "tag")) for number in range(1000)]

    def read(self, path: str, stat: Stat, offset: int, length: int) -> bytes:
        self.asked.append((offset, length))
        return bytes(length)


def over(store: Store) -> Remote:
    remote = Remote([ROOT])
    remote._stores[0] = store
    return remote


def test_a_list_without_an_end_is_given_up() -> None:
    with pytest.raises(SourceUnavailableError, match="more than"):
        over(Store()).files("s3://lake/data/x")


def test_a_list_with_names_that_no_path_has_gives_those_that_are_paths() -> None:
    store = Store()
    store.names = ["data/a", "data/../../etc/passwd", "data//b", "data/./c", "data/d\n", "data/e/", "data/f", "data/f/g", "data/h%2fi"]
    assert [file.uri for file in over(store).files("s3a://lake/data")] == [
        "s3a://lake/data/a", "s3a://lake/data/f/g", "s3a://lake/data/h%2fi",
    ]  # fmt: skip


def test_a_footer_that_says_it_is_gigantic_is_not_fetched() -> None:
    store = Store()
    file = over(store).file("s3://lake/data/x")
    assert file is not None
    with pytest.raises(SourceUnavailableError, match="is damaged"):
        file.read(0, 1 << 39)
    assert store.asked == []
    with pytest.raises(SourceUnavailableError, match="too large"):
        file.content()


def test_large_reads_go_in_parts_and_small_ones_at_the_end_at_once() -> None:
    store = Store(100 << 20)
    file = over(store).file("s3://lake/data/x")
    assert file is not None
    assert len(file.read(0, 40 << 20)) == 40 << 20
    assert sorted(store.asked) == [(0, 16 << 20), (16 << 20, 16 << 20), (32 << 20, 8 << 20)]
    store.asked.clear()
    for offset in (8, 100, 5000):
        file.read((100 << 20) - offset, 8)
    assert len(store.asked) == 1


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REMEMBERED", 1000)
    store = Store(1 << 30)
    remote = over(store)
    file = remote.file("s3://lake/data/x")
    assert file is not None
    for offset in range(0, 10_000, 300):
        file.read(offset, 300)
    assert sum(map(len, remote._ranges.values())) <= 1000
    assert remote._remembered == sum(map(len, remote._ranges.values()))


def test_several_threads_count_and_remember_together() -> None:
    store = Store(1 << 30)
    remote = over(store)
    file = remote.file("s3://lake/data/x")
    assert file is not None
    threads = [threading.Thread(target=lambda n=n: [file.read(1000 * (n * 50 + i), 1000) for i in range(50)]) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert remote.traffic == (401, 400_000)


class Heedless(BaseHTTPRequestHandler):
    """A store of one object that ignores the conditions of a request, like some that speak S3's protocol."""

    content = b"old" * 100_000

    def do_HEAD(self) -> None:
        self._answer(200, self.content)

    def do_GET(self) -> None:
        first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        part = self.content[first : last + 1]
        self._answer(206, part, f"bytes {first}-{first + len(part) - 1}/{len(self.content)}")

    def _answer(self, status: int, body: bytes, place: str | None = None) -> None:
        self.send_response(status)
        stated = {"ETag": f'"{hash(self.content)}"', "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT", "Content-Length": str(len(body))}
        for name, value in (stated | ({"Content-Range": place} if place else {})).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_a_store_that_heeds_no_condition_gives_no_answer_of_two_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Heedless) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_port}"
        remote = Remote([RootSettings(Address("s3", "lake", "data"), options={"endpoint": endpoint, "anonymous": True})])
        file = remote.file("s3://lake/data/x")
        assert file is not None
        assert file.read(0, 3) == b"old"
        monkeypatch.setattr(Heedless, "content", b"new" * 100_000)
        with pytest.raises(SourceUnavailableError, match="replaced while it was read"):
            file.read(200_000, 3)
        server.shutdown()
