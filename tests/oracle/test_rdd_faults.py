"""RDD programs whose tasks fail, are killed with their worker or their executor, lose shuffled data, or are overtaken by copies.

A trace equals the tags in the records, or says that it may not. `HEADWATER_RDD_FAULTS=N` runs N rounds of each
fault instead of a short run (`make torture`); HEADWATER_SEED is the seed.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle

from tests.oracle import rdd_faults, rdd_tagged
from tests.oracle.rdd_faults import FAULTS, LOST, OVERTAKEN, Fault, lose_shuffles
from tests.oracle.rdd_laboratory import RddLaboratory, rdd_laboratory
from tests.oracle.rdd_tagged import ONE, TWO, compared, parsed, written
from tests.standalone import standalone

pytestmark = [
    pytest.mark.cluster, pytest.mark.timeout(100_000),
    # py4j leaves closing its sockets to the garbage collector, whenever that comes
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]  # fmt: skip

ROUNDS = int(os.environ.get("HEADWATER_RDD_FAULTS", "0"))
_SEED = 1000 * int(os.environ.get("HEADWATER_SEED", "0"))
ROWS = 400
# Each of these steps gives the same records for every order in which a shuffle delivers them.
STEADY = (
    "map", "flatMap", "filter", "mapValues", "keyed", "reduceByKey", "groupByKey", "combineByKey", "groupBy", "partitionBy", "sortBy",
    "sortByKey", "sortParts", "repartition", "persist", "broadcast", "twice", "union", "join", "leftOuterJoin", "cogroup", "subtractByKey",
)  # fmt: skip
_JOINS = ("join", "leftOuterJoin", "twice")
Step = tuple[str, tuple[int, ...], int]
# Caches come before any shuffle: a cache that is made again in another order is refused.
SHORT: list[Step] = [
    ("persist", (0,), 1), ("reduceByKey", (2,), 2), ("keyed", (3,), 1), ("keyed", (1,), 1), ("join", (5, 4), 2), ("sortByKey", (6,), 3),
    ("groupByKey", (7,), 0),
]  # fmt: skip


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where executors keep their files."""
    return tmp_path_factory.mktemp("scratch")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, scratch: Path) -> Iterator[RddLaboratory]:
    """Two executors in processes of their own; one that is killed is replaced."""
    _ship()
    conf = {"spark.local.dir": str(scratch), "spark.task.maxFailures": "8", "spark.stage.maxConsecutiveAttempts": "8"}
    with rdd_laboratory(tmp_path_factory.mktemp("faults"), "local-cluster[2,1,1024]", **conf) as made:
        yield made


def _ship() -> None:
    for module in (rdd_faults, rdd_tagged):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # as PySpark has it


@pytest.mark.parametrize("kind", [*FAULTS, LOST] if ROUNDS else FAULTS)
def test_what_is_traced_after_a_fault(cluster: RddLaboratory, scratch: Path, kind: str) -> None:
    for number in range(_SEED, _SEED + (ROUNDS or 1)):
        steps = _drawn(random.Random(f"{kind} {number}")) if ROUNDS else SHORT
        print(kind, number, steps)  # noqa: T201  # pytest shows it where this fails
        _round(cluster, kind, steps, number, scratch)


@pytest.mark.skipif(not ROUNDS, reason="takes a cluster of its own: HEADWATER_RDD_FAULTS=1")
def test_what_is_traced_of_tasks_that_were_overtaken_by_copies(tmp_path: Path) -> None:
    """Spark starts copies of slow tasks on another host only: executors of `local-cluster` are all on one."""
    _ship()
    speculation = {"": "true", ".interval": "100ms", ".minTaskRuntime": "100ms", ".multiplier": "1.1", ".quantile": "0.5"}
    conf = {f"spark.speculation{name}": value for name, value in speculation.items()}
    with standalone(tmp_path) as master, rdd_laboratory(tmp_path, master, **conf) as laboratory:
        for number in range(_SEED, _SEED + ROUNDS):
            steps = [_unkept(step) for step in _drawn(random.Random(f"{OVERTAKEN} {number}"))]
            print(number, steps)  # noqa: T201  # pytest shows it where this fails
            _round(laboratory, OVERTAKEN, steps, number, tmp_path)


def _unkept(step: Step) -> Step:
    """Where tasks may be overtaken, what a shuffle gave is not followed through a cache."""
    op, of, n = step
    return ("mapValues" if op == "persist" else op), of, n


def _drawn(rng: random.Random) -> list[Step]:
    steps: list[Step] = []
    joins = 0
    for _ in range(rng.randint(3, 7)):
        op = rng.choice(STEADY)
        joins += op in _JOINS
        if op in _JOINS and joins > 1:
            continue
        last = len(steps) + 1
        of = (last, rng.randint(0, last)) if op in TWO else (last,)
        steps.append((op, of, rng.randint(0, 7)))
    return [*steps, ("reduceByKey", (len(steps) + 1,), 2)]


def _round(laboratory: RddLaboratory, kind: str, steps: list[Step], number: int, scratch: Path) -> None:
    rng = random.Random(number)
    folder = laboratory.new_folder()
    folder.mkdir()
    for table in range(2):
        lines = (f"{rng.randint(-9, 40)} {rng.randint(0, 30)} t{table}:{n}\n" for n in range(ROWS >> table))
        (folder / f"t{table}").write_text("".join(lines))
    laboratory.program = None
    out, _ = laboratory.save(_made(laboratory, folder, steps)[-1].map(written))
    expected = _lines(out)
    laboratory.renew()
    marker = folder / "fault"
    place = rng.randrange(2, len(steps) + 2) if ROUNDS else len(steps)
    fault = None if kind == LOST else Fault(kind, marker, rng.randint(0, 3))
    registers = _made(laboratory, folder, steps, place, fault)
    if kind == LOST:
        registers[-1].count()
        assert lose_shuffles(scratch) > 0
    out, capture = laboratory.save(registers[-1].map(written))
    assert _lines(out) == expected
    assert marker.exists() or kind == LOST or ROUNDS, "there was no fault: the test tests nothing"
    assert isinstance(capture, dict), capture
    exact = compared(laboratory, out, capture)
    print("captured:", capture["status"], "exact" if exact else "not exact", capture["problems"])  # noqa: T201  # likewise
    assert exact or ROUNDS, capture["problems"]


def _made(laboratory: RddLaboratory, folder: Path, steps: list[Step], place: int = -1, fault: Fault | None = None) -> list[Any]:
    registers: list[Any] = [laboratory.context.textFile(str(folder / f"t{table}"), 3).map(parsed) for table in range(2)]
    for op, of, n in steps:
        inputs: list[Any] = [registers[one] for one in of]
        made = TWO[op](inputs[0], inputs[1], n) if op in TWO else ONE[op](inputs[0], n)
        registers.append(made.map(fault) if len(registers) == place and fault is not None else made)
    return registers


def _lines(out: Path) -> list[str]:
    return sorted(line for part in out.glob("part-*") for line in part.read_text().splitlines())
