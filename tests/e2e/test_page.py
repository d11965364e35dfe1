"""The page over the real service: a home is served, and Playwright drives Chromium over it.

The demo runs for the story (story.spec.ts), and an example without Spark for shared links (share.spec.ts). Events of a shop
(shop_lake.py) are sent for what people look for (flows.spec.ts) and for every view (views.spec.ts). For a large lake
(lake.spec.ts) and for administration (admin.spec.ts), 10,000 nodes are written into the graph of a new home.

`HEADWATER_E2E_DEMO` names the folder of a demo, which may be finished already.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from bench.graphs.lake import Lake
from bench.page import fill
from headwater.backend.api.credentials import ADMINISTERING, WRITING
from headwater.backend.home.folder import Home
from headwater.backend.home.settings import load_settings
from headwater.backend.process.logs import configure
from headwater.backend.serving import LocalService
from tests.demo import Demo
from tests.e2e import shop_lake

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


def test_a_shared_link_finds_its_record_after_the_next_write(tmp_path: Path) -> None:
    home, seeds = tmp_path / "home", tmp_path / "seeds"
    seeds.mkdir()
    (seeds / "customers.csv").write_text("id,city\n1,Ulm\n2,Bonn\n", encoding="utf-8")
    shared = {"HEADWATER_E2E_SHARED": str(tmp_path / "link.txt")}
    with served(home) as service:
        for write, orders in enumerate(["1,1,10\n2,1,20\n", "1,2,70\n2,2,80\n3,1,40\n4,1,50\n"], 1):
            (seeds / "orders.csv").write_text(f"id,customer,amount\n{orders}", encoding="utf-8")
            run_sql_steps(home, seeds, tmp_path / "out")
            browse("share", service, tmp_path, HEADWATER_E2E_WRITE=str(write), **shared)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[tuple[LocalService, Path]]:
    """A service with the lake of a shop and a report with lineage of records, and the path of this report."""
    home, seeds, out = tmp_path / "home", tmp_path / "seeds", tmp_path / "out"
    seeds.mkdir()
    (seeds / "customers.csv").write_text("id,city\n1,Ulm\n2,Bonn\n", encoding="utf-8")
    (seeds / "orders.csv").write_text("id,customer,amount\n1,1,10\n2,1,20\n", encoding="utf-8")
    with served(home) as service:
        headers = {"Authorization": f"Bearer {Home.at(home).key()}"}
        with httpx.Client(base_url=service.url, headers=headers, trust_env=False, timeout=300) as client:
            for event in shop_lake.events():
                client.post("/api/v1/lineage", json=event).raise_for_status()
            run_sql_steps(home, seeds, out)
            deadline = time.monotonic() + 600
            while client.get("/readyz").json()["pending"]:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        yield service, out / "report.csv"


def test_people_find_what_they_look_for(shop: tuple[LocalService, Path], tmp_path: Path) -> None:
    service, report = shop
    browse("flows", service, tmp_path, HEADWATER_E2E_LINK=service.link(ADMINISTERING), HEADWATER_E2E_REPORT=f"dataset:file:{report}")


def test_every_view_is_accessible_and_fits(shop: tuple[LocalService, Path], tmp_path: Path) -> None:
    browse_views(shop, tmp_path)


@pytest.mark.slow
def test_every_view_is_accessible_and_fits_in_both_themes_and_widths(shop: tuple[LocalService, Path], tmp_path: Path) -> None:
    browse_views(shop, tmp_path, HEADWATER_E2E_ALL="1")


def browse_views(shop: tuple[LocalService, Path], tmp_path: Path, **more: str) -> None:
    service, report = shop
    more |= {"HEADWATER_E2E_REPORT": f"dataset:file:{report}", "HEADWATER_E2E_RUN": shop_lake.unusual_run()}
    more |= {"HEADWATER_E2E_HOSTILE": json.dumps(shop_lake.hostile_ids())}
    browse("views", service, tmp_path, HEADWATER_E2E_LINK=service.link(ADMINISTERING), **more)


def run_sql_steps(home: Path, seeds: Path, folder: Path) -> None:
    """Run the example that builds tables by SQL steps. It replaces the report."""
    command = [sys.executable, str(ROOT / "examples" / "actors" / "sql_steps.py"), str(seeds), str(folder)]
    subprocess.run(command, env=os.environ | {"HEADWATER_HOME": str(home)}, timeout=300, check=True)


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
