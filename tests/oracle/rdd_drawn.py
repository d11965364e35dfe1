"""RDD programs drawn by chance: steps over two tables, and whether the result is written as a DataFrame. A seed draws them again."""

from __future__ import annotations

import random
from typing import Any

from tests.oracle import rdd_programs
from tests.oracle.rdd_programs import FRAMES, MOVING, ROW_WISE, Step

GROUPS = ("distinct", "groupBy", "reduceByKey", "groupByKey", "combineByKey", "aggregateByKey", "foldByKey")
OF_TWO = (
    "union", "union", "join", "leftOuterJoin", "rightOuterJoin", "fullOuterJoin", "cogroup", "subtractByKey", "subtract", "intersection",
    "cartesian", "joinFrames", "unionFrames",
)  # fmt: skip
OPERATIONS = (*ROW_WISE, *MOVING, *GROUPS, *OF_TWO, *FRAMES)
_MOST = 400  # records of a register
_ROWS = 14
Table = list[tuple[int, int]]
Drawn = tuple[list[Step], bool]  # a program, and whether its result is written as a DataFrame


def drawn_programs(chance: random.Random, count: int) -> tuple[list[Table], list[Drawn]]:
    """Two tables, and some programs of three to ten steps over them."""
    tables = [[(chance.randint(-2, 4), chance.randint(0, 30)) for _ in range(chance.randint(0, _ROWS))] for _ in range(2)]
    return tables, [(_steps(chance, tables), chance.randint(0, 3) == 0) for _ in range(count)]


def tagged(tables: list[Table]) -> list[list[Any]]:
    """Tables as the interpreter takes them."""
    return [[(pair, frozenset({(f"table{t}.txt", n)})) for n, pair in enumerate(table)] for t, table in enumerate(tables)]


def _steps(chance: random.Random, tables: list[Table]) -> list[Step]:
    steps: list[Step] = []
    registers = tagged(tables)
    for _ in range(chance.randint(3, 10)):
        op = chance.choice(OPERATIONS)
        last = len(registers) - 1
        recent = chance.choice([last, last, chance.randint(0, last)])
        of = (recent, chance.randint(0, last)) if op in OF_TWO else (recent,)
        step = Step(op, of, chance.randint(0, 7))
        made = rdd_programs.result(step, [registers[number] for number in of])
        if len(made) <= _MOST:
            steps.append(step)
            registers.append(made)
    return steps
