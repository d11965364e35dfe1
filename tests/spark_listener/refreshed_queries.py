"""A program for tests: queries under the rule of a refresh, compared with the same queries as they are.

    python -m tests.spark_listener.refreshed_queries CASES.json

The input is a list of `{"tables": {name: {file: [row]}}, "changes": [{"tables": …}], "queries": [text]}`. Each query runs after each
change. A line of output for each run is `{"case", "change", "query", "equal", "files", "reused"}`. `files` is null if the query reads all
of them.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headwater.spark_listener.replay import Replayer, ReplayOrder

SCHEMAS = {
    "a": "k int, v int, d decimal(12,2), s string, x double, l array<int>",
    "b": "k int, w int",
}


def main() -> None:
    """Run the cases of a file."""
    spark = SparkSession.builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    for number, case in enumerate(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))):
        _run(spark, number, case)


def _run(spark: Any, number: int, case: dict[str, Any]) -> None:
    folder = Path(f"case-{number}").absolute()
    written: dict[Path, str] = {}
    for change, tables in enumerate([case["tables"], *case["changes"]]):
        for name, files in tables.items():
            _write(spark, folder / name, name, files, written)
        for place, query in enumerate(case["queries"]):
            shadow = folder / f"shadow-{change}-{place}"
            shadow.mkdir()
            changed = [f"file:{folder / 'a'}"]
            order = ReplayOrder("r", str(shadow), {}, "", partials=str(folder / "partials"), changed=changed)
            session = spark.newSession()
            Replayer(order).session_made(session)
            refreshed, expected = _rows(session, folder, query), _rows(spark.newSession(), folder, query)
            notes = Path(f"{shadow}.partials")
            lines = [json.loads(line) for line in notes.read_text().splitlines()] if notes.exists() else []
            whole = any(len(line) == 1 for line in lines)
            files, reused = (None, 0) if whole or not lines else (lines[-1][1], lines[-1][2])
            answer = {"case": number, "change": change, "query": query, "equal": refreshed == expected, "files": files, "reused": reused}
            sys.stdout.write(json.dumps(answer) + "\n")
    shutil.rmtree(folder)


def _rows(session: Any, folder: Path, query: str) -> list[str]:
    for name in SCHEMAS:
        session.read.parquet(str(folder / name)).createOrReplaceTempView(name)
    return sorted(map(repr, session.sql(query).collect()))


def _write(spark: Any, folder: Path, name: str, files: dict[str, list[Any] | None], written: dict[Path, str]) -> None:
    """Write the files of a table that have other rows than before; None removes a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for file, rows in files.items():
        target, text = folder / f"{file}.parquet", json.dumps(rows)
        if written.get(target) == text:
            continue
        written[target] = text
        if rows is None:
            target.unlink()
            continue
        draft = folder.parent / "draft"
        typed = [[Decimal(value) if isinstance(value, str) and at == 2 else value for at, value in enumerate(row)] for row in rows]
        spark.createDataFrame(typed, SCHEMAS[name]).coalesce(1).write.mode("overwrite").parquet(str(draft))
        os.replace(next(draft.glob("*.parquet")), target)


if __name__ == "__main__":
    main()
