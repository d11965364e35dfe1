"""`headwater erase` on a home: plans, refusals, and erasures of a source whose derived data is deleted, left or unaffected."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.api.erasures import PermittedErasures
from headwater.backend.erasure import service, source_files
from headwater.backend.erasure.model import Erasure, ErasureState
from headwater.backend.erasure.plan import EraseRequest, find_reasons_against_deletion
from headwater.backend.erasure.service import Erasures
from headwater.backend.erasure.source_files import copy_of, plan_file, put_in_place, settle_copy, take_back
from headwater.backend.home.default_settings import DEFAULT_TENANT
from headwater.backend.home.settings import load_settings
from headwater.backend.workspace import Workspace
from headwater.capture import Session
from headwater.errors import SourceChangedError, UnavailableError, UnsupportedError
from headwater.graph.records import DataRoots
from headwater.graph.records.atomic_files import write_durably
from tests.backend.cli.command import headwater

_HEADER = {"header": True}


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """People, a file made of all of them, and one made of the last alone. Their programs are not registered."""
    monkeypatch.setenv("HEADWATER_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HEADWATER_URL", raising=False)
    (tmp_path / "people.csv").write_text("id,name\n1,ann\n2,bob\n3,cid\n")
    _make(tmp_path, "people", "clean", "id,name\n2,bob\n3,cid\n", [1, 2])
    _make(tmp_path, "people", "names", "name\ncid\n", [2])
    return tmp_path


def _make(folder: Path, source: str, target: str, text: str, rows: list[int]) -> None:
    (folder / f"{target}.csv").write_text(text)
    with Session(f"make-{target}") as session:
        actor = session.register(target, "step")
        read, written = (session.rows(folder / f"{name}.csv", options=_HEADER) for name in (source, target))
        for number, row in enumerate(rows):
            actor.capture(read[row], written[number])
        actor.commit()


def _plan(lake: Path, *options: str) -> dict[str, Any]:
    return dict(json.loads(headwater("erase", str(lake / "people.csv"), *options, "-f", "json").stdout))


def _actions(found: dict[str, Any]) -> dict[str, str]:
    return {Path(one["dataset"].rpartition(":")[2].replace("%2F", "/")).name: one["action"] for one in found["datasets"]}


def test_a_dry_run_names_each_dataset_and_changes_nothing(lake: Path) -> None:
    before = {path: path.read_bytes() for path in lake.glob("*.csv")}
    found = _plan(lake, "--where", "id = 2")
    assert (found["records"], found["columns"]) == (1, ["id"])
    assert _actions(found) == {"clean.csv": "impossible", "names.csv": "keep"}
    done = headwater("erase", str(lake / "people.csv"), "--where", "id = 2")
    assert "is not registered on this home" in done.stderr
    assert "--delete" in done.stderr
    assert {path: path.read_bytes() for path in lake.glob("*.csv")} == before
    assert not (lake / "home" / "erasures").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--where", "true"], "never empties a dataset"),
        (["--where", "id IS NOT NULL"], "never empties a dataset"),
        (["--where", "id = 9"], "nothing would be erased"),
        (["--where", "id ="], "does not parse"),
        (["--where", "person = 2"], "is no column"),
        (["--row", "{lake}/people.csv:7"], "has no record 7"),
        ([], "No record is chosen"),
        (["--where", "id = 2", "--delete", "other.csv"], "names no dataset of the plan"),
        (["--where", "id = 2", "--delete", "clean.csv", "--leave", "clean.csv"], "cannot be deleted and left"),
    ],
)
def test_a_request_that_cannot_be_meant_is_refused(lake: Path, options: list[str], message: str) -> None:
    options = [option.format(lake=lake) for option in options]
    for more in ([], ["--yes"]):
        done = headwater("erase", str(lake / "people.csv"), *options, *more, code=2)
        assert message in done.stderr
    assert (lake / "people.csv").read_text() == "id,name\n1,ann\n2,bob\n3,cid\n"


def test_the_hint_names_a_dataset_as_the_shell_and_the_options_take_it(lake: Path) -> None:
    _make(lake, "people", "who's 100% new", "name\nann\n", [0])
    hint = headwater("erase", str(lake / "people.csv"), "--where", "id = 1").stderr.rpartition("hint: ")[2]
    assert str(lake / "who's 100% new.csv") in shlex.split(hint)
    options = ("--leave", str(lake / "who's 100% new.csv"))
    assert _plan(lake, "--where", "id = 1", *options)["records"] == 1


def test_a_dataset_with_a_record_of_unknown_origin_is_not_kept(lake: Path) -> None:
    _make(lake, "people", "copy", "id,name\n1,ann\n2,bob\n3,cid\n", [0, 1])  # the actor does not state the last record
    found = _plan(lake, "--where", "id = 1")
    assert _actions(found) == {"clean.csv": "keep", "copy.csv": "impossible", "names.csv": "keep"}


def test_a_dataset_that_is_made_of_another_is_no_source(lake: Path) -> None:
    done = headwater("erase", str(lake / "clean.csv"), "--where", "id = 2", code=5)
    assert "would bring the records back" in done.stderr
    assert "people.csv" in done.stderr


def test_a_legal_hold_blocks_an_erasure(lake: Path) -> None:
    headwater("versions", "hold", str(lake / "clean.csv"), "--reason", "case 17")
    done = headwater("erase", str(lake / "people.csv"), "--where", "id = 2", "--delete", "clean.csv", "--yes", code=5)
    assert "A legal hold covers" in done.stderr
    assert "case 17" in done.stderr
    assert (lake / "clean.csv").exists()
    headwater("versions", "release", str(lake / "clean.csv"))
    headwater("erase", str(lake / "people.csv"), "--where", "id = 2", "--delete", "clean.csv", "--yes")


def test_a_file_with_another_name_is_refused(lake: Path) -> None:
    os.link(lake / "people.csv", lake / "other.csv")
    done = headwater("erase", str(lake / "people.csv"), "--where", "id = 2", "--delete", "clean.csv", "--yes", code=5)
    assert "hard links" in done.stderr


def test_the_records_go_from_the_source_and_a_dataset_is_deleted(lake: Path) -> None:
    (lake / ".people.csv.crc").write_text("checksums of the old data")
    status = (lake / "people.csv").stat()
    headwater("erase", str(lake / "people.csv"), "--where", "id = 2", "--delete", "clean.csv", "--reason", "case 1", "--yes")
    assert (lake / "people.csv").read_text() == "id,name\n1,ann\n3,cid\n"
    assert (lake / "people.csv").stat().st_mode == status.st_mode
    assert sorted(path.name for path in lake.iterdir()) == ["home", "names.csv", "people.csv"]
    (erasure,) = json.loads(headwater("erase", "--list", "-f", "json").stdout)
    certificate = json.loads(headwater("erase", "show", erasure["id"], "-f", "json").stdout)
    assert (certificate["result"], certificate["reason"], certificate["records"]) == ("complete", "case 1", 1)
    assert _actions(certificate) == {"people.csv": "rewrite", "clean.csv": "delete", "names.csv": "keep"}
    stored = "".join(path.read_text(errors="replace") for path in (lake / "home" / "erasures").rglob("*") if path.is_file())
    assert "bob" not in stored
    assert "id = 2" not in stored
    audited = [json.loads(line) for line in (lake / "home" / "audit.jsonl").read_text().splitlines()]
    assert [line["what"] for line in audited if line["what"].startswith("erase.")] == ["erase.request", "erase.begin", "erase.end"]


def test_a_certificate_is_evidence(lake: Path) -> None:
    public = headwater("evidence", "key", "--name", "test/log").stdout.strip()
    headwater("erase", str(lake / "people.csv"), "--where", "id = 2", "--leave", "clean.csv", "--yes")
    (erasure,) = json.loads(headwater("erase", "--list", "-f", "json").stdout)
    assert erasure["state"] == "incomplete"
    bundle = lake / "erasure.zip"
    headwater("erase", "show", erasure["id"], "--evidence", str(bundle))
    assert "Valid" in headwater("evidence", "verify", str(bundle), "--key", public).stderr
    bundle.write_bytes(bundle.read_bytes().replace(b"incomplete", b"in_omplete"))
    headwater("evidence", "verify", str(bundle), "--key", public, code=2)


def test_a_dataset_that_is_left_makes_an_erasure_incomplete(lake: Path) -> None:
    done = headwater("erase", str(lake / "people.csv"), "--where", "id = 2", "--leave", "clean.csv", "--yes")
    assert "the operator deals with it elsewhere" in done.stderr
    assert (lake / "clean.csv").read_text() == "id,name\n2,bob\n3,cid\n"


async def test_one_erasure_runs_at_a_time(lake: Path) -> None:
    async with await Workspace.open(load_settings()) as workspace:
        erasures = Erasures(workspace)
        async with erasures._locked():
            with pytest.raises(UnavailableError, match="Another erasure"):
                await erasures.settle(DEFAULT_TENANT)


class _Killed(BaseException):
    """The end of the process."""


async def _request_and_run(request: EraseRequest, save: Callable[[Path, bytes], None], patch: pytest.MonkeyPatch) -> tuple[bool, Erasure]:
    """Run an erasure that is killed, and settle it. Return whether it had been committed, and its end."""
    async with await Workspace.open(load_settings()) as workspace:
        await workspace.take_in()
        erasures = Erasures(workspace)
        erasure = await erasures.request(DEFAULT_TENANT, request, by="ann")
        patch.setattr(service, "write_durably", save)
        with suppress(_Killed):
            await erasures.run(DEFAULT_TENANT, erasure.id, by="ann")
        patch.undo()
        is_committed = erasures.get(DEFAULT_TENANT, erasure.id).state is ErasureState.COMMITTED
        await erasures.settle(DEFAULT_TENANT)
        return is_committed, erasures.get(DEFAULT_TENANT, erasure.id)


@pytest.mark.parametrize("step", range(1, 7))
def test_an_erasure_that_is_killed_is_reverted_or_finished(lake: Path, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    before = {path.name: path.read_bytes() for path in lake.glob("*.csv")}
    saved = 0

    def save(path: Path, data: bytes) -> None:
        nonlocal saved
        saved += 1
        if saved == step:
            raise _Killed
        write_durably(path, data)

    request = EraseRequest(dataset=str(lake / "people.csv"), where="id = 2", delete=["clean.csv"])
    with pytest.MonkeyPatch.context() as patch:
        is_committed, ended = asyncio.run(_request_and_run(request, save, patch))
    names = sorted(path.name for path in lake.iterdir())
    if ended.state in (ErasureState.REVERTED, ErasureState.REQUESTED):
        assert not is_committed
        assert {path.name: path.read_bytes() for path in lake.glob("*.csv")} == before
        assert names == ["clean.csv", "home", "names.csv", "people.csv"]
    else:
        assert ended.state is ErasureState.COMPLETE
        assert names == ["home", "names.csv", "people.csv"]
        assert (lake / "people.csv").read_text() == "id,name\n1,ann\n3,cid\n"


async def test_a_source_that_changes_after_the_request_is_not_touched(lake: Path) -> None:
    request = EraseRequest(dataset=str(lake / "people.csv"), where="id = 2", delete=["clean.csv"])
    async with await Workspace.open(load_settings()) as workspace:
        await workspace.take_in()
        erasure = await Erasures(workspace).request(DEFAULT_TENANT, request, by="ann")
        (lake / "people.csv").write_text("id,name\n1,ann\n2,bob\n3,cid\n4,dan\n")
        with pytest.raises(SourceChangedError, match="nothing was changed"):
            await Erasures(workspace).run(DEFAULT_TENANT, erasure.id, by="ann")
    assert (lake / "people.csv").read_text() == "id,name\n1,ann\n2,bob\n3,cid\n4,dan\n"
    assert (lake / "clean.csv").exists()


async def _run_as(identifier: str, *, approver: str, runner: str) -> Erasure:
    async with await Workspace.open(load_settings()) as workspace:
        erasures = Erasures(workspace)
        erasures.approve(DEFAULT_TENANT, identifier, by=approver)
        with pytest.raises(UnsupportedError, match="somebody else must run it"):
            await erasures.run(DEFAULT_TENANT, identifier, by=approver)
        return await erasures.run(DEFAULT_TENANT, identifier, by=runner)


def test_a_second_person_approves_where_the_home_demands_it(lake: Path) -> None:
    (lake / "home" / "replay.toml").write_text("[commit]\napproval = true\n")
    done = headwater("erase", str(lake / "people.csv"), "--where", "id = 2", "--delete", "clean.csv", "--yes")
    assert "waits for the approval" in done.stderr
    assert "bob" in (lake / "people.csv").read_text()
    (listed,) = json.loads(headwater("erase", "--list", "-f", "json").stdout)
    assert "somebody else must approve" in headwater("erase", "approve", listed["id"], code=5).stderr
    assert "must approve" in headwater("erase", "run", listed["id"], code=5).stderr
    ended = asyncio.run(_run_as(listed["id"], approver="somebody", runner="ann"))
    assert ended.certificate is not None
    assert ended.certificate.approved_by == "somebody"
    assert "bob" not in (lake / "people.csv").read_text()


async def test_the_schema_lists_erasures_without_the_choice_of_records(lake: Path) -> None:
    request = EraseRequest(dataset=str(lake / "people.csv"), where="name = 'bob'", delete=["clean.csv"])
    async with await Workspace.open(load_settings()) as workspace:
        await workspace.take_in()
        erasures = Erasures(workspace)
        waiting = await erasures.request(DEFAULT_TENANT, request, by="ann", reason="case 2")
        before = await PermittedErasures(workspace.home).list(DEFAULT_TENANT, 5)
        await erasures.run(DEFAULT_TENANT, waiting.id, by="ann")
        after = await PermittedErasures(workspace.home).list(DEFAULT_TENANT, 5)
        assert await PermittedErasures(workspace.home).list("sales", 5) == []
    assert [(one.id, one.state, one.records, one.reason, one.certificate) for one in before] == [
        (waiting.id, "requested", 1, "case 2", None)
    ]
    assert [(one.id, one.state) for one in after] == [(waiting.id, "complete")]
    assert "bob" not in json.dumps([before[0].source, after[0].certificate])


def test_a_source_that_is_written_during_an_erasure_keeps_what_was_written(lake: Path) -> None:
    (lake / "people.csv").write_text("id,name\n1,ann\n2,bob\n3,cid\n")
    before = plan_file(str(lake / "people.csv"), [1], 3)
    before.copy_path = copy_of(before.path, "1")
    Path(before.copy_path).write_text("id,name\n1,ann\n3,cid\n")
    settle_copy(before)
    put_in_place(before)
    (lake / "people.csv").write_text("id,name\n9,new\n")
    with pytest.raises(SourceChangedError, match="written during the erasure"):
        take_back(before)
    assert (lake / "people.csv").read_text() == "id,name\n9,new\n"
    assert "bob" in Path(before.copy_path).read_text()
    Path(before.copy_path).unlink()
    take_back(before)  # somebody looked at it, and removed the old data
    assert (lake / "people.csv").read_text() == "id,name\n9,new\n"


def test_a_folder_that_cannot_be_written_is_named(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", str(lake))

    monkeypatch.setattr(source_files, "settle_copy", refuse)
    done = headwater("erase", str(lake / "people.csv"), "--where", "id = 2", "--delete", "clean.csv", "--yes", code=5)
    assert "Everything is as it was before" in done.stderr
    assert "bob" in (lake / "people.csv").read_text()
    assert sorted(path.name for path in lake.iterdir()) == ["clean.csv", "home", "names.csv", "people.csv"]


def test_data_outside_of_the_roots_or_around_other_data_is_not_deleted(tmp_path: Path) -> None:
    inner, outer, link = (f"dataset:file:{tmp_path}/{name}" for name in ("data/out/clean", "data/out", "data/link"))
    (tmp_path / "data" / "out" / "clean").mkdir(parents=True)
    (tmp_path / "data" / "link").symlink_to(tmp_path / "data" / "out")
    roots = DataRoots.of([tmp_path / "data"])
    assert find_reasons_against_deletion(inner, [inner], roots) == []
    for dataset, others, reason in (
        (outer, [inner], "lies in the same folder"),
        (inner, [outer], "lies in the same folder"),
        (link, [], "a link leads to it"),
        ("dataset:file:/etc", [], "outside of the data roots"),
        (f"dataset:file:{tmp_path}/data/gone", [], "gone"),
        ("dataset:kafka%3A//broker:topic", [], "neither"),
    ):
        (found, *_) = find_reasons_against_deletion(dataset, others, roots)
        assert reason in found, (dataset, found)
