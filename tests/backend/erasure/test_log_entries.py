"""Erased entries leave no contents in the log, in the evidence or in the graph, and every proof still holds."""

from __future__ import annotations

import asyncio
import json
import shutil
import unicodedata
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from headwater.backend.erasure.log_entries import TextErasure
from headwater.backend.evidence.tree import Leaf
from headwater.backend.evidence.verify import verify
from headwater.backend.home.folder import Home
from headwater.backend.home.settings import load_settings
from headwater.backend.ingest.intake.declarations import DeclarationIntake
from headwater.backend.ingest.intake.documents import document_key
from headwater.backend.ingest.log.model import DeadLetter, Draft, EntryKind, Stage
from headwater.backend.ingest.log.sqlite import SqliteLog
from headwater.backend.operate.repair.log import mended_log
from headwater.backend.triggers.facts import facts_of
from headwater.backend.workspace import Workspace
from headwater.errors import InvalidInputError
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
def test_a_text_is_found_in_every_spelling(evidence: Evidence, text: str) -> None:
    event = run_event()
    usual = json.dumps({**event, "job": {"namespace": "tests", "name": NAME}})
    nested = json.dumps({**event, "job": {"namespace": "tests", "name": json.dumps([NAME])}})
    in_url = json.dumps({**event, "job": {"namespace": "tests", "name": quote(NAME)}}) if text != 'e" Zwei' else usual + " "
    spellings = [
        usual, json.dumps(json.loads(usual), ensure_ascii=False), usual.replace("\\u00c4", "\\u00C4").replace("Z", "\\u005A"), nested,
        json.dumps({**event, "job": {"namespace": "tests", "name": unicodedata.normalize("NFD", NAME)}}), in_url,
    ]  # fmt: skip
    drafts = [Draft(EntryKind.EVENT, bytes([8] * 31 + [place]), spelling.encode()) for place, spelling in enumerate(spellings)]
    offsets = [receipt.offset for receipt in evidence.log.append(TENANT, drafts).result()]
    assert {found.entry for found in _erasure(evidence, text).find()} == set(offsets)


def test_nothing_of_an_erased_text_is_left_and_the_leaf_is_proven(evidence: Evidence, tmp_path: Path) -> None:
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
    erasure = _erasure(evidence, "Secret-Person")
    assert [(found.entry, found.kind) for found in erasure.find()] == [(first, "event"), (0, "refused")]
    erasure.erase(_Site(tmp_path), evidence.tree, evidence.key)
    assert erasure.find() == []
    other, replacement = evidence.log.read(TENANT, after=first - 1)
    assert (other.offset, replacement.offset) == (second, second + 1)
    event = json.loads(replacement.body)
    assert event["job"]["name"].startswith("of erased-")
    assert event["run"]["facets"]["headwater_redacted"]["entry"] == first
    assert facts_of(other).facts
    assert not facts_of(replacement).facts  # no trigger fires for it
    assert evidence.log.entry_at(TENANT, first) is None
    assert [letter.body for letter in evidence.log.dead_letters(TENANT)] == [b"another document"]
    assert (evidence.log.pending(TENANT, after=0), evidence.log.latest(TENANT)) == (62, second + 1)
    assert before.salt is not None
    assert _leaf(evidence, first) == replace(before, salt=None)
    assert _find_files(tmp_path, "Secret-Person") == []
    assert not any(before.salt in path.read_bytes() for path in tmp_path.glob("*.db*"))
    [receipt] = evidence.log.append(TENANT, [Draft(EntryKind.EVENT, bytes([7] * 31 + [0]), b"of Secret-Person")]).result()
    assert (receipt.offset, receipt.duplicate) == (first, True)  # the document does not come back
    assert verify(bundle, evidence.key.public).erased == 0  # what was exported stays valid


@dataclass
class _Site:
    folder: Path

    def __post_init__(self) -> None:
        self.home = Home(self.folder)
        self.records: Any = None  # the entries are no manifests


def _erasure(evidence: Evidence, text: str) -> TextErasure:
    return TextErasure(evidence.log, TENANT, text)


def _leaf(evidence: Evidence, offset: int) -> Leaf:
    return next(leaf for leaf in evidence.tree.leaves_of({run_event()["run"]["runId"]}, 1_000) if leaf.offset == offset)


@pytest.mark.parametrize("text", ["", " a ", "ab", "é"])
def test_a_short_text_is_refused(evidence: Evidence, text: str) -> None:
    with pytest.raises(InvalidInputError, match="fewer than"):
        _erasure(evidence, text)


@pytest.mark.parametrize("text", ["' OR 1=1 --", "lone \ud800", '"run"', "eventType", "a%n", "李明"])
def test_other_texts_are_not_found(evidence: Evidence, text: str) -> None:
    _add(evidence, "of a person")
    assert _erasure(evidence, text).find() == []


def test_a_text_without_which_an_entry_is_not_valid_is_refused(evidence: Evidence) -> None:
    _add(evidence, "of a person")
    with pytest.raises(InvalidInputError, match="would not be valid"):
        _erasure(evidence, run_event()["eventTime"]).find()


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
        tags = facet(tags=[{"key": "pii", "field": "origin", "value": "true"}])
        event = run_event(1, job={"namespace": "tests", "name": "counted", "facets": {"sql": query}})
        event["outputs"][0]["facets"]["tags"] = tags
        for each in (run_event(job={"namespace": "tests", "name": NAME}), event):
            assert not workspace.events.submit(TENANT, body(each)).result().rejected
        await workspace.settle()
        described = {"id": "dataset:file:/out/1", "aspect": "owner", "value": NAME}
        held = {"id": "dataset:file:/out/1", "aspect": "legalHold", "value": f"case of {NAME}"}
        await DeclarationIntake(workspace.log, workspace.graph).declare(TENANT, {"descriptions": [described, held]})
        await workspace.settle()


def test_the_command_keeps_lineage_tags_and_holds(tmp_path: Path) -> None:
    home, data = tmp_path / "home", tmp_path / "data"
    asyncio.run(_fill(home, data))
    ours = ("--home", str(home), "--format", "json")

    def answer(*arguments: str) -> Any:
        return json.loads(headwater(*arguments, *ours).stdout)

    before = answer("lineage", "/out/1")
    assert answer("search", "Zweistein")
    listed = answer("evidence", "erase", NAME)
    assert [(entry["kind"], entry["job"]) for entry in listed] == [("event", NAME), ("event", "counted"), ("declaration", "")]
    assert answer("evidence", "erase", NAME) == listed  # that was a dry run
    assert answer("evidence", "erase", NAME, "--yes") == listed
    assert answer("evidence", "erase", NAME, "--yes") == []
    assert answer("search", "Zweistein") == []
    assert _find_files(home, "Änne", "\\u00c4nne", "zweistein") == []
    assert answer("lineage", "/out/1") == before
    described = headwater("describe", "/out/1", *ours).stdout
    assert "legalHold" in described
    assert "case of erased-" in described
    assert "pii" in headwater("describe", "/out/1", "--column", "origin", *ours).stdout
    assert answer("trace", str(data / "report"), "--where", "true")["exact"]
    assert (home / "audit.jsonl").read_text().count('"evidence.erase"') == 2
    assert headwater("store", "check", "--home", str(home)).returncode == 0


def test_record_lineage_with_the_text_is_missing_and_said_to_be(tmp_path: Path) -> None:
    home, data = tmp_path / "home", tmp_path / "of Zweistein"
    asyncio.run(_fill(home, data))
    ours = ("--home", str(home), "--format", "json")
    headwater("evidence", "erase", "of Zweistein", "--yes", *ours)
    assert _find_files(home, "of zweistein", "of%20zweistein") == ["registered.db"]  # docs/guide/erasure.md: the roots of data
    assert headwater("store", "check", "--home", str(home)).returncode == 0
