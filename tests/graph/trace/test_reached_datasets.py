"""All datasets downstream of records: what each holds of them, and whether anything may be missing."""

import os
import random
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.graph.model import Edge, EdgeKind, GraphBatch, Node, NodeKind, Stamp, node_id
from headwater.graph.trace import Grain
from tests.graph.jobs import TENANT, Job, write_csv
from tests.graph.trace.small import COLUMNS, RAW, ROWS, copy
from tests.graph.trace.test_coarse_hops import state


def _keep_large(store, source: Path, target: Path, clock: int, least: int) -> None:
    job = Job(store, f"large{clock}", clock)
    format_ = "csv" if source.suffix == ".csv" else "parquet"
    scan = job.scan(source, format_, COLUMNS, RAW if format_ == "csv" else {})
    job.write(job.filter(scan, lambda values: (values["v"] or 0) >= least, ["v"]), target, "parquet", list(COLUMNS))


async def _reach(ask, graph, dataset: Path, **request):
    answer = await ask(graph, dataset=str(dataset), forward=True, everywhere=True, **request)
    return answer, {Path(one.dataset).name: one for one in answer.reached}


async def test_every_dataset_on_the_way_is_listed_also_without_a_record(store, ask, graph, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "clean", 1)
    _keep_large(store, tmp_path / "clean", tmp_path / "large", 2, 6)
    answer, reached = await _reach(ask, graph, raw, where="k = 'a' AND v = 5")
    assert {name: (one.records, one.complete, one.exact) for name, one in reached.items()} == {
        "clean": (1, True, True), "large": (0, True, True),
    }  # fmt: skip
    assert answer.exact
    assert answer.total == 1


async def test_a_record_that_was_overwritten_is_former(store, ask, graph, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "clean", 1)
    _keep_large(store, tmp_path / "clean", tmp_path / "large", 2, 5)
    shutil.rmtree(tmp_path / "clean")
    _keep_large(store, raw, tmp_path / "clean", 3, 6)
    answer, reached = await _reach(ask, graph, raw, where="v = 5")
    assert (reached["clean"].records, reached["clean"].former) == (0, 1)
    assert (reached["large"].records, reached["large"].former, reached["large"].exact) == (1, 0, True)
    assert {(Path(record.dataset).name, record.is_former) for record in answer.records} == {("clean", True), ("large", False)}


async def test_a_hop_by_dataset_makes_all_datasets_behind_it_incomplete(store, ask, graph, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "clean", 1)
    await state(graph, "other", [str(raw)], str(tmp_path / "mid"))
    write_csv(tmp_path / "mid" / "t.csv", list(COLUMNS), ROWS)
    copy(store, tmp_path / "mid" / "t.csv", tmp_path / "beyond", 2)
    links = [
        Edge(node_id("dataset", "file", str(tmp_path / "mid")), node_id("job", "tests", "copy2"), EdgeKind.READS),
        Edge(node_id("job", "tests", "copy2"), node_id("dataset", "file", str(tmp_path / "beyond")), EdgeKind.WRITES),
    ]
    nodes = [Node(node_id("job", "tests", "copy2"), NodeKind.JOB, "copy2")]
    await graph.apply(TENANT, [GraphBatch(Stamp.at("2026-01-03T00:00:00Z", "l"), nodes, links)])
    answer, reached = await _reach(ask, graph, raw, where="v = 5")
    assert (reached["clean"].complete, reached["clean"].exact) == (True, True)
    assert (reached["mid"].complete, reached["mid"].coarse) == (False, True)
    assert not reached["beyond"].complete
    assert "its lineage is known by datasets only" in " ".join(reached["beyond"].reasons)
    assert not answer.exact
    assert {Path(record.dataset).name for record in answer.records if record.grain is Grain.DATASET} >= {"mid"}


async def test_a_superset_in_one_branch_leaves_the_other_exact(store, ask, graph, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "exact", 1)
    job = Job(store, "unsure", 2)
    scan = job.scan(raw, "csv", COLUMNS, RAW)
    job.problems.append({"operator": "Limit", "reason": "any may be", "kind": "superset"})
    job.write(scan, tmp_path / "unsure", "parquet", list(COLUMNS))
    copy(store, tmp_path / "unsure", tmp_path / "after", 3)
    _, reached = await _reach(ask, graph, raw, where="v = 5")
    assert {name: (one.complete, one.exact) for name, one in reached.items()} == {
        "exact": (True, True), "unsure": (True, False), "after": (True, False),
    }  # fmt: skip


async def test_a_file_that_no_known_run_wrote_makes_a_dataset_incomplete(store, ask, graph, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "clean", 1)
    copy(store, tmp_path / "clean", tmp_path / "after", 2)
    copy(store, raw, tmp_path / "beside", 3)
    pq.write_table(pa.table({"k": ["a"], "v": [5]}), tmp_path / "clean" / "unknown.parquet")
    _, reached = await _reach(ask, graph, raw, where="v = 5")
    assert (reached["clean"].complete, reached["beside"].complete) == (False, True)
    assert not reached["after"].complete  # a run may have read the file
    assert "no known run wrote 1 of its files" in reached["clean"].reasons[0]


async def test_a_file_without_records_needs_no_writer(store, ask, graph, raw, tmp_path) -> None:
    """A task without a row writes a file that no capture names."""
    copy(store, raw, tmp_path / "clean", 1)
    pq.write_table(pa.table({"k": pa.array([], pa.string()), "v": pa.array([], pa.int64())}), tmp_path / "clean" / "empty.parquet")
    _, reached = await _reach(ask, graph, raw, where="v = 5")
    assert (reached["clean"].complete, reached["clean"].exact) == (True, True)


async def test_what_an_earlier_state_of_the_source_went_into_is_incomplete(store, ask, graph, raw, tmp_path) -> None:
    """No predicate can search a file that was overwritten, so its records may be in everything made of it."""
    copy(store, raw, tmp_path / "old", 1)
    copy(store, tmp_path / "old", tmp_path / "older", 2)
    copy(store, raw, tmp_path / "replaced", 3)
    write_csv(raw, list(COLUMNS), [["a", 5], ["z", 10]])
    os.utime(raw, (10, 10))
    copy(store, raw, tmp_path / "new", 4)
    shutil.rmtree(tmp_path / "replaced")
    copy(store, raw, tmp_path / "replaced", 5)
    _, reached = await _reach(ask, graph, raw, where="v = 5")
    assert {name: (one.records, one.complete) for name, one in reached.items()} == {
        "old": (0, False), "older": (0, False), "new": (1, True), "replaced": (1, True),
    }  # fmt: skip
    assert "a state of" in reached["older"].reasons[0]
    _, chosen = await _reach(ask, graph, raw, rows=[(str(raw), 0)])
    assert {one.complete for one in chosen.values()} == {True}  # the caller chose these records, and no others


async def test_a_dataset_that_is_gone_is_not_called_complete(store, ask, graph, raw, tmp_path) -> None:
    copy(store, raw, tmp_path / "clean", 1)
    shutil.rmtree(tmp_path / "clean")
    _, reached = await _reach(ask, graph, raw, where="v = 5")
    assert not reached["clean"].complete
    assert "nothing at" in reached["clean"].reasons[0]


async def test_a_trace_upstream_has_no_datasets_on_the_way(store, ask, graph, raw, tmp_path) -> None:
    from headwater.errors import InvalidQueryError

    copy(store, raw, tmp_path / "clean", 1)
    with pytest.raises(InvalidQueryError, match="downstream"):
        await ask(graph, dataset=str(tmp_path / "clean"), where="v = 5", everywhere=True)


@pytest.mark.parametrize("seed", range(20))
async def test_random_pipelines_against_brute_force(store, ask, graph, tmp_path, seed) -> None:
    """Jobs of filters over random datasets. Each row has an id of its own, so brute force reads the files and compares ids."""
    chance = random.Random(seed)
    source = write_csv(tmp_path / "raw" / "t.csv", list(COLUMNS), [[f"r{n % 7}", n] for n in range(40)])
    datasets = [source]
    for clock in range(1, chance.randint(3, 8)):
        target = tmp_path / f"d{chance.randint(1, 4)}"
        if target.exists():
            shutil.rmtree(target)
        choices = [one for one in datasets if one.exists() and one != target]
        _keep_large(store, chance.choice(choices), target, clock, chance.randint(0, 30))
        datasets = [*dict.fromkeys([*datasets, target])]
    _, reached = await _reach(ask, graph, source, where="k = 'r3'")
    ids = {n for n in range(40) if n % 7 == 3}
    for target in datasets[1:]:
        held = {v for file in target.glob("*.parquet") for v in pq.read_table(file)["v"].to_pylist()} if target.exists() else set()
        one = reached[target.name]
        assert (one.records, one.complete, one.exact) == (len(held & ids), True, True), target
