"""`python -m bench.pairs SUITE --cases q9,q7`: what single queries cost, plain and captured by turns in one JVM, case after case.

The suites' own figures are those of a whole suite, each arm in a JVM of its own, where a query has a few rounds and whatever code its JVM
happened to compile. This is for the question what one query costs: pairs of the same round, wall and processor time, each with its control.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench import results
from bench.harness import order
from bench.run import line, load, names
from bench.spark.arm import SparkArm
from bench.spark.turns import Turns
from bench.suite import SECONDS, Measure, Plan, Sample, Statistic

_ROUNDS, _WARM_UP = 15, 3


def plan_of(plan: Plan, cases: Sequence[str], arms: Sequence[str] | None) -> Plan:
    """The suite's plan, with a ratio of wall and one of processor time for every arm and case. The target is what any case may take."""
    chosen = plan.only(arms=arms, cases=cases)
    each = (Statistic.WORST, Statistic.RATIO)
    targets = {measure.arm: measure.target for measure in chosen.measures if measure.statistic in each and measure.target}
    captured = [arm for arm in chosen.arms if arm not in {chosen.baseline, chosen.control}]
    measured = [
        Measure(name=name, cases=(case,), arm=arm, statistic=Statistic.RATIO, quantity=quantity, target=targets.get(arm))
        for case in chosen.cases
        for arm in captured
        for name, quantity in ((f"{arm}, {case}", SECONDS), (f"{arm}, {case}, cpu", "cpu_seconds"))
    ]
    return replace(chosen, name=f"{plan.name}-pairs", measures=measured)


def main(arguments: Sequence[str]) -> int:
    """Measure the cases one after the other; say each when it is done."""
    parser = _parser()
    options = parser.parse_args(arguments)
    suite = load(options.suite, options.scale)
    try:
        plan = plan_of(suite.plan, options.cases.split(","), options.arms.split(",") if options.arms else None)
    except ValueError as error:
        parser.error(str(error))
    samples: dict[str, dict[str, list[Sample]]] = {arm: {case: [] for case in plan.cases} for arm in plan.arms}
    until = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory(prefix=f"headwater-{plan.name}-", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        suite.prepare(folder)
        arm = suite.arm(plan.baseline, folder)
        if not isinstance(arm, SparkArm):
            parser.error(f"{options.suite} runs no queries of Spark")
        turns = Turns(arm, folder)
        for case in plan.cases:
            for turn in range(-options.warm_up, options.rounds):
                if turn > 0 and time.monotonic() > until:
                    break
                for name in order(plan.arms, options.seed, turn, case):
                    sample = turns.run(name, case, turn)
                    if turn >= 0:
                        samples[name][case].append(sample)
            _say(plan, samples, case, options.seed)
        arm.close()
    print(f"written: {results.write(results.document(plan, samples, seed=options.seed), options.results)}")
    return 0


def _say(plan: Plan, samples: dict[str, dict[str, list[Sample]]], case: str, seed: int) -> None:
    one = plan.only(arms=plan.arms, cases=[case])
    content = results.document(one, {arm: {case: cases[case]} for arm, cases in samples.items()}, seed=seed)
    for figure in content["cases"]:
        print(line(figure), flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.pairs", description="What single queries cost, by turns in one JVM.")
    parser.add_argument("suite", choices=names())
    parser.add_argument("--cases", required=True, help="which, as q9,q7")
    parser.add_argument("--arms", help="some of the arms, as active,auto (each suite has its own default); the plain ones always run")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help=f"pairs of each case (default {_ROUNDS})")
    parser.add_argument("--warm-up", type=int, default=_WARM_UP, help=f"rounds before them (default {_WARM_UP})")
    parser.add_argument("--minutes", type=float, default=math.inf, help="after that many a case has one round only")
    parser.add_argument("--seed", type=int, default=1, help="of the order of arms (default 1)")
    parser.add_argument("--scale", type=float, help="size of the data, where the suite has a choice")
    parser.add_argument("--results", type=Path, default=results.ROOT / "build" / "bench", help="folder to write to (default build/bench)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
