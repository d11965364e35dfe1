"""Keys that share a hash: with hashes of four values nearly all do. No answer is wrong by it: it holds the records of both, and says so."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.graph.trace import Semantics, TraceRequest, trace
from tests.oracle.laboratory import INTERPRETED, TENANT, Laboratory, laboratory_in

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]

_NARROWED = "spark.headwater.test.keyHashes"
PROGRAMS = {
    "a group": "SELECT s, count(*) n, max(id) m FROM t GROUP BY s",
    "a group of two keys": "SELECT s, k, max(id) m FROM t GROUP BY s, k",
    "a group under a limit": "SELECT s, count(*) n FROM t GROUP BY s ORDER BY s LIMIT 3",
    "a group of groups": "SELECT n, max(s) s FROM (SELECT s, count(*) n FROM t GROUP BY s) GROUP BY n",
    "a group whose greatest is chosen": "SELECT max(n) m FROM (SELECT s, count(id) n FROM t GROUP BY s)",
    "distinct": "SELECT DISTINCT s, k FROM t",
    "a semi-join": "SELECT id FROM t WHERE s IN (SELECT s FROM u)",
    "a semi-join with a condition": "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.s = t.s AND u.id < t.id)",
    "an existence join": "SELECT id FROM t WHERE s IN (SELECT s FROM u) OR k = 1",
    "a set operation": "SELECT s, k FROM t INTERSECT SELECT s, k FROM u",
    "all of a set operation": "SELECT s, k FROM t EXCEPT ALL SELECT s, k FROM u",
    "ranks": "SELECT id, s FROM (SELECT *, row_number() OVER (PARTITION BY s ORDER BY id) n FROM t) WHERE n <= 2",
    "a cross join": "SELECT a.s, b.id FROM (SELECT s, count(*) n FROM t GROUP BY s) a CROSS JOIN u b WHERE b.id < 4",
}
_SHUFFLED = {"a cross join", "a semi-join", "a semi-join with a condition"}


def _rows(count: int, step: int) -> list[dict[str, Any]]:
    return [{"id": n, "k": n % 3, "s": f"s{n * step % 11}" if n % 7 else None} for n in range(count)]


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    with laboratory_in(tmp_path_factory.mktemp("collisions"), budget=0.0) as made:
        for name, rows in {"t": _rows(40, 3), "u": _rows(15, 5)}.items():
            folder = made.folder / name
            folder.mkdir()
            pq.write_table(pa.Table.from_pylist(rows), folder / "part.parquet")
            made.spark.read.parquet(str(folder)).createOrReplaceTempView(name)
        yield made


_Answers = dict[tuple[Any, Semantics], list[tuple[frozenset[Any], bool]]]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_hash_that_two_keys_share_is_said_and_loses_nothing(laboratory: Laboratory, name: str) -> None:
    # A cross join that is not broadcast reads a side several times, and meets each group of it as often.
    laboratory.spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1" if name in _SHUFFLED else "10MB")
    for setting, value in INTERPRETED.items():  # with a hash of its usual width other tests compile it
        laboratory.spark.conf.set(setting, value)
    try:
        plain = _answers(laboratory, name, name)
    finally:
        for setting in INTERPRETED:
            laboratory.spark.conf.unset(setting)
    laboratory.spark.conf.set(_NARROWED, "4")
    try:
        narrowed = _answers(laboratory, name, f"{name}-narrowed")
    finally:
        laboratory.spark.conf.unset(_NARROWED)
    assert plain.keys() == narrowed.keys()
    assert all(exact for answers in plain.values() for _, exact in answers)
    said = 0
    for key, expected in plain.items():
        for (records, _), (found, exact) in zip(_sorted(expected), _sorted(narrowed[key]), strict=True):
            said += not exact
            assert found == records if exact else found >= records
    assert said


@pytest.mark.parametrize("name", ["a group", "a semi-join", "a semi-join with a condition", "ranks"])
def test_forward_too(laboratory: Laboratory, name: str) -> None:
    found: list[tuple[set[Any], bool]] = []
    for narrowed in ("", "4"):
        laboratory.spark.conf.set(_NARROWED, narrowed)
        try:
            out = _written(laboratory, name, f"forward-{name}{narrowed}")
        finally:
            laboratory.spark.conf.unset(_NARROWED)
        source = laboratory.folder / ("u" if "semi" in name else "t")
        request = TraceRequest(dataset=str(source), rows=[(f"file:{source}/part.parquet", 1)], forward=True, values=False, to=str(out))
        answer = asyncio.run(trace(None, laboratory.store, TENANT, request))
        found.append(({_values(str(record.file), record.row or 0) for record in answer.records}, answer.exact))
    assert found[0][1]
    assert found[1][0] > found[0][0]
    assert not found[1][1]


def _sorted(answers: list[tuple[frozenset[Any], bool]]) -> list[tuple[frozenset[Any], bool]]:
    return sorted(answers, key=lambda answer: sorted(answer[0]))


def _answers(laboratory: Laboratory, name: str, folder: str) -> _Answers:
    """For each output row, by its values: the records behind it in both semantics, and whether they are said to be just those."""
    out = _written(laboratory, name, folder)
    found: _Answers = {}
    for path in sorted(out.glob("*.parquet")):
        for row in range(pq.ParquetFile(path).metadata.num_rows):
            for semantics in Semantics:
                answer = laboratory.ask(out, (f"file:{path}", row), semantics)
                assert {entry.effect for entry in answer.incomplete} <= {"superset"}
                records = frozenset((str(record.file), record.row) for record in answer.records)
                found.setdefault((_values(str(path), row), semantics), []).append((records, answer.exact))
    return found


def _written(laboratory: Laboratory, name: str, folder: str) -> Path:
    out = laboratory.folder / folder.replace(" ", "_")
    laboratory.spark.sql(PROGRAMS[name]).write.parquet(str(out))
    capture = laboratory.captured()
    assert capture["status"] == "complete", capture["problems"]
    laboratory.publish(capture)
    return out


def _values(path: str, row: int) -> tuple[Any, ...]:
    return tuple(pq.ParquetFile(path.removeprefix("file:")).read().to_pylist()[row].values())
