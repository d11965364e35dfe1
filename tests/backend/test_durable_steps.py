"""A service, or its worker, that ends at each of its durable steps: nothing acknowledged is lost, nothing is double, the graph is the same.

`durable_steps.c` ends a process before and after each call that makes something durable, or puts a file in its place. HEADWATER_ROUNDS
says how often each step is tried; without it, every seventh step is.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from headwater.backend.home.folder import Home
from headwater.backend.home.settings import load_settings
from headwater.backend.ingest.log.sqlite import SqliteLog
from headwater.backend.workspace import Workspace
from tests.backend.captures import capture
from tests.backend.events import body, run_event

pytestmark = [pytest.mark.torture, pytest.mark.timeout(0)]

_ROUNDS = int(os.environ.get("HEADWATER_ROUNDS", "0"))
_STEPS = range(1, 10_000) if _ROUNDS else range(1, 10_000, 7)
_PATIENCE = 120.0
_PROCESSES = {"service": "headwater serve", "worker": "headwater.backend.worker.child"}


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled library."""
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("there is no C compiler")
    library = tmp_path_factory.mktemp("shim") / "durable_steps.so"
    source = Path(__file__).with_name("durable_steps.c")
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    return library


class _Service:
    """A service that is started again whenever it has ended. `failing` are variables of the first one's environment."""

    def __init__(self, home: Path, failing: dict[str, str]) -> None:
        self.home = Home.at(home).create()
        self._failing = failing
        self._process: subprocess.Popen[bytes] | None = None
        self._log = (home / "service.log").open("ab")

    def ask(self, method: str, path: str, content: bytes | None = None) -> httpx.Response:
        """Ask until there is an answer other than that the service cannot answer now."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            self._run()
            record = self.home.service()
            if record is not None:
                try:
                    headers = {"X-Api-Key": self.home.key(), "X-Headwater-Sha256": sha256(content or b"").hexdigest()}
                    answer = httpx.request(method, f"{record.url}{path}", content=content, headers=headers, trust_env=False, timeout=30)
                except httpx.TransportError:
                    continue
                if answer.status_code < 500:
                    return answer
            time.sleep(0.02)
        raise AssertionError(f"{path} has no answer: {(self.home.path / 'service.log').read_text()[-4000:]}")

    def end(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)
        self._log.close()

    def _run(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        command = [sys.executable, "-m", "headwater", "serve", "--home", str(self.home.path), "--port", "0"]
        # A restarted process does not fail again: the library sees that it has failed once.
        self._process = subprocess.Popen(command, stdout=self._log, stderr=self._log, env=os.environ | self._failing)


def _worked(home: Path, failing: dict[str, str]) -> None:
    """Bring events and a capture to a service, each until it is acknowledged, and wait until all is projected."""
    service = _Service(home, failing)
    try:
        manifest, segments = capture(1)
        assert service.ask("POST", "/api/v1/lineage", body(*map(run_event, range(5)))).json()["accepted"] == 5
        for name, content in segments.items():
            assert service.ask("PUT", f"/api/v1/captures/{manifest['capture']}/segments/{name}", content).status_code < 300
        assert service.ask("POST", "/api/v1/captures", json.dumps(manifest).encode()).status_code < 300
        for number in range(5, 8):
            assert service.ask("POST", "/api/v1/lineage", body(run_event(number))).status_code == 201
        deadline = time.monotonic() + _PATIENCE
        while service.ask("GET", "/readyz").json()["pending"] != 0:
            assert time.monotonic() < deadline, (home / "service.log").read_text()
            time.sleep(0.05)
    finally:
        service.end()


async def _graph(home: Path) -> tuple[str, int]:
    async with await Workspace.open(load_settings(home=home)) as workspace:
        return await workspace.graph.fingerprint("default"), workspace.records.count("default")


@pytest.mark.parametrize("process", _PROCESSES)
def test_an_end_at_any_durable_step_changes_nothing(process: str, shim: Path, tmp_path: Path) -> None:
    _worked(tmp_path / "whole", {})
    expected = asyncio.run(_graph(tmp_path / "whole"))
    for _ in range(max(1, _ROUNDS)):
        for step in _STEPS:
            home, died = tmp_path / f"home-{step}", tmp_path / f"died-{step}"
            failing = {"LD_PRELOAD": str(shim), "HEADWATER_DIE_AT": str(step), "HEADWATER_DIE_IN": _PROCESSES[process]}
            _worked(home, failing | {"HEADWATER_DIED": str(died)})
            assert asyncio.run(_graph(home)) == expected, f"step {step}: {(home / 'service.log').read_text()[-4000:]}"
            log = SqliteLog(home / "ingest.db")
            entries, letters = log.read("default", after=0), log.dead_letters("default")
            log.close()
            assert len(entries) == 9, step
            assert letters == [], step
            shutil.rmtree(home)
            if not died.exists():
                break  # it has no more steps than that
            died.unlink()
        assert step > _STEPS[2], "the library counts nothing"
