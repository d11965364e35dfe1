"""Erased entries leave no contents in the log, in the evidence or in the graph, and every proof still holds."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.evidence.erased_entries import erase_entries, find_entries, list_spellings
from headwater.backend.evidence.verify import verify
from headwater.backend.home.settings import load_settings
from headwater.backend.ingest.log.model import DeadLetter, Draft, EntryKind, Stage
from headwater.backend.ingest.log.sqlite import SqliteLog
from headwater.backend.workspace import Workspace
from headwater.errors import InvalidInputError, NotFoundError
from headwater.graph.records import AssociationStore
from tests.backend.cli.command import headwater
from tests.backend.events import body, facet, run_event
from tests.backend.evidence.test_bundles import TENANT, Evidence, evidence
from tests.captured import capture_pipeline, log_manifests

__all__ = ["evidence"]
NAME = 'Ann "Änne" Example'


def _is_on_disk(folder: Path, text: bytes) -> list[str]:
    """Return the databases of a folder that still have a text somewhere, also in freed pages."""
    return [path.name for path in folder.iterdir() if ".db" in path.name and text in path.read_bytes()]


def _add(evidence: Evidence, *texts: str) -> list[int]:
    drafts = [Draft(EntryKind.EVENT, bytes([7] * 31 + [place]), body(run_event(job=text))) for place, text in enumerate(texts)]
    return [receipt.offset for receipt in evidence.log.append(TENANT, drafts).result()]


@pytest.mark.parametrize("text", [NAME, "Änne"])
def test_what_contains_a_text_is_found_in_every_spelling(evidence: Evidence, text: str) -> None:
    drafts = [
        Draft(EntryKind.EVENT, bytes([8] * 31 + [place]), json.dumps({"sql": f"x = '{NAME}'"}, ensure_ascii=is_ascii).encode())
        for place, is_ascii in enumerate((True, False))
    ]
    offsets = [receipt.offset for receipt in evidence.log.append(TENANT, drafts).result()]
    assert [entry.offset for entry in find_entries(evidence.log, TENANT, [], text)] == offsets


def test_nothing_of_an_erased_entry_is_left_and_its_leaf_is_proven(evidence: Evidence, tmp_path: Path) -> None:
    first, second = _add(evidence, "of Secret-Person", "of another")
    bundle = evidence.bundle()
    assert verify(bundle, evidence.key.public).erased == 0
    letter = DeadLetter(Stage.INTAKE, "refused", b"a document of Secret-Person")
    evidence.log.bury(TENANT, [letter, DeadLetter(Stage.PROJECTION, "refused", b"{}", offset=first)]).result()
    [before] = [leaf for leaf in evidence.tree.leaves_of(_runs(evidence), 1_000) if leaf.offset == first]
    chosen = find_entries(evidence.log, TENANT, [], "Secret-Person")
    records = AssociationStore(tmp_path / "associations", sources=None)  # type: ignore[arg-type]  # the entries are no manifests
    assert erase_entries(evidence.log, evidence.tree, records, evidence.key, TENANT, chosen, "Secret-Person") == 1
    records.close()
    assert [entry.offset for entry in evidence.log.read(TENANT, after=first - 1)] == [second]
    assert evidence.log.entry_at(TENANT, first) is None
    assert evidence.log.dead_letters(TENANT) == []
    assert (evidence.log.pending(TENANT, after=0), evidence.log.latest(TENANT)) == (61, second)
    assert find_entries(evidence.log, TENANT, [], "Secret-Person") == []
    [after] = [leaf for leaf in evidence.tree.leaves_of(_runs(evidence), 1_000) if leaf.offset == first]
    assert (after.leaf, after.salt) == (before.leaf, None)
    assert before.salt is not None
    assert _is_on_disk(tmp_path, b"Secret-Person") == []
    [receipt] = evidence.log.append(TENANT, [Draft(EntryKind.EVENT, bytes([7] * 31 + [0]), b"of Secret-Person")]).result()
    assert (receipt.offset, receipt.duplicate) == (first, True)  # the document does not come back
    assert verify(bundle, evidence.key.public).erased == 0  # what was exported stays valid


def _runs(evidence: Evidence) -> set[str]:
    return {json.loads(entry.body)["run"]["runId"] for entry in evidence.log.read(TENANT, after=0)} | {run_event()["run"]["runId"]}


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
    assert len(list_spellings("\ud800")) == 2


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
    assert answer("search", "Example")
    listed = answer("evidence", "erase", "--containing", NAME)
    assert [entry["kind"] for entry in listed] == ["event", "event"]
    assert answer("evidence", "erase", "--containing", NAME) == listed  # that was a dry run
    headwater("evidence", "erase", "--containing", NAME, "--yes", *ours)
    assert answer("evidence", "erase", "--containing", NAME) == []
    assert answer("search", "Example") == []
    assert _is_on_disk(home, json.dumps(NAME)[1:-1].encode()) == []
    assert answer("lineage", "/out/1") == upstream  # of the query, only its text is gone
    assert answer("trace", str(data / "report"), "--where", "true")["exact"]
    headwater("evidence", "erase", "--entry", str(_number(home, EntryKind.CAPTURE, "report")), "--yes", *ours)
    assert "No dataset is called" in headwater("trace", str(data / "report"), "--where", "true", *ours, code=3).stderr
    assert "evidence.erase" in (home / "audit.jsonl").read_text()
    assert headwater("store", "check", "--home", str(home)).returncode == 0
    assert "no entry 999" in headwater("evidence", "erase", "--entry", "999", *ours, code=3).stderr
