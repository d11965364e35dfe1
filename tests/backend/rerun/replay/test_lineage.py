"""The lineage of a committed replay: real names, only files that the commit put in place, delivered once, and stated as undone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.rerun.replay.commit import commit, undo
from headwater.backend.rerun.replay.lineage import FILE, CommitLineage, LineageState, ShadowNames, is_waiting, load_lineage
from headwater.backend.rerun.replay.model import Commit, Replay, ReplayState
from headwater.backend.rerun.replay.output_places import OutputPlaces
from headwater.errors import UnavailableError
from headwater.graph.model import NodeKind, node_id
from headwater.graph.records import ReplacedData
from headwater.graph.records.roots import ANYWHERE
from headwater.spark_listener.spool import Item, SpoolFolder
from tests.backend.events import run_event

APPLICATION, CLEAN, REPORT = (f"0198c0de-0000-7000-8000-00000000000{digit}" for digit in "abc")
OLD_VERSION = "version:file:{}:0198c0de-0000-7000-8000-00000000000f"
CAPTURES = {CLEAN: "00000000-0000-4000-8000-000000000001", REPORT: "00000000-0000-4000-8000-000000000002"}


class Log:
    """The log of the home. It keeps the bodies, and refuses all after `most` items as a log that does not answer."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.captures: list[dict[str, Any]] = []
        self.most = 1_000

    def send(self, item: Item, _: SpoolFolder) -> None:
        if len(self.events) + len(self.captures) >= self.most:
            raise UnavailableError("the log does not answer")
        json.dumps(item.body)
        (self.events if item.kind == "event" else self.captures).append(dict(item.body))

    def of(self, run: str, kind: str = "COMPLETE") -> dict[str, Any]:
        return next(event for event in self.events if event["run"]["runId"] == run and event["eventType"] == kind)

    def capture_of(self, run: str) -> dict[str, Any]:
        return next(capture for capture in self.captures if capture["run"]["runId"] == run)


class Replayed:
    """A complete replay of two programs: raw → clean → report. Both captured into the home of the replay."""

    def __init__(self, folder: Path, *, changed: tuple[str, ...] = ("report",)) -> None:
        self.data = folder / "data"
        self.places = {name: self.data / name for name in ("clean", "report")}
        for name, place in self.places.items():
            place.mkdir(parents=True)
            (place / f"part-{name}-old").write_text("old")
        datasets = [f"dataset:file:{self.places[name]}" for name in changed]
        self.folder = folder / "replays" / ("a" * 32)
        self.shadow = self.folder / "data"
        self.replay = Replay(
            id=self.folder.name, tenant="t", output=datasets[0], outputs=datasets, started_at="2026-01-01T00:00:00+00:00", process=1,
            shadow=str(self.shadow), exclude={"file:/raw/a": [3]}, edits={"file:/raw/a": {"1": {"v": "40"}}}, kind="what-if",
            state=ReplayState.COMPLETE, changed=datasets, before=OutputPlaces(ANYWHERE).states(datasets)[1], captures=True,
        )  # fmt: skip
        self.files: dict[str, Path] = {}
        for name in self.places:
            place = Path(f"{self.shadow}{self.places[name]}")
            place.mkdir(parents=True)
            (place / "_SUCCESS").touch()
            self.files[name] = place / f"part-{name}-new"
            self.files[name].write_text(f"{name} new")
        self.log, self.replaced = Log(), ReplacedData(folder / "replays")
        self.lineage = CommitLineage(lambda tenant: self.log, self.replaced)

    def at(self, name: str) -> str:
        """The path of an output in the shadow."""
        return f"{self.shadow}{self.places[name]}"

    def capture(self, run: str, source: str, files: list[dict[str, Any]], name: str, **changes: Any) -> dict[str, Any]:
        entry = {"name": "b0-s1.0-p0-a1.seg", "boundary": 0, "stage": 1, "stage_attempt": 0, "partition": 0, "attempt": 1, "rows": 1}
        written = [self.file(self.files[name])] if name in self.files else []
        return {
            "format": 3, "capture": CAPTURES[run], "run": {"namespace": "n", "job": f"job.{name}", "runId": run},
            "application": {"id": "a", "name": "a", "spark": "4.1.0"}, "started": "2026-01-01T00:00:01Z", "ended": "2026-01-01T00:00:02Z",
            "mode": "active", "status": "complete", "problems": [], "sources": [{
                "source": 0, "dataset": {"namespace": "file", "name": source}, "path": f"file:{source}", "format": "csv", "files": files,
            }],
            "operators": [
                {"id": 0, "op": "Write", "children": [1], "behaviour": "passes", "text": f"Insert file:{self.at('report')}, [path=x]"},
                {"id": 1, "op": "Scan", "children": [], "source": 0, "behaviour": "source"},
            ],
            "boundaries": [{"boundary": 0, "kind": "sink", "operator": 0, "columns": []}],
            "segments": [{**entry, "bytes": 1, "sha256": "0", "files": written, "runs": [[0, 0, 1]]}],
            "sink": {
                "boundary": 0, "dataset": {"namespace": "file", "name": self.at(name)}, "path": f"file:{self.at(name)}", "format": "csv",
                "mode": "append",
            },
        } | changes  # fmt: skip

    @staticmethod
    def file(path: Path, **changes: Any) -> dict[str, Any]:
        status = path.stat()
        return {"ordinal": 0, "path": f"file:{path}", "length": status.st_size, "modified": status.st_mtime_ns // 1_000_000, **changes}

    def spool(self, *captures: dict[str, Any], outputs: str = "") -> None:
        """Spool the events of both programs, and captures (by default, honest ones). `outputs` replaces the output of the report."""
        spool = SpoolFolder.create(self.folder / "home" / "spool", "local-1", limit=1 << 20)
        raw = {"ordinal": 0, "path": "file:/raw/a", "length": 5, "modified": 7}
        clean = self.capture(CLEAN, "/raw", [raw], "clean")
        report = self.capture(REPORT, self.at("clean"), [self.file(self.files["clean"])], "report")
        for run, source, output in ((CLEAN, "/raw", self.at("clean")), (REPORT, self.at("clean"), outputs or self.at("report"))):
            ends = {"inputs": [{"namespace": "file", "name": source}], "outputs": [{"namespace": "file", "name": output}]}
            for kind in ("START", "COMPLETE"):
                job = {"namespace": "n", "name": f"job.{'clean' if run == CLEAN else 'report'}"}
                assert spool.event(run_event(kind=kind, eventType=kind, run={"runId": run}, job=job, **ends))
        for capture in captures or (clean, report):
            assert spool.capture(capture)
        spool.describe(ended=True)
        spool.close()

    def commit(self) -> Commit:
        return commit(self.replay, self.folder, keep_days=1)

    def deliver(self, made: Commit) -> Any:
        replaced = {one.dataset: OLD_VERSION.format(one.place) for one in made.folders}
        return self.lineage.deliver(self.replay, made, self.folder, replaced)


@pytest.fixture
def replayed(tmp_path: Path) -> Replayed:
    return Replayed(tmp_path)


def test_the_committed_output_has_its_real_name_and_the_output_between_has_one_of_its_own(replayed: Replayed) -> None:
    replayed.spool()
    made = replayed.commit()
    lineage = replayed.deliver(made)
    assert (lineage.refused, lineage.state) == ([], LineageState.DELIVERED)
    report, clean = replayed.log.capture_of(REPORT), replayed.log.capture_of(CLEAN)
    place, between = replayed.places["report"], f"{replayed.places['clean']}.replay-{'a' * 12}"
    assert report["sink"]["dataset"]["name"] == str(place)
    assert [file["path"] for file in report["segments"][0]["files"]] == [f"file:{place}/part-report-new"]
    assert report["sources"][0]["dataset"]["name"] == between == clean["sink"]["dataset"]["name"]
    assert report["sources"][0]["files"][0]["path"] == f"file:{between}/part-clean-new" == clean["segments"][0]["files"][0]["path"]
    assert (clean["sink"]["uncommitted"], report["sources"][0]["uncommitted"]) == (True, True)
    assert (report["sink"]["block"], report["sink"]["mode"], report["ended"]) == ("base", "overwrite", report["sink"]["writtenAt"])
    assert report["sink"]["replaces"] == OLD_VERSION.format(place)
    assert clean["replay"]["edited"] == {"file:/raw/a": {"1": {"v": "40"}}}
    assert "file:/raw/a" not in report["replay"]["edited"]
    delivered = json.dumps([*replayed.log.events, *replayed.log.captures])
    assert str(replayed.shadow) not in delivered
    end = replayed.log.of(REPORT)
    assert [output["name"] for output in end["outputs"]] == [str(place)]
    assert end["inputs"] == []
    facet = end["run"]["facets"]["headwater_replay"]
    assert facet["through"] == ["dataset:file:/raw"]
    assert facet["alsoReads"] == [node_id(NodeKind.DATASET, "file", str(replayed.places["clean"]))]  # the job still reads it
    assert replayed.log.of(CLEAN)["outputs"] == []
    values = dict(replayed.replaced.places())
    assert values == {between: replayed.at("clean"), str(place): made.folders[0].old}
    assert replayed.replaced.find(f"{place}/part-report-old") == f"{made.folders[0].old}/part-report-old"
    assert not is_waiting(replayed.replay, made, replayed.folder)


def test_outputs_that_were_committed_together_have_their_real_names(tmp_path: Path) -> None:
    replayed = Replayed(tmp_path, changed=("clean", "report"))
    replayed.spool()
    replayed.deliver(replayed.commit())
    report = replayed.log.capture_of(REPORT)
    clean = f"{replayed.places['clean']}"
    assert report["sources"][0]["dataset"]["name"] == clean
    assert report["sources"][0]["files"][0]["path"] == f"file:{clean}/part-clean-new"
    assert ("uncommitted" in report["sources"][0], replayed.log.capture_of(CLEAN)["sink"]["block"]) == (False, "base")
    end = replayed.log.of(REPORT)
    assert [source["name"] for source in end["inputs"]] == [clean]
    assert end["run"]["facets"]["headwater_replay"]["through"] == []


@pytest.mark.parametrize(
    "damage",
    ["a sink elsewhere", "a file that is not there", "another length", "another time", "a file of the output in another dataset"],
)
def test_a_capture_that_names_other_files_than_the_commit_put_in_place_is_refused(replayed: Replayed, damage: str) -> None:
    file = replayed.file(replayed.files["report"])
    source = [replayed.file(replayed.files["clean"])]
    report = replayed.capture(REPORT, replayed.at("clean"), source, "report")
    match damage:
        case "a sink elsewhere":
            report["sink"]["dataset"]["name"] = str(replayed.data / "other")
        case "a file that is not there":
            report["segments"][0]["files"] = [file | {"path": f"{file['path']}-2"}]
        case "another length":
            report["segments"][0]["files"] = [file | {"length": file["length"] + 1}]
        case "another time":
            report["segments"][0]["files"] = [file | {"modified": file["modified"] + 1}]
        case _:
            report["sources"][0]["files"] = [file]
    replayed.spool(report)
    lineage = replayed.deliver(replayed.commit())
    assert len(lineage.refused) == 1
    assert {capture["status"] for capture in replayed.log.captures} <= {"refused"}
    assert not any(capture["segments"] for capture in replayed.log.captures)


def test_an_event_with_an_output_outside_of_the_shadow_is_refused(replayed: Replayed) -> None:
    replayed.spool(outputs=str(replayed.data / "other"))
    lineage = replayed.deliver(replayed.commit())
    assert all("outside of its shadow" in reason for reason in lineage.refused)
    assert {output["name"] for event in replayed.log.events for output in event["outputs"]} == set()


@pytest.mark.parametrize(
    "damage",
    [{"run": {}}, {"run": []}, {"outputs": [{}]}, {"outputs": ["x"]}, {"inputs": 3}, {"job": None}],
)  # fmt: skip
def test_a_malformed_event_is_refused_and_the_rest_is_delivered(replayed: Replayed, damage: dict[str, Any]) -> None:
    replayed.spool()
    spool = SpoolFolder.create(replayed.folder / "home" / "spool", "local-2", limit=1 << 20)
    assert spool.event(run_event(kind="START", eventType="START", inputs=[], outputs=[]) | damage)
    spool.describe(ended=True)
    spool.close()
    made = replayed.commit()
    lineage = replayed.deliver(made)
    assert lineage.state is LineageState.DELIVERED
    assert replayed.log.capture_of(REPORT)["sink"]["block"] == "base"
    assert "job" in damage or any("malformed" in reason for reason in lineage.refused)
    assert not is_waiting(replayed.replay, made, replayed.folder)


@pytest.mark.parametrize("most", range(6))
def test_a_delivery_that_ends_between_two_items_is_continued(replayed: Replayed, most: int) -> None:
    replayed.spool()
    made = replayed.commit()
    replayed.log.most = most
    with pytest.raises(UnavailableError):
        replayed.deliver(made)
    assert is_waiting(replayed.replay, made, replayed.folder)
    replayed.log.most = 1_000
    assert replayed.deliver(made).refused == []
    assert (len(replayed.log.events), len(replayed.log.captures)) == (4, 2)
    assert replayed.log.of(REPORT)["run"]["facets"]["headwater_replay"]["through"] == ["dataset:file:/raw"]
    assert replayed.log.capture_of(REPORT)["sink"]["block"] == "base"


def test_an_undo_states_that_the_version_is_not_current_any_more(replayed: Replayed) -> None:
    replayed.spool()
    replayed.deliver(replayed.commit())
    undone = undo(replayed.replay.id, replayed.folder)
    assert is_waiting(replayed.replay, undone, replayed.folder)
    replayed.deliver(undone)
    event = replayed.log.of(REPORT, "OTHER")
    assert event["outputs"][0]["name"] == str(replayed.places["report"])
    assert event["outputs"][0]["facets"]["headwater_block"]["undoneAt"] == event["eventTime"]
    assert replayed.replaced.places() == []
    assert not is_waiting(replayed.replay, undone, replayed.folder)


def test_a_commit_that_was_undone_before_its_delivery_has_no_lineage(replayed: Replayed) -> None:
    replayed.spool()
    replayed.commit()
    undone = undo(replayed.replay.id, replayed.folder)
    assert not is_waiting(replayed.replay, undone, replayed.folder)
    assert not (replayed.folder / FILE).exists()


def test_a_replay_that_captured_nothing_waits_for_nothing(replayed: Replayed) -> None:
    replayed.replay.captures = False
    assert not is_waiting(replayed.replay, replayed.commit(), replayed.folder)
    assert load_lineage(replayed.folder) is None


def test_names_that_begin_alike_and_names_in_uris_are_kept_apart(replayed: Replayed) -> None:
    names = ShadowNames(replayed.replay, ["/d/out", "/d/out two"])
    shadow, suffix = replayed.shadow, f".replay-{'a' * 12}"
    assert names.unique(f"file:{shadow}/d/out/part-0") == f"file:/d/out{suffix}/part-0"
    assert names.unique(f"file:{shadow}/d/out2/part-0") == "file:/d/out2/part-0"
    assert names.unique(f"{shadow}/d/out two") == f"/d/out two{suffix}"
    assert names.unique(f"Insert file:{shadow}/d/out, [path={shadow}/d/out]") == f"Insert file:/d/out{suffix}, [path=/d/out{suffix}]"
    assert names.unique(f"file:{shadow}/d/out%20two/x") == f"file:/d/out%20two{suffix}/x"
    assert not names.is_shadow(str(shadow))
