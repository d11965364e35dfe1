"""A real service in a process of its own, for tests in which the process is the point."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

import httpx

from headwater.backend.home.folder import Home


class ServiceProcess:
    """`headwater serve` on a free port of loopback, over one home. May be killed and started again."""

    def __init__(self, home: Path, **environment: str) -> None:
        self.home = Home.at(home).create()
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self.log = home / "service.log"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(60)

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    @property
    def url(self) -> str:
        record = self.home.service()
        assert record is not None, self.log.read_text()
        return record.url

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [sys.executable, "-m", "headwater", "serve", "--home", str(self.home.path), "--port", "0"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **self._environment})
        deadline = time.monotonic() + 300
        while self.home.service() is None:
            assert self._process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.02)
        with self.client() as client:
            assert client.get("/healthz", timeout=60).status_code == 200

    def kill(self) -> None:
        """SIGKILL, to this process alone."""
        self.process.kill()
        self.process.wait(60)

    def client(self, *, key: bool = True, **options: Any) -> httpx.Client:
        """A client that shows the key, or none; patient, since whoever else has the disk may hold up what is made durable."""
        headers = {"Authorization": f"Bearer {self.home.key()}"} if key else {}
        given: dict[str, Any] = {"base_url": self.url, "headers": headers, "trust_env": False, "timeout": 60}
        return httpx.Client(**given | options)

    def settled(self, *, patience: float = 300) -> None:
        """Wait until the log is projected: of the default tenant, and of the others where all of them are known."""
        deadline = time.monotonic() + patience
        with self.client() as client:
            while _waits(client):
                assert time.monotonic() < deadline
                time.sleep(0.05)

    def logged(self, text: str, *, patience: float = 60) -> str:
        """The service's own log once it says `text`: a request is logged after its answer has left."""
        deadline = time.monotonic() + patience
        while text not in (said := self.log.read_text()):
            assert time.monotonic() < deadline, said
            time.sleep(0.02)
        return said


def _waits(client: httpx.Client) -> bool:
    """Whether an entry waits. `/readyz` reports the default tenant alone. The measures report all, and stop if the graph is away."""
    told = client.get("/readyz").json()
    if told["pending"] or told["checks"]["graph"] != "ok" or told["checks"]["projector"] not in ("running", "starting"):
        return bool(told["pending"])
    measures = client.get("/metrics")
    return measures.status_code == 200 and re.search(r"^headwater_pending_entries 0\.0$", measures.text, re.MULTILINE) is None
