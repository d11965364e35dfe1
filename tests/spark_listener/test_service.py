"""With a real service: up, down, and up again while programs run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.backend.service import ServiceProcess
from tests.spark_listener.spark import brief, environment, logged, run, script

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200)]

SAVES = """
    import sys
    from pyspark import SparkContext
    sc = SparkContext(appName=sys.argv[1])
    sc.textFile("words.txt").saveAsTextFile(sys.argv[1])
    sc.stop()
    sys.exit(4)
"""
EXPECTED = [("START", "{}"), ("START", "{}.save_as_text_file.{}"), ("COMPLETE", "{}.save_as_text_file.{}"), ("FAIL", "{}")]


def expected(name: str) -> list[tuple[str, str]]:
    return [(kind, job.format(name, name)) for kind, job in EXPECTED]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "words.txt").write_text("a b\n")
    script(tmp_path, "saves.py", SAVES)
    return tmp_path


def test_lineage_goes_to_the_service_and_what_it_missed_goes_with_the_next_run(folder: Path, root: Path) -> None:
    with ServiceProcess(folder / "service") as service:
        url, key = service.url, service.home.key()
    env = environment(root, HEADWATER_URL=url, HEADWATER_API_KEY=key, HEADWATER_EXIT_WAIT="1", HEADWATER_HOME=str(folder / "home"))

    while_down = run(["-m", "headwater", "run", "saves.py", "first"], folder, env)
    assert while_down.returncode == 4
    assert "waits in" in while_down.stderr
    assert logged(folder / "service") == []
    assert len(list((folder / "home" / "spool").iterdir())) == 1

    with ServiceProcess(folder / "service") as service:
        env |= {"HEADWATER_URL": service.url, "HEADWATER_API_KEY": service.home.key(), "HEADWATER_EXIT_WAIT": "200"}
        while_up = run(["-m", "headwater", "run", "saves.py", "second"], folder, env)
        assert while_up.returncode == 4
        assert f"kept in {service.url}" in while_up.stderr
    events = brief(logged(folder / "service"))
    assert [event for event in events if event[1].startswith("first")] == expected("first")
    assert [event for event in events if event[1].startswith("second")] == expected("second")
    assert list((folder / "home" / "spool").iterdir()) == []


@pytest.mark.slow
def test_a_service_that_runs_on_the_home_gets_it_without_being_named(folder: Path, root: Path) -> None:
    with ServiceProcess(folder / "home") as service:
        env = environment(root, HEADWATER_EXIT_WAIT="200")
        done = run(["-m", "headwater", "run", "--home", str(folder / "home"), "saves.py", "job"], folder, env)
        assert done.returncode == 4
        assert f"kept in {service.url}" in done.stderr
    assert brief(logged(folder / "home")) == expected("job")


@pytest.mark.slow
def test_a_wrong_key_is_told_and_keeps_everything_in_the_spool(folder: Path, root: Path) -> None:
    with ServiceProcess(folder / "service") as service:
        env = environment(root, HEADWATER_URL=service.url, HEADWATER_API_KEY="wrong" * 5, HEADWATER_HOME=str(folder / "home"))
        env |= {"HEADWATER_EXIT_WAIT": "200"}
        done = run(["-m", "headwater", "run", "saves.py", "job"], folder, env)
    assert done.returncode == 4
    assert "HEADWATER_API_KEY" in done.stderr
    assert logged(folder / "service") == []
    assert len(list((folder / "home" / "spool").iterdir())) == 1
