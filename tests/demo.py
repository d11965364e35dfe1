"""The demo, run once for all tests of its story and of the page."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Demo:
    """The folder of the demo, and its output."""

    folder: Path
    told: str

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def report(self) -> Path:
        return self.folder / "out" / "report"

    def raw(self, name: str) -> Path:
        return self.folder / "raw" / name


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """`headwater demo --no-serve` in a folder of its own, or in the one that `HEADWATER_E2E_DEMO` names, where it may have run already."""
    given = os.environ.get("HEADWATER_E2E_DEMO")
    folder = Path(given) if given else tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "headwater", "demo", "--no-serve", "--folder", str(folder), "--port", "0"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=1500)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return Demo(folder, ran.stdout)
