"""RDD programs whose records contain their own lineage: each carries the names of its source lines, as data of its own.

This oracle works even for programs that an interpreter could not follow: samples, places in a partition, partitions as a whole, the part
that a function saw before it stopped. A record is `(key, (number, names))`. Names meet if the program makes one value of several.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.lineages import lineage
from headwater.spark_listener.declared import row_wise

if TYPE_CHECKING:
    from tests.oracle.rdd_laboratory import RddLaboratory

Value = tuple[int, frozenset[str]]
Record = tuple[Any, Value]


def parsed(line: str) -> Record:
    """A source line `key number name`."""
    key, number, name = line.split()
    return int(key), (int(number), frozenset({name}))


def written(record: Record) -> str:
    """A line of the result, with its names."""
    key, (number, names) = record
    return f"{key!r} {number} {','.join(sorted(names))}"


def both(left: Value, right: Value) -> Value:
    """One value of two."""
    return (left[0] + right[0]) % 1000, left[1] | right[1]


def all_of(values: Iterable[Value]) -> Value:
    """One value of many."""
    nothing: Value = (0, frozenset())
    return reduce(both, values, nothing)


def size(key: Any) -> int:
    """A number for a key of whatever type."""
    if key is None or (isinstance(key, float) and math.isnan(key)):
        return -5
    return sum(map(size, key)) if isinstance(key, tuple) else int(key)


def _keyed(record: Record, n: int) -> Record:
    key = size(record[0])
    kinds: list[Callable[[], Any]] = [
        lambda: key,
        lambda: str(key),
        lambda: None if key % 3 == 0 else key,
        lambda: (key % 2, None),
        lambda: float(key),
        lambda: (str(key % 3), (key,)),
        lambda: b"%d" % key,
        lambda: key - 2,
    ]
    return kinds[n](), record[1]


def _with_nan(record: Record) -> Record:
    key = size(record[0])
    return math.nan if key % 3 == 0 else float(key), record[1]


def _in_turn(records: Iterable[Record]) -> Iterator[Record]:
    before = 0
    for key, (number, names) in records:
        before += number
        yield key, (before % 1000, names)


@row_wise
def _one_by_one(records: Iterable[Record]) -> Iterator[Record]:
    for place, (key, (number, names)) in enumerate(records):
        yield key, (number + place % 3, names)


@lineage(of=lambda number, _: (number, number + 1), check=3)
def _in_pairs(records: Iterable[Record]) -> Iterator[Record]:
    for (_, left), (key, right) in pairwise(records):
        yield key, both(left, right)


@lineage(of=lambda number, _: (number + 1,))
def _as_if_of_the_next(records: Iterable[Record]) -> Iterator[Record]:
    yield from records


class _Deals:
    """A partitioner that looks at how often it was asked, and not at the key."""

    def __init__(self) -> None:
        self._asked = 0

    def __call__(self, _key: Any) -> int:
        self._asked += 1
        return self._asked


def _piped(line: str) -> Record:
    key, number, *names = line.split(" ")
    return int(key), (int(number), frozenset(filter(None, names[0].split(","))))


def _persisted(rdd: Any, n: int) -> Any:
    kept = rdd.persist()
    if n % 4 == 1:
        kept.count()
    elif n % 4 == 2:
        kept.take(1)
    elif n % 4 == 3:
        kept.count()
        kept.unpersist()
    return kept


def _checkpointed(rdd: Any, n: int) -> Any:
    kept = rdd.mapValues(lambda v: v)
    if n % 2:
        kept.checkpoint()
    else:
        kept.localCheckpoint()
    if n % 3:
        kept.count()
    return kept


def _broadcast(rdd: Any, n: int) -> Any:
    shared = rdd.ctx.broadcast({key: key * n for key in range(-20, 20)})
    return rdd.mapValues(lambda v: (v[0] + shared.value.get(v[0] % 20, 0), v[1]))


def _scattered(rdd: Any, n: int) -> Any:
    deals, parts = _Deals(), n % 3 + 2
    return rdd.partitionBy(parts, deals).reduceByKey(both, parts, deals)


ONE: dict[str, Callable[[Any, int], Any]] = {
    "map": lambda r, n: r.map(lambda x: ((size(x[0]) * 2 + n) % 7, x[1])),
    "flatMap": lambda r, n: r.flatMap(lambda x: [(size(x[0]) + i, (x[1][0] - i, x[1][1])) for i in range((x[1][0] + n) % 3)]),
    "filter": lambda r, n: r.filter(lambda x: (size(x[0]) + x[1][0]) % 3 != n % 3),
    "mapValues": lambda r, n: r.mapValues(lambda v: (v[0] * 3 - n, v[1])),
    "keyed": lambda r, n: r.map(lambda x: _keyed(x, n)),
    "reduceByKey": lambda r, n: r.reduceByKey(both, n % 4 + 1),
    "groupByKey": lambda r, _: r.groupByKey().mapValues(all_of),
    "combineByKey": lambda r, n: r.combineByKey(lambda v: v, both, both, n % 4 + 1),
    "foldByKey": lambda r, _: r.foldByKey((0, frozenset()), both),
    "groupBy": lambda r, n: r.groupBy(lambda x: size(x[0]) % (n + 1), 2).mapValues(lambda xs: all_of(x[1] for x in xs)),
    "zipWithIndex": lambda r, _: r.zipWithIndex().map(lambda x: (x[0][0], (x[0][1][0] + x[1], x[0][1][1]))),
    "zipWithUniqueId": lambda r, _: r.zipWithUniqueId().map(lambda x: (x[0][0], (x[0][1][0] + x[1], x[0][1][1]))),
    "zipped": lambda r, n: r.zip(r.mapValues(lambda v: (v[0] + n, v[1]))).map(lambda x: (x[0][0], both(x[0][1], x[1][1]))),
    "sample": lambda r, n: r.sample(False, 0.6, n),
    "sampleTwice": lambda r, n: r.sample(True, 1.2, n),
    "split": lambda r, n: r.randomSplit([1, 2], n)[n % 2],
    "glom": lambda r, _: r.glom().filter(len).map(lambda xs: (len(xs), all_of(x[1] for x in xs))),
    "coalesce": lambda r, n: r.coalesce(n % 3 + 1),
    "repartition": lambda r, n: r.repartition(n % 4 + 1),
    "partitionBy": lambda r, n: r.partitionBy(n % 4 + 1),
    "dealt": lambda r, n: r.partitionBy(n % 4 + 1, _Deals()),
    "sortBy": lambda r, n: r.sortBy(lambda x: (size(x[0]), x[1][0]), n % 2 == 0, n % 4 + 1),
    "sortByKey": lambda r, n: r.map(lambda x: (size(x[0]), x[1])).sortByKey(n % 2 == 0, n % 4 + 1),
    "sortParts": lambda r, n: r.repartitionAndSortWithinPartitions(n % 3 + 1, size, n % 2 == 0, size),
    "persist": _persisted,
    "checkpoint": _checkpointed,
    "twice": lambda r, _: r.union(r),
    "withNothing": lambda r, _: r.ctx.union([r.ctx.emptyRDD(), r, r.ctx.parallelize([], 2)]),
    "broadcast": _broadcast,
    "declared": lambda r, _: r.mapPartitions(_one_by_one),
    "placed": lambda r, _: r.mapPartitions(_in_pairs),
}
LOOSE: dict[str, Callable[[Any, int], Any]] = {
    "inTurn": lambda r, _: r.mapPartitions(_in_turn),
    "firstFew": lambda r, n: r.mapPartitions(lambda xs: islice(xs, n)),
    "noneOfOne": lambda r, n: r.mapPartitionsWithIndex(lambda i, xs: [] if i == n % 2 else [(0, all_of(x[1] for x in xs))]),
    "misplaced": lambda r, _: r.mapPartitions(_as_if_of_the_next),
    "pipe": lambda r, _: r.map(lambda x: f"{size(x[0])} {x[1][0]} {','.join(sorted(x[1][1]))}").pipe("cat").map(_piped),
    "nan": lambda r, _: r.map(_with_nan).reduceByKey(both, 1).map(lambda x: (size(x[0]), x[1])),
    "scattered": _scattered,
}
TWO: dict[str, Callable[[Any, Any, int], Any]] = {
    "union": lambda a, b, _: a.union(b),
    "join": lambda a, b, n: a.join(b, n % 4 + 1).mapValues(lambda v: both(*v)),
    "leftOuterJoin": lambda a, b, _: a.leftOuterJoin(b).mapValues(lambda v: all_of(filter(None, v))),
    "fullOuterJoin": lambda a, b, n: a.fullOuterJoin(b, n % 4 + 1).mapValues(lambda v: all_of(filter(None, v))),
    "cogroup": lambda a, b, _: a.cogroup(b).mapValues(lambda v: all_of([*v[0], *v[1]])),
    "groupWith": lambda a, b, _: a.groupWith(b, a.mapValues(lambda v: v)).mapValues(lambda v: all_of(chain(*v))),
    "subtractByKey": lambda a, b, n: a.subtractByKey(b, n % 4 + 1),
    "cartesian": lambda a, b, _: a.cartesian(b).map(lambda x: (size(x[0][0]) + size(x[1][0]), both(x[0][1], x[1][1]))),
}  # fmt: skip
GROWS = ("join", "leftOuterJoin", "fullOuterJoin", "cartesian", "twice", "union", "sampleTwice", "flatMap")


def compared(laboratory: RddLaboratory, out: Path, capture: Mapping[str, Any]) -> bool:
    """Compare what a trace says of written lines with what they say themselves. Whether it is exact; else it may say more, and says so."""
    if capture["status"] != "complete":
        assert capture["problems"]
        return False
    found, exact = laboratory.lineage(out, capture)
    for line, sources in found:
        names = frozenset(line.rpartition(" ")[2].split(",")) - {""}
        traced = {f"{file}:{n}" for file, n in sources}
        assert names <= traced, f"{line} lacks {names - traced}"
        assert not exact or names == traced, f"{line} has {traced - names} too much"
    return exact
