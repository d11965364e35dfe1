"""Single queries by turns: what is measured. A turn itself is tested beside the captures, in a session that is there."""

from bench.pairs import plan_of
from bench.run import load


def test_every_case_and_arm_has_wall_and_processor_time_against_what_one_case_may_take():
    plan = plan_of(load("tpch").plan, ["q9"], ["active", "auto"])
    assert plan.arms == ["plain", "control", "active", "auto"]
    assert [(measure.name, measure.quantity, measure.target) for measure in plan.measures] == [
        ("active, q9", "seconds", 1.25),
        ("active, q9, cpu", "cpu_seconds", 1.25),
        ("auto, q9", "seconds", 1.10),
        ("auto, q9, cpu", "cpu_seconds", 1.10),
    ]
    assert {measure.target for measure in plan_of(load("pigmix").plan, ["L4"], None).measures} == {1.10}
