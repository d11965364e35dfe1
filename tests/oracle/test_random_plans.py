"""Random programs over random tables: the captured and traced lineage is the oracle's, and capture changes no answer.

HEADWATER_PLANS=N runs N programs instead of a short run (`make torture`).
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.pandas.functions import pandas_udf

from headwater.graph.trace import Semantics, TraceAnswer
from headwater.spark_listener.checkpoints import TappedFrame
from tests.oracle.drawn import TYPES, Tables, tables
from tests.oracle.laboratory import Laboratory, Place, laboratory_in
from tests.oracle.plans import Plan, Record, Scan
from tests.oracle.rows import LOCAL, GroupingSets
from tests.oracle.shapes import DropDuplicates, Unpivot
from tests.oracle.strategies import plans
from tests.oracle.values import Value, same

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(36_000),
    # py4j leaves closing its sockets to the garbage collector, whenever that comes
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
# In auto the tables are as large to the budget as real ones are to a second: some groups are written, some are found again.
_BUDGETS = {"active": 0.0, "auto": 1e-5, "lazy": float("inf")}
PROGRAMS = int(os.environ.get("HEADWATER_PLANS", "10"))
_ARROW = {"bigint": pa.int64(), "double": pa.float64(), "string": pa.string()}
_FAILS = (PySparkException, Py4JJavaError)
Values = tuple[Value, ...]
_PARTITIONS = st.sampled_from([2] * 160 + [1] * 14 + [7] * 14 + [3] * 11 + [200])  # of a shuffle; 200 take seconds, below Python minutes
# The compiled parts: nothing, expressions alone, stages. Compiling a small program takes longer than running it.
_COMPILED = st.sampled_from(["nothing"] * 4 + ["expressions", "stages"])
_ONE_OF_ALL = "lets this EXISTS read one row"  # said of an EXISTS that is left without a condition
_numbers = itertools.count()
Key = tuple[Values, frozenset[Record]]


@pytest.fixture(
    scope="module",
    params=[pytest.param(budget, id=mode, marks=() if mode == "auto" else pytest.mark.slow) for mode, budget in _BUDGETS.items()],
)
def laboratory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    with laboratory_in(tmp_path_factory.mktemp("random"), budget=request.param) as made:
        register_functions(made.spark)
        yield made


def register_functions(spark: SparkSession) -> None:
    """Make the functions of the program's own that plans call."""
    spark.udf.register("twice", lambda value: None if value is None else 2 * value, "bigint")
    spark.udf.register("twice_in_pandas", pandas_udf(lambda values: values * 2, "bigint"))


@settings(
    max_examples=PROGRAMS, deadline=None, derandomize="HEADWATER_PLANS" not in os.environ, print_blob=True,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a program takes a second: shrinking would take the hour
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(data=st.data(), made=tables(), adaptive=st.booleans(), broadcast=st.booleans(), compiled=_COMPILED, partitions=_PARTITIONS)
def test_the_lineage_of_a_random_program_is_the_oracles(
    laboratory: Laboratory, data: st.DataObject, made: Tables, adaptive: bool, broadcast: bool, compiled: str, partitions: int
) -> None:
    spark, here = laboratory.spark, laboratory.folder / str(next(_numbers))
    spark.conf.set("spark.sql.adaptive.enabled", str(adaptive).lower())
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "10MB" if broadcast else "-1")
    spark.conf.set("spark.sql.codegen.wholeStage", str(compiled == "stages").lower())
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN" if compiled == "nothing" else "FALLBACK")
    spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    scans = {name: _written(spark, here / name, name, files) for name, files in made.files.items()}
    plan = data.draw(plans(scans))
    for part in reversed(list(plan.parts())):
        if isinstance(part, DropDuplicates):
            part.prepare(spark)
    query = _kept(laboratory, data, plan)
    capture = _run(laboratory, query, here)
    if capture is None:
        event("fails in Spark itself")
        return
    for kind in ("InMemoryRelation", "Checkpoint"):
        event(f"{kind} read: {sum(operator['op'] == kind for operator in capture['operators'])}")
    written = list(_rows_of(here / "out"))
    assert Counter(values for _, values in written) == Counter(_values(row.values) for row in plan.rows), plan.sql()
    lacks = [problem for problem in capture["problems"] if problem["kind"] in {"missing", "influence"}]
    missing = [(problem["operator"].split()[0], problem["reason"]) for problem in lacks]
    if lost := sorted(operator for operator, reason in missing if operator in ("Scan", "Window") or _ONE_OF_ALL in reason):
        event(f"the optimizer took out: {', '.join(lost)}")
    elif capture["status"] == "refused":
        (problem, *_) = capture["problems"]
        assert problem["kind"] == "refused", problem
        event(f"refused: {problem['operator']}: {problem['reason'].partition(',')[0][:100]}")
    else:
        assert capture["status"] == "complete", capture["problems"]
        laboratory.publish(capture)
        event(f"derived: {any('derived' in boundary for boundary in capture['boundaries'])}")
        _compare(laboratory, plan, here / "out", written, data)
    shutil.rmtree(here)


def _compare(laboratory: Laboratory, plan: Plan, out: Path, written: list[tuple[Place, Values]], data: st.DataObject) -> None:
    everything = frozenset(range(plan.width))
    # Groups of several grouping sets, or the rows that were one, may begin with the same record: which comes first is not laid down.
    # The engine chooses the row of a key that DropDuplicates keeps: the witness has that row, the oracle's has the first.
    several = any(
        isinstance(part, DropDuplicates) or (isinstance(part, (GroupingSets, Unpivot)) and part is not plan) for part in plan.parts()
    )
    expected: dict[Key, list[frozenset[Record]]] = defaultdict(list)
    for row in plan.rows:
        expected[_values(row.values), row.influence].append(row.witness_of(everything))
    found: dict[Key, list[tuple[frozenset[Record], set[str]]]] = defaultdict(list)
    together = _asked_together(laboratory, out, [place for place, _ in written])
    alone = {data.draw(st.sampled_from(written))[0]} if written else set()
    for place, values in written:
        if together and place not in alone:
            influenced, witnessed = together[place]
            found[values, influenced].append((witnessed, set()))
            continue
        influence = laboratory.ask(out, place, Semantics.INFLUENCE)
        if not influence.exact:
            assert not together, (plan.sql(), influence.incomplete)
            _compare_superset(plan, values, influence)
            return
        witness = laboratory.ask(out, place, Semantics.WITNESS)
        found[values, _records(influence)].append((_records(witness), {entry.effect for entry in witness.incomplete}))
        assert not together or together[place] == (_records(influence), _records(witness)), plan.sql()
    assert {key: len(rows) for key, rows in found.items()} == {key: len(rows) for key, rows in expected.items()}, plan.sql()
    for key, rows in found.items():
        if several:
            event("witness: several are equal in standing")
            assert all(witness <= key[1] and bool(witness) == bool(key[1]) for witness, _ in rows), (plan.sql(), key)
        elif not any(effects for _, effects in rows):
            assert Counter(witness for witness, _ in rows) == Counter(expected[key]), (plan.sql(), key)
        else:
            event(f"witness: {', '.join(sorted(set().union(*(effects for _, effects in rows))))}")
            assert all(witness <= key[1] for witness, _ in rows), (plan.sql(), key)
            said = [witness for witness, effects in rows if "missing" not in effects]
            assert all(any(true <= witness for true in expected[key]) for witness in said), (plan.sql(), key)


def _asked_together(laboratory: Laboratory, out: Path, places: list[Place]) -> dict[Place, tuple[frozenset[Record], frozenset[Record]]]:
    """Influence and witness of all records of an output, each by one walk; nothing where these are not exact: each is to be asked alone."""
    if not places:
        return {}
    influence, exact = laboratory.ask_each(out, places, Semantics.INFLUENCE)
    witness, exact_too = laboratory.ask_each(out, places, Semantics.WITNESS) if exact else ({}, False)
    return {place: (_placed(influence[place]), _placed(witness[place])) for place in places} if exact_too else {}


def _compare_superset(plan: Plan, values: Values, answer: TraceAnswer) -> None:
    """Compare an influence that is marked as possibly too large."""
    assert {entry.effect for entry in answer.incomplete} == {"superset"}, (plan.sql(), answer.incomplete)
    event(f"influence: superset by {', '.join(sorted(entry.what.split()[0] for entry in answer.incomplete))}")
    found = _records(answer)
    assert any(_values(row.values) == values and row.influence <= found for row in plan.rows), (plan.sql(), values)


def _run(laboratory: Laboratory, query: str, here: Path) -> Mapping[str, Any] | None:
    """The capture of a query that was run; None where it fails without us, too (EXCEPT ALL above dropDuplicates is one)."""
    spark = laboratory.spark
    try:
        spark.sql(query).write.parquet(str(here / "out"))
    except _FAILS:
        with laboratory.without_capture(), pytest.raises(_FAILS):
            spark.sql(query).write.parquet(str(here / "plain"))
        laboratory.forget()  # of a query that cannot even be analysed there is nothing
        return None
    finally:
        spark.catalog.clearCache()
    return laboratory.captured()


def _kept(laboratory: Laboratory, data: st.DataObject, plan: Plan) -> str:
    """The query, some of whose parts are cached or checkpointed."""
    query, parts = plan.sql(), [part for part in plan.parts() if not isinstance(part, Scan)]
    for part in data.draw(st.lists(st.sampled_from(parts), max_size=2)) if parts else []:
        kept = laboratory.spark.sql(part.sql()).cache()
        if data.draw(st.booleans()):
            kept.count()
    named = [part for part in parts if part.sql() in query]  # what lies below dropDuplicates is behind a view
    if named and data.draw(st.integers(0, 2)) == 0:
        return _checkpointed(laboratory, query, data.draw(st.sampled_from(named)), eager=data.draw(st.booleans()))
    return query


def _checkpointed(laboratory: Laboratory, query: str, part: Plan, *, eager: bool) -> str:
    """The query with a checkpoint in the place of a part of it."""
    frame = laboratory.spark.sql(part.sql())
    token = TappedFrame.of(frame, laboratory.bridge)
    assert token is not None
    kept = (token.frame or frame).localCheckpoint(eager)
    token.made(kept)
    name = f"checkpoint_{next(_numbers)}"
    kept.createOrReplaceTempView(name)
    return query.replace(part.sql(), f"SELECT {', '.join(frame.columns)} FROM {name}")


def _written(spark: SparkSession, folder: Path, name: str, files: Any) -> Scan:
    folder.mkdir(parents=True)
    schema = pa.schema([(f"c{place}", _ARROW[kind]) for place, kind in enumerate(TYPES)])
    known: list[tuple[str, Any]] = []
    for number, rows in enumerate(files):
        path = folder / f"part-{number}.parquet"
        pq.write_table(pa.Table.from_pylist([{f"c{place}": value for place, value in enumerate(row)} for row in rows], schema), path)
        known.append((f"file:{path}", rows))
    spark.read.schema("c0 bigint, c1 double, c2 string, c3 bigint").parquet(str(folder)).createOrReplaceTempView(name)
    return Scan(name, known, len(TYPES))


def _records(answer: TraceAnswer) -> frozenset[Record]:
    return _placed((str(record.file), int(str(record.row))) for record in answer.records)


def _placed(records: Iterable[Place]) -> frozenset[Record]:
    """As (file, row). The rows of a relation of the program's own are those of the first: what is compared has one."""
    return frozenset((LOCAL if file.startswith(LOCAL) else file, row) for file, row in records)


def _rows_of(out: Path) -> Iterator[tuple[tuple[str, int], Values]]:
    for path in sorted(out.glob("*.parquet")):
        columns = pq.ParquetFile(path).read().to_pydict()
        for number, values in enumerate(zip(*columns.values(), strict=True)):
            yield (f"file:{path}", number), _values(values)


def _values(values: Any) -> Values:
    return tuple(same(value) for value in values)
