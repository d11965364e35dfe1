"""Erased entries leave no contents in the log, in the evidence or in the graph, and every proof still holds."""

from __future__ import annotations

import asyncio
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.erasure.log_entries import erase_entries, find_entries
from headwater.backend.evidence.tree import Leaf
from headwater.backend.evidence.verify import verify
from headwater.backend.home.folder import Home
from headwater.backend.home.settings import load_settings
from headwater.backend.ingest.intake.documents import document_key
from headwater.backend.ingest.log.model import DeadLetter, Draft, Entry, EntryKind, Stage
from headwater.backend.ingest.log.sqlite import SqliteLog
from headwater.backend.operate.repair.log import mended_log
from headwater.backend.triggers.facts import facts_of
from headwater.backend.workspace import Workspace
from headwater.errors import InvalidInputError, NotFoundError
from tests.backend.cli.command import headwater
from tests.backend.events import body, facet, run_event
from tests.backend.evidence.test_bundles import TENANT, Evidence, evidence
from tests.captured import capture_pipeline, log_manifests

__all__ = ["evidence"]
NAME = 'Ann "Änne" Zweistein'


def _find_files(folder: Path, *texts: str) -> list[str]:
    """Return the files in a folder that still have one of some texts somewhere, also in freed pages, in either case."""
    wanted = [text.lower().encode() for text in texts]
    return [path.name for path in folder.rglob("*") if path.is_file() and any(text in path.read_bytes().lower() for text in wanted)]


def _add(evidence: Evidence, *texts: str) -> list[int]:
    drafts = [
        Draft(EntryKind.EVENT, bytes([7] * 31 + [place]), body(run_event(job={"namespace": "tests", "name": text})))
        for place, text in enumerate(texts)
    ]
    return [receipt.offset for receipt in evidence.log.append(TENANT, drafts).result()]


@pytest.mark.parametrize("text", [NAME, "Änne", 'e" Zwei'])
def test_what_contains_a_text_is_found_in_every_spelling(evidence: Evidence, text: str) -> None:
    usual = json.dumps({"sql": f"x = '{NAME}'"})
    spellings = [usual, json.dumps(json.loads(usual), ensure_ascii=False), usual.replace("\\u00c4", "\\u00C4").replace("Z", "\\u005A")]
    drafts = [Draft(EntryKind.EVENT, bytes([8] * 31 + [place]), spelling.encode()) for place, spelling in enumerate(spellings)]
    offsets = [receipt.offset for receipt in evidence.log.append(TENANT, drafts).result()]
    assert [found.entry for found in find_entries(evidence.log, TENANT, [], text)] == offsets


def test_nothing_of_an_erased_entry_is_left_and_its_leaf_is_proven(evidence: Evidence, tmp_path: Path) -> None:
    first, second = _add(evidence, "of Secret-Person", "of another")
    bundle = evidence.bundle()
    letters = [
        DeadLetter(Stage.INTAKE, "refused", b"a document of Secret-Person"),
        DeadLetter(Stage.INTAKE, "refused", b"another document"),
        DeadLetter(Stage.PROJECTION, "refused", b"{}", offset=first),
    ]
    evidence.log.bury(TENANT, letters).result()
    evidence.checkpoint()
    before = _leaf(evidence, first)
    site = _Site(tmp_path)
    erase_entries(site, evidence.log, evidence.tree, evidence.key, TENANT, [first], "Secret-Person")
    assert [entry.offset for entry in evidence.log.read(TENANT, after=first - 1)] == [second]
    assert evidence.log.entry_at(TENANT, first) is None
    assert [letter.body for letter in evidence.log.dead_letters(TENANT)] == [b"another document"]
    assert (evidence.log.pending(TENANT, after=0), evidence.log.latest(TENANT)) == (61, second)
    assert find_entries(evidence.log, TENANT, [], "Secret-Person") == []
    assert before.salt is not None
    assert _leaf(evidence, first) == replace(before, salt=None)
    assert _find_files(tmp_path, "Secret-Person") == []
    assert not any(before.salt in path.read_bytes() for path in tmp_path.glob("*.db*"))
    [receipt] = evidence.log.append(TENANT, [Draft(EntryKind.EVENT, bytes([7] * 31 + [0]), b"of Secret-Person")]).result()
    assert (receipt.offset, receipt.duplicate) == (first, True)  # the document does not come back
    assert verify(bundle, evidence.key.public).erased == 0  # what was exported stays valid
    assert site.short == []  # the short form has the text
    erase_entries(site, evidence.log, evidence.tree, evidence.key, TENANT, [second], None)
    [short] = site.short
    assert json.loads(short)["job"]["name"] == "of another"
    assert facts_of(Entry(99, EntryKind.EVENT, "", "2027-01-01T00:00:00+00:00", body(run_event()))).facts
    assert not facts_of(Entry(99, EntryKind.EVENT, "", "2027-01-01T00:00:00+00:00", short)).facts  # no trigger fires for it


class _Site:
    """A home that collects the short forms of events."""

    def __init__(self, folder: Path) -> None:
        self.home, self.short = Home(folder), list[bytes]()
        self.records: Any = None  # the entries are no manifests

    @property
    def events(self) -> Any:
        return self

    def submit(self, tenant: str, body: bytes) -> Any:
        assert tenant == TENANT
        self.short.append(body)
        return self

    def result(self) -> None: ...


def _leaf(evidence: Evidence, offset: int) -> Leaf:
    return next(leaf for leaf in evidence.tree.leaves_of({run_event()["run"]["runId"]}, 1_000) if leaf.offset == offset)


def test_other_choices_are_refused(evidence: Evidence) -> None:
    for numbers, text, error in (
        ([], None, InvalidInputError),
        ([], " a ", InvalidInputError),
        ([], "number", InvalidInputError),  # in every entry
        ([99], None, NotFoundError),
        ([-1], None, NotFoundError),
    ):
        with pytest.raises(error):
            find_entries(evidence.log, TENANT, numbers, text)
    assert find_entries(evidence.log, TENANT, [], "' OR 1=1 --") == []
    assert find_entries(evidence.log, TENANT, [], "lone \ud800") == []


def test_a_repair_from_a_backup_does_not_bring_contents_back(tmp_path: Path) -> None:
    home, backup = Home(tmp_path / "home"), tmp_path / "backup"
    home.path.mkdir()
    backup.mkdir()
    log = SqliteLog(home.log)
    event = run_event(job={"namespace": "tests", "name": NAME})
    log.append(TENANT, [Draft(EntryKind.EVENT, document_key(each), body(each)) for each in (event, run_event(1))]).result()
    log.close()
    shutil.copy(home.log, backup / "ingest.db")
    log = SqliteLog(home.log)
    log.erase(TENANT, [1])
    log.close()
    for source in (None, backup):
        mended_log(home, source)
        log = SqliteLog(home.log)
        assert [entry.offset for entry in log.read(TENANT, after=0)] == [2]
        assert log.append(TENANT, [Draft(EntryKind.EVENT, document_key(event), body(event))]).result()[0].duplicate
        log.close()
        assert NAME.encode() not in home.log.read_bytes()


async def _fill(home: Path, folder: Path) -> None:
    await capture_pipeline(home, folder)
    log_manifests(home)
    async with await Workspace.open(load_settings(home=home)) as workspace:
        query = facet(query=f"SELECT * FROM t WHERE name = '{NAME}'")
        for event in (
            run_event(job={"namespace": "tests", "name": NAME}),
            run_event(1, job={"namespace": "tests", "name": "counted", "facets": {"sql": query}}),
        ):
            assert not workspace.events.submit(TENANT, body(event)).result().rejected
        await workspace.settle()


def _number(home: Path, kind: EntryKind, dataset: str) -> int:
    """Return the number of the first entry of a kind that names a dataset."""
    log = SqliteLog(home / "ingest.db")
    found = next(entry.offset for entry in log.read(TENANT, after=0) if entry.kind is kind and dataset.encode() in entry.body)
    log.close()
    return found


def test_the_command_erases_events_and_record_lineage_and_builds_the_graph_again(tmp_path: Path) -> None:
    home, data = tmp_path / "home", tmp_path / "data"
    asyncio.run(_fill(home, data))
    ours = ("--home", str(home), "--format", "json")

    def answer(*arguments: str) -> Any:
        return json.loads(headwater(*arguments, *ours).stdout)

    upstream = answer("lineage", "/out/1")
    assert answer("trace", str(data / "report"), "--where", "true")["exact"]
    assert answer("search", "Zweistein")
    listed = answer("evidence", "erase", "--containing", NAME)
    assert [(entry["kind"], entry["job"]) for entry in listed] == [("event", NAME), ("event", "counted")]
    assert answer("evidence", "erase", "--containing", NAME) == listed  # that was a dry run
    headwater("evidence", "erase", "--containing", NAME, "--yes", *ours)
    assert answer("evidence", "erase", "--containing", NAME) == []
    assert answer("search", "Zweistein") == []
    assert _find_files(home, "Änne", "\\u00c4nne", "zweistein") == []
    assert answer("lineage", "/out/1") == upstream  # of the query, only its text is gone
    assert answer("trace", str(data / "report"), "--where", "true")["exact"]
    headwater("evidence", "erase", "--entry", str(_number(home, EntryKind.CAPTURE, "report")), "--yes", *ours)
    assert "No dataset is called" in headwater("trace", str(data / "report"), "--where", "true", *ours, code=3).stderr
    assert (home / "audit.jsonl").read_text().count('"evidence.erase"') == 2
    assert headwater("store", "check", "--home", str(home)).returncode == 0
    assert "no entry 999" in headwater("evidence", "erase", "--entry", "999", *ours, code=3).stderr
