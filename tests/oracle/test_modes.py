"""Active, auto and lazy: the same question has the same answer, whether associations were written or are found again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwater.graph.trace import Semantics, TraceRequest, trace
from tests.oracle.laboratory import INTERPRETED, TENANT, Laboratory, Place, laboratory_in
from tests.oracle.typed import SCHEMA, rows, written

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]

BUDGETS = {"active": 0.0, "auto": 1.0, "lazy": float("inf")}
PROGRAMS = {
    "keys of every kind": "SELECT s, d, m, b, i, count(*) n, max(x) x FROM t GROUP BY s, d, m, b, i",
    "filters of every kind": "SELECT s, sum(m) m, min(x) x FROM t WHERE d >= date '2020-01-03' AND m < 5.25 "
    "AND (s LIKE 'a%' OR s IN ('b', 'cc')) AND i IS NOT NULL AND NOT b GROUP BY s",
    "no key": "SELECT sum(x) x, max(k) k FROM t WHERE s = 'a'",
    "no rows": "SELECT max(k) k FROM t WHERE s = 'nothing'",
    "distinct": "SELECT DISTINCT s, b FROM t",
    "having": "SELECT k, count(*) n FROM t GROUP BY k HAVING count(*) > 3",
    "a computed key": "SELECT i = 2 AS two, count(DISTINCT s) n FROM t GROUP BY i = 2",
    "under a join": "SELECT a.s, a.n, b.k FROM (SELECT s, count(*) n FROM t GROUP BY s) a "
    "JOIN (SELECT s, max(k) k FROM t WHERE b GROUP BY s) b ON a.s <=> b.s",
    "under a group": "SELECT n, count(*) c FROM (SELECT k, count(*) n FROM t GROUP BY k) GROUP BY n",
    "in a union": "SELECT s, count(*) n FROM t GROUP BY s UNION ALL SELECT s, i FROM t WHERE k = 1",
    "of a folder": "SELECT day, count(*) n FROM p WHERE day > 1 GROUP BY day",
    "in a semi-join": "SELECT s, i FROM t WHERE k IN (SELECT k FROM t WHERE b AND d >= date '2020-01-02')",
    "in a semi-join with a condition": "SELECT s, m FROM t WHERE EXISTS (SELECT 1 FROM t u WHERE u.i = t.i AND u.k <> t.k AND u.s = 'cc')",
    "in a semi-join or not": "SELECT s, k FROM t WHERE x > 2.5 OR k IN (SELECT k FROM t WHERE s LIKE 'a%')",
    "in a semi-join by a number made wider": "SELECT s, m FROM t WHERE EXISTS (SELECT 1 FROM t u WHERE u.i = t.k AND u.b)",
    "in a semi-join by a folder": "SELECT k FROM p WHERE day IN (SELECT i FROM t WHERE m < 1) "
    "AND EXISTS (SELECT 1 FROM p q WHERE q.day = p.day + 1)",
    "over a join": "SELECT a.k, count(*) n, max(b.x) x FROM t a JOIN t b ON a.i = b.k GROUP BY a.k",
    "over a join without a key": "SELECT sum(a.x) x, max(b.k) k FROM t a JOIN p b ON a.k = b.k AND a.d < b.d WHERE a.s = 'a' AND b.day > 1",
    "over joins by keys of every kind": "SELECT a.m, b.d, b.b, a.i, a.s, c.s t, year(c.d) y, count(*) n FROM t a JOIN p b ON a.k = b.k "
    "JOIN t c ON c.k = b.i AND (c.m < a.m OR c.s = b.s) WHERE b.day < 2 AND a.k = 2 GROUP BY a.m, b.d, b.b, a.i, a.s, c.s, year(c.d)",
    "over a join of equal nulls": "SELECT a.s, b.i, count(*) n FROM t a JOIN t b ON a.s <=> b.s AND a.k = b.i GROUP BY a.s, b.i",
    "over a join of numbers of two kinds": "SELECT a.i, b.b, count(*) n FROM t a JOIN p b ON a.k = b.i GROUP BY a.i, b.b",
    "over an anti-join": "SELECT a.d, a.b, count(*) n FROM t a WHERE NOT EXISTS (SELECT 1 FROM t b WHERE b.k = a.k AND b.m > a.m) "
    "GROUP BY a.d, a.b",
    "over a join and an anti-join": "SELECT b.s, count(*) n FROM t a JOIN p b ON a.k = b.k AND a.i = b.i "
    "WHERE NOT EXISTS (SELECT 1 FROM t c WHERE c.k = a.i AND c.m > a.m AND c.s LIKE '%c') GROUP BY b.s HAVING count(*) > 2",
    "over a join under a limit": "SELECT a.d, count(*) n FROM t a JOIN t b ON a.k = b.i GROUP BY a.d ORDER BY n DESC, a.d LIMIT 2",
    "over a join under a join": "SELECT g.d, g.n, c.k FROM "
    "(SELECT a.d, max(b.k) k, count(*) n FROM t a JOIN p b ON a.k = b.i GROUP BY a.d) g "
    "JOIN t c ON c.k = g.k AND c.d = g.d",
    "over a join of nothing": "SELECT a.s, b.d, count(*) n FROM t a JOIN t b ON a.k = b.k WHERE b.s = 'nothing' GROUP BY a.s, b.d",
    "over a semi-join": "SELECT s, d, count(*) n, min(x) x FROM t WHERE i IN (SELECT k FROM p WHERE day > 1) GROUP BY s, d",
    "over a semi-join with a condition": "SELECT a.s, count(*) n, max(a.k) k FROM t a "
    "WHERE EXISTS (SELECT 1 FROM p b WHERE b.k = a.i AND b.i <> a.k AND b.b) GROUP BY a.s",
    "over joins of every kind": "SELECT c.s, c.day, count(*) n, min(a.x) x FROM t a JOIN p c ON a.k = c.k AND a.d < c.d "
    "WHERE EXISTS (SELECT 1 FROM t b WHERE b.k = a.i AND b.i <> a.k) "
    "AND NOT EXISTS (SELECT 1 FROM t b WHERE b.k = a.k AND b.i > a.i AND b.m > 5) AND c.i IN (SELECT k FROM t WHERE b) GROUP BY c.s, c.day",
    "over an outer join": "SELECT a.k, count(b.k) n, max(b.x) x FROM t a LEFT JOIN p b ON a.i = b.k AND b.s NOT LIKE '%a%b%' AND b.m > a.m "
    "WHERE a.b GROUP BY a.k",
    "over an outer join by both sides": "SELECT a.s, b.s u, b.two, count(*) n FROM t a "
    "LEFT JOIN (SELECT *, i IS NULL AS two FROM p WHERE day > 1) b ON a.k = b.i AND a.m < b.m GROUP BY a.s, b.s, b.two",
    "over a join whose side stands elsewhere": "WITH e AS (SELECT k, d FROM p WHERE day > 1) SELECT g.s, g.n, c.i FROM "
    "(SELECT a.s, a.b, count(e.d) n FROM t a JOIN e ON a.k = e.k GROUP BY a.s, a.b) g "
    "JOIN t c ON c.s = g.s JOIN e ON e.k = c.k WHERE c.m < 2",
    "in a semi-join whose side stands elsewhere": "WITH e AS (SELECT k FROM p WHERE day > 1) SELECT a.s, a.m FROM t a JOIN e ON a.i = e.k "
    "WHERE a.k IN (SELECT k FROM e)",
    "a group less what stands elsewhere": "WITH e AS (SELECT k, d FROM p WHERE day > 1) SELECT c.s, c.b, e.d FROM t c JOIN e ON c.i = e.k "
    "WHERE c.m < 3 EXCEPT SELECT c.s, c.b, e.d FROM t c JOIN e ON c.i = e.k WHERE c.k = 1",
    "over a semi-join that cannot": "SELECT s, count(*) n FROM t WHERE k IN (SELECT max(k) FROM t GROUP BY s) GROUP BY s",
    "matches that cannot": "SELECT k FROM t WHERE s IN (SELECT concat(s, 'b') FROM t WHERE k = 1)",
    "matches of text": "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM t u WHERE u.k = t.k AND u.s <> t.s)",
    "cannot be found again": "SELECT x, substr(s, 1, 1) c, count(*) n FROM t GROUP BY x, substr(s, 1, 1)",
}

_ALONE = 4  # rows of a file at most that are also asked for one by one
WRITTEN = {"cannot be found again", "matches that cannot", "matches of text"}  # in any mode


def _partitioned(folder: Path) -> Path:
    for day in range(4):
        (folder / f"day={day}").mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows(day), SCHEMA), folder / f"day={day}" / "part.parquet")
    return folder


@pytest.fixture(scope="module")
def laboratory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    """A laboratory in a mode. Active alone lets Spark compile, so that compiled and interpreted programs are compared."""
    folder = tmp_path_factory.mktemp("modes")
    with laboratory_in(folder, budget=BUDGETS[request.param], conf={} if request.param == "active" else INTERPRETED) as made:
        made.spark.read.parquet(str(written(folder / "t"))).createOrReplaceTempView("t")
        made.spark.read.parquet(str(_partitioned(folder / "p"))).createOrReplaceTempView("p")
        yield made


_answers: dict[str, dict[Any, Any]] = {}
# Groups of such tables fit any budget, so that auto leaves what lazy does: of each kind of program one shows it.
_AUTO = {
    "keys of every kind", "in a semi-join with a condition", "over a join and an anti-join", "over an outer join",
    "over joins of every kind", "matches of text", "cannot be found again",
}  # fmt: skip
_QUICK = {"keys of every kind", "over joins of every kind", "matches of text"}  # in each mode, by `make test`
# Other programs contain each of these together with more. The torture runs them.
_LONG = {
    "having", "in a semi-join", "over a join", "over a join of numbers of two kinds", "over an anti-join", "over a semi-join",
    "over a semi-join with a condition", "in a semi-join whose side stands elsewhere",
}  # fmt: skip


def _of(modes: Iterable[str], programs: Callable[[str, str], bool]) -> pytest.MarkDecorator:
    """Modes and programs, of these those for which it holds."""
    cases = [
        pytest.param(mode, name, id=f"{mode}-{name}", marks=() if name in _QUICK else pytest.mark.slow)
        for mode in modes
        for name in PROGRAMS
        if programs(mode, name)
    ]
    return pytest.mark.parametrize(("laboratory", "name"), cases, indirect=["laboratory"])


@_of(BUDGETS, lambda mode, name: name in _AUTO if mode == "auto" else name not in _LONG)
def test_every_mode_gives_the_same_answers(laboratory: Laboratory, request: pytest.FixtureRequest, name: str) -> None:
    _check(laboratory, next(mode for mode in BUDGETS if f"[{mode}-" in request.node.name), name)


@pytest.mark.torture
@_of(BUDGETS, lambda mode, name: name in _LONG if mode == "lazy" else name not in _AUTO)
def test_every_mode_gives_them_for_every_other_program(laboratory: Laboratory, request: pytest.FixtureRequest, name: str) -> None:
    _check(laboratory, next(mode for mode in BUDGETS if f"[{mode}-" in request.node.name), name)


def _check(laboratory: Laboratory, mode: str, name: str) -> None:
    out = laboratory.folder / name.replace(" ", "_")
    laboratory.spark.sql(PROGRAMS[name]).write.parquet(str(out))
    capture = laboratory.captured()
    assert capture["status"] == "complete", capture["problems"]
    laboratory.publish(capture)
    derived = [boundary for boundary in capture["boundaries"] if "derived" in boundary]
    assert bool(derived) == (mode != "active" and name not in WRITTEN)
    assert all(0 <= boundary["derived"]["estimate_ms"] < 1000 for boundary in derived)
    # Auto, which leaves what lazy does, is asked for all rows together, and not again for each.
    answers = _all_answers(laboratory, out, alone=0 if mode == "auto" else _ALONE)
    assert _answers.setdefault(name, answers) == answers
    assert answers or name in {"no rows", "over a join of nothing"}


def _all_answers(laboratory: Laboratory, out: Path, *, alone: int) -> dict[Any, Any]:
    """For each output row, by its values: the records behind it in both semantics. And where one record of each file went.

    So many rows of a file, at most, are also asked for one by one.
    """
    found: dict[Any, Any] = {}
    for path in sorted(out.glob("*.parquet")):
        rows = list(zip(*pq.ParquetFile(path).read().to_pydict().values(), strict=True))
        places = [(f"file:{path}", row) for row in range(len(rows))]
        for semantics in Semantics:
            behind, exact = laboratory.ask_each(out, places, semantics)
            assert exact or semantics is Semantics.WITNESS
            for values, place in zip(rows, places, strict=True):
                found.setdefault((values, semantics), []).append(_relative(laboratory, behind[place]))
            for place in places[:: len(rows) // alone + 1] if alone else ():
                answer = laboratory.ask(out, place, semantics)
                assert answer.exact or semantics is Semantics.WITNESS, answer.incomplete
                assert {(record.file, record.row) for record in answer.records} == behind[place]
    outputs = {
        (str(path), row): values
        for path in out.glob("*.parquet")
        for row, values in enumerate(zip(*pq.ParquetFile(path).read().to_pydict().values(), strict=True))
    }
    for name in ("t/part-1.parquet", "p/day=2/part.parquet"):
        folder = laboratory.folder / name.split("/")[0]
        asked = TraceRequest(dataset=str(folder), rows=[(f"file:{laboratory.folder / name}", 5)], forward=True, values=False, to=None)
        try:
            answer = asyncio.run(trace(None, laboratory.store, TENANT, asked))
        except Exception as error:  # noqa: BLE001 - the program did not read this table
            found[name] = type(error).__name__
            continue
        reached = [outputs.get((str(record.file).removeprefix("file:"), record.row)) for record in answer.records]
        found[name] = sorted(map(repr, reached))
    return {key: sorted(map(repr, value)) if isinstance(value, list) else value for key, value in found.items()}


def _relative(laboratory: Laboratory, records: Iterable[Place]) -> list[Place]:
    return sorted((file.split(str(laboratory.folder))[-1], row) for file, row in records)
