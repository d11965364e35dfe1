"""The demo's jobs: each begins when what it reads is there, two at a time. (The whole demo runs in tests/story and tests/e2e.)"""

from __future__ import annotations

import threading
from pathlib import Path

import httpx
import pytest

from headwater.backend.cli.demo import pipeline
from headwater.backend.cli.demo.command import _forget, _Service
from headwater.backend.cli.demo.pipeline import READS, JobFailedError, run_pipeline
from headwater.backend.cli.demo.story import Story
from headwater.backend.home.folder import Home
from headwater.errors import ConfigurationError
from tests.backend.events import body, run_event


class _Jobs:
    """Stands where processes are started: what began and ended, in order, and how many ran at once."""

    def __init__(self, fails: str | None = None) -> None:
        self.events: list[tuple[str, str]] = []
        self.most = 0
        self._fails = fails
        self._running = 0
        self._lock = threading.Lock()
        self._first = threading.Barrier(sum(not read for read in READS.values()))

    def run(self, name: str, *_: Path) -> str:
        with self._lock:
            self.events.append(("began", name))
            self._running += 1
            self.most = max(self.most, self._running)
        if not READS[name]:
            self._first.wait(60)  # those that read nothing run at the same time, whichever thread is slow
        with self._lock:
            self._running -= 1
            self.events.append(("ended", name))
        if name == self._fails:
            raise JobFailedError(f"The job {name} ended with exit code 1.")
        return name


def run(jobs: _Jobs, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(pipeline, "_run", jobs.run)
    ended: list[str] = []
    run_pipeline(folder, home=folder, started=lambda _: None, ended=lambda name, _: ended.append(name))
    return ended


def test_each_job_begins_after_those_that_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = _Jobs()
    assert sorted(run(jobs, tmp_path, monkeypatch)) == sorted(READS)
    for name, read in READS.items():
        assert all(jobs.events.index(("ended", other)) < jobs.events.index(("began", name)) for other in read)
    assert jobs.most == 2


def test_after_a_job_that_failed_none_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = _Jobs(fails="clean")
    with pytest.raises(JobFailedError, match="The job clean"):
        run(jobs, tmp_path, monkeypatch)
    assert {name for event, name in jobs.events if event == "began"} == {"clean", "station_counts"}


def test_an_earlier_demo_is_forgotten_and_nothing_else(tmp_path: Path) -> None:
    for name in ("raw/weather.csv", "pipeline.done"):
        (tmp_path / "demo" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "demo" / name).touch()
    with pytest.raises(ConfigurationError, match=r"other things than a demo in it: pipeline\.done, raw\."):
        _forget(tmp_path / "demo")  # such names alone make no demo
    Home.at(tmp_path / "demo" / "home").create()
    _forget(tmp_path / "demo")
    assert list(tmp_path.iterdir()) == []
    _forget(tmp_path / "demo")
    (tmp_path / "raw").mkdir()
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ConfigurationError, match=r"other things than a demo in it: thesis\.tex\."):
        _forget(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["raw", "thesis.tex"]


def test_the_story_begins_when_the_graph_has_what_was_sent(tmp_path: Path) -> None:
    home = Home.at(tmp_path / "home").create()
    with _Service(home, 0) as service:
        assert service._own is not None
        story = Story(service.client, tmp_path / "raw", tmp_path / "out")
        address = f"{service._own.url}/api/v1/lineage"
        sent = httpx.post(
            address, content=body(*map(run_event, range(200))), headers={"X-Api-Key": home.key()}, trust_env=False, timeout=60
        )
        assert sent.status_code == 201, sent.text
        story.await_graph()
        assert service.client.execute("{ service { pending runs } }")["service"] == {"pending": 0, "runs": 200}
