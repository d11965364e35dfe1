"""The page over the real service: a home is served, and Playwright drives Chromium over it.

The demo runs for the story (story.spec.ts). For a large lake (lake.spec.ts) and for administration (admin.spec.ts), 10,000 nodes are
written into the graph of a new home.

`E2E_DEMO` names the folder of a finished demo, which is then used unchanged.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.graphs.lake import Lake
from bench.page import fill
from headwater.backend.api.credentials import ADMINISTERING, WRITING
from headwater.backend.home.settings import load_settings
from headwater.backend.process.logs import configure
from headwater.backend.serving import LocalService
from tests.demo import Demo

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]
ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def served(home: Path) -> Iterator[LocalService]:
    """A service on a home."""
    settings = load_settings(home=home, port=0, log_level="warning")
    configure(settings.log_level, settings.log_format)
    local = LocalService(settings)
    local.start()
    try:
        yield local
    finally:
        local.stop()


def test_the_page_tells_the_story(demo: Demo, tmp_path: Path) -> None:
    with served(demo.home) as service:
        browse("story", service, tmp_path)


@pytest.mark.slow
def test_the_page_draws_a_large_lake_and_administers(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    asyncio.run(fill(home, Lake.of(10_000)))
    with served(home) as service:
        browse("lake admin", service, tmp_path, HEADWATER_E2E_FOCI=(home / "foci.json").read_text(encoding="utf-8"))


def browse(stories: str, service: LocalService, folder: Path, **more: str) -> None:
    """Run the browser tests of some files."""
    environment = os.environ | {
        "HEADWATER_E2E_SERVICE": service.url,
        "HEADWATER_E2E_LINK": service.link(),
        "HEADWATER_E2E_WRITE_LINK": service.link(WRITING),
        "HEADWATER_E2E_ADMIN_LINK": service.link(ADMINISTERING),
        "HEADWATER_E2E_SESSION": str(folder / "session.json"),
    }
    environment |= more
    ran = subprocess.run(
        [str(ROOT / "scripts" / "npm"), "run", "--silent", "e2e", "--", *stories.split()],
        env=environment,
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
