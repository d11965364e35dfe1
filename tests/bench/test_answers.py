"""The one-row traces that the suites of answers measure."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.run import load
from bench.spark.answers import answers_of


@pytest.mark.parametrize(("name", "scale"), [("trace_tpch", None), ("trace_pigmix", None), ("trace_tpch", 0.1)])
def test_backward_traces_and_their_growth_have_targets(name: str, scale: float | None) -> None:
    plan = load(name, scale).plan
    assert plan.name == (name if scale is None else f"{name}-sf{scale:g}")
    targets = {(measure.name, measure.statistic.value): measure.target for measure in plan.measures}
    assert targets["active, influence", "p50"] == targets["auto, witness", "p50"] == 100
    assert targets["active, witness", "p99"] == targets["auto, influence", "p99"] == 1000
    assert targets["auto, forward", "p99"] is None
    assert targets["growth at ten times the data, influence", "ratio"] == 2
    assert plan.baseline == "a tenth"


def test_first_traces_have_the_trace_budget_for_a_target_in_auto() -> None:
    plan = load("first_tpch", None).plan
    targets = {measure.name: measure.target for measure in plan.measures}
    assert targets["auto, longest"] == 1000
    assert targets["auto, beyond 1000 ms"] == 0
    assert targets["lazy, longest"] is None
    assert len(plan.cases) == 22


def test_an_answer_without_rows_has_none_to_ask_for(tmp_path: Path) -> None:
    for name, parts in {"q1": [2, 0], "q2": [0]}.items():
        (tmp_path / "out" / name).mkdir(parents=True)
        for number, rows in enumerate(parts):
            pq.write_table(pa.table({"n": list(range(rows))}), tmp_path / "out" / name / f"part-{number}.parquet")
    q1 = tmp_path / "out" / "q1"
    assert answers_of(tmp_path) == {q1: [(q1 / "part-0.parquet", 2)]}
