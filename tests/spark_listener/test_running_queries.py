"""The spool of queries while they run and when they end, from the bridge's reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headwater.spark_listener.capture.session import OURS
from headwater.spark_listener.delivery.leftovers import state_end
from headwater.spark_listener.facts import Facts
from headwater.spark_listener.invocation import Invocation
from headwater.spark_listener.lineage.names import JobNames
from headwater.spark_listener.outcome import Outcome
from headwater.spark_listener.rdd import Origins
from headwater.spark_listener.scribe import Scribe
from headwater.spark_listener.scribe.running import TELL_AFTER
from headwater.spark_listener.settings import load_settings
from headwater.spark_listener.spool import SpoolFolder
from headwater.spark_listener.tally import Tally

_AT = 1767225605000
_PLAN: dict[str, Any] = {
    "operators": [{"id": 0, "op": "Scan", "children": [], "source": 0, "columns": [{"attr": 1, "name": "wind"}]}],
    "sources": [{"source": 0, "path": "file:/data/weather.csv", "format": "csv", "columns": [{"name": "wind", "type": "double"}]}],
    "sink": None,
}
_FRAMES = "Execute CreateDataSourceTableAsSelectCommand"
_OWN: dict[str, Any] = {"operators": [{"id": 0, "op": "LocalRelation", "children": []}], "sources": [], "sink": None}
_WRITES = {**_PLAN, "sink": {"path": "file:/out/report", "format": "parquet", "mode": "overwrite", "columns": []}}


class Told:
    """A scribe, and the events that it has spooled."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.tally = Tally()
        self.folder = SpoolFolder.create(folder / "spool", "app", limit=1 << 20)
        facts = Facts(id="local-1", name="report", spark_version="4.1.4", started=_AT / 1000, obstacle=None)
        settings = load_settings({}, home=folder, mode="coarse", **options)
        self.scribe = Scribe(self.folder, facts, settings, self.tally, Origins())
        self.scribe.start(Invocation(argv=(), working_directory="", interpreter=""))

    def begin(self, execution: int, *, call: str = "org.apache.spark.sql.classic.Dataset.count", **more: Any) -> None:
        self.scribe.take({"event": "query_start", "execution": execution, "time": _AT, "description": "mine", "call": call, **more})

    def end(self, execution: int, plan: Any = _PLAN, **more: Any) -> None:
        self.scribe.take(
            {"event": "query_end", "execution": execution, "time": _AT + 1, "error": None, "plan": plan, "metrics": {}, **more}
        )

    def events(self) -> list[tuple[str, str]]:
        return [(item.body["eventType"], item.body["job"]["name"]) for item in self.folder.pending()]


def test_a_query_that_lasts_is_told_while_it_runs_and_ends_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told(tmp_path)
    told.begin(1)
    told.scribe.start_lasting(lambda _: {"plan": _PLAN, "stages": None})
    assert told.events() == [("START", "report")]
    clock = _later(monkeypatch, TELL_AFTER)
    told.scribe.start_lasting(lambda _: {"plan": _PLAN, "stages": None})
    assert told.events()[1:] == [("START", "report.scan")]
    assert not told.scribe.waiting
    clock.append(31.0)
    told.scribe.start_lasting(lambda _: {"plan": _PLAN, "stages": None})
    told.end(1)
    assert told.events()[1:] == [(kind, "report.scan") for kind in ("START", "RUNNING", "COMPLETE")]
    assert len({item.body["run"]["runId"] for item in told.folder.pending()}) == 2
    assert list(told.folder.open_runs()) == []


def test_a_look_for_columns_in_sql_is_no_run_however_long_it_lasts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told, call = Told(tmp_path), "org.apache.spark.sql.classic.SparkSession.sql(SparkSession.scala:1)"
    lines = {**_PLAN, "sources": [{**_PLAN["sources"][0], "format": "text"}]}
    told.begin(1, call=call)
    told.begin(2, call=call)
    _later(monkeypatch, TELL_AFTER)
    told.scribe.start_lasting(lambda _: {"plan": lines, "stages": None})
    assert told.events() == [("START", "report")]
    told.end(1, lines, sql="SELECT * FROM csv.`/data`")
    assert told.events() == [("START", "report")]
    told.end(2, lines, sql="SELECT * FROM text.`/data`")
    assert told.events()[1:] == [("START", "report.scan"), ("COMPLETE", "report.scan")]


def test_lines_that_a_statement_writes_are_told_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told(tmp_path)
    told.begin(1, call="org.apache.spark.sql.classic.SparkSession.sql(SparkSession.scala:1)")
    _later(monkeypatch, TELL_AFTER)
    lines = {**_WRITES, "sources": [{**_PLAN["sources"][0], "format": "text"}]}
    told.scribe.start_lasting(lambda _: {"plan": lines, "stages": None})
    assert [kind for kind, _ in told.events()] == ["START", "START"]


def test_the_query_that_fills_a_table_is_told_as_a_part_of_the_command_that_creates_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, table = Told(tmp_path), {**_WRITES, "command": "execute CreateTableAsSelect"}
    told.begin(1)
    told.begin(2, root=1)
    _later(monkeypatch, TELL_AFTER)
    staged = {**_WRITES, "command": "execute AppendData", "sink": {**_WRITES["sink"], "staged": True}}
    told.scribe.start_lasting({1: {"plan": table, "stages": None}, 2: {"plan": staged, "stages": None}}.get)
    told.end(2, staged)
    told.end(1, table)
    assert told.events()[1:] == [(kind, "report.execute_create_table_as_select.report") for kind in ("START", "COMPLETE")]
    assert list(told.folder.open_runs()) == []


def test_a_query_that_a_killed_driver_left_is_aborted_by_who_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told(tmp_path)
    told.begin(1)
    _later(monkeypatch, TELL_AFTER)
    told.scribe.start_lasting(lambda _: {"plan": _WRITES, "stages": None})
    told.folder.close()
    found = SpoolFolder.take(told.folder.path)
    assert found is not None
    state_end(found)
    pending = [item.body for item in found.pending()]
    told_once = list({json.dumps(event): (event["eventType"], event["run"]["runId"]) for event in pending}.values())
    application, query = (event["run"]["runId"] for event in pending[:2])
    assert told_once == [("START", application), ("START", query), ("ABORT", query), ("ABORT", application)]
    assert list(found.open_runs()) == []


def test_failed_queries_are_told_and_changed_nothing(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.begin(1)
    told.end(1, error={"class": "X", "message": "boom", "cancelled": False})
    told.begin(2)
    told.end(2, _WRITES, error={"class": "X", "message": "stopped", "cancelled": True})
    told.begin(3)
    told.end(3, None, error={"class": "X", "message": "no plan", "cancelled": False})
    assert [event for event in told.events() if event[0] != "START"] == [
        ("FAIL", "report.scan"), ("ABORT", "report.execute_insert_into_hadoop_fs_relation_command.report"), ("FAIL", "report.query"),
    ]  # fmt: skip
    aborted = [item.body for item in told.folder.pending() if item.body["eventType"] == "ABORT"]
    assert "lifecycleStateChange" not in aborted[0]["outputs"][0]["facets"]
    assert told.tally.failed == 3


def test_what_is_no_run_is_counted_and_only_what_the_user_describes_is_not_taken_for_it(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.begin(1, call="org.apache.spark.sql.classic.DataFrameReader.csv(DataFrameReader.scala:1)")
    told.end(1)
    told.begin(2, description="csv at home")
    told.end(2)
    told.begin(3)
    told.end(3, {**_PLAN, "command": "CreateViewCommand"})
    told.begin(4, root=4, command=_FRAMES)
    told.begin(5, root=4)
    told.end(5, _WRITES)
    told.end(4, {**_PLAN, "command": "CreateDataSourceTableAsSelectCommand"})
    told.begin(6, call="org.apache.spark.sql.classic.Dataset.localCheckpoint(Dataset.scala:1)")
    told.end(6)
    told.begin(7, root=7)
    told.end(7, _OWN)
    told.begin(8, root=9)  # a part that is reported separately
    told.end(8, _OWN)
    names = [name for kind, name in told.events() if kind == "COMPLETE"]
    assert names == ["report.scan", "report.execute_insert_into_hadoop_fs_relation_command.report"]
    assert dict(told.tally.left_out) == {"schema": 1, "views": 1, "nested": 1, "checkpoints": 1, "own": 1}
    assert told.tally.queries == 3


@pytest.mark.parametrize("change", ["CREATE", "OVERWRITE"])
def test_a_command_and_the_query_that_it_frames_are_one_run(change: str, tmp_path: Path) -> None:
    told = Told(tmp_path)
    table = {"only_change": True, "frames": True, "table": "db.t", "catalog": "/srv/warehouse", "change": change}
    told.begin(1, root=1, command=_FRAMES)
    told.begin(2, root=1)
    told.end(2, _WRITES)
    assert len(told.events()) == 1  # it waits for its command
    told.end(1, {**_PLAN, "sink": table, "command": "execute CreateDataSourceTableAsSelectCommand"})
    (end,) = [item.body for item in told.folder.pending() if item.body["eventType"] == "COMPLETE"]
    (output,) = end["outputs"]
    assert output["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == change
    assert output["facets"]["symlinks"]["identifiers"][0]["name"] == "db.t"
    assert output["name"] == "/out/report"
    assert dict(told.tally.left_out) == {"nested": 1}


def test_a_framing_command_that_fails_is_one_failed_run_and_one_that_does_nothing_is_none(tmp_path: Path) -> None:
    told = Told(tmp_path)
    table = {"only_change": True, "frames": True, "table": "db.t", "catalog": "/srv/warehouse"}
    failed = {"class": "X", "message": "boom", "cancelled": False}
    told.begin(1, root=1, command=_FRAMES)
    told.begin(2, root=1)
    told.end(2, _WRITES, error=failed)
    told.end(1, {**_PLAN, "sink": table, "command": "c"}, error=failed)
    told.begin(3, root=3, command=_FRAMES)
    told.end(3, {**_PLAN, "sink": table, "command": "c"})  # IF NOT EXISTS, and it did
    told.begin(4, root=4, command=_FRAMES)
    told.end(4, {**_PLAN, "sink": table, "command": "c"}, error=failed)  # before any query of its own
    ends = [item.body for item in told.folder.pending() if item.body["eventType"] != "START"]
    assert [event["eventType"] for event in ends] == ["FAIL", "FAIL"]
    assert all("lifecycleStateChange" not in event["outputs"][0]["facets"] for event in ends if event["outputs"])
    assert dict(told.tally.left_out) == {"nested": 2}


def test_what_a_command_has_framed_is_told_where_the_command_never_ended(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.begin(1, root=1, command=_FRAMES)
    told.begin(2, root=1)
    told.end(2, _WRITES)
    told.scribe.end(Outcome(), _AT / 1000 + 9, [])
    assert ("COMPLETE", "report.execute_insert_into_hadoop_fs_relation_command.report") in told.events()


def test_nothing_is_left_out_where_the_user_says_so(tmp_path: Path) -> None:
    told = Told(tmp_path, leave_out="nothing")
    told.begin(1)
    told.end(1, {**_PLAN, "command": "CreateViewCommand"})
    assert [name for kind, name in told.events() if kind == "COMPLETE"] == ["report.create_view_command"]


def test_jobs_outside_of_sql_are_told_by_what_they_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told(tmp_path)
    lines = {"id": 1, "kind": "HadoopRDD", "parents": [], "folders": "file:/data/a,file:/data/b\\,c"}
    own = {"id": 2, "kind": "ParallelCollectionRDD", "parents": []}
    strange = {"id": 3, "kind": "JdbcRDD", "parents": []}
    late = {"id": 4, "name": "file:/data/late", "parents": []}
    both = {"id": 9, "kind": "PythonRDD", "parents": [1, 2]}
    for job, rdds in enumerate(([both, lines, own], [own], [strange], [late]), start=1):
        told.scribe.take(
            {"event": "rdd_job_start", "job": job, "time": _AT, "name": "collect at a b.py:3", "call": "org.apache.X.collect", "rdds": rdds}
        )
    _later(monkeypatch, TELL_AFTER)
    told.scribe.start_lasting(lambda _: None)
    assert told.events()[1:] == [("START", "report.collect")] * 3
    assert not told.scribe.waiting
    for job in range(1, 5):
        told.scribe.take({"event": "rdd_job", "job": job, "time": _AT + 9, "save": None, "error": None, "stages": None})
    ends = [item.body for item in told.folder.pending() if item.body["eventType"] == "COMPLETE"]
    assert [[item["name"] for item in event["inputs"]] for event in ends] == [["/data/a", "/data/b,c"], [], ["/data/late"]]
    assert [event["run"]["facets"]["headwater_capture"]["problems"] for event in ends] == [
        [], [{"operator": "RDD", "reason": "what JdbcRDD reads is not known", "kind": "missing"}], [],
    ]  # fmt: skip
    assert (told.tally.rdd_jobs, dict(told.tally.left_out)) == (4, {"local": 1})
    assert list(told.folder.open_runs()) == []


def test_jobs_of_a_lineage_in_the_session_are_not_of_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told(tmp_path)
    lines = {"id": 1, "kind": "HadoopRDD", "parents": [], "folders": "file:/data/a"}
    start = {"event": "rdd_job_start", "time": _AT, "name": "collect at a.py:3", "call": "org.apache.X.collect", "rdds": [lines]}
    told.scribe.take({**start, "job": 1, "description": OURS})
    told.scribe.take({**start, "job": 2, "description": "the program's own"})
    _later(monkeypatch, TELL_AFTER)
    told.scribe.start_lasting(lambda _: None)
    for job in (1, 2):
        told.scribe.take({"event": "rdd_job", "job": job, "time": _AT + 9, "save": None, "error": None, "stages": None})
    assert told.events()[1:] == [("START", "report.collect"), ("COMPLETE", "report.collect")]
    assert told.tally.rdd_jobs == 1


def test_two_outputs_have_two_jobs() -> None:
    names = JobNames()
    first, second = ("file", "/lake/2023/data"), ("file", "/lake/2024/data")
    assert names.of("app", "write", first) == "app.write.data"
    assert names.of("app", "write", second) == "app.write.2024_data"
    assert names.of("app", "write", first) == "app.write.data"
    assert names.of("app", "write", ("s3://b", "data")) != "app.write.data"


def _later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> list[float]:
    """Let the clock of running queries go on; what is added to the list goes on top."""
    import time

    began, more = time.monotonic(), [seconds]
    monkeypatch.setattr("headwater.spark_listener.scribe.running.time.monotonic", lambda: began + 1 + sum(more))
    return more
