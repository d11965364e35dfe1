"""Whatever happens to us, the program goes on: faults, a full spool, a cluster, forks; and it is said, once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headwater.spark_listener.application import _obstacle
from headwater.spark_listener.breaker import Breaker
from headwater.spark_listener.capture import jar
from headwater.spark_listener.settings import Settings, load_settings
from tests.spark_listener.spark import brief, environment, logged, run, script

SAVE_TWICE = """
    from pyspark import SparkContext
    sc = SparkContext(appName="saves")
    for number in range(6):
        sc.textFile("words.txt").saveAsTextFile(f"copy{number}")
    print("done")
    sc.stop()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "words.txt").write_text("a b\n")
    return tmp_path


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_home_that_cannot_be_written_turns_capture_off_and_nothing_else(folder: Path, root: Path) -> None:
    (folder / "home").write_text("this is no folder")
    script(folder, "saves.py", SAVE_TWICE)
    done = run(["-m", "headwater", "run", "--home", str(folder / "home"), "saves.py"], folder, environment(root))
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr.count("turned itself off") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.spark
@pytest.mark.timeout(1200)
def test_a_full_spool_drops_what_does_not_fit_and_the_ledger_and_the_summary_say_how_much(folder: Path, root: Path) -> None:
    script(folder, "saves.py", SAVE_TWICE)
    home = folder / "home"
    done = run(["-m", "headwater", "run", "--home", str(home), "saves.py"], folder, environment(root, HEADWATER_SPOOL_BYTES="20000"))
    assert (done.returncode, done.stdout) == (0, "done\n")
    events = logged(home)
    kept = len(events) - 2
    assert 0 < kept < 12
    assert brief(events)[-1] == ("COMPLETE", "saves")
    dropped = events[-1]["run"]["facets"]["headwater_capture"]["dropped"]
    assert dropped["events"] == 12 - kept
    assert dropped.get("captures", 0) == 6 - len(logged(home, "capture"))
    assert f"{sum(dropped.values())} items dropped" in done.stderr


ATTACHES = """
    import os
    import sys
    import headwater
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    class Session:  # attach looks at the context alone before the first query
        sparkContext = SparkContext(appName="attached")

    headwater.attach(Session, mod="off")
    sc = Session.sparkContext
    print("went on", os.path.exists("home"))
    headwater.attach(SparkSession.builder.getOrCreate(), mode="active")
    sys.modules["headwater.spark_listener.rdd_records.program"] = None  # as where its file cannot be read
    print(sc.parallelize([1, 2]).map(lambda x: x + 1).collect())
    sc.stop()
"""


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_wrong_option_of_attach_is_said_and_so_is_a_part_that_cannot_be_loaded_and_the_program_goes_on(folder: Path, root: Path) -> None:
    script(folder, "attaches.py", ATTACHES)
    done = run(["attaches.py"], folder, environment(root, HEADWATER_HOME=str(folder / "home")))
    assert (done.returncode, done.stdout) == (0, "went on False\n[2, 3]\n")
    assert "There is no option mod" in done.stderr
    faults = json.dumps([event["run"]["facets"].get("headwater_capture") for event in logged(folder / "home")])
    assert "loading what follows records of RDDs: ModuleNotFoundError" in faults


class Context:
    """The attributes of a SparkContext that `_obstacle` reads."""

    def __init__(self, master: str, version: str = "4.1.4") -> None:
        self.master = master
        self.version = version


@pytest.mark.parametrize(
    ("master", "options", "works"),
    [
        ("local", {}, True),
        ("local[*]", {}, True),
        ("local-cluster[2,1,1024]", {}, True),
        ("yarn", {}, False),
        ("spark://host:7077", {}, False),
        ("k8s://host", {"segments": "s3://bucket/segments"}, True),
        ("yarn", {"mode": "coarse"}, True),
    ],
)
def test_records_need_a_place_that_executors_and_driver_share(master: str, options: dict[str, str], works: bool, tmp_path: Path) -> None:
    settings: Settings = load_settings({}, home=tmp_path, **options)
    obstacle = _obstacle(Context(master), settings)
    assert (obstacle is None) == works
    if obstacle:
        assert obstacle["kind"] == "refused"
        assert "HEADWATER_SEGMENTS" in obstacle["reason"]


@pytest.mark.parametrize(("version", "works"), [("3.5.9", False), ("4.0.0", True), ("4.1.0", True), ("4.2.1", False), ("5.0.0", False)])
@pytest.mark.parametrize("mode", ["auto", "coarse"])
def test_records_are_followed_on_lines_of_spark_where_that_is_tested(
    version: str, mode: str, works: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jar, "lines", lambda: ("4.0", "4.1"))  # the jars of a wheel; a clone has the jar of its own Spark
    obstacle = _obstacle(Context("local", version), load_settings({}, home=tmp_path, mode=mode))
    assert (obstacle is None) == works
    if obstacle:
        assert version in obstacle["reason"]


def test_the_breaker_keeps_faults_and_lets_what_the_user_does_pass(caplog: pytest.LogCaptureFixture) -> None:
    breaker = Breaker()
    with breaker.guard("one"):
        raise ValueError("ours")
    with breaker.guard("two"):
        raise ValueError("again")
    assert not breaker.closed
    assert [record.levelname for record in caplog.records if "turned itself off" in record.message] == ["WARNING"]
    with pytest.raises(KeyboardInterrupt), breaker.guard("three"):
        raise KeyboardInterrupt


def test_faults_in_the_background_cost_one_query_each_until_there_are_too_many() -> None:
    breaker = Breaker()
    for number in range(9):
        with breaker.counted("query_end"):
            raise KeyError(number)
    assert breaker.closed
    assert len(breaker.problems()) == 9
    with breaker.counted("query_end"):
        raise KeyError("last")
    assert not breaker.closed
