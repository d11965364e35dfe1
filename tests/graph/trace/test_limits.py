"""What a trace cannot know is said: changed files, coarse hops, functions that are not evaluated, and questions that make no sense."""

import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp, node_id
from headwater.graph.records import AssociationStore
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graph.trace import Grain, Semantics, TracedRecord
from headwater.graph.trace.preview import preview
from tests.graph.jobs import TENANT, Job, Row, write_csv
from tests.graph.trace.conftest import records

COLUMNS = {"k": "string", "v": "int"}
RAW = {"header": "true", "nullvalue": "NA"}
ROWS: list[list[Any]] = [["a", 5], ["b", 1], ["a", 9], ["a", None], ["b", 7], ["a", 9]]


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "raw" / "t.csv", list(COLUMNS), ROWS)


def copy(store: AssociationStore, source: Path, target: Path, clock: int, format_: str = "parquet") -> None:
    job = Job(store, f"copy{clock}", clock)
    of_csv = source.suffix == ".csv"
    job.write(job.scan(source, "csv" if of_csv else "parquet", COLUMNS, RAW if of_csv else {}), target, format_, list(COLUMNS))


def grouped(store: AssociationStore, source: Path, target: Path, fn: str, *, distinct: bool = False, **of_function: object) -> None:
    """`fn(v)` by `k`; the values themselves do not matter."""
    job = Job(store, "group", 9)
    scan = job.scan(source, "csv", COLUMNS, RAW)
    call = job.aggregation(fn, job.attr(scan, "v"), distinct=distinct, **of_function)
    job.write(job.aggregate(scan, ["k"], {"x": (call, len, "bigint")}), target, "parquet", ["k", "x"], files=1)


@pytest.mark.parametrize(
    ("fn", "distinct", "expected"),
    [("max", False, {2}), ("min", False, {0}), ("count", True, {0, 2}), ("sum", False, {0, 2, 3, 5}), ("count", False, {0, 2, 3, 5})],
)
async def test_each_function_takes_its_rows(store, ask, raw, tmp_path, fn, distinct, expected) -> None:
    grouped(store, raw, tmp_path / "out", fn, distinct=distinct)
    answer = await ask(dataset=str(tmp_path / "out"), where="k = 'a'", column="x", semantics=Semantics.WITNESS)
    assert {row for _, row in records(answer)} == expected
    assert answer.exact


@pytest.mark.parametrize("fn", ["first", "any_value"])
async def test_the_engines_free_choice_is_a_superset_and_said(store, ask, raw, tmp_path, fn) -> None:
    grouped(store, raw, tmp_path / "out", fn)
    answer = await ask(dataset=str(tmp_path / "out"), where="k = 'a'", column="x", semantics=Semantics.WITNESS)
    assert {row for _, row in records(answer)} == {0, 2, 3, 5}
    assert not answer.exact
    assert [(entry.effect, fn in entry.what) for entry in answer.incomplete] == [("superset", True)]


async def test_an_argument_that_is_not_evaluated_leaves_the_whole_group_and_names_the_operator(store, ask, raw, tmp_path) -> None:
    job = Job(store, "udf", 9)
    scan = job.scan(raw, "csv", COLUMNS, RAW)
    call = {"fn": "python_udf", "name": "twice", "args": [job.attr(scan, "v")], "type": "int", "sql": "twice(v)"}
    doubled = job.project(scan, {"w": (lambda v: v["v"] and 2 * v["v"], call, "int")})
    job.write(
        job.aggregate(doubled, ["k"], {"x": (job.aggregation("max", job.attr(doubled, "w")), len, "bigint")}),
        tmp_path / "out",
        "parquet",
        ["k", "x"],
    )
    answer = await ask(dataset=str(tmp_path / "out"), where="k = 'a'", column="x", semantics=Semantics.WITNESS)
    assert {row for _, row in records(answer)} == {0, 2, 3, 5}
    assert not answer.exact
    assert "twice(v)" in answer.incomplete[0].reason
    assert (await ask(dataset=str(tmp_path / "out"), where="k = 'a'")).exact


async def test_expressions_below_an_outer_join_are_null_where_the_side_is_missing(store, ask, tmp_path) -> None:
    """`max(coalesce(v, 100))` of the right side, defined below the join: an unmatched row has null, not 100."""
    left = write_csv(tmp_path / "l.csv", ["g", "id"], [["x", 1], ["x", 2], ["x", 3]])
    right = write_csv(tmp_path / "r.csv", ["rid", "v"], [[1, 5], [2, 7]])
    job = Job(store, "outer", 9)
    a = job.scan(left, "csv", {"g": "string", "id": "int"}, RAW)
    b = job.scan(right, "csv", {"rid": "int", "v": "int"}, RAW)
    call = job.function("coalesce", job.attr(b, "v"), job.literal(100, "int"), kind="int")
    filled = job.project(b, {"w": (lambda v: 100 if v["v"] is None else v["v"], call, "int")})
    joined = job.join(a, filled, [("id", "rid")], "left")
    most = job.aggregation("max", job.attr(joined, "w"))
    job.write(
        job.aggregate(joined, ["g"], {"x": (most, lambda rows: max(r.values["w"] or 0 for r in rows), "int")}),
        tmp_path / "out",
        "parquet",
        ["g", "x"],
    )
    answer = await ask(dataset=str(tmp_path / "out"), column="x", semantics=Semantics.WITNESS)
    assert records(answer) == {("l.csv", 1), ("r.csv", 1)}
    assert answer.exact


@pytest.mark.parametrize("numbered", [False, True])
async def test_ties_and_inner_aggregates_take_the_first_source_record(store, ask, tmp_path, monkeypatch, numbered) -> None:
    """max(sum) over groups: both groups of `a` sum to 6; the one with the earlier record is taken, and all of it."""
    monkeypatch.setattr(Job, "second_hashes", numbered)
    source = write_csv(tmp_path / "t.csv", ["k", "g", "v"], [["a", "q", 1], ["a", "p", 6], ["a", "q", 5], ["a", "r", 2]])
    job = Job(store, "nested", 9)
    scan = job.scan(source, "csv", {"k": "string", "g": "string", "v": "int"}, RAW)

    def total(rows: list[Row]) -> int:
        return sum(row.values["v"] for row in rows)

    sums = job.aggregate(scan, ["k", "g"], {"s": (job.aggregation("sum", job.attr(scan, "v")), total, "bigint")})
    most = job.aggregate(sums, ["k"], {"x": (job.aggregation("max", job.attr(sums, "s")), len, "bigint")})
    job.write(most, tmp_path / "out", "parquet", ["k", "x"])
    answer = await ask(dataset=str(tmp_path / "out"), column="x", semantics=Semantics.WITNESS)
    assert {row for _, row in records(answer)} == {0, 2}
    assert answer.exact


async def test_a_source_that_changed_is_said_and_its_values_are_left_out(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    raw.write_text(raw.read_text().replace("5", "6"))
    os.utime(raw, (1, 1))
    answer = await ask(dataset=str(tmp_path / "out"), where="v = 5", values=True)
    assert [(record.row, dict(record.values)) for record in answer.records] == [(0, {})]
    (entry,) = answer.incomplete
    assert (entry.effect, entry.what) == ("unreadable", f"file:{raw}")
    assert "has changed since the run" in entry.reason
    assert answer.exact


async def test_a_source_that_is_gone_is_said(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    raw.unlink()
    answer = await ask(dataset=str(tmp_path / "out"), where="v = 5", values=True)
    assert records(answer) == {("t.csv", 0)}
    assert "cannot be read any more" in answer.incomplete[0].reason


async def test_a_source_that_changed_is_said_where_its_values_are_not_asked_for(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    raw.write_text("k,v\nother,1\n")
    answer = await ask(dataset=str(tmp_path / "out"), where="v = 5", values=False)
    assert records(answer) == {(raw.name, 0)}
    (entry,) = answer.incomplete
    assert (entry.effect, "has changed since the run" in entry.reason) == ("unreadable", True)


async def test_records_to_begin_with_need_not_be_read(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    file = next(str(path) for path in sorted((tmp_path / "out").glob("*.parquet")) if pq.read_metadata(path).num_rows > 1)
    for values in (True, False):
        answer = await ask(dataset=str(tmp_path / "out"), rows=[(file, 1)], values=False, selected_values=values)
        assert [(record.row, bool(record.values)) for record in answer.selected] == [(1, values)]
        assert len(answer.records) == 1
        with pytest.raises(InvalidQueryError, match="has no record 99"):
            await ask(dataset=str(tmp_path / "out"), rows=[(file, 1), (file, 99)], selected_values=values)
        with pytest.raises(InvalidQueryError, match="has no column x"):
            await ask(dataset=str(tmp_path / "out"), rows=[(file, 1)], column="x", semantics=Semantics.WITNESS, selected_values=values)


async def test_a_witness_that_needs_a_changed_source_is_a_superset(store, ask, raw, tmp_path) -> None:
    grouped(store, raw, tmp_path / "out", "max")
    os.utime(raw, (1, 1))
    answer = await ask(dataset=str(tmp_path / "out"), where="k = 'a'", column="x", semantics=Semantics.WITNESS)
    assert {row for _, row in records(answer)} == {0, 2, 3, 5}
    assert [entry.effect for entry in answer.incomplete] == ["superset", "unreadable"]


async def test_a_record_of_a_split_cannot_be_numbered_once_its_file_changed(store, ask, raw, tmp_path) -> None:
    job = Job(store, "split", 1)
    scan = job.scan(raw, "csv", COLUMNS, RAW, splits={"t.csv": [0, 12]})
    job.write(scan, tmp_path / "out", "parquet", list(COLUMNS))
    os.utime(raw, (1, 1))
    answer = await ask(dataset=str(tmp_path / "out"), where="v = 7")
    (record,) = answer.records
    assert (record.grain, record.file, record.row) == (Grain.PARTITION, f"file:{raw}", None)
    assert not answer.exact


async def test_a_file_that_was_overwritten_by_someone_unknown_ends_the_lineage_and_is_said(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "mid", 1)
    for file in (tmp_path / "mid").glob("*.parquet"):
        os.utime(file, (1, 1))
    copy(store, tmp_path / "mid", tmp_path / "out", 5)
    answer = await ask(dataset=str(tmp_path / "out"), where="v = 5")
    assert records(answer) == {("part-00000.parquet", 0)}
    assert answer.records[0].dataset == f"dataset:file:{tmp_path}/mid"
    assert [entry.effect for entry in answer.incomplete] == ["missing"]


async def test_csv_between_jobs_is_linked_by_position(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "mid", 1, "csv")
    job = Job(store, "renamed", 5)
    scan = job.scan(tmp_path / "mid", "csv", {"name": "string", "number": "int"}, {"header": "true"})
    most = job.aggregation("max", job.attr(scan, "number"))
    job.write(job.aggregate(scan, ["name"], {"x": (most, len, "bigint")}), tmp_path / "out", "parquet", ["name", "x"])
    answer = await ask(dataset=str(tmp_path / "out"), where="name = 'b'", column="x", semantics=Semantics.WITNESS)
    assert records(answer) == {("t.csv", 4)}
    assert answer.exact


@pytest.fixture
async def graph(tmp_path):
    opened = SqliteStore(str(tmp_path / "graph.db"))
    await opened.open()
    yield opened
    await opened.close()


@pytest.mark.parametrize("name", ["path/x", "/path/x"])
async def test_a_dataset_elsewhere_has_no_rows_here_and_is_named_by_its_address(store, graph, name) -> None:
    identifier = node_id("dataset", "s3://bucket", name)
    await graph.apply(TENANT, [GraphBatch(Stamp.at("2026-01-01T00:00:00Z", "x"), [Node(identifier, NodeKind.DATASET, name)], [])])
    page = await preview(graph, store, TENANT, identifier)
    assert list(page.rows) == []
    assert "s3://bucket/path/x is not on a local file system" in (page.note or "")


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


@pytest.mark.parametrize("name", ["out", "dataset:file:{}/out", "{}/out", "file:{}/out", "{}/out/"])
async def test_a_dataset_is_found_by_id_name_path_or_the_end_of_it(store, ask, raw, tmp_path, name) -> None:
    copy(store, raw, tmp_path / "out", 1)
    assert (await ask(dataset=name.format(tmp_path), where="v = 5")).total == 1


async def test_an_unknown_dataset_names_what_is_near(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "reports", 1)
    with pytest.raises(NotFoundError, match=r"No dataset is called .*report.*Near are: .*/reports"):
        await ask(dataset=f"{tmp_path}/report")


async def test_an_ambiguous_name_lists_the_ids(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "x" / "out", 1)
    copy(store, raw, tmp_path / "y" / "out", 2)
    with pytest.raises(InvalidQueryError, match="2 datasets are called out"):
        await ask(dataset="out")


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("v =", "does not parse"),
        ("w = 5", r"w.*The columns are: k, v\."),
        ("v IN (SELECT 1)", "more than a condition"),
        ("EXISTS (FROM read_text('/etc/hostname'))", "more than a condition"),
        ("true) UNION SELECT (1", "more than a condition|does not parse"),
        ("true); DROP TABLE t; SELECT (1", "does not parse|more than a condition"),
        ("v = 'x'", "cannot be used"),
        ("CAST(k AS INTEGER) = 1", "cannot be used"),
        ("strptime(k, '%Y') IS NULL", "cannot be used"),
    ],
)
async def test_a_predicate_that_cannot_be_used_says_why(store, ask, raw, tmp_path, where, message) -> None:
    copy(store, raw, tmp_path / "out", 1)
    with pytest.raises(InvalidQueryError, match=message) as caught:
        await ask(dataset="out", where=where)
    assert caught.value.field == "where"


async def test_a_column_or_row_that_is_not_there_is_refused(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    with pytest.raises(InvalidQueryError, match=r"no column w\. It has k, v"):
        await ask(dataset="out", where="v = 5", column="w")
    with pytest.raises(InvalidQueryError, match="has no record 6"):
        await ask(dataset=str(raw), rows=[(str(raw), 6)], forward=True)
    with pytest.raises(NotFoundError, match="is no file of this dataset"):
        await ask(dataset="out", rows=[("/elsewhere", 0)])


async def test_the_limit_cuts_the_list_and_the_total_counts_on(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    answer = await ask(dataset="out", limit=2)
    assert ([record.row for record in answer.records], answer.total) == ([0, 1], 6)


async def test_tenants_see_nothing_of_each_other(store, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    with pytest.raises(NotFoundError):
        await preview(None, store, "other", "out")


async def test_a_page_of_rows_has_values_places_and_lineage(store, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    page = await preview(None, store, TENANT, "out", where="k = 'a'", first=2, offset=1)
    assert [(Path(row.file).name, row.row, list(row.values)) for row in page.rows] == [
        ("part-00000.parquet", 2, ["a", 9]),
        ("part-00001.parquet", 0, ["a", None]),
    ]
    assert (page.total, page.has_record_lineage, page.note) == (4, True, None)
    assert [name for name, _ in page.columns] == ["k", "v"]


async def test_a_dataset_that_is_gone_gives_no_rows_and_a_note(store, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    (tmp_path / "out").rename(tmp_path / "elsewhere")
    page = await preview(None, store, TENANT, "out")
    assert (page.rows, page.total) == ((), 0)
    assert "there is nothing at" in (page.note or "")


async def test_what_became_of_records_of_a_file_that_has_changed_since_it_was_read_is_not_known(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    with raw.open("a") as file:
        file.write("c,3\n")
    answer = await ask(dataset=str(raw), where="v = 5", forward=True)
    (entry,) = answer.incomplete
    assert (answer.exact, answer.total, entry.what, entry.effect) == (False, 0, f"file:{raw}", "missing")
    assert "has changed since job copy1 read it" in entry.reason
    copy(store, raw, tmp_path / "again", 2)
    answer = await ask(dataset=str(raw), where="v = 5", forward=True)
    assert (answer.exact, len(records(answer)), answer.incomplete) == (True, 1, [])


async def test_records_that_a_known_run_wrote_over_others_are_known_to_be_read_by_nobody(store, ask, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "out", 1)
    (file,) = (str(path) for path in (tmp_path / "out").glob("*0.parquet"))
    copy(store, Path(file), tmp_path / "final", 2)
    with raw.open("a") as more:
        more.write("c,3\nd,4\n")
    copy(store, raw, tmp_path / "out", 3)
    answer = await ask(dataset=str(tmp_path / "out"), rows=[(file, 0)], forward=True)
    assert (answer.exact, answer.total, answer.incomplete) == (True, 0, [])
