"""A service for the suites that ask one: a process on a home, and a client of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

_START_SECONDS = 60


class Service:
    """Runs from when it is made until `stop`."""

    def __init__(self, home: Path) -> None:
        from headwater.backend.client import GraphQLClient
        from headwater.backend.home import Home

        command = [sys.executable, "-m", "headwater", "serve", "--home", str(home), "--port", "0"]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=os.environ | {"PYTHONUNBUFFERED": "1"})
        self.client = GraphQLClient(_address(home, self._process), Home.at(home).key())

    def cpu_seconds(self) -> float:
        """Processor time that it has used, where the system tells; not that of processes that it started."""
        stat = Path(f"/proc/{self._process.pid}/stat")
        if not stat.exists():
            return 0.0
        user, system = stat.read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(timeout=30)


def _address(home: Path, service: subprocess.Popen[bytes]) -> str:
    from headwater.backend.home import Home

    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until and service.poll() is None:
        record = Home.at(home).service()
        if record is not None:
            return record.url
        time.sleep(0.1)
    raise RuntimeError(f"no service on {home} within {_START_SECONDS} s (exit code {service.poll()})")
