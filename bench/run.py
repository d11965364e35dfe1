"""`python -m bench.run SUITE [options]`: run a suite and write bench/results/SUITE.json.

A run of some arms or cases only is for looking: it is written below build/bench, so that it does not stand for the whole.
"""

from __future__ import annotations

import argparse
import importlib
import math
import pkgutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import suites
from bench.suite import Suite


def names() -> list[str]:
    """The suites that there are."""
    return sorted(info.name for info in pkgutil.iter_modules(suites.__path__))


def load(name: str, scale: float | None = None) -> Suite:
    """A suite by its name; `scale` is that of its data, where it has one.

    Raises:
        ValueError: the suite does not come in that scale.
    """
    suite: Suite = importlib.import_module(f"bench.suites.{name}").suite(scale)
    return suite


def main(arguments: Sequence[str]) -> int:
    """Run a suite, write its results, and say them."""
    from bench import harness, results  # the workers import this module too, and need neither

    if "--truth" in arguments:
        from bench.truth.run import main as truth

        return truth([argument for argument in arguments if argument != "--truth"])
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        suite = load(options.suite, options.scale)
        plan = suite.plan.only(arms=_listed(options.arms), cases=_listed(options.cases))
    except ValueError as error:
        parser.error(str(error))
    rounds = plan.rounds if options.rounds is None else options.rounds
    warm_up = plan.warm_up if options.warm_up is None else options.warm_up
    # What an application had not delivered when it ended is delivered by a process of its own, which may still write to its home here.
    with tempfile.TemporaryDirectory(prefix=f"headwater-bench-{plan.name}-", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        print(f"{plan.name}: {len(plan.cases)} cases, arms {', '.join(plan.arms)}; preparing", flush=True)
        suite.prepare(folder)
        samples = harness.measure(
            options.suite, plan, folder, scale=options.scale, rounds=rounds, warm_up=warm_up, seed=options.seed,
            said=lambda text: print(f"  {text}", flush=True), seconds=60 * options.minutes,
        )  # fmt: skip
    content = results.document(plan, samples, seed=options.seed)
    for case in content["cases"]:
        print(line(case))
    whole = not (options.arms or options.cases)
    print(f"written: {results.write(content, options.results or (results.RESULTS if whole else results.ROOT / 'build' / 'bench'))}")
    return 0


def line(case: dict[str, Any]) -> str:
    """A figure of the results, as it is said."""
    interval = f"({case['low']} to {case['high']})" if case["control"] else f"(of {case['n']})"
    doubt = "" if case["usable"] else f"   not usable: control {case['control']['low']} to {case['control']['high']}"
    target = "" if case["target"] is None else f"   at most {case['target']}"
    detail = f" {case['detail']}" if case["detail"] else ""
    return f"  {case['name']:<34} {case['measure']:<34} {case['value']:>8} {case['unit']}  {interval}{detail}{target}{doubt}"


def _listed(text: str | None) -> list[str] | None:
    return [part.strip() for part in text.split(",") if part.strip()] if text else None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench", description="Measure a suite into bench/results.")
    parser.add_argument("suite", choices=names())
    parser.add_argument("--rounds", type=int, help="measured rounds (each suite has its own default)")
    parser.add_argument("--warm-up", type=int, help="rounds before them")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no further round after that many")
    parser.add_argument("--seed", type=int, default=1, help="of the order of arms (default 1)")
    parser.add_argument("--arms", help="some of the arms, as active,coarse; the plain ones always run")
    parser.add_argument("--cases", help="some of the cases, as q1,q6")
    parser.add_argument("--scale", type=float, help="size of the data, where the suite has a choice")
    parser.add_argument("--truth", action="store_true", help="of tpch and tpcds: whether the lineage is true, instead of what it costs")
    parser.add_argument("--results", type=Path, help="folder to write to (default bench/results; of a part build/bench)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
