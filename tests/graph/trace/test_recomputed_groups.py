"""Groups that were left to the trace are found again in their sources: just their records, or, of a source that has changed, none."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.graph.associations import Manifest
from headwater.graph.records import AssociationStore
from headwater.graph.trace import Semantics, TraceAnswer
from headwater.graph.trace.recompute.group_keeper import keep_groups
from tests.graph.jobs import TENANT, Job, Relation
from tests.graph.trace.conftest import records
from tests.graph.trace.later import LazyJob, Told

SALES = {"shop": "bigint", "item": "bigint", "price": "bigint"}
SHOPS = {"id": "bigint", "town": "string"}
SOLD: list[list[int | None]] = [[1, 7, 10], [2, 7, 20], [1, 8, 5], [None, 7, 3], [3, 9, 6], [1, 7, 11], [2, None, 4], [9, 9, 9]]
TOWNS: list[list[Any]] = [[1, "Ayr"], [2, "Ayr"], [3, None], [4, "Oban"]]


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    return table(tmp_path / "sales", SALES, SOLD)


@pytest.fixture
def shops(tmp_path: Path) -> Path:
    return table(tmp_path / "shops", SHOPS, TOWNS)


def table(folder: Path, columns: dict[str, str], rows: Sequence[Sequence[Any]], files: int = 2) -> Path:
    folder.mkdir()
    schema = pa.schema([(name, pa.string() if kind == "string" else pa.int64()) for name, kind in columns.items()])
    size = -(-len(rows) // files)
    for number in range(files):
        part = [dict(zip(columns, row, strict=True)) for row in rows[number * size : (number + 1) * size]]
        pq.write_table(pa.Table.from_pylist(part, schema), folder / f"part-{number}.parquet")
    return folder


def joined(job: LazyJob, sales: Path, shops: Path, how: str = "inner") -> Relation:
    sold, known = job.scan(sales, "parquet", SALES), job.scan(shops, "parquet", SHOPS)
    return job.join(job.filter_by(sold, ">", "price", 2, lambda price: price > 2), known, [("shop", "id")], how)


def write(job: LazyJob, grouped: Relation, out: Path, keys: Sequence[str]) -> Manifest:
    return job.write(grouped, out, "parquet", [*keys, "rows"], files=1)


def places(answer: TraceAnswer) -> set[tuple[str, int]]:
    """The records of an answer as (folder, number in the table), whose files have four rows each (or two)."""
    sizes = {"sales": 4, "shops": 2}
    found = set()
    for record in answer.records:
        path = Path(str(record.file))
        found.add((path.parent.name, int(path.stem[-1]) * sizes[path.parent.name] + int(str(record.row))))
    return found


def expected(how: str, key: Callable[[list[Any], list[Any]], Any], value: Any) -> set[tuple[str, int]]:
    """By nested loops: the records of the group whose key is a value."""
    found: set[tuple[str, int]] = set()
    for number, sold in enumerate(SOLD):
        if sold[2] is None or sold[2] <= 2:
            continue
        matches = [(place, shop) for place, shop in enumerate(TOWNS) if sold[0] is not None and shop[0] == sold[0]]
        for place, shop in matches or ([(None, [None, None])] if how == "left outer" else []):
            if key(sold, shop) == value:
                found |= {("sales", number)} | ({("shops", place)} if place is not None else set())
    return found


KEYS: dict[str, Callable[[list[Any], list[Any]], Any]] = {
    "item": lambda sold, _: sold[1],
    "town": lambda _, shop: shop[1],
    "item, town": lambda sold, shop: (sold[1], shop[1]),
}


@pytest.mark.parametrize("how", ["inner", "left outer"])
@pytest.mark.parametrize(
    ("by", "told"), [("item", "by its reference"), ("item", "by values"), ("town", "by values"), ("item, town", "by values")]
)
async def test_a_group_over_a_join_has_the_records_of_both_sides(store, ask, sales, shops, tmp_path, how, by, told) -> None:
    job, keys = LazyJob(store, "report", 2), by.split(", ")
    grouped = job.group(joined(job, sales, shops, how), keys, told)
    write(job, grouped, tmp_path / "out", keys)
    assert len(grouped.rows) > 1
    for number, row in enumerate(grouped.rows):
        answer = await ask(dataset=str(tmp_path / "out"), rows=[(str(tmp_path / "out" / "part-00000.parquet"), number)])
        value = row.values[by] if len(keys) == 1 else tuple(row.values[key] for key in keys)
        assert (places(answer), answer.exact) == (expected(how, KEYS[by], value), True)


@pytest.mark.parametrize("keys", [["item"], ["shop", "item"]])
async def test_a_group_is_told_by_the_least_of_its_own_records(store, ask, sales, tmp_path, keys) -> None:
    job = LazyJob(store, "report", 2)
    grouped = job.group(job.scan(sales, "parquet", SALES), keys, "by a record")
    write(job, grouped, tmp_path / "out", keys)
    for number, row in enumerate(grouped.rows):
        answer = await ask(dataset=str(tmp_path / "out"), rows=[(str(tmp_path / "out" / "part-00000.parquet"), number)])
        members = {n for n, sold in enumerate(SOLD) if all(dict(zip(SALES, sold, strict=True))[key] == row.values[key] for key in keys)}
        assert (places(answer), answer.exact) == ({("sales", n) for n in members}, True)


@pytest.mark.parametrize("told", ["by its reference", "by values"])
async def test_forward_a_record_of_either_side_reaches_its_groups(store, ask, sales, shops, tmp_path, told: Told) -> None:
    job = LazyJob(store, "report", 2)
    grouped = job.group(joined(job, sales, shops), ["item"], told)
    write(job, grouped, tmp_path / "out", ["item"])
    groups = {row.values["item"]: number for number, row in enumerate(grouped.rows)}
    for folder, rows, size in ((sales, SOLD, 4), (shops, TOWNS, 2)):
        for number in range(len(rows)):
            place = (str(folder / f"part-{number // size}.parquet"), number % size)
            answer = await ask(dataset=str(folder), rows=[place], forward=True)
            reached = {groups[item] for item in groups if (folder.name, number) in expected("inner", KEYS["item"], item)}
            assert ({row for _, row in records(answer)}, answer.exact) == (reached, True)


@pytest.mark.parametrize("changed", ["sales", "shops"])
@pytest.mark.parametrize("told", ["by its reference", "by values"])
async def test_a_source_of_the_join_that_changed_gives_no_record_and_is_named(store, ask, sales, shops, tmp_path, told, changed) -> None:
    job = LazyJob(store, "report", 2)
    grouped = job.group(joined(job, sales, shops), ["item"], told)
    write(job, grouped, tmp_path / "out", ["item"])
    rows = [(str(tmp_path / "out" / "part-00000.parquet"), 0)]
    assert (await ask(dataset=str(tmp_path / "out"), rows=rows)).exact
    os.utime(tmp_path / changed / "part-1.parquet", (1, 1))
    for semantics in Semantics:
        answer = await ask(dataset=str(tmp_path / "out"), rows=rows, semantics=semantics)
        assert (list(answer.records), answer.exact) == ([], False)
        assert [entry.effect for entry in answer.incomplete if f"/{changed}/part-1.parquet" in entry.reason] == ["missing"]


def by_a_known_run(store: AssociationStore, source: Path, target: Path, columns: dict[str, str]) -> Path:
    """A copy of a table by a run that the store knows."""
    job = Job(store, f"copy_{source.name}", 1)
    job.write(job.scan(source, "parquet", columns), target, "parquet", list(columns), files=2)
    return target


@pytest.mark.parametrize("told", ["by its reference", "by values"])
@pytest.mark.parametrize("owned", ["sales", "shops"])
async def test_groups_over_a_join_are_kept_where_a_known_run_wrote_one_side(store, ask, sales, shops, tmp_path, told, owned) -> None:
    read = {"sales": sales, "shops": shops}
    read[owned] = by_a_known_run(store, read[owned], tmp_path / "copied", SALES if owned == "sales" else SHOPS)
    job = LazyJob(store, "report", 2)
    grouped = job.group(joined(job, read["sales"], read["shops"]), ["item"], told)
    manifest = write(job, grouped, tmp_path / "out", ["item"])
    asked = [(str(tmp_path / "out" / "part-00000.parquet"), number) for number in range(len(grouped.rows))]
    before = [records(await ask(dataset=str(tmp_path / "out"), rows=[place])) for place in asked]
    assert all(before)
    assert keep_groups(store, TENANT, manifest.capture) == 1
    assert keep_groups(store, TENANT, manifest.capture) == 0
    other = "shops" if owned == "sales" else "sales"
    os.utime(read[other] / "part-0.parquet", (1, 1))  # it is not read any more
    answers = [await ask(dataset=str(tmp_path / "out"), rows=[place]) for place in asked]
    assert [records(answer) for answer in answers] == before


async def test_what_no_known_run_wrote_is_not_kept(store, sales, shops, tmp_path) -> None:
    job = LazyJob(store, "report", 2)
    manifest = write(job, job.group(joined(job, sales, shops), ["item"], "by values"), tmp_path / "out", ["item"])
    assert keep_groups(store, TENANT, manifest.capture) == 0


async def test_what_has_changed_before_it_could_be_kept_is_not_kept(store, ask, sales, shops, tmp_path) -> None:
    copied = by_a_known_run(store, shops, tmp_path / "copied", SHOPS)
    job = LazyJob(store, "report", 2)
    manifest = write(job, job.group(joined(job, sales, copied), ["item"], "by values"), tmp_path / "out", ["item"])
    os.utime(copied / "part-00001.parquet", (1, 1))
    assert keep_groups(store, TENANT, manifest.capture) == 0
    answer = await ask(dataset=str(tmp_path / "out"), rows=[(str(tmp_path / "out" / "part-00000.parquet"), 0)])
    assert (list(answer.records), answer.exact) == ([], False)
