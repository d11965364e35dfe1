"""The harness's handle of a worker process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from bench.results import ROOT
from bench.suite import Sample


class WorkerError(RuntimeError):
    """A worker died, or a case in it failed. The message includes the end of its log."""


class Worker:
    """An arm in a separate process; a context manager. Its output goes to a log below the scratch folder."""

    def __init__(self, suite: str, arm: str, folder: Path, scale: float | None = None) -> None:
        self.arm = arm
        self._log = folder / f"{arm}.log"
        reading, writing = os.pipe()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bench.worker", suite, arm, str(folder), str(writing), "" if scale is None else str(scale)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=[writing],
                text=True,
            )
        os.close(writing)
        self._replies = os.fdopen(reading, encoding="utf-8")
        try:
            self._answer()
        except WorkerError:
            self.close()
            raise

    def run(self, case: str, turn: int) -> Sample:
        """Run a case once, and return its sample.

        Raises:
            WorkerError: the case failed, or the process ended.
        """
        assert self._process.stdin is not None  # noqa: S101  # it was asked for as a pipe
        try:
            self._process.stdin.write(json.dumps({"run": case, "turn": turn}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the missing answer gives a better error
        return {name: float(value) for name, value in self._answer()["sample"].items()}

    def close(self) -> None:
        """End the process. It closes its arm at the end of its input."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._replies.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answer(self) -> dict[str, Any]:
        line = self._replies.readline()
        if not line:
            self._process.wait()
            tail = "\n  ".join(["", *self._log.read_text(errors="replace").splitlines()[-15:]])
            raise WorkerError(f"The worker of arm {self.arm} ended with code {self._process.returncode}; its log, {self._log}, ends:{tail}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise WorkerError(f"Arm {self.arm} failed:\n{answer['error']}\nIts log: {self._log}")
        return answer
