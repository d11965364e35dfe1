"""Traces in a pipeline raw → clean → out, after a replay committed `out` alone: the replay read its own version of `clean`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from headwater.graph.model import GraphBatch, Node, NodeKind
from headwater.graph.records import AssociationStore
from headwater.graph.trace import TraceAnswer
from headwater.graph.trace.answer import TraceRequest
from headwater.graph.trace.record_pairs import trace_pairs
from tests.graph.jobs import TENANT, Job, write_csv
from tests.graph.stores.samples import stamp
from tests.graph.trace.conftest import records
from tests.graph.trace.small import COLUMNS, RAW

REPLAY = "abcdefabcdef"


class Pipeline:
    """`alternate` is the data that the replay put in the place of `clean`. `commit` replaces `out` by what is made of it."""

    def __init__(self, store: AssociationStore, root: Path) -> None:
        self.store, self.clock = store, 0
        self.raw = write_csv(root / "raw" / "t.csv", list(COLUMNS), [["a", 1], ["b", 2], ["a", 3]])
        self.clean, self.out, self.other = root / "clean", root / "out", root / "other"
        self.alternate = root / f"clean.replay-{REPLAY}"
        self.job("clean", self.raw, self.clean)
        self.job("out", self.clean, self.out)

    def job(self, name: str, source: Path, target: Path, *, replay: bool = False) -> Job:
        shutil.rmtree(target, ignore_errors=True)
        job = Job(self.store, name, self.clock, part=f"{name}{self.clock}")
        self.clock += 1
        of_csv = source.suffix == ".csv"
        rows = job.scan(source, "csv" if of_csv else "parquet", COLUMNS, RAW if of_csv else {})
        if replay:
            job.more = {"replay": {"id": REPLAY}}
            job.sources[0] |= {"uncommitted": True} if source == self.alternate else {}
            job.said = {"uncommitted": True} if target == self.alternate else {}
        job.write(rows, target, "parquet", list(COLUMNS), files=1)
        return job

    def commit(self) -> str:
        """Return the version that the commit made."""
        self.job("clean", self.raw, self.alternate, replay=True)
        return f"version:file:{self.out}:{self.job('out', self.alternate, self.out, replay=True).run}"


@pytest.fixture
def pipeline(store: AssociationStore, tmp_path: Path) -> Pipeline:
    return Pipeline(store, tmp_path)


def _said(answer: TraceAnswer, effect: str) -> str:
    return "; ".join(entry.reason for entry in answer.incomplete if entry.effect == effect)


@pytest.mark.parametrize("semantics", ["influence", "witness"])
async def test_a_trace_to_the_dataset_between_ends_at_the_version_that_the_replay_read(pipeline, ask, semantics) -> None:
    pipeline.commit()
    answer = await ask(dataset=str(pipeline.out), where="v = 3", to=str(pipeline.clean), semantics=semantics, values=True)
    assert [(record.dataset, record.row, record.values["v"]) for record in answer.records] == [(f"dataset:file:{pipeline.alternate}", 2, 3)]
    assert (answer.exact, [hop.job for hop in answer.path]) == (True, ["job:tests:out"])
    assert f"the replay {REPLAY} read its own version of it, which it did not commit" in _said(answer, "version")


async def test_a_trace_to_a_part_of_the_dataset_between_looks_there_in_the_version_of_the_replay(pipeline, ask) -> None:
    pipeline.commit()
    file = next(pipeline.alternate.iterdir()).name
    inside = await ask(dataset=str(pipeline.out), where="v = 3", to=f"{pipeline.clean}/{file}")
    outside = await ask(dataset=str(pipeline.out), where="v = 3", to=f"{pipeline.clean}/x.parquet")
    assert (records(inside), records(outside)) == ({(file, 2)}, set())


async def test_pairs_of_records_end_there_too(pipeline, store) -> None:
    pipeline.commit()
    request = TraceRequest(dataset=str(pipeline.out), where="v = 3", to=str(pipeline.clean))
    async with trace_pairs(None, store, TENANT, request) as pairs:
        assert ([pairs.files[file].dataset for _, _, file, _ in pairs.read_pairs()], pairs.exact) == (
            [f"dataset:file:{pipeline.alternate}"], True,
        )  # fmt: skip


async def test_a_dataset_that_only_has_such_a_name_is_no_alternate(pipeline, ask) -> None:
    pipeline.job("clean", pipeline.raw, pipeline.alternate)
    pipeline.job("out", pipeline.alternate, pipeline.out)
    answer = await ask(dataset=str(pipeline.out), where="v = 3", to=str(pipeline.clean))
    assert (answer.records, answer.exact, answer.incomplete) == ([], True, [])
    forward = await ask(dataset=str(pipeline.clean), where="v = 3", forward=True, to=str(pipeline.out))
    assert (forward.records, forward.exact) == ([], True)


@pytest.mark.parametrize("has_target", [True, False])
async def test_a_trace_forward_from_the_dataset_between_says_what_it_misses(pipeline, ask, has_target) -> None:
    pipeline.commit()
    request = {"to": str(pipeline.out)} if has_target else {}
    answer = await ask(dataset=str(pipeline.clean), where="v = 3", forward=True, **request)
    assert not answer.exact
    assert f"made {pipeline.out} from its own version of it" in _said(answer, "missing")
    async with trace_pairs(None, pipeline.store, TENANT, TraceRequest(dataset=str(pipeline.clean), where="v = 3", forward=True)) as pairs:
        assert not pairs.exact


async def test_a_trace_to_another_dataset_or_after_the_next_run_misses_nothing(pipeline, ask) -> None:
    pipeline.job("other", pipeline.clean, pipeline.other)
    pipeline.commit()
    other = await ask(dataset=str(pipeline.clean), where="v = 3", forward=True, to=str(pipeline.other))
    assert (other.exact, other.total) == (True, 1)
    pipeline.job("out", pipeline.clean, pipeline.out)
    again = await ask(dataset=str(pipeline.clean), where="v = 3", forward=True, to=str(pipeline.out))
    assert (again.exact, again.total) == (True, 1)


async def _undo(graph, version: str) -> None:
    node = Node(version, NodeKind.VERSION, "v", {"undoneAt": "2026-01-02T00:00:00Z"})
    await graph.apply(TENANT, [GraphBatch(stamp(1), [node])])


@pytest.mark.parametrize("has_target", [True, False])
async def test_the_way_forward_has_no_hop_of_an_undone_replay(pipeline, ask, graph, has_target) -> None:
    version = pipeline.commit()
    request = {"to": str(pipeline.out)} if has_target else {}
    before = await ask(graph, dataset=str(pipeline.raw), where="v = 3", forward=True, **request)
    assert len(before.path) == 4
    await _undo(graph, version)
    after = await ask(graph, dataset=str(pipeline.raw), where="v = 3", forward=True, **request)
    assert [hop.output for hop in after.path] == [f"dataset:file:{place}" for place in (pipeline.clean, pipeline.out)]
    clean = await ask(graph, dataset=str(pipeline.clean), where="v = 3", forward=True, **request)
    assert "its own version" not in _said(clean, "missing")


async def test_the_way_forward_keeps_an_undone_replay_whose_output_a_later_run_read(pipeline, ask, graph) -> None:
    version = pipeline.commit()
    pipeline.job("other", pipeline.out, pipeline.other)
    await _undo(graph, version)
    answer = await ask(graph, dataset=str(pipeline.raw), where="v = 3", forward=True, to=str(pipeline.other))
    assert (answer.exact, answer.total) == (True, 1)
    assert f"dataset:file:{pipeline.alternate}" in {hop.output for hop in answer.path}
