"""Replays against full runs: `python -m bench.replays [refresh] [selective] [exclusive]`.

- `refresh`: TPC-H Q1, Q3 and Q18. One of the 100 files of `lineitem` is replaced. The query is refreshed, and then run as a whole. Both
  results must be equal. An earlier refresh has kept partial results of the files.
- `selective`: the word count of a text, for one word only: a rare word, and a frequent one.
- `exclusive`: the word count without one line.

With `--processor`, times are the processor time of the JVM, for a machine that is not free.

All runs take turns in one warm JVM, so the start of Spark is not included. A replay is a session with the rule that `headwater replay`
installs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from bench.data.dialect import for_spark
from bench.data.text import text
from bench.data.tpc import benchmark
from bench.results import ROOT
from headwater.spark_listener.replay import Replayer, ReplayOrder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_QUERIES = (1, 3, 18)
_TABLES = ("lineitem", "orders", "customer")
Work = Callable[["SparkSession"], "DataFrame"]


class Turns:
    """Runs in one JVM. `folder` contains the results and the partial results of refreshes. `processor`: measure processor time."""

    def __init__(self, spark: SparkSession, folder: Path, *, processor: bool) -> None:
        self.folder = folder
        self._spark, self._number = spark, 0
        self._clock = self._processor_seconds if processor else time.perf_counter

    def _processor_seconds(self) -> float:
        process = self._spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]  # noqa: SLF001
        user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def plain(self, work: Work) -> tuple[float, Path]:
        """Run the program itself, and return the seconds and the folder of the result."""
        return self._time(self._spark.newSession(), work, self.folder / "plain")

    def replay(self, work: Work, **order: Any) -> tuple[float, Path]:
        self._number += 1
        shadow = self.folder / f"shadow-{self._number}"
        shadow.mkdir()
        session = self._spark.newSession()
        Replayer(ReplayOrder(replay="r", shadow=str(shadow), script_sha256="", **{"exclude": {}, **order})).session_made(session)
        return self._time(session, work, shadow / "out")

    def _time(self, session: SparkSession, work: Work, output: Path) -> tuple[float, Path]:
        began = self._clock()
        work(session).write.mode("overwrite").parquet(str(output))
        return self._clock() - began, output


def refresh(turns: Turns, folder: Path, scale: float, rounds: int) -> None:
    """Print the ratio of a refresh to a full run, for each query."""
    whole = benchmark("tpch", scale, files=100)
    for table in _TABLES:
        shutil.copytree(whole.tables[table], folder / table, copy_function=os.link)
    for number in _QUERIES:
        work = _query(for_spark(whole.queries[number]), {table: folder / table for table in _TABLES})
        order: Mapping[str, Any] = {"partials": str(folder / "partials"), "changed": [f"file:{folder / 'lineitem'}"]}
        turns.plain(work)
        first, _ = turns.replay(work, **order)
        again, full, is_equal = [], [], True
        for each in range(rounds):
            _change(folder / "lineitem" / f"part-{40 + each}.parquet")
            seconds, result = turns.replay(work, **order)
            again.append(seconds)
            seconds, expected = turns.plain(work)
            full.append(seconds)
            is_equal &= _rows(result) == _rows(expected)
        ratio = median(again) / median(full)
        print(
            f"refresh q{number} sf{scale:g}: {median(again):.2f} s / {median(full):.2f} s = {ratio:.2f} (target 0.15), "
            f"first {first:.2f} s, equal to a full run: {is_equal}",
            flush=True,
        )


def words(turns: Turns, size: float, kinds: Sequence[str], rounds: int) -> None:
    """Print the ratios of selective and exclusive replays of a word count to a run."""
    folder = text(size)
    place = f"file:{folder}"
    turns.plain(lambda spark: _words(spark, folder))
    if "selective" in kinds:
        counts = _counts(folder)
        for word, target in ((_rare_word(counts), 0.003), (_frequent_word(counts), 1.0)):
            kept = _lines_with(folder, word)
            ratio = _compare(turns, folder, rounds, {"keep": kept, "restrict": [place]})
            print(f"selective {size:g} GB, {word!r} in {sum(map(len, kept.values()))} lines: {ratio} (target {target:g})", flush=True)
    if "exclusive" in kinds:
        file = min(folder.iterdir())
        ratio = _compare(turns, folder, rounds, {"exclude": {f"file:{file}": [1000]}})
        print(f"exclusive {size:g} GB: {ratio} (target 1.02)", flush=True)


def _compare(turns: Turns, folder: Path, rounds: int, order: Mapping[str, Any]) -> str:
    """Return the times. A first replay counts lines, as it does once in a home: later ones know the places of lines."""
    (marks := turns.folder / "marks").mkdir(exist_ok=True)

    def work(spark: SparkSession) -> DataFrame:
        return _words(spark, folder)

    first, _ = turns.replay(work, **order, marks=str(marks))
    pairs = [(turns.replay(work, **order, marks=str(marks))[0], turns.plain(work)[0]) for _ in range(rounds)]
    replayed, full = (median(times) for times in zip(*pairs, strict=True))
    return f"{replayed:.3f} s / {full:.2f} s = {replayed / full:.4f}, the first time {first:.2f} s"


def _query(text: str, tables: Mapping[str, Path]) -> Work:
    def work(spark: SparkSession) -> DataFrame:
        for name, folder in tables.items():
            spark.read.parquet(str(folder)).createOrReplaceTempView(name)
        return spark.sql(text)

    return work


def _words(spark: SparkSession, folder: Path) -> DataFrame:
    from pyspark.sql import functions as f

    return spark.read.text(str(folder)).select(f.explode(f.split("value", " ")).alias("word")).groupBy("word").count()


def _counts(folder: Path) -> dict[str, int]:
    """Return the frequencies of words in the middle file."""
    files = sorted(folder.iterdir())
    words = pc.list_flatten(pc.utf8_split_whitespace(pa.array([files[len(files) // 2].read_text()], pa.large_string())))
    counts = pc.value_counts(words)
    return {word: count for word, count in zip(*(counts.field(each).to_pylist() for each in (0, 1)), strict=True) if word}


def _rare_word(counts: Mapping[str, int]) -> str:
    return min(counts, key=lambda each: (counts[each], each))


def _frequent_word(counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    return max(counts, key=lambda each: counts[each] if counts[each] < total / 100 else 0)


def _lines_with(folder: Path, word: str) -> dict[str, list[int]]:
    """Return the numbers of the lines that have a word, by file."""
    searched, kept = word.encode(), {}
    for file in sorted(folder.iterdir()):
        content, line, counted, at = file.read_bytes(), 0, 0, -1
        found: list[int] = []
        while (at := content.find(searched, at + 1)) >= 0:
            around = content[max(at - 1, 0) : at] + content[at + len(searched) : at + len(searched) + 1]
            if around.strip():
                continue  # A part of a longer word.
            line += content.count(b"\n", counted, at)
            counted = at
            if found[-1:] != [line]:
                found.append(line)
        if found:
            kept[f"file:{file}"] = found
    return kept


def _change(file: Path) -> None:
    """Write a file of `lineitem` again with other prices and quantities, under the same name."""
    changed = file.with_suffix(".new")
    values = ", ".join(f"CAST({name} + 1 AS DECIMAL(15,2)) AS {name}" for name in ("l_quantity", "l_extendedprice"))
    rows = f"SELECT * REPLACE ({values}) FROM read_parquet('{file}')"
    duckdb.sql(f"COPY ({rows}) TO '{changed}' (FORMAT parquet, COMPRESSION snappy)")
    changed.replace(file)


def _rows(folder: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect() as database:
        return sorted(database.execute(f"SELECT * FROM read_parquet('{folder}/*.parquet')").fetchall(), key=repr)


@contextmanager
def _turns(folder: Path, *, processor: bool) -> Iterator[Turns]:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "4").config("spark.ui.enabled", "false")
    spark = builder.config("spark.driver.memory", "2g").config("spark.ui.showConsoleProgress", "false").getOrCreate()
    try:
        yield Turns(spark, folder, processor=processor)
    finally:
        spark.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description="Replays against full runs.")
    parser.add_argument("kinds", nargs="*", help="refresh, selective, exclusive; all of them by default")
    parser.add_argument("--scale", type=float, default=1.0, help="scale factor of TPC-H")
    parser.add_argument("--size", type=float, default=1.0, help="gigabytes of text")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processor", action="store_true", help="measure the processor time of the JVM")
    options = parser.parse_args()
    kinds = options.kinds or ["refresh", "selective", "exclusive"]
    (data := ROOT / ".tools" / "bench-data").mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=data) as folder, _turns(Path(folder), processor=options.processor) as turns:
        if "refresh" in kinds:
            refresh(turns, Path(folder), options.scale, options.rounds)
        if {"selective", "exclusive"} & set(kinds):
            words(turns, options.size, kinds, options.rounds)


if __name__ == "__main__":
    main()
