"""A service for the suites that query one: a process on a home, and a client."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from bench.processes import ProcessTree

_START_SECONDS = 300
_WORKER = "headwater.backend.worker.child"


class Service:
    """A running service, until `stop` or `kill`. `settings` are environment variables, `log` is the file of its output.

    `python` is the interpreter, which may belong to another checkout.
    """

    def __init__(
        self, home: Path, *, settings: Mapping[str, str] | None = None, log: Path | None = None, python: str = sys.executable
    ) -> None:
        from headwater.backend.home.folder import Home
        from headwater.transport import GraphQLClient

        command = [python, "-P", "-m", "headwater", "serve", "--home", str(home), "--port", "0"]
        environment = os.environ | {"PYTHONUNBUFFERED": "1"} | dict(settings or {})
        with (log or Path(os.devnull)).open("ab") as written:
            output = written if log is not None else None
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment, stdout=output, stderr=output)
        self.url = _address(home, self._process)
        self.key = Home.at(home).key()
        self.client = GraphQLClient(self.url, self.key)

    @property
    def pid(self) -> int:
        return self._process.pid

    def cpu_seconds(self) -> float:
        """Return the processor time of the service and its worker, without query processes, if the system reports it."""
        return self.own_cpu_seconds() + sum(map(_seconds, self.workers()))

    def own_cpu_seconds(self) -> float:
        """Return the processor time of the service without its worker, for intake and answers, if the system reports it."""
        return _seconds(self._process.pid)

    def memory_megabytes(self) -> float:
        """Return the memory of the service and its worker, without query processes, if the system reports it.

        Mapped files (the graph's, libraries) do not count, because they are the system's cache, which it can reclaim.
        """
        return sum(map(_megabytes, [self._process.pid, *self.workers()]))

    def workers(self) -> list[int]:
        """Return the processes that project the log."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])
                if parent == self._process.pid and _WORKER in (folder / "cmdline").read_text(encoding="utf-8", errors="replace"):
                    found.append(int(folder.name))
            except OSError:
                continue  # the process ended meanwhile
        return found

    def handles(self) -> int:
        return len(list(Path(f"/proc/{self._process.pid}/fd").iterdir()))

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(timeout=30)

    def processes(self) -> ProcessTree:
        """Return the service and its child processes."""
        return ProcessTree(self._process.pid)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=30)


def _seconds(process: int) -> float:
    stat = Path(f"/proc/{process}/stat")
    if not stat.exists():
        return 0.0
    user, system = stat.read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _megabytes(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8", errors="replace").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("RssAnon:", "RssShmem:"))) * 1024 / 1e6


def _address(home: Path, service: subprocess.Popen[bytes]) -> str:
    from headwater.backend.home.folder import Home

    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until and service.poll() is None:
        record = Home.at(home).service()
        if record is not None and record.pid == service.pid:
            return record.url
        time.sleep(0.02)
    raise RuntimeError(f"no service on {home} within {_START_SECONDS} s (exit code {service.poll()})")
