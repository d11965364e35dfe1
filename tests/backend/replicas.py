"""Replicas of one service with what they share: a real PostgreSQL, Neo4j and S3 server; and producers that send to whichever answers."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Self

import httpx

from tests.backend.events import body, run_event
from tests.backend.service import ServiceProcess
from tests.databases import PASSWORD, USER, Postgres, postgres
from tests.lake import S3Server, s3
from tests.neo4j_server import Neo4jServer, start

KEY = "a-key-that-all-replicas-have"


@dataclass(frozen=True)
class Shared:
    """The servers, and the settings of a replica."""

    postgres: Postgres
    graph: Neo4jServer
    objects: S3Server

    @property
    def settings(self) -> dict[str, str]:
        return {
            "HEADWATER_INGEST_LOG": f"postgresql://127.0.0.1:{self.postgres.port}/shop",
            "HEADWATER_INGEST_LOG_USER": USER,
            "HEADWATER_INGEST_LOG_PASSWORD": PASSWORD,
            "HEADWATER_STORE": self.graph.uri,
            "HEADWATER_STORE_USER": self.graph.user,
            "HEADWATER_STORE_PASSWORD": self.graph.password,
            "HEADWATER_ASSOCIATIONS": "s3://kept/hw",
            "HEADWATER_API_KEY": KEY,
        }

    def home(self, folder: Path) -> Path:
        """A home that reaches the object store."""
        folder.mkdir(parents=True)
        (folder / "storage.toml").write_text(self.objects.root("s3://kept/hw", seconds=5))
        return folder


@contextmanager
def shared(folder: Path) -> Iterator[Shared]:
    """The servers, empty."""
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        starting = pool.submit(start, folder / "neo4j")
        database = stack.enter_context(postgres())
        objects = stack.enter_context(s3(folder / "s3"))
        (folder / "s3" / "kept").mkdir()
        graph, process = starting.result()
        try:
            yield Shared(database, graph, objects)
        finally:
            process.kill()
            process.wait()


@dataclass
class Replicas:
    """`count` services. In the place of a killed one `start` starts one with a new home: nothing of the old one is to be missed."""

    parts: Shared
    folder: Path
    count: int
    services: list[ServiceProcess] = field(default_factory=list)
    urls: list[str | None] = field(default_factory=list)
    _homes: int = 0

    def __enter__(self) -> Self:
        self.services = [self._new(number) for number in range(self.count)]
        try:
            with ThreadPoolExecutor(self.count) as pool:
                list(pool.map(ServiceProcess.start, self.services))
        except BaseException:
            self.__exit__()
            raise
        self.urls = [service.url for service in self.services]
        return self

    def __exit__(self, *_: object) -> None:
        for service in self.services:
            service.__exit__()

    def kill(self, number: int) -> None:
        """End one at once."""
        self.urls[number] = None
        self.services[number].kill()

    def start(self, number: int) -> None:
        """Start one in the place of one that was killed."""
        service = self.services[number] = self._new(number)
        service.start()
        self.urls[number] = service.url

    def client(self, number: int) -> httpx.Client:
        return httpx.Client(base_url=self.urls[number] or "", headers={"X-Api-Key": KEY}, trust_env=False, timeout=60)

    def _new(self, number: int) -> ServiceProcess:
        self._homes += 1
        return ServiceProcess(self.parts.home(self.folder / f"replica{number}-{self._homes}"), **self.parts.settings)


class Producers:
    """Threads that send batches without end, each to one replica after the other until it is acknowledged, as behind a load balancer."""

    def __init__(self, replicas: Replicas, *, threads: int, batch: int = 5, pause: float = 0.1) -> None:
        """`pause`: seconds between batches of a thread, so that what is sent is no more than the graph takes."""
        self._pause = pause
        self._replicas = replicas
        self._batch_size = batch
        self._lock = Lock()
        self._ending = Event()
        self._threads = [Thread(target=self._send, args=(random.Random(number),)) for number in range(threads)]
        self.sent = 0
        self.acknowledged: set[int] = set()
        self.sent_again = 0
        self.odd: list[str] = []

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()

    def wait(self, more: int, *, patience: float = 300) -> None:
        """Until so many more events are acknowledged."""
        wanted, deadline = len(self.acknowledged) + more, time.monotonic() + patience
        while len(self.acknowledged) < wanted:
            assert time.monotonic() < deadline, (len(self.acknowledged), wanted, self.odd)
            time.sleep(0.02)

    def _send(self, chance: random.Random) -> None:
        with httpx.Client(headers={"X-Api-Key": KEY}, trust_env=False, timeout=30) as client:
            while not self._ending.is_set():
                with self._lock:
                    numbers = range(self.sent, self.sent + self._batch_size)
                    self.sent = numbers.stop
                while not self._try(client, numbers, chance):
                    time.sleep(0.02)
                self._ending.wait(self._pause)

    def _try(self, client: httpx.Client, numbers: Sequence[int], chance: random.Random) -> bool:
        if not (urls := [url for url in self._replicas.urls if url]):
            return False
        try:
            answer = client.post(f"{chance.choice(urls)}/api/v1/lineage", content=body(*map(run_event, numbers)))
        except httpx.TransportError:
            with self._lock:
                self.sent_again += 1
            return False
        if answer.status_code != 201:
            self.odd.append(answer.text)  # 503: it is sent again
            assert answer.status_code == 503, answer.text
            return False
        with self._lock:
            self.acknowledged.update(numbers)
        return True
