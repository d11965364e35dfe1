"""The page over the real service: the demo runs, its home is served, and Playwright drives Chromium through the story (story.spec.ts).

`E2E_DEMO` names the folder of a demo that has run already, to be used as it is.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.backend.logs import configure
from headwater.backend.serving import LocalService
from headwater.backend.settings import load_settings
from tests.demo import Demo

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def service(demo: Demo) -> Iterator[LocalService]:
    """A service on the demo's home."""
    settings = load_settings(home=demo.home, port=0, log_level="warning")
    configure(settings.log_level, settings.log_format)
    local = LocalService(settings)
    local.start()
    yield local
    local.stop()


def test_the_page_tells_the_story(service: LocalService, tmp_path: Path) -> None:
    environment = os.environ | {
        "HEADWATER_E2E_SERVICE": service.url,
        "HEADWATER_E2E_LINK": service.link(),
        "HEADWATER_E2E_SESSION": str(tmp_path / "session.json"),
    }
    ran = subprocess.run(
        [str(ROOT / "scripts" / "npm"), "run", "--silent", "e2e"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
