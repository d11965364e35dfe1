"""RDD programs in plain Python: records with the source lines that each is made of (docs/guide/semantics.md). Shares no code with capture.

A program is a list of steps over registers; each puts its result into the next register. Records are pairs of whole numbers, so that every
step can follow every other; a step that makes something else of them brings it back to a pair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

Pair = tuple[int, int]
Tags = frozenset[tuple[str, int]]
Tagged = tuple[Pair, Tags]


@dataclass(frozen=True, slots=True)
class Step:
    """An operation on registers `of`, with a number that some operations use."""

    op: str
    of: tuple[int, ...]
    n: int = 0


NOTHING: Tags = frozenset()
MISSING = -7  # stands for the missing side of an outer join


def joined(left: int | None, right: int | None) -> int:
    """The value of a joined pair."""
    return (MISSING if left is None else left) * 3 + (MISSING if right is None else right)


def several(pair: Pair) -> list[Pair]:
    """No pair, one, or two of one."""
    return [(pair[0] + index, pair[1] - index) for index in range(pair[1] % 3)]


def total(values: Iterable[int]) -> int:
    """A value of many, whatever their order."""
    return sum(values) % 1000


# One record after the other: what becomes of a pair, in PySpark and here.
ROW_WISE: dict[str, Callable[[Pair, int], list[Pair]]] = {
    "map": lambda p, n: [((p[0] * 2 + n) % 7, p[1] + n)],
    "flatMap": lambda p, _: several(p),
    "filter": lambda p, n: [p] if (p[0] + p[1]) % 3 != n % 3 else [],
    "mapValues": lambda p, n: [(p[0], p[1] * 3 - n)],
    "flatMapValues": lambda p, _: [(p[0], p[1] + index) for index in range(p[1] % 3)],
    "keyBy": lambda p, n: [((p[1] + n) % 5, p[0] * 10 + p[1])],
    "keys": lambda p, n: [(p[0] % 4 - 2, n)],
}
# The work in Spark SQL, between an RDD that becomes a DataFrame and a DataFrame that becomes an RDD, and the equal operation.
FRAMES = {
    "frame": "persist", "select": "map", "where": "filter", "distinctRows": "distinct", "sumByKey": "reduceByKey", "joinFrames": "join",
    "unionFrames": "union",
}  # fmt: skip
MOVING = ("sortByKey", "sortBy", "partitionBy", "repartition", "coalesce", "repartitionAndSortWithinPartitions", "persist", "zipWithIndex")


def lineage(sources: Sequence[Sequence[Tagged]], program: Sequence[Step]) -> Counter[tuple[str, Tags]]:
    """The lines that the last register is written as, each with what it is made of."""
    registers = [list(source) for source in sources]
    for step in program:
        registers.append(result(step, [registers[number] for number in step.of]))
    return Counter((f"{key} {value}", tags) for (key, value), tags in registers[-1])


def result(step: Step, inputs: list[list[Tagged]]) -> list[Tagged]:
    """Return the output of a step for its inputs."""
    step = Step(FRAMES.get(step.op, step.op), step.of, step.n)
    records = inputs[0]
    if step.op in ROW_WISE:
        return [(made, tags) for pair, tags in records for made in ROW_WISE[step.op](pair, step.n)]
    if step.op in MOVING:
        return records
    if step.op == "union":
        return [*inputs[0], *inputs[1]]
    if step.op == "cartesian":
        return [((k + j, v * 2 - w), a | b) for (k, v), a in inputs[0] for (j, w), b in inputs[1]]
    if step.op == "distinct":
        return [(pair, tags) for pair, tags in _by(records, lambda pair: pair).items()]
    if step.op == "groupBy":
        groups = _grouped(records, lambda pair: (pair[0] + pair[1]) % 4)
        return [((key, total(value for (_, value), _ in group)), _all(group)) for key, group in groups.items()]
    if step.op in {"reduceByKey", "groupByKey", "combineByKey", "aggregateByKey", "foldByKey"}:
        return [((key, total(value for (_, value), _ in group)), _all(group)) for key, group in _grouped(records, _key).items()]
    return _of_two(step, *inputs)


def _of_two(step: Step, left: list[Tagged], right: list[Tagged]) -> list[Tagged]:
    lefts, rights = _grouped(left, _key), _grouped(right, _key)
    if step.op == "subtractByKey":
        return [record for record in left if record[0][0] not in rights]
    if step.op == "subtract":
        there = {pair for pair, _ in right}
        return [record for record in left if record[0] not in there]
    if step.op == "intersection":
        ours, theirs = _by(left, lambda pair: pair), _by(right, lambda pair: pair)
        return [(pair, ours[pair] | theirs[pair]) for pair in ours if pair in theirs]
    if step.op == "cogroup":
        keys = dict.fromkeys([*lefts, *rights])
        return [
            (
                (key, total((total(v for (_, v), _ in lefts.get(key, ())), -total(v for (_, v), _ in rights.get(key, ()))))),
                _all(lefts.get(key, ())) | _all(rights.get(key, ())),
            )
            for key in keys
        ]
    made = [((key, joined(v, w)), a | b) for key in lefts if key in rights for (_, v), a in lefts[key] for (_, w), b in rights[key]]
    if step.op in {"leftOuterJoin", "fullOuterJoin"}:
        made += [((key, joined(v, None)), a) for key in lefts if key not in rights for (_, v), a in lefts[key]]
    if step.op in {"rightOuterJoin", "fullOuterJoin"}:
        made += [((key, joined(None, w)), b) for key in rights if key not in lefts for (_, w), b in rights[key]]
    return made


def _key(pair: Pair) -> int:
    return pair[0]


def _grouped(records: Iterable[Tagged], key: Callable[[Pair], Any]) -> dict[Any, list[Tagged]]:
    groups: dict[Any, list[Tagged]] = {}
    for record in records:
        groups.setdefault(key(record[0]), []).append(record)
    return groups


def _by(records: Iterable[Tagged], key: Callable[[Pair], Any]) -> dict[Any, Tags]:
    return {value: _all(group) for value, group in _grouped(records, key).items()}


def _all(group: Iterable[Tagged]) -> Tags:
    return frozenset(chain.from_iterable(tags for _, tags in group))
