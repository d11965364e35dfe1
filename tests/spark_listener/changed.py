"""The question of tests with changed tables: the rows that a table now has from one record."""

from __future__ import annotations

import asyncio
from pathlib import Path

from headwater.graph.trace import TraceAnswer, TraceRequest, trace
from tests.oracle.laboratory import TENANT, Laboratory

Rows = list[tuple[int, int]]
# A command on the table `{t}` of rows (id, v) with equal values, and the rows that then come from the record of id 3.
COMMANDS: dict[str, tuple[str, Rows]] = {
    "update": ("UPDATE {t} SET v = 1000 WHERE id = 3", [(3, 1000)]),
    "delete": ("DELETE FROM {t} WHERE id = 3", []),
    "merge": (
        "MERGE INTO {t} t USING (SELECT 3 AS id, 2000 AS v) u ON t.id = u.id WHEN MATCHED THEN UPDATE SET v = u.v",
        [(3, 2000)],
    ),
    "insert": ("INSERT INTO {t} SELECT id, v + 7 FROM {t} WHERE id = 3", [(3, 3), (3, 10)]),
    "overwrite": ("INSERT OVERWRITE {t} SELECT id, v + 5 FROM {t} WHERE id < 6", [(3, 8)]),
}
QUICK = ("update", "delete", "overwrite")


def with_numbers(laboratory: Laboratory) -> Laboratory:
    with laboratory.without_capture():
        laboratory.spark.range(0, 9, 1, 1).selectExpr("id", "id AS v").write.parquet(f"{laboratory.folder}/numbers")
    laboratory.forget()
    laboratory.spark.read.parquet(f"{laboratory.folder}/numbers").createOrReplaceTempView("numbers")
    return laboratory


def ask(laboratory: Laboratory, dataset: Path | str, **request: object) -> TraceAnswer:
    asked = TraceRequest(**{"dataset": str(dataset), "where": "id = 3", **request})  # type: ignore[arg-type]
    return asyncio.run(trace(None, laboratory.store, TENANT, asked))


def check(laboratory: Laboratory, table: Path, expected: Rows) -> None:
    onward = ask(laboratory, laboratory.folder / "numbers", forward=True, to=str(table))
    assert sorted((record.values["id"], record.values["v"]) for record in onward.records) == expected, onward.incomplete
    assert onward.exact, onward.incomplete
    assert {entry.effect for entry in onward.incomplete} <= {"version"}
    gone = [entry.reason for entry in onward.incomplete if "not in it any more" in entry.reason]
    assert bool(gone) == (expected[:1] != [(3, 3)] or len(expected) == 1), onward.incomplete
    assert all("version" in reason for reason in gone)
    if not expected:  # without a target, too, the answer says that the row is gone
        onward = ask(laboratory, laboratory.folder / "numbers", forward=True)
        assert any(entry.what == str(table) and "not in it any more" in entry.reason for entry in onward.incomplete)
