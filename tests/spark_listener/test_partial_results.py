"""Aggregates of a refresh, from partial results of unchanged files: equal to a full run after each change, or read as a whole."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.spark_listener.warm_spark import WarmSpark

pytestmark = [pytest.mark.spark, pytest.mark.timeout(0)]

BY_FILE = (
    "SELECT k, sum(v) AS v, count(*) AS n, count(v) AS m, min(s) AS s, max(d) AS d FROM a GROUP BY k",
    "SELECT k + 1 AS k, avg(d) AS d, sum(d) / count(d) + 1 AS q FROM a WHERE v > 1 GROUP BY k + 1 HAVING count(*) > 1 ORDER BY d LIMIT 3",
    "SELECT count(*) AS n, sum(v) AS v, avg(d) AS d FROM a WHERE v > 100",
    "SELECT DISTINCT k, s FROM a",
    "SELECT a.k, sum(a.v + b.w) AS v FROM a JOIN b ON a.k = b.k GROUP BY a.k",
    "SELECT a.k, count(b.w) AS n, max(b.w) AS w FROM a LEFT JOIN b ON a.k = b.k AND b.w > 2 GROUP BY a.k",
    "SELECT b.w, sum(a.v) AS v FROM b RIGHT JOIN a ON a.k = b.k GROUP BY b.w",
    "SELECT k, count(*) AS n FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k) GROUP BY k",
    "SELECT k, count(*) AS n FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.w > a.v) GROUP BY k",
    "SELECT e, count(*) AS n FROM (SELECT explode(l) AS e FROM a) GROUP BY e",
    "SELECT max(n) AS n FROM (SELECT k, count(*) AS n FROM a GROUP BY k)",
    "SELECT k, sum(v) AS v FROM a GROUP BY k UNION ALL SELECT k, min(v) FROM a GROUP BY k",
    "SELECT k, sum(v) OVER (ORDER BY k) AS v FROM (SELECT k, max(v) AS v FROM a GROUP BY k)",
)
WHOLE = (
    "SELECT k, round(sum(x), 6) AS x FROM a GROUP BY k",
    "SELECT k, avg(v) AS v FROM a GROUP BY k",
    "SELECT k, count(DISTINCT v) AS v FROM a GROUP BY k",
    "SELECT x, count(*) AS n FROM a GROUP BY x",
    "SELECT k, sum(v) AS v FROM (SELECT k, v FROM a UNION ALL SELECT k, w FROM b) GROUP BY k",
    "SELECT k, count(*) AS n FROM (SELECT k, v FROM a ORDER BY v, k, s, d LIMIT 5) GROUP BY k",
    "SELECT b.k, count(a.v) AS n FROM b LEFT JOIN a ON a.k = b.k GROUP BY b.k",
    "SELECT k, sum(r) AS r FROM (SELECT k, row_number() OVER (PARTITION BY k ORDER BY v, s, d) AS r FROM a) GROUP BY k",
    "SELECT k, count(*) AS n FROM a WHERE v > (SELECT avg(w) FROM b) GROUP BY k",
    "SELECT k, s, count(*) AS n FROM a GROUP BY ROLLUP (k, s)",
    "SELECT a.k, count(*) AS n FROM a JOIN a o ON a.k = o.k GROUP BY a.k",
    "SELECT k, v FROM a WHERE v > 3",
)


def _row(draw: random.Random) -> list[Any]:
    number = draw.randint(0, 9)
    return [
        draw.choice([None, 0, 1, 2, 3]), draw.choice([None, number]), f"{draw.randint(-999, 999)}.{draw.randint(0, 99):02}",
        draw.choice(["", "p", "q"]), draw.random(), [number, 1][: draw.randint(0, 2)],
    ]  # fmt: skip


def _case(draw: random.Random, queries: list[str]) -> dict[str, Any]:
    """Tables, and two changes: a file replaced, one less and one more; then the other table is another."""
    a = {name: [_row(draw) for _ in range(draw.randint(0, 8))] for name in "pqrs"}
    b = {"t": [[draw.randint(0, 4), draw.randint(0, 9)] for _ in range(5)]}
    first = {"a": {"q": [_row(draw) for _ in range(6)], "p": None, "u": [_row(draw) for _ in range(4)]}}
    second = {"b": {"t": [[draw.randint(0, 4), draw.randint(5, 19)] for _ in range(5)]}}
    return {"tables": {"a": a, "b": b}, "changes": [first, second], "queries": queries}


def _answers(spark: WarmSpark, folder: Path, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    (folder / "cases.json").write_text(json.dumps(cases))
    done = spark.run(["-m", "tests.spark_listener.refreshed_queries", "cases.json"], folder)
    assert done.returncode == 0, done.stderr[-3000:]
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(answers) == sum(len(case["queries"]) * (1 + len(case["changes"])) for case in cases)
    return answers


def _check_reuse(answers: list[dict[str, Any]]) -> None:
    assert [answer for answer in answers if not answer["equal"]] == []
    for query in dict.fromkeys(answer["query"] for answer in answers):
        counts = [(answer["files"], answer["reused"]) for answer in answers if answer["query"] == query]
        assert counts == [(4, 0), (4, 2), (4, 0 if " b " in query else 4)], query


def _check_whole(answers: list[dict[str, Any]]) -> None:
    assert [answer for answer in answers if not answer["equal"] or answer["files"] is not None] == []


def test_an_aggregate_reads_only_changed_files_and_equals_a_full_run(warm_spark: WarmSpark, tmp_path: Path) -> None:
    _check_reuse(_answers(warm_spark, tmp_path, [_case(random.Random(7), [BY_FILE[0], BY_FILE[1], BY_FILE[4]])]))


def test_where_the_rows_of_files_do_not_add_up_the_source_is_read_as_a_whole(warm_spark: WarmSpark, tmp_path: Path) -> None:
    _check_whole(_answers(warm_spark, tmp_path, [_case(random.Random(8), list(WHOLE[:5])) | {"changes": []}]))


@pytest.mark.torture
def test_all_queries_equal_full_runs(warm_spark: WarmSpark, tmp_path: Path) -> None:
    _check_reuse(_answers(warm_spark, tmp_path, [_case(random.Random(9), list(BY_FILE))]))
    _check_whole(_answers(warm_spark, tmp_path, [_case(random.Random(10), list(WHOLE)) | {"changes": []}]))


@pytest.mark.torture
def test_random_queries_over_random_changes_equal_full_runs(warm_spark: WarmSpark, tmp_path: Path) -> None:
    draw = random.Random(3)
    answers = _answers(warm_spark, tmp_path, [_case(draw, draw.sample([*BY_FILE, *WHOLE], 2)) for _ in range(250)])
    assert [answer for answer in answers if not answer["equal"]] == []
