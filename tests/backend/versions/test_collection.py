"""A collection drops replaced blocks that nobody needs, and nothing else: not what is unread, held, changed, or needed by a trace."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from headwater.backend.versions import trash
from headwater.backend.versions.collector import Collector
from headwater.backend.versions.trash import MoveState
from headwater.errors import NotFoundError, SourceChangedError, UnsupportedError
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp, node_id
from headwater.graph.versions.collection import CollectionPlan
from tests.backend.versions.history import History
from tests.graph.jobs import TENANT

BY = "ann"


@pytest.fixture
async def history(tmp_path: Path) -> AsyncIterator[History]:
    """A dataset with a base, a delta that a consumer read, and a base that replaced both and that it read as well."""
    opened = await History.open(tmp_path)
    opened.write("base", [["a", 1], ["b", 2]])
    opened.write("delta", [["c", 3]])
    opened.consume("copy", "new")
    opened.write("base", [["a", 9]])
    opened.consume("copy", "new")
    await opened.settle()
    yield opened
    await opened.close()


def _trash(history: History) -> set[str]:
    return {path.name for path in history.root.glob(".out.headwater-trash-*/*")}


async def _reasons(history: History) -> list[str]:
    plan = await history.collector().plan(history.dataset)
    return ["; ".join(verdict.reasons) for verdict in plan.verdicts]


async def test_replaced_blocks_move_to_the_trash_and_back(history: History) -> None:
    collector, before = history.collector(), await history.traces()
    collector.enrol(history.dataset, by=BY)
    plan = await collector.plan(history.dataset)
    assert [verdict.block.sequence for verdict in plan.collectable] == [1, 2]
    assert history.files() == {"run1-00000.parquet", "run2-00000.parquet", "run4-00000.parquet"}  # a plan moves nothing
    done = await collector.collect(history.dataset, by=BY)
    assert done.journal is not None
    assert history.files() == {"run4-00000.parquet"}
    assert _trash(history) == {"run1-00000.parquet", "run2-00000.parquet"}
    assert await history.traces() == before
    (document,) = history.declared.documents
    assert [entry["id"] for entry in document["descriptions"]] == done.journal.versions
    told = [json.loads(line)["what"] for line in (history.root / "audit.jsonl").read_text().splitlines()]
    assert told == ["versions.enrol", "versions.gc", "versions.gc.end"]
    assert (await collector.collect(history.dataset, by=BY)).journal is None  # nothing is left to drop
    await collector.restore(done.journal.id, by=BY)
    assert len(history.files()) == 3
    with pytest.raises(NotFoundError, match="could be restored"):
        await collector.restore(done.journal.id, by=BY)
    with pytest.raises(NotFoundError, match="could be restored"):
        await collector.restore("../x", by=BY)


async def test_a_dataset_that_is_not_enrolled_stays(history: History) -> None:
    with pytest.raises(NotFoundError, match="is not enrolled"):
        await history.collector().collect(history.dataset, by=BY)
    assert len(history.files()) == 3


async def test_what_a_consumer_has_not_read_stays(history: History) -> None:
    history.write("delta", [["d", 4]])
    history.write("base", [["e", 5]])
    await history.settle()
    assert (await _reasons(history))[2:4] == ["", "job:tests:copy has not read it"]
    history.consume("other", "all")  # reads the last base alone: its cursor is past all blocks
    await history.settle()
    assert (await _reasons(history))[2:4] == ["", "job:tests:copy has not read it"]


async def test_a_consumer_whose_runs_all_failed_keeps_all_blocks(history: History) -> None:
    job, run = node_id("job", "tests", "broken"), node_id("run", "broken")
    nodes = [Node(job, NodeKind.JOB, "broken"), Node(run, NodeKind.RUN, "broken", {"state": "FAIL"})]
    edges = [Edge(history.dataset, job, EdgeKind.READS), Edge(job, run, EdgeKind.CONTAINS)]
    await history.graph.apply(TENANT, [GraphBatch(Stamp.at("2026-01-01T00:50:00Z", "x"), nodes, edges, by="broken")])
    assert (await _reasons(history))[0] == "it is not known whether job:tests:broken has read it"


async def test_a_legal_hold_keeps_a_block_or_all(history: History) -> None:
    plan = await history.collector().plan(history.dataset)
    await history.hold(plan.verdicts[0].block.version, "case 17")
    assert (await _reasons(history))[:2] == ["a legal hold covers it: case 17", ""]
    await history.hold(history.dataset, "case 18")
    assert (await _reasons(history))[:2] == ["a legal hold covers it: case 18"] * 2


@pytest.mark.parametrize("held", ["dataset", "column", "platform", "version"])
async def test_a_hold_on_a_source_of_a_source_keeps_what_derives_from_it(history: History, held: str) -> None:
    parts = ("lake", "/raw")
    nodes = {
        "dataset": node_id("dataset", *parts), "column": node_id("column", *parts, "name"), "platform": node_id("platform", "lake"),
        "version": node_id("version", *parts, "first"),
    }  # fmt: skip
    jobs, between = [node_id("job", "tests", name) for name in ("clean", "load")], node_id("dataset", "file", "/clean")
    edges = [
        Edge(nodes["platform"], nodes["dataset"], EdgeKind.CONTAINS),
        *(Edge(nodes["dataset"], nodes[inside], EdgeKind.CONTAINS) for inside in ("column", "version")),
        Edge(nodes["dataset"], jobs[0], EdgeKind.READS), Edge(jobs[0], between, EdgeKind.WRITES),
        Edge(between, jobs[1], EdgeKind.READS), Edge(jobs[1], history.dataset, EdgeKind.WRITES),
    ]  # fmt: skip
    blocks = (await history.collector().plan(history.dataset)).verdicts
    version = Node(nodes["version"], NodeKind.VERSION, "first", {"writtenAt": blocks[1].block.written_at})
    await history.graph.apply(TENANT, [GraphBatch(Stamp("2026-01-01T00:00:00.000000Z", "k"), nodes=[version], edges=edges)])
    assert (await _reasons(history))[:2] == ["", ""]
    await history.hold(nodes[held], "case 30")
    reasons = await _reasons(history)
    assert [("case 30" in reason, "from which it derives" in reason) for reason in reasons[:2]] == [
        (held != "version", held != "version"), (True, True),
    ]  # fmt: skip


async def test_a_hold_on_dropped_blocks_keeps_the_trash(history: History) -> None:
    collector = history.collector()
    collector.enrol(history.dataset, by=BY)
    done = await collector.collect(history.dataset, by=BY, trash_days=0)
    assert done.journal is not None
    await history.hold(history.dataset, "case 19")
    await collector.settle()
    assert len(_trash(history)) == 2


async def test_the_trash_is_deleted_after_its_time(history: History) -> None:
    collector = history.collector()
    collector.enrol(history.dataset, by=BY)
    done = await collector.collect(history.dataset, by=BY, trash_days=0)
    assert done.journal is not None
    await collector.settle()
    assert not [*history.root.glob(".out.*")]
    assert trash.load(history.root / "versions" / done.journal.id).state is MoveState.EXPIRED


async def test_values_that_a_trace_of_kept_data_needs_stay(tmp_path: Path) -> None:
    history = await History.open(tmp_path)
    history.write("base", [["a", 1], ["a", 2]])
    history.consume("greatest", "group")
    history.write("base", [["b", 3]])
    history.consume("greatest", "new")
    await history.settle()
    (first, _) = await _reasons(history)
    assert "may need its values" in first
    shutil.rmtree(history.outputs["greatest"])  # nothing is kept that was made of it
    assert (await _reasons(history))[0] == ""
    await history.close()


@pytest.mark.parametrize("entry", ["_delta_log", "metadata/v1.metadata.json", ".hoodie"])
def test_a_table_is_refused_with_its_own_command(tmp_path: Path, entry: str, history_of_table) -> None:
    collector, dataset = history_of_table(entry)
    with pytest.raises(UnsupportedError, match=r"VACUUM|expire_snapshots|cleaner"):
        collector.enrol(dataset, by=BY)


@pytest.fixture
def history_of_table(tmp_path: Path):
    """A collector, and a folder that looks like a table."""

    def make(entry: str) -> tuple[Collector, str]:
        path = tmp_path / "table" / entry
        if "." in path.name[1:]:
            path.parent.mkdir(parents=True)
            path.touch()
        else:
            path.mkdir(parents=True)
        from headwater.graph.records import ANYWHERE, AssociationStore

        store = AssociationStore(tmp_path / "associations", sources=ANYWHERE)
        collector = Collector(tmp_path / "versions", None, store, None, tmp_path / "audit.jsonl")  # type: ignore[arg-type]
        return collector, node_id("dataset", "file", str(tmp_path / "table"))

    return make


async def test_a_link_in_the_place_of_a_file_or_folder_is_not_followed(history: History) -> None:
    collector = history.collector()
    collector.enrol(history.dataset, by=BY)
    victim = history.root / "victim.parquet"
    shutil.copy2(history.out / "run1-00000.parquet", victim)
    (history.out / "run1-00000.parquet").unlink()
    (history.out / "run1-00000.parquet").symlink_to(victim)
    with pytest.raises(SourceChangedError, match="no regular file"):
        await collector.collect(history.dataset, by=BY)
    assert victim.exists()
    history.out.rename(history.root / "elsewhere")
    history.out.symlink_to(history.root / "elsewhere")
    with pytest.raises(UnsupportedError, match="A link leads to"):
        await collector.collect(history.dataset, by=BY)


async def test_a_file_that_was_written_again_stays(history: History) -> None:
    collector = history.collector()
    collector.enrol(history.dataset, by=BY)
    path = history.out / "run1-00000.parquet"
    path.write_bytes(path.read_bytes() + b"x")
    done = await collector.collect(history.dataset, by=BY)
    assert done.journal is not None
    assert history.files() == {"run1-00000.parquet", "run4-00000.parquet"}


async def test_a_file_that_changes_during_the_move_stays(history: History, monkeypatch) -> None:
    collector = history.collector()
    collector.enrol(history.dataset, by=BY)
    rename, path = trash._rename, history.out / "run1-00000.parquet"

    def write_first(here: int, there: int, name: str) -> None:
        if name == path.name:
            (history.out / "new").write_bytes(b"new")
            os.replace(history.out / "new", path)
            monkeypatch.setattr(trash, "_rename", rename)
        rename(here, there, name)

    monkeypatch.setattr(trash, "_rename", write_first)
    done = await collector.collect(history.dataset, by=BY)
    assert done.journal is not None
    assert done.journal.skipped == [path.name]
    assert path.read_bytes() == b"new"


async def test_nothing_is_dropped_if_the_current_version_is_damaged(history: History) -> None:
    (history.out / "run4-00000.parquet").unlink()
    with pytest.raises(UnsupportedError, match="its current version is not there"):
        await history.collector().plan(history.dataset)


async def test_a_channel_of_a_workflow_is_refused(history: History) -> None:
    collector = history.collector(channels=[f"{history.out}/x"])
    with pytest.raises(UnsupportedError, match="channel of a workflow"):
        await collector.plan(history.dataset)


class _KilledError(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("step", range(7))
async def test_a_collection_that_is_killed_at_any_step_is_finished_later(history: History, monkeypatch, step: int) -> None:
    collector, before = history.collector(), await history.traces()
    collector.enrol(history.dataset, by=BY)
    steps = 0

    def stopping(function):
        def wrapped(*arguments, **more):
            nonlocal steps
            if steps == step:
                raise _KilledError
            steps += 1
            return function(*arguments, **more)

        return wrapped

    with monkeypatch.context() as patch:
        patch.setattr(trash, "_rename", stopping(trash._rename))
        patch.setattr("headwater.backend.versions.collector.save", stopping(trash.save))
        patch.setattr("headwater.backend.versions.collector.append_line", stopping(lambda path, entry: None))
        patch.setattr(history.declared, "declare", stopping(history.declared.declare))
        with pytest.raises(_KilledError):
            await collector.collect(history.dataset, by=BY)
    await history.collector().settle()
    await history.collector().collect(history.dataset, by=BY)
    assert history.files() == {"run4-00000.parquet"}
    assert _trash(history) == {"run1-00000.parquet", "run2-00000.parquet"}
    assert len({version for document in history.declared.documents for version in map(str, document["descriptions"])}) == 2
    assert await history.traces() == before


async def test_a_stopped_collection_is_undone_if_a_hold_came_meanwhile(history: History, monkeypatch) -> None:
    collector = history.collector()
    collector.enrol(history.dataset, by=BY)
    with monkeypatch.context() as patch:
        rename = trash._rename

        def once(here: int, there: int, name: str) -> None:
            rename(here, there, name)
            raise _KilledError

        patch.setattr(trash, "_rename", once)
        with pytest.raises(_KilledError):
            await collector.collect(history.dataset, by=BY)
    assert len(history.files()) == 2
    await history.hold(history.dataset, "case 20")
    await history.collector().settle()
    assert len(history.files()) == 3


async def test_a_stopped_collection_of_one_dataset_does_not_hinder_others(history: History, monkeypatch) -> None:
    collector = history.collector()
    collector.enrol(history.dataset, by=BY)
    done = await collector.collect(history.dataset, by=BY)
    assert done.journal is not None
    journal = done.journal.model_copy(update={"id": "0" * 12, "dataset": node_id("dataset", "file", "/gone"), "folder": "/gone"})
    journal.state = MoveState.PREPARED
    trash.save(journal, history.root / "versions" / journal.id)
    (history.root / "versions" / ("1" * 12)).mkdir()
    (history.root / "versions" / ("1" * 12) / trash.JOURNAL).write_text("{")  # a damaged journal
    assert (await collector.restore(done.journal.id, by=BY)).state is MoveState.RESTORED
    again = await collector.collect(history.dataset, by=BY)
    assert again.journal is not None
    assert history.files() == {"run4-00000.parquet"}


async def test_a_stopped_collection_that_cannot_be_repaired_is_named(history: History, monkeypatch) -> None:
    collector, path = history.collector(), history.out / "run1-00000.parquet"
    collector.enrol(history.dataset, by=BY)
    with monkeypatch.context() as patch:
        rename = trash._rename

        def once(here: int, there: int, name: str) -> None:
            rename(here, there, name)
            raise _KilledError

        patch.setattr(trash, "_rename", once)
        with pytest.raises(_KilledError):
            await collector.collect(history.dataset, by=BY)
    path.write_bytes(b"new")
    await history.hold(history.dataset, "case 21")  # the plan forbids to finish it, and the new file to undo it
    with pytest.raises(UnsupportedError, match="neither finished nor undone"):
        await history.collector().collect(history.dataset, by=BY)
    assert path.read_bytes() == b"new"
    path.unlink()
    assert (await history.collector().collect(history.dataset, by=BY)).journal is None
    assert len(history.files()) == 3


@pytest.mark.parametrize("content", [b"new", None], ids=["other content", "same content"])
async def test_a_restore_replaces_no_file_and_moves_all_or_none(history: History, content: bytes | None) -> None:
    collector = history.collector()
    collector.enrol(history.dataset, by=BY)
    done = await collector.collect(history.dataset, by=BY)
    assert done.journal is not None
    path = history.out / "run2-00000.parquet"
    written = content or next(history.root.glob(".out.*/run2-00000.parquet")).read_bytes()
    path.write_bytes(written)
    with pytest.raises(SourceChangedError, match="another file"):
        await collector.restore(done.journal.id, by=BY)
    assert path.read_bytes() == written
    assert history.files() == {"run2-00000.parquet", "run4-00000.parquet"}
    path.unlink()
    await collector.restore(done.journal.id, by=BY)
    assert len(history.files()) == 3


async def test_a_planned_file_that_is_gone_stops_the_collection(history: History, monkeypatch) -> None:
    collector = history.collector()
    collector.enrol(history.dataset, by=BY)
    prepare = collector._prepare

    def remove_and_prepare(plan: CollectionPlan, *rest: Any) -> Any:
        Path(plan.files[0].path.removeprefix("file:")).unlink()
        return prepare(plan, *rest)

    monkeypatch.setattr(collector, "_prepare", remove_and_prepare)
    with pytest.raises(SourceChangedError, match="is gone since the plan"):
        await collector.collect(history.dataset, by=BY)
