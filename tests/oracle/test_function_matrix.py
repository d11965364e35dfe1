"""Every kind of function, window, generator and join writes with capture what it writes without, or fails with the same error.

The rows of each file are compared in their order: every source is one file, so that Spark itself has no choice of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from headwater.spark_listener.capture import Bridge
from tests.jvm import PATIENTLY, start_with
from tests.oracle.function_matrix import SOURCES, Program, programs
from tests.oracle.java_functions import register_java_mean
from tests.oracle.laboratory import INTERPRETED

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]

MODES = {"active": 0.0, "auto": 1.0, "lazy": float("inf"), "coarse": 0.0}
_TELLING = ("lazy", "active")


class Matrix(NamedTuple):
    """A session without capture, and one for each mode, of one context."""

    folder: Path
    plain: SparkSession
    captured: dict[str, tuple[SparkSession, Bridge]]


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matrix]:
    folder = tmp_path_factory.mktemp("matrix")
    start_with()
    builder = SparkSession.builder.master("local[2]").appName("matrix").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse")).config("spark.jars", "")
    plain = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    plain.sparkContext.setLogLevel("OFF")
    _write_sources(folder)
    plain.read.parquet(str(folder / "facts")).write.saveAsTable("stored")
    captured = {}
    for mode, budget in MODES.items():
        session = plain.newSession()
        captured[mode] = session, Bridge.install(session, mode=mode, segments=str(folder / f"segments-{mode}"), budget=budget)
    for place, session in enumerate((plain, *(session for session, _ in captured.values()))):
        session.conf.set("spark.sql.shuffle.partitions", "2")
        _prepare(session, folder, place)
    try:
        yield Matrix(folder, plain, captured)
    finally:
        for _, bridge in captured.values():
            bridge.close()
        plain.stop()


def _write_sources(folder: Path) -> None:
    facts = [
        {
            "id": i, "k": "abcde"[i * i % 5], "n": i % 3, "s": {"a": i % 2, "b": "xy"[i % 2]}, "a": [i % 2, i % 3],
            "v": float(i * 7 % 31), "t": f"x{i % 4}", "b": i % 2 == 0,
        }
        for i in range(40)
    ]  # fmt: skip
    for name, rows in {"facts": facts, "names": [{"key": key, "w": place} for place, key in enumerate("abbe")]}.items():
        (folder / name).mkdir()
        pq.write_table(pa.Table.from_pylist(rows), folder / name / "part.parquet")


def _prepare(session: SparkSession, folder: Path, place: int) -> None:
    session.read.parquet(str(folder / "facts")).withColumn("m", f.expr("cast(v as decimal(10, 2))")).createOrReplaceTempView("facts")
    session.read.parquet(str(folder / "names")).createOrReplaceTempView("names")
    cached = session.table("facts").where(f"id >= -{place}").cache()  # sessions share what is cached, so each has a plan of its own
    cached.count()
    cached.createOrReplaceTempView("cached")
    session.sql("CREATE OR REPLACE TEMP VIEW stored AS SELECT *, cast(v as decimal(10, 2)) m FROM spark_catalog.default.stored")
    session.udf.register("pandas_mean", f.pandas_udf(_mean, t.DoubleType()))
    session.udf.register("pandas_span", f.pandas_udf(_span, t.DoubleType()))
    session.udf.register("arrow_mean", f.arrow_udf(_arrow_mean, t.DoubleType()))
    session.udtf.register("twice", f.udtf(_Twice, returnType="w long, n int"))
    register_java_mean(session, "java_mean")


def _mean(values: pd.Series) -> float:
    return float(values.mean())


def _span(values: pd.Series, others: pd.Series) -> float:
    return float(values.max() - others.min())


def _arrow_mean(values: pa.Array) -> float:
    return float(pa.compute.mean(values).as_py())


class _Twice:
    def eval(self, number: int) -> Iterator[tuple[int, int]]:
        yield number, 0
        yield number, 1


def _outcome(session: SparkSession, text: str, out: Path) -> Any:
    """The rows of each file that a query writes, or the class and condition of its error."""
    try:
        frame = session.sql(text)
        frame.toDF(*(f"c{place}" for place in range(len(frame.columns)))).write.parquet(str(out))
    except PySparkException as error:
        return type(error).__name__, error.getCondition()
    except Py4JJavaError as error:  # which PySpark has no class for
        return str(error.java_exception.getClass().getName()), str(error.java_exception.getMessage())[:80]
    return [pq.ParquetFile(path).read().to_pylist() for path in sorted(out.glob("*.parquet"))]


def _differences(matrix: Matrix, program: Program, modes: tuple[str, ...]) -> list[str]:
    name = program.name.replace(" ", "_").replace("/", "_")
    expected = _outcome(matrix.plain, program.text, matrix.folder / f"plain-{name}")
    found = []
    for mode in modes:
        outcome = _outcome(matrix.captured[mode][0], program.text, matrix.folder / f"{mode}-{name}")
        if _comparable(outcome, program) != _comparable(expected, program):
            found.append(f"{program.name} in {mode}: {_short(outcome)} instead of {_short(expected)}\n    {program.text}")
    return found


def _comparable(outcome: Any, program: Program) -> str:
    """As text, in which NaN equals itself. Spark takes several sets of distinct values in an order that each plan has anew."""
    if isinstance(outcome, list) and len({part.split(")")[0] for part in program.text.split("(DISTINCT")[1:]}) > 1:
        return repr(sorted(repr(row) for rows in outcome for row in rows))
    return repr(outcome)


def _short(outcome: Any) -> str:
    return repr(outcome)[:400]


def _faults(matrix: Matrix) -> list[str]:
    """Faults of capture itself since this was last asked."""
    found = []
    for mode, (_, bridge) in matrix.captured.items():
        assert bridge.flush(PATIENTLY)
        while events := bridge.drain(0):
            for event in events:
                problems = (event.get("capture") or {}).get("problems", [])
                found += [f"{mode}: {problem}" for problem in problems if problem["kind"] == "fault"]
                found += [f"{mode}: {event}" for _ in [0] if event["event"] in {"fault", "off"}]
    return found


@pytest.mark.slow
def test_a_telling_program_of_each_kind_gives_what_it_gives_without(matrix: Matrix) -> None:
    chosen = [program for program in programs() if program.telling]
    assert len(chosen) == 27
    assert [difference for program in chosen for difference in _differences(matrix, program, _TELLING)] == []
    assert _faults(matrix) == []


def test_the_programs_are_captured(matrix: Matrix) -> None:
    session, bridge = matrix.captured["lazy"]
    _faults(matrix)
    for source in SOURCES.values():
        session.sql(f"SELECT k, count(*) c FROM {source} GROUP BY k").write.mode("overwrite").parquet(str(matrix.folder / "captured"))
    assert bridge.flush(PATIENTLY)
    captures = [event["capture"] for event in bridge.drain(1000) if event.get("capture")]
    assert [capture["status"] for capture in captures] == ["complete"] * len(SOURCES)


@pytest.mark.torture
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", sorted({program.kind for program in programs()}))
def test_every_program_gives_what_it_gives_without(matrix: Matrix, kind: str) -> None:
    """Programs over files also generate their code, which the order of groups depends on, and also run in the mode that changes no plan."""
    chosen = [program for program in programs() if program.kind == kind]
    found = []
    for program in sorted(chosen, key=lambda program: program.generates_code):
        for session in (matrix.plain, *(session for session, _ in matrix.captured.values())):
            for name, value in INTERPRETED.items():
                session.conf.unset(name) if program.generates_code else session.conf.set(name, value)
        found += _differences(matrix, program, tuple(MODES) if program.generates_code else ("active", "auto", "lazy"))
    assert found == [], "\n".join(found)
    assert _faults(matrix) == []
