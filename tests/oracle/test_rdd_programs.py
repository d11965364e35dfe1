"""Random RDD programs: what a trace says of each written line is what an interpreter of the same program says. `HEADWATER_RDD_PROGRAMS=N`
runs N programs instead of a short run (`make torture`)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.oracle.rdd_laboratory import RddLaboratory, rdd_laboratory, run
from tests.oracle.rdd_programs import MOVING, ROW_WISE, Step, lineage

pytestmark = [
    pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(100_000),
    # py4j leaves closing its sockets to the garbage collector, whenever that comes
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]  # fmt: skip

PROGRAMS = int(os.environ.get("HEADWATER_RDD_PROGRAMS", "12"))
GROUPS = ("distinct", "groupBy", "reduceByKey", "groupByKey", "combineByKey", "aggregateByKey", "foldByKey")
OF_TWO = (
    "union", "union", "join", "leftOuterJoin", "rightOuterJoin", "fullOuterJoin", "cogroup", "subtractByKey", "subtract", "intersection",
    "cartesian",
)  # fmt: skip
_MOST = 400  # records of a register
Table = list[tuple[int, int]]


@st.composite
def programs(draw: Any) -> tuple[list[Table], list[Step]]:
    """Two tables, and three to ten steps over them."""
    pairs = st.tuples(st.integers(-2, 4), st.integers(0, 30))
    tables = [draw(st.lists(pairs, max_size=14)) for _ in range(2)]
    steps: list[Step] = []
    last = 1
    for _ in range(draw(st.integers(3, 10))):
        op = draw(st.sampled_from([*ROW_WISE, *MOVING, *GROUPS, *OF_TWO]))
        registers = st.integers(0, last)
        recent = draw(st.sampled_from([last, last, draw(registers)]))
        of = (recent, draw(registers)) if op in OF_TWO else (recent,)
        step = Step(op, of, draw(st.integers(0, 7)))
        if len(list(lineage(_tagged(tables), [*steps, step]).elements())) <= _MOST:
            steps.append(step)
            last += 1
    return tables, steps


def _tagged(tables: list[Table]) -> list[list[Any]]:
    return [[(pair, frozenset({(f"table{t}.txt", n)})) for n, pair in enumerate(table)] for t, table in enumerate(tables)]


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RddLaboratory]:
    with rdd_laboratory(tmp_path_factory.mktemp("rdds")) as made:
        yield made


@settings(
    max_examples=PROGRAMS, deadline=None, derandomize="HEADWATER_RDD_PROGRAMS" not in os.environ, print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)  # fmt: skip
@given(drawn=programs())
def test_a_trace_of_a_drawn_program_is_exactly_what_an_interpreter_says(laboratory: RddLaboratory, drawn: Any) -> None:
    tables, steps = drawn
    note(f"{tables}\n{steps}")
    check(laboratory, tables, steps)


def check(laboratory: RddLaboratory, tables: list[Table], steps: list[Step]) -> None:
    """Run a program under capture and without, and compare outputs and lineage with those of the interpreter."""
    laboratory.renew()
    folder = laboratory.folder / f"in{laboratory.saves}"
    folder.mkdir()
    for number, table in enumerate(tables):
        (folder / f"table{number}.txt").write_text("".join(f"{key} {value}\n" for key, value in table))
    sources = [laboratory.context.textFile(str(folder / f"table{number}.txt"), 2) for number in range(len(tables))]
    out, capture = laboratory.save(run(sources, steps))
    assert isinstance(capture, dict), capture
    expected = lineage(_tagged(tables), steps)
    found, exact = laboratory.lineage(out, capture)
    assert found == expected, f"missing {expected - found}, too much {found - expected}"
    assert exact, capture["problems"]


def test_what_each_operation_makes(laboratory: RddLaboratory) -> None:
    """Each operation once by itself, over the same tables, so that a short run leaves none out."""
    tables = [[(1, 4), (1, 2), (-1, 5), (-2, 5), (3, 8), (1, 4)], [(1, 7), (-2, 3), (3, 8), (1, 4), (9, 9)]]
    steps = [Step(op, (0, 1) if op in OF_TWO else (0,), 3) for op in dict.fromkeys([*ROW_WISE, *MOVING, *GROUPS, *OF_TWO])]
    for step in steps:
        print(step)  # noqa: T201  # pytest shows it where this fails
        check(laboratory, tables, [step])
