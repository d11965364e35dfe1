"""Tables of Delta with row tracking, whose commands read the hidden column `_metadata`: they are followed, and rows keep their numbers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyspark
import pytest

from headwater.graph.trace import Semantics, TraceRequest, trace
from tests.oracle.laboratory import TENANT, Laboratory
from tests.spark_listener.delta import behind, delta_over_raw, each, from_raw, made, traced, written

pytestmark = [
    pytest.mark.spark,
    pytest.mark.lake,
    pytest.mark.timeout(1200),
    pytest.mark.xdist_group("tables"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # py4j closes its sockets when they are collected
    pytest.mark.skipif(not pyspark.__version__.startswith("4.1."), reason="the connectors are those of Spark 4.1"),
]
TRACKED = {"enableRowTracking": "true"}


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    with delta_over_raw(tmp_path_factory.mktemp("tracking"), compiled=False) as found:
        yield found


def insert(laboratory: Laboratory, path: str, where: str) -> Mapping[str, Any]:
    """Fill a table with some of `raw`; gives the capture."""
    statement = f"INSERT INTO delta.`{path}` SELECT /*+ COALESCE(1) */ * FROM raw WHERE {where}"
    return written(laboratory, lambda: laboratory.spark.sql(statement))


def numbers(laboratory: Laboratory, path: str) -> dict[int, tuple[int, int]]:
    """The number of each row, and the version that changed it last, by id; as Delta gives them without capture."""
    with laboratory.without_capture():
        rows = laboratory.spark.sql(f"SELECT id, _metadata.row_id, _metadata.row_commit_version FROM delta.`{path}`").collect()
    laboratory.forget()
    assert len({row[1] for row in rows}) == len(rows)
    return {row[0]: (row[1], row[2]) for row in rows}


MERGE = (
    "MERGE INTO {t} t USING (SELECT * FROM raw WHERE id IN (2, 5, 40)) m ON t.id = m.id "
    "WHEN MATCHED AND t.id = 5 THEN DELETE WHEN MATCHED THEN UPDATE SET s = concat(t.s, m.s) WHEN NOT MATCHED THEN INSERT *"
)
COMMANDS: list[tuple[str, set[int], set[int], set[int]]] = [  # and which rows it changes, deletes and adds
    ("UPDATE {t} SET s = 'u' WHERE id IN (3, 4)", {3, 4}, set(), set()),
    ("DELETE FROM {t} WHERE id IN (1, 9)", set(), {1, 9}, set()),
    (MERGE, {2}, {5}, {40}),
    ("OPTIMIZE {t}", set(), set(), set()),
    ("INSERT INTO {t} SELECT * FROM raw WHERE id = 41", set(), set(), {41}),
    ("OPTIMIZE {t} ZORDER BY (id)", set(), set(), set()),
]


@pytest.mark.slow
@pytest.mark.parametrize("vectors", ["true", pytest.param("false", marks=pytest.mark.torture)])
def test_commands_are_followed_and_rows_keep_their_numbers(laboratory: Laboratory, vectors: str) -> None:
    """Without deletion vectors, test_delta_writes.py changes a table, too; all commands do so in the torture."""
    path = f"{laboratory.folder}/commanded_{vectors}"
    sql = laboratory.spark.sql
    sql(f"CREATE TABLE delta.`{path}` (id int, k int, s string) USING delta TBLPROPERTIES "
        f"('delta.enableRowTracking' = 'true', 'delta.enableDeletionVectors' = '{vectors}')")  # fmt: skip
    for rows in ("id < 6", "id BETWEEN 6 AND 11"):
        assert insert(laboratory, path, rows)["sink"]["numbered"]
    expected = from_raw(*range(12))
    before = numbers(laboratory, path)
    for command, changed, deleted, added in COMMANDS:
        sql(command.format(t=f"delta.`{path}`"))
        captures = laboratory.take()
        assert captures or deleted, command
        assert [capture["status"] for capture in captures if capture["status"] != "complete"] == [], (command, captures)
        after = numbers(laboratory, path)
        assert set(after) == (set(before) - deleted) | added
        assert {i: after[i][0] for i in before if i in after} == {i: before[i][0] for i in before if i in after}, command
        assert {i for i in before if i in after and after[i] != before[i]} == changed, command
        before = after
        expected = {i: source for i, source in {**expected, **from_raw(*added)}.items() if i in after}
    assert behind(laboratory, path, expected) == expected


@pytest.mark.slow
def test_a_query_may_read_what_the_table_knows_of_its_rows(laboratory: Laboratory) -> None:
    statements = ("UPDATE {t} SET s = 'u' WHERE id = 3", "DELETE FROM {t} WHERE id = 2", "OPTIMIZE {t}", "DELETE FROM {t} WHERE id = 7")
    path = made(laboratory, "known", *statements, **TRACKED, enableDeletionVectors="true")
    there = each(*(i for i in range(12) if i not in (2, 7)))
    frame = laboratory.spark.read.format("delta").load(path)
    shapes = {
        "numbers": frame.selectExpr("id", "_metadata.row_id", "_metadata.row_commit_version"),
        "place": frame.selectExpr("id", "_metadata.row_index AS at", "_metadata.file_path AS file"),
        "file": frame.selectExpr("id", "_metadata.file_name AS file"),
        "whole": frame.selectExpr("id", "_metadata AS known"),
        "filtered": frame.filter("_metadata.row_id >= 0 AND _metadata.file_size > 0").select("id"),
    }
    for name, shape in shapes.items():
        assert traced(laboratory, shape, f"known_{name}") == there, name
    laboratory.spark.conf.set("spark.sql.parquet.enableVectorizedReader", "false")
    try:
        assert traced(laboratory, shapes["numbers"], "known_in_rows") == there
    finally:
        laboratory.spark.conf.unset("spark.sql.parquet.enableVectorizedReader")


@pytest.mark.slow
def test_what_is_chosen_by_it_is_a_superset(laboratory: Laboratory) -> None:
    path = made(laboratory, "chosen", **TRACKED)
    out = laboratory.folder / "chosen_out"
    frame = laboratory.spark.read.format("delta").load(path).groupBy("k").agg({"_metadata.row_id": "max"})
    written(laboratory, lambda: frame.coalesce(1).write.parquet(str(out)))
    answers = {}
    for semantics in Semantics:
        request = TraceRequest(dataset=str(out), where="k = 1", semantics=semantics, limit=100)
        answers[semantics] = asyncio.run(trace(None, laboratory.store, TENANT, request))
    assert {semantics: answer.exact for semantics, answer in answers.items()} == {Semantics.INFLUENCE: True, Semantics.WITNESS: False}
    for answer in answers.values():
        assert {record.values["id"] for record in answer.records} == {1, 4, 7, 10}


@pytest.mark.slow
def test_a_log_that_gives_two_files_each_others_numbers_is_found_out(laboratory: Laboratory) -> None:
    path = f"{laboratory.folder}/swapped"
    sql = laboratory.spark.sql
    sql(f"CREATE TABLE delta.`{path}` (id int, k int, s string) USING delta TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    for rows in ("id < 6", "id BETWEEN 6 AND 11"):
        insert(laboratory, path, rows)
    with laboratory.without_capture():
        sql(f"OPTIMIZE delta.`{path}`")
    laboratory.forget()
    out = f"{laboratory.folder}/from_swapped"
    written(laboratory, lambda: laboratory.spark.read.format("delta").load(path).coalesce(1).write.parquet(out))
    assert behind(laboratory, out, [2, 8]) == from_raw(2, 8)
    commits = {Path(path, "_delta_log", f"{version:020}.json"): first for version, first in ((1, 6), (2, 0))}
    for commit, first in commits.items():
        actions: list[dict[str, Any]] = [json.loads(line) for line in commit.read_text().splitlines()]
        for action in actions:
            if "add" in action:
                action["add"]["baseRowId"] = first
        commit.write_text("\n".join(map(json.dumps, actions)))
    answer = asyncio.run(trace(None, laboratory.store, TENANT, TraceRequest(dataset=out, where="id = 2", semantics=Semantics.INFLUENCE)))
    assert not answer.exact
    assert "say otherwise" in str(answer.incomplete)
    assert not [record for record in answer.records if record.dataset.endswith("raw")]


@pytest.mark.slow
def test_a_table_may_begin_to_number_its_rows(laboratory: Laboratory) -> None:
    path, sql = f"{laboratory.folder}/later_tracked", laboratory.spark.sql
    sql(f"CREATE TABLE delta.`{path}` (id int, k int, s string) USING delta")
    for rows in ("id < 6", "id BETWEEN 6 AND 11"):
        insert(laboratory, path, rows)
    with laboratory.without_capture():
        sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
        sql(f"OPTIMIZE delta.`{path}`")
    out = f"{laboratory.folder}/from_later_tracked"
    written(laboratory, lambda: laboratory.spark.read.format("delta").load(path).coalesce(1).write.parquet(out))
    assert behind(laboratory, out, [2, 8]) == from_raw(2, 8)
