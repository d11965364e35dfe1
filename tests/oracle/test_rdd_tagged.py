"""Drawn RDD programs of records that say what they are made of: a trace says the same, and the program writes what it writes without
capture: the same records in the same order in the same parts, by as many calls of its functions. `HEADWATER_RDD_PROGRAMS=N` runs N
(`make torture`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from pyspark import cloudpickle
from pyspark.accumulators import Accumulator

from tests.oracle import rdd_tagged
from tests.oracle.rdd_laboratory import RddLaboratory, rdd_laboratory
from tests.oracle.rdd_tagged import GROWS, LOOSE, ONE, TWO, compared, parsed, written

pytestmark = [
    pytest.mark.spark, pytest.mark.timeout(100_000),
    # py4j leaves closing its sockets to the garbage collector, whenever that comes
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]  # fmt: skip

PROGRAMS = int(os.environ.get("HEADWATER_RDD_PROGRAMS", "2"))
AT_ONCE = 6  # programs over the same tables
_MOST_GROWING = 2  # steps of a program that may make more records of some
Step = tuple[str, tuple[int, ...], int]
Tables = list[list[tuple[int, int]]]


@st.composite
def programs(draw: Any) -> tuple[Tables, list[list[Step]]]:
    """Two tables, and some programs of two to eight steps over them."""
    tables = [draw(st.lists(st.tuples(st.integers(-2, 4), st.integers(0, 30)), max_size=12)) for _ in range(2)]
    return tables, [_steps(draw) for _ in range(min(AT_ONCE, PROGRAMS))]


def _steps(draw: Any) -> list[Step]:
    steps: list[Step] = []
    growing = 0
    for _ in range(draw(st.integers(2, 8))):
        op = draw(st.sampled_from([*ONE, *LOOSE, *TWO, *TWO]))
        growing += op in GROWS
        if op in GROWS and growing > _MOST_GROWING:
            continue
        last = len(steps) + 1
        recent = draw(st.sampled_from([last, last, draw(st.integers(0, last))]))
        of = (recent, draw(st.integers(0, last))) if op in TWO else (recent,)
        steps.append((op, of, draw(st.integers(0, 7))))
    return steps


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RddLaboratory]:
    cloudpickle.register_pickle_by_value(rdd_tagged)  # type: ignore[no-untyped-call]  # as PySpark has it
    folder = tmp_path_factory.mktemp("tagged")
    with rdd_laboratory(folder, "local[2,3]") as made:
        made.context.setCheckpointDir(str(folder / "checkpoints"))
        yield made


@settings(
    max_examples=-(-PROGRAMS // AT_ONCE), deadline=None, derandomize="HEADWATER_RDD_PROGRAMS" not in os.environ, print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)  # fmt: skip
@given(drawn=programs())
def test_a_trace_says_what_the_records_say_themselves(laboratory: RddLaboratory, drawn: Any) -> None:
    tables, some = drawn
    note(f"{tables}\n{some}")
    check(laboratory, tables, some)


@pytest.mark.parametrize("ops", [list(ONE)[::2], list(ONE)[1::2], list(LOOSE), list(TWO)], ids=["one", "other", "loose", "two"])
def test_what_each_operation_makes(laboratory: RddLaboratory, ops: list[str]) -> None:
    """Each over the same tables, all in one result: a short run leaves none out."""
    tables = [[(1, 4), (1, 2), (-1, 5), (-2, 5), (3, 8), (1, 4), (0, 1)], [(1, 7), (-2, 3), (3, 8), (1, 4), (9, 9)]]
    check(laboratory, tables, [[(op, (0, 1) if op in TWO else (0,), 3) for op in ops]], united=True)


SIDES: dict[str, Callable[[RddLaboratory], Any]] = {
    "a list": lambda made: made.context.parallelize(list(range(20)), 3),
    "a range": lambda made: made.context.parallelize(range(15), 3),
    "lines": lambda made: made.context.textFile(_lines(made), 3),
    "a map": lambda made: made.context.textFile(_lines(made), 3).map(lambda line: line * 9000),
    "shuffled": lambda made: made.context.textFile(_lines(made), 3).map(lambda line: (line, line)).partitionBy(3),
    "dealt": lambda made: made.context.textFile(_lines(made), 3).repartition(2),
    "kept": lambda made: made.context.textFile(_lines(made), 3).map(str.strip).persist(),
    "groups": lambda made: made.context.parallelize(list(range(20)), 3).map(lambda n: (n % 9, n)).reduceByKey(max, 2),
}


def _lines(made: RddLaboratory) -> str:
    path = made.folder / "lines"
    path.write_text("".join(f"{n}\n" for n in range(14)))
    return str(path)


def test_pairs_of_records_come_in_the_order_in_which_they_come_without_capture(laboratory: RddLaboratory) -> None:
    def made(left: str, right: str) -> list[Any]:
        pairs: list[Any] = SIDES[left](laboratory).cartesian(SIDES[right](laboratory)).glom().collect()
        return pairs

    for left, right in zip(list(SIDES)[::2], list(SIDES)[1::2], strict=True):
        laboratory.program = None
        plain = made(left, right)
        laboratory.renew()
        assert made(left, right) == plain, (left, right)


def check(laboratory: RddLaboratory, tables: Tables, some: Sequence[Sequence[Step]], *, united: bool = False) -> None:
    """Run programs without capture and with it, at once; compare what they write, and what a trace says of that with what records say.

    Each writes its last register; `united`: all that steps made.
    """
    folder = laboratory.new_folder()
    folder.mkdir()
    for number, table in enumerate(tables):
        (folder / f"t{number}").write_text("".join(f"{key} {value} t{number}:{n}\n" for n, (key, value) in enumerate(table)))
    runs = [partial(_saved, laboratory, folder, steps, united=united) for steps in some]
    laboratory.program = None
    plain = laboratory.side_by_side(runs)
    laboratory.renew()
    followed = laboratory.side_by_side(runs)
    for steps, (expected, _, expected_calls), (out, capture, calls) in zip(some, plain, followed, strict=True):
        assert _parts(out) == _parts(expected), steps
        assert calls == expected_calls, steps
        assert isinstance(capture, dict), (steps, capture)
        assert capture["status"] == "complete", (steps, capture["problems"])
        exact = compared(laboratory, out, capture)
        assert exact or any(op in LOOSE for op, _, _ in steps), (steps, capture["problems"])


def _saved(laboratory: RddLaboratory, folder: Path, steps: Sequence[Step], *, united: bool) -> tuple[Path, Any, int]:
    """Where a program wrote, what was captured, and how often its functions were called."""
    made, calls = _run(laboratory, folder, steps, united=united)
    return *laboratory.save(made), calls.value


def _run(laboratory: RddLaboratory, folder: Path, steps: Sequence[Step], *, united: bool) -> tuple[Any, Accumulator[int]]:
    """What a program writes as lines, and how often its functions were called."""
    calls = laboratory.context.accumulator(0)

    def counted(record: Any) -> Any:
        calls.add(1)
        return record

    registers: list[Any] = [laboratory.context.textFile(str(folder / f"t{number}"), 2).map(parsed).map(counted) for number in range(2)]
    for op, of, n in steps:
        inputs: list[Any] = [registers[number] for number in of]
        made = TWO[op](inputs[0], inputs[1], n) if op in TWO else (ONE | LOOSE)[op](inputs[0], n)
        registers.append(made.map(counted))
    made = laboratory.context.union(registers[2:]) if united else registers[-1]
    return made.map(written), calls


def _parts(out: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(out.glob("part-*"))}
