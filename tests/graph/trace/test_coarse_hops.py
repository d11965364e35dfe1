"""Hops that are known by datasets only: a trace lifts to these, goes on, and says so."""

import pytest

from headwater.errors import NotFoundError
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp, node_id
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.trace import Grain, TracedRecord
from headwater.graph.trace.preview import preview
from tests.graph.jobs import TENANT, Job, write_csv
from tests.graph.trace.conftest import records
from tests.graph.trace.small import COLUMNS, RAW, ROWS, copy


async def state(graph: SqliteStore, job: str, reads: list[str], writes: str) -> None:
    """A job that the graph alone knows."""
    identifier = node_id("job", "other", job)
    edges = [*(Edge(node_id("dataset", "file", path), identifier, EdgeKind.READS) for path in reads),
             Edge(identifier, node_id("dataset", "file", writes), EdgeKind.WRITES)]  # fmt: skip
    nodes = [Node(node_id("dataset", "file", path), NodeKind.DATASET, path) for path in [*reads, writes]]
    await graph.apply(TENANT, [GraphBatch(Stamp.at("2026-01-01T00:00:00Z", job), nodes, edges)])


async def test_a_coarse_hop_upstream_lifts_to_its_datasets(store, ask, graph, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    await state(graph, "download", ["/far/away"], str(raw))
    answer = await ask(graph, dataset=str(tmp_path / "out"), where="v = 5")
    assert answer.records == [TracedRecord("dataset:file:/far/away", None, None, Grain.DATASET)]
    assert not answer.exact
    assert [(hop.job, hop.grain) for hop in answer.path] == [("job:tests:copy1", Grain.RECORD), ("job:other:download", Grain.DATASET)]
    assert [entry.effect for entry in answer.incomplete] == ["superset"]
    kept = await ask(graph, dataset=str(tmp_path / "out"), where="v = 5", to=str(raw))
    assert records(kept) == {("t.csv", 0)}
    assert kept.exact


@pytest.mark.parametrize(
    ("ledger", "said"),
    [
        (
            {"problems": [{"operator": "LogicalRDD", "reason": "no records of it", "kind": "refused"}]},
            " (its last run says: LogicalRDD: no records of it)",
        ),
        (
            {"problems": [{"reason": "first", "kind": "refused"}, {"reason": "second", "kind": "refused"}]},
            " (its last run says: first; second)",
        ),
        ({"problems": [{"operator": "Join", "reason": "two came", "kind": "superset"}]}, ""),
        ({"problems": "many"}, ""),
        ("none", ""),
        (None, ""),
    ],
)
async def test_a_coarse_hop_tells_why_its_last_run_has_no_records(store, ask, graph, raw, tmp_path, ledger, said) -> None:
    counts = tmp_path / "counts"
    counts.mkdir()
    (counts / "part-00000").write_text("a\t4\n")
    await state(graph, "rdd", [str(raw)], str(counts))
    job, run = node_id("job", "other", "rdd"), node_id("run", "r1")
    about = [Node(job, NodeKind.JOB, "rdd", {"lastRun": run}), Node(run, NodeKind.RUN, "r1", {"headwater_capture": ledger})]
    await graph.apply(TENANT, [GraphBatch(Stamp.at("2026-01-02T00:00:00Z", "r1"), about, [])])
    answer = await ask(graph, dataset=str(counts), where="value = 'a\t4'")
    reason = f"its lineage is known by datasets only{said}, so every record of them may have had a part"
    assert [(entry.what, entry.reason, entry.effect) for entry in answer.incomplete] == [(job, reason, "superset")]


_UNCAPTURED = {"state": "COMPLETE"}
_CAPTURED = {"state": "COMPLETE", "capture": {"status": "complete"}}


@pytest.mark.parametrize(
    ("last", "reads", "is_exact"),
    [(_UNCAPTURED, True, False), (_UNCAPTURED, False, True), (_CAPTURED, True, True), ({"state": "FAIL"}, True, True)],
)
async def test_a_later_run_of_a_captured_job_may_have_lineage_by_dataset_only(
    store, ask, graph, raw, tmp_path, last, reads, is_exact
) -> None:
    job = await _filter_and_state(store, graph, raw, tmp_path / "out")
    run = node_id("run", "later")
    inputs = {f"input:dataset:file:{raw}": {}} if reads else {}
    nodes = [Node(job, NodeKind.JOB, "filter", {"lastRun": run}), Node(run, NodeKind.RUN, "later", {**last, **inputs})]
    await graph.apply(TENANT, [GraphBatch(Stamp.at("2026-01-02T00:00:00Z", "later"), nodes, [])])
    answer = await ask(graph, dataset=str(raw), where="v = 1", forward=True, to=str(tmp_path / "out"))
    coarse = [TracedRecord(f"dataset:file:{tmp_path / 'out'}", None, None, Grain.DATASET)]
    assert (answer.exact, answer.records) == (is_exact, [] if is_exact else coarse)


@pytest.mark.parametrize(("inputs", "is_exact"), [("the same", False), ("unknown", False), ("others", True)])
async def test_a_refused_query_with_the_same_output_is_followed_by_datasets(store, ask, graph, raw, tmp_path, inputs, is_exact) -> None:
    """An RDD program that reads the source again, in another query that appends to the output. Both queries are one job."""
    await _filter_and_state(store, graph, raw, tmp_path / "out")
    refused = Job(store, "filter", 2, status="refused", part="rdd", said={"mode": "append"})
    refused.write(refused.scan(tmp_path / "nothing", "csv", COLUMNS, RAW), tmp_path / "out", "parquet", list(COLUMNS), files=1)
    if inputs != "unknown":
        read = str(raw) if inputs == "the same" else "/others"
        nodes = [Node(node_id("run", refused.run), NodeKind.RUN, "r", {f"input:dataset:file:{read}": {}})]
        await graph.apply(TENANT, [GraphBatch(Stamp.at("2026-01-02T00:00:00Z", "r"), nodes, [])])
    answer = await ask(graph, dataset=str(raw), where="v = 1", forward=True, to=str(tmp_path / "out"))
    assert (answer.exact, len(answer.records)) == (is_exact, int(not is_exact))


async def _filter_and_state(store, graph, raw, out) -> str:
    """A captured job that keeps the records with large values, which the graph knows, too. Return its id."""
    job = Job(store, "filter", 1)
    rows = job.scan(raw, "csv", COLUMNS, RAW)
    job.write(job.filter(rows, lambda values: (values["v"] or 0) > 4, ["v"]), out, "parquet", list(COLUMNS), files=1)
    identifier, edges = node_id("job", "tests", "filter"), (f"dataset:file:{raw}", f"dataset:file:{out}")
    links = [Edge(edges[0], identifier, EdgeKind.READS), Edge(identifier, edges[1], EdgeKind.WRITES)]
    await graph.apply(TENANT, [GraphBatch(Stamp.at("2026-01-01T00:00:00Z", "filter"), [], links)])
    return identifier


async def test_a_dataset_that_only_the_graph_knows_is_traced_by_datasets(store, ask, graph, raw, tmp_path) -> None:
    counts = tmp_path / "counts"
    counts.mkdir()
    (counts / "part-00000").write_text("a\t4\nb\t2\n")
    await state(graph, "rdd", [str(raw)], str(counts))
    answer = await ask(graph, dataset=str(counts), where="value LIKE 'a%'")
    assert [record.values for record in answer.selected] == [{"value": "a\t4"}]
    assert answer.records == [TracedRecord(f"dataset:file:{raw}", None, None, Grain.DATASET)]
    assert not answer.exact


async def test_what_a_run_that_failed_left_is_no_data(store, ask, graph, tmp_path) -> None:
    out = tmp_path / "out"
    (out / "_temporary" / "0").mkdir(parents=True)
    (out / "_temporary" / "0" / "part-00000.txt").write_text("half a line")
    await state(graph, "failed", ["/raw"], str(out))
    with pytest.raises(NotFoundError, match=rf"{out} has no records: there is no file of data in {out}\."):
        await ask(graph, dataset=str(out), where="x = 1")
    page = await preview(graph, store, TENANT, node_id("dataset", "file", str(out)))
    assert (list(page.rows), "has no records" in (page.note or "")) == ([], True)


async def test_forward_through_a_coarse_hop_says_so(store, ask, graph, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    await state(graph, "rdd", [str(raw)], "/counts")
    await state(graph, "copy1", [str(raw)], str(tmp_path / "out"))  # under another namespace: not the captured job
    answer = await ask(graph, dataset=str(raw), rows=[(str(raw), 0)], forward=True)
    assert {(record.grain, record.dataset) for record in answer.records} == {
        (Grain.RECORD, f"dataset:file:{tmp_path}/out"),
        (Grain.DATASET, "dataset:file:/counts"),
    }
    assert not answer.exact


async def test_what_a_captured_job_did_not_make_of_a_record_is_not_lifted(store, ask, graph, raw, tmp_path) -> None:
    job = Job(store, "big", 1)
    scan = job.scan(raw, "csv", COLUMNS, RAW)
    job.write(job.filter(scan, lambda v: (v["v"] or 0) > 8, ["v"]), tmp_path / "out", "parquet", list(COLUMNS))
    identifier = node_id("job", "tests", "big")
    edges = [Edge(f"dataset:file:{raw}", identifier, EdgeKind.READS), Edge(identifier, f"dataset:file:{tmp_path}/out", EdgeKind.WRITES)]
    await graph.apply(TENANT, [GraphBatch(Stamp.at("2026-01-01T00:00:00Z", "x"), (), edges)])
    answer = await ask(graph, dataset=str(raw), rows=[(str(raw), 0)], forward=True)
    assert (list(answer.records), answer.exact) == ([], True)


async def test_a_part_of_what_a_coarse_hop_wrote_is_lifted_through_it(store, ask, graph, tmp_path) -> None:
    part = write_csv(tmp_path / "mid" / "k=1" / "t.csv", list(COLUMNS), ROWS)
    copy(store, part, tmp_path / "out", 1)
    await state(graph, "partition", ["/far/away"], str(tmp_path / "mid"))
    await state(graph, "beside", ["/other"], str(tmp_path / "midst"))
    answer = await ask(graph, dataset=str(tmp_path / "out"), where="v = 5")
    assert answer.records == [TracedRecord("dataset:file:/far/away", None, None, Grain.DATASET)]
    assert not answer.exact
    assert [entry.effect for entry in answer.incomplete] == ["superset"]


async def test_forward_from_a_part_of_what_a_coarse_hop_read(store, ask, graph, tmp_path) -> None:
    part = write_csv(tmp_path / "mid" / "k=1" / "t.csv", list(COLUMNS), ROWS)
    copy(store, part, tmp_path / "out", 1)
    await state(graph, "sum", [str(tmp_path / "mid")], "/sums")
    answer = await ask(graph, dataset=str(part), rows=[(str(part), 0)], forward=True)
    assert {(record.grain, record.dataset) for record in answer.records} == {
        (Grain.RECORD, f"dataset:file:{tmp_path}/out"),
        (Grain.DATASET, "dataset:file:/sums"),
    }
    assert not answer.exact


@pytest.mark.parametrize(
    ("run", "job", "is_hop"),
    [
        ({"state": "FAIL"}, {}, False),
        ({"state": "ABORT"}, {}, False),
        ({"state": "FAIL", "capture": {"status": "complete"}}, {}, True),  # it failed after its commit
        ({"state": "FAIL"}, {"lastComplete": node_id("run", "earlier")}, True),
        ({"state": "START"}, {}, True),  # a stream may run for ever
        ({"state": "COMPLETE"}, {}, True),
    ],
)
async def test_a_job_whose_every_run_failed_is_no_hop(store, ask, graph, raw, tmp_path, run, job, is_hop) -> None:
    copy(store, raw, tmp_path / "out", 1)
    await state(graph, "update", [str(raw)], str(raw))
    await state(graph, "update", [str(raw)], "/elsewhere")
    identifier, last = node_id("job", "other", "update"), node_id("run", "r1")
    about = [Node(identifier, NodeKind.JOB, "update", {"lastRun": last, **job}), Node(last, NodeKind.RUN, "r1", run)]
    await graph.apply(TENANT, [GraphBatch(Stamp.at("2026-01-02T00:00:00Z", "r1"), about, [])])
    answer = await ask(graph, dataset=str(raw), rows=[(str(raw), 0)], forward=True)
    assert [record.dataset for record in answer.records if record.grain is Grain.DATASET] == ["dataset:file:/elsewhere"] * is_hop
    assert answer.exact is not is_hop


async def test_records_stay_in_an_answer_where_a_job_reads_what_it_writes(store, ask, graph, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    before = await ask(graph, dataset=str(tmp_path / "out"), where="v = 5")
    await state(graph, "in place", [str(raw)], str(raw))
    after = await ask(graph, dataset=str(tmp_path / "out"), where="v = 5")
    assert (records(after), len(after.records)) == (records(before), 1)
    assert not after.exact


async def test_a_circle_of_jobs_ends_at_all_of_its_datasets(store, ask, graph, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    await state(graph, "there", [str(raw)], "/between")
    await state(graph, "back", ["/between"], str(raw))
    answer = await ask(graph, dataset=str(tmp_path / "out"), where="v = 5")
    assert records(answer) >= {("t.csv", 0)}
    assert [record.dataset for record in answer.records if record.grain is Grain.DATASET] == ["dataset:file:/between"]
    assert not answer.exact


async def test_a_circle_further_away_is_where_the_answer_ends(store, ask, graph, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    await state(graph, "load", ["/a"], str(raw))
    await state(graph, "there", ["/a"], "/b")
    await state(graph, "back", ["/b"], "/a")
    answer = await ask(graph, dataset=str(tmp_path / "out"), where="v = 5")
    assert answer.records == [TracedRecord(f"dataset:file:/{name}", None, None, Grain.DATASET) for name in "ab"]
    await state(graph, "fetch", ["/far"], "/b")
    answer = await ask(graph, dataset=str(tmp_path / "out"), where="v = 5")
    assert answer.records == [TracedRecord("dataset:file:/far", None, None, Grain.DATASET)]


async def test_a_captured_job_behind_a_coarse_hop_is_followed_by_datasets(store, ask, graph, raw, tmp_path) -> None:
    """No record of `mid` was followed through its captured reader, so everything that the reader made may derive from them."""
    other = write_csv(tmp_path / "other.csv", list(COLUMNS), ROWS)
    copy(store, other, tmp_path / "mid", 1)
    copy(store, tmp_path / "mid", tmp_path / "beyond", 2)
    await state(graph, "load", [str(raw)], str(tmp_path / "mid"))
    mid, beyond, job = (f"dataset:file:{tmp_path}/mid", f"dataset:file:{tmp_path}/beyond", "job:tests:copy2")
    links = [Edge(mid, job, EdgeKind.READS), Edge(job, beyond, EdgeKind.WRITES)]
    await graph.apply(TENANT, [GraphBatch(Stamp.at("2026-01-02T00:00:00Z", "x"), [Node(job, NodeKind.JOB, "copy2")], links)])
    answer = await ask(graph, dataset=str(raw), rows=[(str(raw), 0)], forward=True)
    assert [(record.grain, record.dataset) for record in answer.records] == [(Grain.DATASET, beyond)]
