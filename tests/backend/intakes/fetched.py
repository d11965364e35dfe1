"""A home whose intakes run, for their tests, and what the home has got from them."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from headwater.backend.home.settings import load_settings
from headwater.backend.intakes import Intakes
from headwater.backend.process.metrics import Metrics
from headwater.backend.workspace import Workspace


class Fetching:
    """Runs the intakes of a home while the block lasts. May be entered again."""

    def __init__(self, home: Path, stated: str, **settings: object) -> None:
        home.mkdir(exist_ok=True)
        (home / "intakes.toml").write_text(stated)
        self._settings = load_settings(home=home, **settings)
        self.metrics = Metrics()

    def __enter__(self) -> Self:
        self.workspace = asyncio.run(Workspace.open(self._settings))
        self.intakes = Intakes(self._settings, self.workspace, self.metrics)
        self.intakes.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.intakes.stop()
        asyncio.run(self.workspace.close())

    def runs(self, tenant: str = "default") -> list[str]:
        """The runs of the events that were taken, in their order."""
        return [json.loads(entry.body)["run"]["runId"] for entry in self.workspace.log.read(tenant, after=0, limit=10_000)]

    def await_runs(self, wanted: Sequence[str], tenant: str = "default") -> None:
        self.until(lambda: sorted(self.runs(tenant)) == sorted(wanted), lambda: (self.runs(tenant), wanted, self.intakes.state))

    def until(self, done: Callable[[], bool], else_: Callable[[], object] = lambda: None, *, patience: float = 120) -> None:
        deadline = time.monotonic() + patience
        while not done():
            assert time.monotonic() < deadline, else_()
            time.sleep(0.05)

    def reasons(self) -> list[str]:
        return [letter.reason for letter in self.workspace.log.dead_letters("default")]

    def measured(self, name: str) -> float:
        """The value of a measure, with its labels as they are written."""
        return float(re.findall(rf"^{re.escape(name)} (\S+)$", self.metrics.exposition().decode(), re.MULTILINE)[0])
