"""A SparkContext whose RDDs are followed, and a store of what was captured: runs an RDD program, and asks for the lineage of each line."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from pyspark import RDD, RDDBarrier, SparkConf, SparkContext, cloudpickle
from pyspark.sql import DataFrame, SparkSession, functions

from bench.truth.published import publish
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.trace import Semantics, TraceRequest
from headwater.graph.trace.record_pairs import trace_pairs
from headwater.spark_listener.capture import Bridge
from headwater.spark_listener.rdd import SavedRDD
from headwater.spark_listener.rdd_records.border import frame_of, rdd_of
from headwater.spark_listener.rdd_records.operators import Hooks, rows_made, unseen
from headwater.spark_listener.rdd_records.program import Program
from headwater.spark_listener.rdd_records.saves import begin_save, end_save
from headwater.spark_listener.rdd_records.sparing import Sparing
from tests.jvm import start_with
from tests.oracle import rdd_programs
from tests.oracle.rdd_programs import FRAMES, ROW_WISE, Step, Tags, joined, several, total

TENANT = "default"
_AT_ONCE = 4  # jobs
Result = TypeVar("Result")


@dataclass
class RddLaboratory:
    """See the module's docstring. `program` None: nothing is captured."""

    context: SparkContext
    session: SparkSession
    bridge: Bridge
    folder: Path
    store: AssociationStore
    program: Program | None = None
    faults: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)

    def renew(self, sparing: Sparing | None = None) -> None:
        """Begin to follow RDDs, knowing of none."""
        reads = self.bridge.files_read, self.bridge.bytes_read
        self.program = Program(self.context, self.folder / "segments", 1 << 40, *reads, sparing)

    def new_folder(self) -> Path:
        """A path where nothing is yet."""
        return self.folder / f"part{next(self._numbers)}"

    @staticmethod
    def side_by_side(parts: Sequence[Callable[[], Result]]) -> list[Result]:
        """Return the results of functions that mostly wait for Spark. They run at once, as threads of a program do."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(lambda part: part(), parts))

    def save(self, rdd: Any, operation: str = "saveAsTextFile") -> tuple[Path, Mapping[str, Any] | SavedRDD]:
        """Save an RDD, as text if nothing else is asked for; where, and what was captured, or the save with the reason why nothing was."""
        out = self.new_folder()
        begun = SavedRDD(id="1", operation=operation, inputs=[], outputs=[str(out)], started=0, ended=0)
        saved = begin_save(self.program, begun, rdd) if self.program else begun
        getattr(saved.rdd if saved.rdd is not None else rdd, operation)(str(out))
        assert self.faults == []
        captured = end_save(self.program, saved, self.bridge.files_written) if self.program else None
        return out, captured or saved

    def framed(self, rdd: Any, schema: Any = "k long, v long") -> DataFrame:
        """An RDD as a DataFrame, as the hooks around PySpark make it."""
        with rows_made() as rows:
            frame = self.session.createDataFrame(rdd, schema)
        with unseen():
            made: DataFrame = frame_of(self.program, self.bridge, rows[-1], frame) if self.program else frame
        return made

    def unframed(self, frame: DataFrame) -> Any:
        """A DataFrame as an RDD, as the hooks around PySpark make it."""
        with unseen():
            handed = rdd_of(self.program, self.bridge, frame) if self.program else None
        assert handed is None or handed.rdd is not None, handed
        return frame.rdd if handed is None else handed.rdd

    def write(self, frame: DataFrame) -> tuple[Path, Mapping[str, Any]]:
        """Write a DataFrame of one column as text; where, and what was captured."""
        assert self.program is not None
        out = self.new_folder()
        frame.write.text(str(out))
        assert self.bridge.flush()
        events = self.bridge.drain(10_000)
        assert not [event for event in events if event["event"] == "fault"], events
        captures = [event["capture"] for event in events if event["event"] == "query_end" and event.get("capture")]
        return out, self.program.completed(captures[-1])

    def keep(self, capture: Mapping[str, Any]) -> None:
        """Keep what was captured, for traces."""
        publish(self.store, TENANT, capture, self.folder / "segments")

    def lineage(self, out: Path, capture: Mapping[str, Any]) -> tuple[Counter[tuple[str, Tags]], bool]:
        """The sources of each written line, and whether all of them are exact."""
        self.keep(capture)
        lines = {(f"file:{part}", n): line for part in sorted(out.glob("part-*")) for n, line in enumerate(part.read_text().splitlines())}
        if not lines:
            return Counter(), True
        found, exact = asyncio.run(self._ask(out, list(lines)))
        return Counter((line, frozenset(found.get(place, ()))) for place, line in lines.items()), exact

    async def _ask(self, out: Path, places: Sequence[tuple[str, int]]) -> tuple[dict[Any, set[tuple[str, int]]], bool]:
        found: dict[Any, set[tuple[str, int]]] = {}
        asked = TraceRequest(dataset=str(out), rows=places, semantics=Semantics.INFLUENCE)
        async with trace_pairs(None, self.store, TENANT, asked) as traced:
            paths = [file.block.path for file in traced.files]
            for file, row, source, record in traced.read_pairs():
                found.setdefault((paths[file], row), set()).add((Path(paths[source]).name, record))
            return found, traced.exact


@contextmanager
def rdd_laboratory(folder: Path, master: str = "local[2]", **conf: str) -> Iterator[RddLaboratory]:
    """One with a context of its own."""
    start_with()
    cloudpickle.register_pickle_by_value(rdd_programs)
    settings = (
        SparkConf()
        .setMaster(master)
        .setAppName("rdds")
        .set("spark.ui.enabled", "false")
        .set("spark.ui.showConsoleProgress", "false")
        .setAll(list(conf.items()))
    )
    context = SparkContext(conf=settings)
    context.setLogLevel("ERROR")
    session = SparkSession(context)
    session.conf.set("spark.sql.shuffle.partitions", "3")
    bridge = Bridge.install(session, mode="active", segments=str(folder / "segments"))
    store = AssociationStore(folder / "associations", sources=ANYWHERE)
    laboratory = RddLaboratory(context, session, bridge, folder, store)
    put_back = [(owner, dict(vars(owner))) for owner in (RDD, RDDBarrier, SparkContext)]
    hooks = Hooks(lambda _: laboratory.program, lambda doing, error: laboratory.faults.append(f"{doing}: {error!r}"))
    hooks.install_rdd(RDD)
    hooks.install_context(SparkContext)
    try:
        laboratory.renew()
        yield laboratory
    finally:
        for owner, methods in put_back:
            for name, method in methods.items():
                if vars(owner)[name] is not method:
                    setattr(owner, name, method)
        bridge.close()
        store.close()
        context.stop()


def run(laboratory: RddLaboratory, sources: Sequence[Any], program: Sequence[Step]) -> Any:
    """The last register of a program, in PySpark. Sources are RDDs of lines `key value`."""
    registers = [source.map(lambda line: tuple(map(int, line.split()))) for source in sources]
    for step in program:
        inputs = [registers[number] for number in step.of]
        registers.append(_framed(laboratory, step, inputs) if step.op in FRAMES else _result(step, inputs))
    return registers[-1].map(lambda pair: f"{pair[0]} {pair[1]}")


def _framed(laboratory: RddLaboratory, step: Step, rdds: list[Any]) -> Any:
    frames = [laboratory.framed(rdd) for rdd in rdds]
    first, n = frames[0], step.n
    if step.op == "select":
        first = first.select(functions.pmod(functions.col("k") * 2 + n, functions.lit(7)).alias("k"), (functions.col("v") + n).alias("v"))
    elif step.op == "where":
        first = first.where(functions.pmod(functions.col("k") + functions.col("v"), functions.lit(3)) != n % 3)
    elif step.op == "distinctRows":
        first = first.distinct()
    elif step.op == "sumByKey":
        first = first.groupBy("k").agg(functions.pmod(functions.sum("v"), functions.lit(1000)).alias("v"))
    elif step.op == "joinFrames":
        both = first.alias("l").join(frames[1].alias("r"), functions.col("l.k") == functions.col("r.k"))
        first = both.select(functions.col("l.k").alias("k"), (functions.col("l.v") * 3 + functions.col("r.v")).alias("v"))
    elif step.op == "unionFrames":
        first = first.union(frames[1])
    return laboratory.unframed(first).map(tuple)


def _result(step: Step, rdds: list[Any]) -> Any:
    first, n = rdds[0], step.n
    if step.op in ("map", "keyBy", "keys", "mapValues"):
        return _mapped(step, first)
    if step.op == "flatMap":
        return first.flatMap(several)
    if step.op == "flatMapValues":
        return first.flatMapValues(lambda v: [v + index for index in range(v % 3)])
    if step.op == "filter":
        keep = ROW_WISE["filter"]
        return first.filter(lambda pair: bool(keep(pair, n)))
    if len(rdds) == 2:
        return _of_two(step, *rdds)
    groups = step.op in ("distinct", "groupBy") or (step.op.endswith("ByKey") and step.op != "sortByKey")
    return _grouped(step, first) if groups else _moved(step, first)


def _mapped(step: Step, rdd: Any) -> Any:
    n, change = step.n, ROW_WISE[step.op]
    if step.op == "mapValues":
        return rdd.mapValues(lambda v: v * 3 - n)
    if step.op == "keyBy":
        return rdd.keyBy(lambda p: (p[1] + n) % 5).mapValues(lambda p: p[0] * 10 + p[1])
    if step.op == "keys":
        return rdd.keys().map(lambda k: (k % 4 - 2, n))
    return rdd.map(lambda pair: change(pair, n)[0])


def _grouped(step: Step, rdd: Any) -> Any:
    parts = step.n % 4 + 1
    if step.op == "distinct":
        return rdd.distinct(parts)
    if step.op == "groupBy":
        return rdd.groupBy(lambda pair: (pair[0] + pair[1]) % 4, parts).mapValues(lambda pairs: total(value for _, value in pairs))
    if step.op == "reduceByKey":
        made = rdd.reduceByKey(lambda a, b: a + b, parts)
    elif step.op == "groupByKey":
        made = rdd.groupByKey(parts).mapValues(sum)
    elif step.op == "combineByKey":
        made = rdd.combineByKey(lambda v: v, lambda a, b: a + b, lambda a, b: a + b)
    elif step.op == "aggregateByKey":
        made = rdd.aggregateByKey(0, lambda a, b: a + b, lambda a, b: a + b, parts)
    else:
        made = rdd.foldByKey(0, lambda a, b: a + b)
    return made.mapValues(lambda value: value % 1000)


def _moved(step: Step, rdd: Any) -> Any:
    parts = step.n % 4 + 1
    if step.op == "sortByKey":
        return rdd.sortByKey(ascending=bool(step.n % 2), numPartitions=parts)
    if step.op == "sortBy":
        return rdd.sortBy(lambda pair: (pair[1], pair[0]), numPartitions=parts)
    if step.op == "persist":
        kept = rdd.persist()
        if step.n % 2:
            kept.count()
        return kept
    if step.op == "zipWithIndex":
        return rdd.zipWithIndex().map(lambda pair: pair[0])
    return getattr(rdd, step.op)(parts)


def _of_two(step: Step, left: Any, right: Any) -> Any:
    if step.op in ("union", "subtractByKey", "subtract", "intersection"):
        return getattr(left, step.op)(right)
    if step.op == "cogroup":
        return left.cogroup(right).mapValues(lambda sides: total((total(sides[0]), -total(sides[1]))))
    if step.op == "cartesian":
        return left.cartesian(right).map(lambda both: (both[0][0] + both[1][0], both[0][1] * 2 - both[1][1]))
    return getattr(left, step.op)(right, step.n % 4 + 1).mapValues(lambda sides: joined(*sides))
