import asyncio
import json

import pytest

from headwater.backend.home.settings import load_settings
from headwater.backend.workspace import Workspace
from tests.stated import CLEAN, REPORT, event

RUNS = ((CLEAN, "clean", 1, "/data/raw/weather.csv", "/data/out/clean"), (REPORT, "report", 3, "/data/out/clean", "/data/out/report"))


@pytest.fixture(autouse=True)
def whole_width(monkeypatch):
    """No width of a terminal: pytest-xdist sets one, at which tables would be cut."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(scope="session")
def lived_in(tmp_path_factory):
    """A home that took in the events of two jobs; commands that only ask may share it."""
    return _home_of(tmp_path_factory.mktemp("lived_in"), "COMPLETE")


@pytest.fixture(scope="session")
def failed_in(tmp_path_factory):
    """A home with the same jobs, all of them failed."""
    return _home_of(tmp_path_factory.mktemp("failed_in"), "FAIL")


def _home_of(home, end):
    async def fill() -> None:
        async with await Workspace.open(load_settings(home=home)) as workspace:
            for run, job, minute, reads, writes in RUNS:
                for kind, offset in (("START", 0), (end, 1)):
                    stated = event(run, job, kind, f"2026-01-31T10:{minute + offset:02}:00Z", reads, writes)
                    assert not workspace.events.submit("default", json.dumps(stated).encode()).result().rejected
            assert await workspace.settle() == 0

    asyncio.run(fill())
    return home
