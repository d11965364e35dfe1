"""Traces of datasets as they were: by an instant, a run, a version, a snapshot; and by the name of a table."""

import shutil
from pathlib import Path

import pytest

from headwater.errors import InvalidQueryError, NotFoundError, UnsupportedError
from headwater.graph.model import EdgeKind, Stamp, node_id
from headwater.graph.records import AssociationStore
from tests.graph.jobs import TENANT, Job, write_csv
from tests.graph.trace.conftest import records
from tests.graph.trace.small import COLUMNS, RAW


def ran(
    store: AssociationStore, root: Path, clock: int, rows: list[list], *, mode: str = "overwrite", status: str = "complete", **said
) -> Job:
    """A run that copies rows of a file of its own to `out`. Files of its run have names of their own."""
    raw, out = write_csv(root / "raw" / f"{clock}.csv", list(COLUMNS), rows), root / "out"
    if mode == "overwrite" and not said.get("dynamic") and out.exists():
        shutil.rmtree(out)
    job = Job(store, "copy", clock, part=f"run{clock}", status=status, said={"mode": mode, **said})
    by = "k" if said.get("partition_columns") else None
    job.write(job.scan(raw, "csv", COLUMNS, RAW), out, "parquet", list(COLUMNS), files=1, partition_by=by)
    return job


def at(clock: int) -> str:
    """Just after the run of a clock."""
    return f"2026-01-01T00:{clock:02d}:31Z"


@pytest.fixture
def history(store, tmp_path) -> list[Job]:
    """Replaced, added to, replaced again: at 1, 2, and 5."""
    return [
        ran(store, tmp_path, 1, [["a", 1], ["b", 2]]),
        ran(store, tmp_path, 2, [["c", 3]], mode="append"),
        ran(store, tmp_path, 5, [["d", 4]]),
    ]


@pytest.mark.parametrize(
    ("clock", "raw"), [(1, {("1.csv", 0), ("1.csv", 1)}), (2, {("1.csv", 0), ("1.csv", 1), ("2.csv", 0)}), (5, {("5.csv", 0)})]
)
async def test_all_records_of_a_version_are_traced_by_instant_and_by_run(ask, tmp_path, history, clock, raw) -> None:
    job = next(job for job in history if job.clock == clock)
    version = node_id("version", "file", str(tmp_path / "out"), job.run)
    for as_of in (at(clock), f"2026-01-01T00:{clock:02d}:30+00:00", job.run, f"run:{job.run.upper()}", version):
        answer = await ask(dataset=str(tmp_path / "out"), where="true", as_of=as_of)
        assert records(answer) == raw, as_of
        assert answer.exact
        assert answer.as_of is not None
        assert answer.as_of.runs[0] == f"run:{job.run}"
    assert len(answer.as_of.runs) == (2 if clock == 2 else 1)


async def test_a_record_of_files_that_are_gone_is_traced_by_its_place(ask, tmp_path, history) -> None:
    gone = tmp_path / "out" / "run1-00000.parquet"
    answer = await ask(dataset=str(tmp_path / "out"), rows=[(str(gone), 1)], as_of=at(2))
    assert records(answer) == {("1.csv", 1)}
    assert answer.exact
    with pytest.raises(InvalidQueryError, match="has no record 2"):
        await ask(dataset=str(tmp_path / "out"), rows=[(str(gone), 2)], as_of=at(2))
    with pytest.raises(NotFoundError, match="is no file of this dataset"):
        await ask(dataset=str(tmp_path / "out"), rows=[(str(gone), 1)], as_of=at(5))


async def test_files_that_are_gone_cannot_be_searched(ask, tmp_path, history) -> None:
    with pytest.raises(UnsupportedError, match="cannot be searched as of"):
        await ask(dataset=str(tmp_path / "out"), where="v = 1", as_of=at(1))


async def test_a_version_whose_files_are_there_is_searched_without_what_came_later(store, ask, tmp_path) -> None:
    ran(store, tmp_path, 1, [["a", 1], ["b", 2]])
    ran(store, tmp_path, 2, [["a", 3]], mode="append")
    for clock, raw in ((1, {("1.csv", 0)}), (2, {("1.csv", 0), ("2.csv", 0)})):
        answer = await ask(dataset=str(tmp_path / "out"), where="k = 'a'", as_of=at(clock))
        assert records(answer) == raw
        assert answer.exact


async def test_forward_from_a_source_as_a_run_read_it(store, ask, tmp_path) -> None:
    raw = tmp_path / "raw" / "1.csv"
    first = ran(store, tmp_path, 1, [["a", 1], ["b", 2]])
    ran(store, tmp_path, 2, [["c", 3]], mode="append")
    write_csv(raw, list(COLUMNS), [["z", 9], ["y", 8], ["x", 7]])  # by a program that nobody knows
    answer = await ask(dataset=str(raw), rows=[(str(raw), 1)], forward=True, as_of=first.run)
    assert records(answer) == {("run1-00000.parquet", 1)}
    assert answer.as_of is not None
    assert answer.as_of.is_read
    answer = await ask(dataset=str(raw), rows=[(str(raw), 1)], forward=True)
    assert not answer.exact  # as it is now, nobody has read it


async def test_a_dynamic_overwrite_replaces_the_partitions_that_it_wrote(store, ask, tmp_path) -> None:
    parts = {"partition_columns": ["k"]}
    ran(store, tmp_path, 1, [["a", 1], ["b", 2]], **parts)
    ran(store, tmp_path, 2, [["b", 3]], dynamic=True, **parts)
    answer = await ask(dataset=str(tmp_path / "out"), where="true", as_of=at(2))
    assert records(answer) == {("1.csv", 0), ("2.csv", 0)}
    answer = await ask(dataset=str(tmp_path / "out"), where="true", as_of=at(1))
    assert records(answer) == {("1.csv", 0), ("1.csv", 1)}


async def test_an_overwrite_of_partitions_that_are_not_told_makes_a_superset(store, ask, tmp_path) -> None:
    parts = {"partition_columns": ["k"], "table": "spark_catalog.default.out"}
    ran(store, tmp_path, 1, [["a", 1], ["b", 2]], **parts)
    ran(store, tmp_path, 2, [["b", 3]], **parts)
    answer = await ask(dataset="default.out", where="true", as_of=at(2))
    assert not answer.exact
    assert [item.effect for item in answer.incomplete] == ["superset"]
    assert "replaced some of its partitions" in answer.incomplete[0].reason


async def test_what_was_written_while_it_was_replaced_is_a_superset(store, ask, tmp_path) -> None:
    ran(store, tmp_path, 1, [["a", 1]])
    job = Job(store, "late", 1, part="late", said={"mode": "append"})  # ends when the next begins
    job.write(job.scan(write_csv(tmp_path / "raw" / "l.csv", list(COLUMNS), [["l", 0]]), "csv", COLUMNS, RAW), tmp_path / "out", "parquet",
              list(COLUMNS), files=1)  # fmt: skip
    store.catalog._rows("UPDATE capture SET at = '2026-01-01T00:02:10.000000Z' WHERE capture = ?", [job.capture])
    ran(store, tmp_path, 2, [["b", 1]])
    answer = await ask(dataset=str(tmp_path / "out"), where="true", as_of=at(2))
    assert records(answer) == {("2.csv", 0), ("l.csv", 0)}
    assert not answer.exact


async def test_a_version_by_a_run_without_records_is_refused(store, ask, tmp_path) -> None:
    ran(store, tmp_path, 1, [["a", 1]])
    ran(store, tmp_path, 2, [["b", 1]], status="refused")
    with pytest.raises(UnsupportedError, match="was not captured by record"):
        await ask(dataset=str(tmp_path / "out"), where="true", as_of=at(2))
    assert (await ask(dataset=str(tmp_path / "out"), where="true", as_of=at(1))).exact


@pytest.mark.parametrize("block", ["base", None])
async def test_a_run_that_only_the_graph_knows_is_told_or_refused(store, ask, graph, tmp_path, history, block) -> None:
    from headwater.backend.projection.statement import Statement

    statement = Statement(Stamp.at("2026-01-01T00:03:00Z", "k"))
    version = statement.version("file", str(tmp_path / "out"), "11111111-1111-4111-8111-111111111111")
    about = {"writtenAt": Stamp.at("2026-01-01T00:03:00Z", "").time, "version": {"datasetVersion": "7"}}
    statement.describe(version, about | ({"block": block} if block else {}))
    statement.link(node_id("run", "11111111-1111-4111-8111-111111111111"), version, EdgeKind.WRITES)
    await graph.apply(TENANT, [statement.batch()])
    assert (await ask(graph, dataset=str(tmp_path / "out"), where="true", as_of=at(2))).exact
    assert (await ask(graph, dataset=str(tmp_path / "out"), where="true", as_of=at(5))).exact
    if block == "base":
        with pytest.raises(UnsupportedError, match="was not captured by record"):
            await ask(graph, dataset=str(tmp_path / "out"), where="true", as_of=at(3))
    else:
        answer = await ask(graph, dataset=str(tmp_path / "out"), where="true", as_of=at(3))
        assert not answer.exact
        assert "known by datasets only" in answer.incomplete[0].reason


async def test_a_snapshot_names_the_run_that_made_it_behind_an_at_sign_too(ask, graph, tmp_path, history) -> None:
    from headwater.backend.projection.statement import Statement

    statement = Statement(Stamp.at("2026-01-01T00:02:30Z", "k"))
    for snapshot, job in (("8123", history[1]), ("9", history[0]), ("9", history[2])):
        version = statement.version("file", str(tmp_path / "out"), job.run)
        statement.describe(version, {"version": {"datasetVersion": snapshot}, "capture": job.capture})
    await graph.apply(TENANT, [statement.batch()])
    for asked in ({"dataset": f"{tmp_path}/out@8123"}, {"dataset": "out@8123"}, {"dataset": str(tmp_path / "out"), "as_of": "8123"}):
        answer = await ask(graph, where="true", **asked)
        assert records(answer) == {("1.csv", 0), ("1.csv", 1), ("2.csv", 0)}
    with pytest.raises(InvalidQueryError, match="2 versions of"):
        await ask(graph, dataset="out@9", where="true")
    with pytest.raises(InvalidQueryError, match="names no version"):
        await ask(graph, dataset="out@10", where="true")


async def test_a_table_whose_log_is_gone_has_no_versions(store, ask, tmp_path) -> None:
    job = Job(store, "delta", 1, said={"format": "delta"})
    raw = write_csv(tmp_path / "raw" / "1.csv", list(COLUMNS), [["a", 1]])
    job.write(job.scan(raw, "csv", COLUMNS, RAW), tmp_path / "out", "parquet", list(COLUMNS), files=1)
    for as_of in (at(1), "7"):
        with pytest.raises(NotFoundError, match="is no table of delta any more"):
            await ask(dataset=str(tmp_path / "out"), where="true", as_of=as_of)


async def test_what_is_no_version_is_refused(ask, tmp_path, history) -> None:
    for wrong in ("yesterday", "10", "version:file:/other:1"):
        with pytest.raises(InvalidQueryError):
            await ask(dataset=str(tmp_path / "out"), where="true", as_of=wrong)
    for early in ("2025-01-01", "11111111-1111-4111-8111-111111111111"):
        with pytest.raises(NotFoundError):
            await ask(dataset=str(tmp_path / "out"), where="true", as_of=early)


async def test_a_table_is_found_by_its_name_and_asked_back_where_two_have_it(store, ask, tmp_path) -> None:
    ran(store, tmp_path, 1, [["a", 1]], table="spark_catalog.sales.Orders")
    for name in ("sales.orders", "spark_catalog.sales.orders", "SALES.Orders"):
        assert records(await ask(dataset=name, where="true")) == {("1.csv", 0)}
    ran(store, tmp_path / "other", 2, [["a", 1]], table="sales.orders")
    with pytest.raises(InvalidQueryError, match=r"2 datasets are called sales\.orders"):
        await ask(dataset="sales.orders", where="true")


async def test_a_table_that_only_the_graph_knows_is_found_by_its_symlink(ask, graph, tmp_path) -> None:
    from headwater.backend.projection.statement import Statement

    write_csv(tmp_path / "warehouse" / "orders" / "x.csv", list(COLUMNS), [["a", 1]])
    statement = Statement(Stamp.at("2026-01-01T00:02:30Z", "k"))
    dataset = statement.dataset("file", str(tmp_path / "warehouse" / "orders"))
    links = [{"namespace": "file:/w", "name": "sales.orders", "type": "TABLE"}]
    statement.describe(dataset, {"symlinks": {"identifiers": links}})
    await graph.apply(TENANT, [statement.batch()])
    answer = await ask(graph, dataset="sales.orders", where="true")
    assert records(answer) == {("x.csv", 0), ("x.csv", 1)}  # nothing says that it has a header
    with pytest.raises(NotFoundError):
        await ask(graph, dataset="other.orders", where="true")
