"""The thread that runs the intakes of a service: one that has nothing more to read is asked again after a while, not at once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from headwater.backend.intakes import settings
from headwater.backend.intakes.protocol import IntakeSettings, Surroundings
from tests.backend.intakes.fetched import Fetching


class Finished:
    """An intake that has read all that there is."""

    def __init__(self, stated: IntakeSettings) -> None:
        self.name, self.tenant = stated.name, stated.tenant
        self.runs = 0

    def run(self, around: Surroundings) -> None:
        assert not around.stopping.is_set()
        self.runs += 1

    def lag(self) -> int | None:
        return 0


def test_an_intake_that_returns_at_once_is_not_run_without_a_pause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(settings.KINDS, "finished", (__name__, "Finished"))
    with Fetching(tmp_path / "home", '[[intake]]\nkind = "finished"\n') as fetching:
        (intake,) = fetching.intakes._intakes
        assert isinstance(intake, Finished)
        fetching.until(lambda: intake.runs > 0)
        time.sleep(1)
        assert intake.runs < 3
        assert fetching.intakes.state == "ok"
