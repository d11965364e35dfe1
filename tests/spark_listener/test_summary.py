"""The lines at the end of a run: what capture added, and what of it is not counted."""

import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headwater.spark_listener import second_run
from headwater.spark_listener.breaker import Breaker
from headwater.spark_listener.delivery.route import Report
from headwater.spark_listener.lineage.datasets import bare_input, bare_output
from headwater.spark_listener.lineage.events import Work
from headwater.spark_listener.lineage.facets import Ledger
from headwater.spark_listener.lineage.parents import RunName
from headwater.spark_listener.outcome import Outcome
from headwater.spark_listener.registry import Registry
from headwater.spark_listener.second_run import newest, outputs_for
from headwater.spark_listener.settings import Mode, load_settings
from headwater.spark_listener.summary import summary
from headwater.spark_listener.tally import Tally

SPARED = {"operator": "auto", "reason": "it costs too much; mode active does it", "kind": "refused"}
MANIFEST = {
    "status": "complete",
    "sink": {"dataset": {"namespace": "file", "name": "/out"}},
    "segments": [{"rows": 100, "bytes": 1500}],
    "cost": {"planning_ms": 12.0, "tasks_ms": 30.5, "bytes": 1500, "rows": 100},
}


def cost(tally: Tally, tmp_path: Path) -> str:
    settings = load_settings({}, home=str(tmp_path))
    text = summary(tally, Report(str(tmp_path)), settings, Breaker())
    (line,) = [line for line in text.splitlines() if "cost:" in line]
    return line


def test_the_cost_is_what_headwater_added_and_what_ran_beside_it(tmp_path: Path):
    tally = Tally(queries=1, loading_seconds=0.1, driver_seconds=5.8, spark_seconds=5.0, delivery_seconds=0.25, thread_seconds=0.2)
    tally.capture(MANIFEST)
    tally.capture(MANIFEST)
    assert cost(tally, tmp_path) == (
        "headwater: cost: Headwater added 1,174 ms (loading 100 ms, at the start and end of Spark 800 ms, planning 24 ms, "
        "delivery 250 ms); "
        "beside it, our thread took 200 ms of processor time, tasks 61 ms to write 3.0 kB of associations "
        "(not counted: numbering records as they are read)"
    )


def test_without_associations_no_task_took_anything(tmp_path: Path):
    text = cost(Tally(queries=1, thread_seconds=0.1), tmp_path)
    assert text.endswith("beside it, our thread took 100 ms of processor time")


def test_the_cost_of_a_refused_capture_counts(tmp_path: Path):
    tally = Tally(queries=1)
    tally.capture(MANIFEST | {"status": "refused", "segments": []})
    assert "planning 12 ms" in cost(tally, tmp_path)


def test_applications_are_added_up():
    whole, one = Tally(), Tally(driver_seconds=1.0, spark_seconds=0.5, planning_seconds=2.0, task_seconds=3.0, thread_seconds=4.0)
    whole.add(one)
    whole.add(one)
    assert (whole.driver_seconds, whole.planning_seconds, whole.task_seconds, whole.thread_seconds) == (2.0, 4.0, 6.0, 8.0)
    assert whole.hook_seconds == 1.0


def test_queries_of_which_nobody_told_are_not_passed_over(tmp_path: Path):
    whole = Tally()
    whole.add(Tally(unheard="its Java cannot be used"))
    text = summary(whole, Report(str(tmp_path)), load_settings({}, home=str(tmp_path)), Breaker())
    assert "headwater: queries were not followed, nor what they read and wrote: its Java cannot be used" in text.splitlines()


def test_what_was_turned_off_is_not_said_to_be_kept(tmp_path: Path):
    breaker = Breaker()
    breaker.open("the disk is full")
    lines = summary(Tally(), Report(str(tmp_path)), load_settings({}, home=str(tmp_path)), breaker).splitlines()
    assert "headwater: turned off during the run: the disk is full" in lines
    assert lines[-1] == f"headwater: {tmp_path} has what could be written before that"


def test_records_that_the_mode_left_out_are_proposed_with_the_command_to_paste(tmp_path: Path):
    source, newer = tmp_path / "in.txt", tmp_path / "newer.txt"
    for path in (source, newer):
        path.write_text("x")
    hour = 3600 * 1_000_000_000
    now = newer.stat().st_mtime_ns
    os.utime(newer, ns=(now + 2 * hour, now + 2 * hour))
    tally = Tally(began=(now + hour) / 1e9, has_program=True)
    work = Work(
        run=RunName("n", "j", "r"), started="", ended="", kind="RDD_JOB", inputs=[bare_input(f"file:{source}")],
        outputs=[bare_output(f"file:{tmp_path}/a b")], outcome=Outcome(),
        ledger=Ledger(status="refused", mode=Mode.AUTO, problems=[SPARED]),
    )  # fmt: skip
    tally.spared(outputs_for(work), work.inputs)
    settings = load_settings({}, home=str(tmp_path))
    command = f"headwater recapture '{tmp_path}/a b' --home {tmp_path}"
    assert command in summary(tally, Report(str(tmp_path)), settings, Breaker())
    assert "recapture" not in summary(replace(tally, has_program=False), Report(str(tmp_path)), settings, Breaker())
    with_service = load_settings({"HEADWATER_URL": "http://127.0.0.1:1"}, home=str(tmp_path))
    assert "recapture" not in summary(tally, Report(str(tmp_path)), with_service, Breaker())
    tally.spared(outputs_for(work), [bare_input(f"file:{newer}")])
    assert "recapture" not in summary(tally, Report(str(tmp_path)), settings, Breaker())


def test_files_of_the_outputs_that_are_named_are_looked_at_and_each_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    source = tmp_path / "in.txt"
    source.write_text("x")
    tally = Tally(began=source.stat().st_mtime + 3600, has_program=True)
    for number in range(2_000):
        read = [bare_input(f"file:{source}"), *([bare_input(f"file:{tmp_path}/{number}")] if number % 2 else [])]
        tally.spared([bare_output(f"file:{tmp_path}/out{number:04}")], read)
    looked_at: list[str] = []

    def counted(path: str) -> int:
        looked_at.append(path)
        return newest(path)

    monkeypatch.setattr(second_run, "newest", counted)
    lines = summary(tally, Report(str(tmp_path)), load_settings({}, home=str(tmp_path)), Breaker()).splitlines()
    proposed = [line for line in lines if "headwater recapture" in line]
    assert [line.split(f"{tmp_path}/out")[1][:4] for line in proposed] == ["0000", "0002", "0004"]
    assert any("more outputs" in line for line in lines)
    assert looked_at == [f"{tmp_path}/{name}" for name in ("in.txt", "1", "3")]
    assert len(tally.for_second_run) == 1_000


def test_a_second_run_is_proposed_for_batches_of_files_alone(tmp_path: Path):
    files, other = [bare_input(f"file:{tmp_path}/in")], [bare_input("s3://bucket/in")]
    work = Work(
        run=RunName("n", "j", "r"), started="", ended="", kind="RDD_JOB", inputs=files, outputs=[bare_output(f"file:{tmp_path}/out")],
        outcome=Outcome(), ledger=Ledger(status="refused", mode=Mode.AUTO, problems=[SPARED]),
    )  # fmt: skip
    not_covered = {"operator": "Generate", "reason": "not covered", "kind": "refused"}
    both = Ledger(status="refused", mode=Mode.AUTO, problems=[SPARED, not_covered])
    assert outputs_for(work) == work.outputs
    not_proposed = [
        replace(work, streaming=True), replace(work, inputs=other), replace(work, outputs=other), replace(work, ledger=both),
        replace(work, outcome=Outcome(error="it failed")), replace(work, ledger=Ledger(status="off", mode=Mode.AUTO)),
    ]  # fmt: skip
    assert [outputs_for(each) for each in not_proposed if outputs_for(each)] == []


def test_outputs_whose_records_an_overwrite_loses_are_named(tmp_path: Path):
    manifest = {
        "boundaries": [{"boundary": 0}, {"boundary": 1, "derived": {}}],
        "sources": [{"dataset": {"namespace": "file", "name": "/lake/raw"}}, {"dataset": {"namespace": "s3://b", "name": "x"}}],
    }
    tally = Tally()
    tally.left_groups("/lake/out", manifest)
    tally.left_groups("/lake/all", {**manifest, "boundaries": [{"boundary": 0}]})
    settings = load_settings({}, home=str(tmp_path))
    assert "which a known job overwrites" not in summary(tally, Report(str(tmp_path)), settings, Breaker())
    tally.overwritten = {"/lake/raw/day=1", "/lake/other"}
    text = summary(tally, Report(str(tmp_path)), settings, Breaker())
    assert "records of /lake/out are found again in /lake/raw, which a known job overwrites" in text
    assert "/lake/all" not in text
    assert "overwrites" not in summary(tally, Report("http://127.0.0.1:1"), settings, Breaker())  # a service keeps them


def test_folders_that_jobs_overwrite_are_registered(tmp_path: Path):
    with closing(Registry(tmp_path)) as registry:
        assert registry.overwritten() == []
        registry.add_roots([str(tmp_path)])
        for path in ("/lake/a", "/lake/b", "/lake/a"):
            registry.add_overwritten(path)
        assert sorted(registry.overwritten()) == ["/lake/a", "/lake/b"]


def test_a_folder_that_is_overwritten_again_is_stored_once_an_hour(tmp_path: Path):
    def at() -> str:
        with closing(sqlite3.connect(tmp_path / "registered.db")) as database:
            return database.execute("SELECT at FROM overwritten").fetchone()[0]

    def state(stored: str) -> None:
        with closing(sqlite3.connect(tmp_path / "registered.db")) as database, database:
            database.execute("UPDATE overwritten SET at = ?", [stored])

    def ago(minutes: int) -> str:
        return (datetime.now(UTC) - timedelta(minutes=minutes)).isoformat(timespec="seconds")

    with closing(Registry(tmp_path)) as registry:
        for stored, is_kept in ((ago(30), True), (ago(90), False)):
            registry.add_overwritten("/lake/a")
            state(stored)
            registry.add_overwritten("/lake/a")
            assert (at() == stored) == is_kept


def test_a_registry_of_an_earlier_release_knows_of_no_overwrite(tmp_path: Path):
    with closing(sqlite3.connect(tmp_path / "registered.db")) as database:
        database.execute("CREATE TABLE root (path TEXT PRIMARY KEY)")
    (tmp_path / "registered.db").chmod(0o600)
    with closing(Registry(tmp_path)) as registry:
        assert registry.overwritten() == []
        registry.add_overwritten("/lake/a")
        assert registry.overwritten() == ["/lake/a"]
