"""The inputs of an aggregated value are ranked by what removing each of them changes, with values read from real files."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import InvalidQueryError, UnsupportedError
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.trace.rank import RankAnswer, RankRequest
from headwater.graph.trace.rank.engine import rank
from tests.graph.jobs import TENANT, Job, Relation, Row, write_csv

_COLUMNS = {"key": "string", "value": "int", "size": "double"}
_HEADER = {"header": "true", "nullvalue": "NA"}
_RAW: list[list[Any]] = [["a", 5, 1.5], ["a", 50, 0.5], ["a", None, 9.0], ["a", 5, None], ["b", 7, 2.0], ["c", None, None]]
Function = Callable[[list[Row]], Any]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AssociationStore]:
    opened = AssociationStore(tmp_path / "associations", sources=ANYWHERE)
    yield opened
    opened.close()


def _present(rows: Sequence[Row], name: str = "value") -> list[Any]:
    return [row.values[name] for row in rows if row.values[name] is not None]


def _scan(store: AssociationStore, root: Path, raw: Sequence[Sequence[Any]] = _RAW) -> tuple[Job, Relation]:
    job = Job(store, "report", 1)
    return job, job.scan(write_csv(root / "raw.csv", [*_COLUMNS], raw), "csv", _COLUMNS, _HEADER)


def _write(job: Job, of: Relation, root: Path, functions: dict[str, tuple[dict[str, Any], Function, str]], keys: Sequence[str] = ("key",)):
    grouped = job.aggregate(of, keys, functions)
    job.write(grouped, root / "out", "parquet", [*keys, *functions], files=1)


def _total(job: Job, of: Relation, plus: int = 0) -> dict[str, tuple[dict[str, Any], Function, str]]:
    """The sum of the values, with a mistake of `plus`."""
    return {"total": (job.aggregation("sum", job.attr(of, "value"), kind="bigint"), lambda rows: sum(_present(rows)) + plus, "bigint")}


async def _rank(store: AssociationStore, root: Path, column: str, key: str = "a", **more: Any) -> RankAnswer:
    request = RankRequest(dataset=str(root / "out"), column=column, where=f"key = '{key}'", **more)
    return await rank(None, store, TENANT, request)


def _found(answer: RankAnswer) -> list[tuple[int | None, Any, Any]]:
    return [(record.record.row, record.without, record.change) for record in answer.records]


async def test_a_sum_is_ranked_by_the_values_of_its_inputs(store: AssociationStore, tmp_path: Path) -> None:
    job, raw = _scan(store, tmp_path)
    _write(job, raw, tmp_path, _total(job, raw))
    answer = await _rank(store, tmp_path, "TOTAL")
    assert (answer.value, answer.total, answer.exact, answer.function, answer.notes) == (60, 4, True, "sum(value)", [])
    assert _found(answer) == [(1, 10, -50), (0, 55, -5), (3, 55, -5), (2, 60, 0)]
    assert answer.records[0].record.values == {"key": "a", "value": 50, "size": 0.5}
    assert answer.run == f"run:{job.run}"
    [first] = (await _rank(store, tmp_path, "total", first=1)).records
    assert first.without == 10


async def test_the_only_record_of_a_row_removes_it(store: AssociationStore, tmp_path: Path) -> None:
    job, raw = _scan(store, tmp_path)
    _write(job, raw, tmp_path, _total(job, raw))
    [only] = (await _rank(store, tmp_path, "total", "b")).records
    assert (only.is_row_gone, only.without, only.record.row) == (True, None, 4)


async def test_several_functions_and_a_filter_are_ranked_each(store: AssociationStore, tmp_path: Path) -> None:
    job, raw = _scan(store, tmp_path)
    value, size = job.attr(raw, "value"), job.attr(raw, "size")
    large = job.function(">", value, job.literal(5, "int"), kind="boolean")
    _write(job, raw, tmp_path, {
        "n": (job.aggregation("count", job.literal(1, "int"), kind="bigint"), len, "bigint"),
        "kinds": (job.aggregation("count", value, kind="bigint", distinct=True), lambda rows: len(set(_present(rows))), "bigint"),
        "top": (job.aggregation("max", size), lambda rows: max(_present(rows, "size"), default=None), "double"),
        "large": (
            job.aggregation("sum", value, kind="bigint", filter=large),
            lambda rows: sum(each for each in _present(rows) if each > 5), "bigint",
        ),
        "mean": (
            job.aggregation("avg", value),
            lambda rows: sum(_present(rows)) / len(_present(rows)) if _present(rows) else None, "double",
        ),
    })  # fmt: skip
    assert _found(await _rank(store, tmp_path, "n")) == [(row, 3, -1) for row in range(4)]
    assert _found(await _rank(store, tmp_path, "kinds")) == [(1, 1, -1), (0, 2, 0), (2, 2, 0), (3, 2, 0)]
    assert _found(await _rank(store, tmp_path, "top")) == [(2, 1.5, -7.5), (0, 9.0, 0.0), (1, 9.0, 0.0), (3, 9.0, 0.0)]
    assert _found(await _rank(store, tmp_path, "large"))[0] == (1, None, None)
    assert _found(await _rank(store, tmp_path, "mean"))[0] == (1, 5.0, -15.0)
    assert all([(await _rank(store, tmp_path, name)).exact for name in ("n", "kinds", "top", "large", "mean")])


async def test_a_record_that_a_join_multiplied_goes_with_all_its_rows(store: AssociationStore, tmp_path: Path) -> None:
    job, raw = _scan(store, tmp_path, [["a", 1, None], ["a", 2, None], ["a", 10, None]])
    listed = write_csv(tmp_path / "names.csv", ["key", "name"], [["a", "x"], ["a", "y"]])
    names = job.scan(listed, "csv", {"key": "string", "name": "string"}, _HEADER)
    joined = job.join(raw, names, [("key", "key")])
    _write(job, joined, tmp_path, _total(job, joined))
    answer = await _rank(store, tmp_path, "total")
    assert answer.value == 26
    found = {(str(record.record.file).rpartition("/")[2], record.record.row): record.without for record in answer.records}
    assert found == {("raw.csv", 0): 24, ("raw.csv", 1): 22, ("raw.csv", 2): 6, ("names.csv", 0): 13, ("names.csv", 1): 13}
    assert answer.records[0].without == 6


async def test_records_of_the_optional_side_of_a_join_are_not_ranked(store: AssociationStore, tmp_path: Path) -> None:
    job, raw = _scan(store, tmp_path)
    names = job.scan(write_csv(tmp_path / "names.csv", ["key", "name"], [["a", "x"]]), "csv", {"key": "string", "name": "string"}, _HEADER)
    joined = job.join(raw, names, [("key", "key")], how="left")
    _write(job, joined, tmp_path, _total(job, joined))
    answer = await _rank(store, tmp_path, "total")
    assert {str(record.record.file).rpartition("/")[2] for record in answer.records} == {"raw.csv"}
    assert "Scan names.csv are not ranked" in answer.notes[0]


async def test_a_changed_file_is_refused(store: AssociationStore, tmp_path: Path) -> None:
    job, raw = _scan(store, tmp_path)
    _write(job, raw, tmp_path, _total(job, raw))
    write_csv(tmp_path / "raw.csv", [*_COLUMNS], [["a", 6000, 1.0]])
    with pytest.raises(Exception, match=r"raw\.csv"):
        await _rank(store, tmp_path, "total")


async def test_a_value_that_the_inputs_do_not_give_is_not_exact(store: AssociationStore, tmp_path: Path) -> None:
    job, raw = _scan(store, tmp_path)
    _write(job, raw, tmp_path, _total(job, raw, plus=1))
    answer = await _rank(store, tmp_path, "total")
    assert not answer.exact
    assert "the file has 61, and sum(value) of the inputs is 60" in answer.incomplete[0].reason


async def test_a_filter_on_the_result_is_noted(store: AssociationStore, tmp_path: Path) -> None:
    job, raw = _scan(store, tmp_path)
    grouped = job.aggregate(raw, ["key"], _total(job, raw))
    job.write(job.filter(grouped, lambda row: row["total"] > 10, ["total"]), tmp_path / "out", "parquet", ["key", "total"], files=1)
    assert "may drop the row" in (await _rank(store, tmp_path, "total")).notes[0]


@pytest.mark.parametrize(
    ("column", "where", "error", "message"),
    [
        ("total", "true", InvalidQueryError, "3 rows are selected"), ("nothing", "key = 'a'", InvalidQueryError, "no column nothing"),
        ("key", "key = 'a'", UnsupportedError, "passes unchanged"),
        ("listed", "key = 'a'", UnsupportedError, "collect_list is not ranked"),
        ("total", "key = 'z'", InvalidQueryError, "0 rows are selected"),
        ("doubled", "key = 'a'", UnsupportedError, "has 2 aggregate functions"),
    ],
)  # fmt: skip
async def test_what_cannot_be_ranked_is_refused(
    store: AssociationStore, tmp_path: Path, column: str, where: str, error: type[Exception], message: str
) -> None:
    job, raw = _scan(store, tmp_path)
    total = job.aggregation("sum", job.attr(raw, "value"), kind="bigint")
    _write(job, raw, tmp_path, {
        "total": (total, lambda rows: sum(_present(rows)), "bigint"),
        "listed": (job.aggregation("collect_list", job.attr(raw, "value"), kind="string"), lambda _: "[]", "string"),
        "doubled": (job.function("+", total, total, kind="bigint"), lambda rows: 2 * sum(_present(rows)), "bigint"),
    })  # fmt: skip
    with pytest.raises(error, match=message):
        await rank(None, store, TENANT, RankRequest(dataset=str(tmp_path / "out"), column=column, where=where))


async def test_what_lets_other_rows_in_is_refused(store: AssociationStore, tmp_path: Path) -> None:
    job, raw = _scan(store, tmp_path)
    limited = job._operator("GlobalLimit", (raw.operator,), text="GlobalLimit 5")
    of = Relation(limited, raw.columns, raw.rows[:5], raw.refs)
    _write(job, of, tmp_path, _total(job, raw))
    with pytest.raises(UnsupportedError, match="GlobalLimit 5, where other rows may come"):
        await _rank(store, tmp_path, "total")


@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 520), marks=pytest.mark.torture)])
async def test_random_aggregates_over_files_equal_the_removal_one_by_one(tmp_path: Path, seeds: range) -> None:
    functions: dict[str, Callable[[list[Any]], Any]] = {
        "sum": lambda values: sum(values) if values else None, "count": len, "min": lambda values: min(values, default=None),
        "max": lambda values: max(values, default=None), "avg": lambda values: sum(values) / len(values) if values else None,
    }  # fmt: skip
    for seed in seeds:
        chance, root = random.Random(seed), tmp_path / str(seed)
        store = AssociationStore(root / "associations", sources=ANYWHERE)
        raw_rows = [[chance.choice("ab"), chance.choice([None, chance.randint(-99, 99)]), None] for _ in range(chance.randint(2, 30))]
        raw_rows[0] = ["a", 1, None]
        job, raw = _scan(store, root, raw_rows)
        name = chance.choice([*functions])
        least = chance.randint(-50, 50) if chance.random() < 0.5 else None
        more = {} if least is None else {"filter": job.function(">", job.attr(raw, "value"), job.literal(least, "int"), kind="boolean")}

        def evaluate(rows: list[Row], name: str = name, least: int | None = least) -> Any:
            return functions[name]([value for value in _present(rows) if least is None or value > least])

        kind = "double" if name == "avg" else "int" if name in {"min", "max"} else "bigint"
        _write(job, raw, root, {"made": (job.aggregation(name, job.attr(raw, "value"), kind=kind, **more), evaluate, kind)})
        answer = await _rank(store, root, "made", first=1_000)
        own = [row for row in raw.rows if row.values["key"] == "a"]
        rows_in_file = [number for number, row in enumerate(raw.rows) if row.values["key"] == "a"]
        assert answer.exact
        assert answer.value == evaluate(own)
        assert {record.record.row for record in answer.records} == set(rows_in_file)
        for record in answer.records:
            others = [row for number, row in zip(rows_in_file, own, strict=True) if number != record.record.row]
            assert (record.is_row_gone, record.without) == (not others, evaluate(others) if others else None), seed
        store.close()
