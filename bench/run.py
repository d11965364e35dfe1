"""`python -m bench.run SUITE [--rounds N] [--warm-up N] [--seed N]`: run a suite and write bench/results/SUITE.json."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import suites
from bench.suite import Suite


def names() -> list[str]:
    """The suites that there are."""
    return sorted(info.name for info in pkgutil.iter_modules(suites.__path__))


def load(name: str) -> Suite:
    """A suite by its name."""
    suite: Suite = importlib.import_module(f"bench.suites.{name}").suite()
    return suite


def main(arguments: Sequence[str]) -> int:
    """Run a suite, write its results, and say them."""
    from bench import harness, results  # the workers import this module too, and need neither

    parser = argparse.ArgumentParser(prog="make bench", description="Measure a suite into bench/results.")
    parser.add_argument("suite", choices=names())
    parser.add_argument("--rounds", type=int, help="measured rounds (each suite has its own default)")
    parser.add_argument("--warm-up", type=int, help="rounds before them")
    parser.add_argument("--seed", type=int, default=1, help="of the order of arms (default 1)")
    parser.add_argument("--results", type=Path, default=results.RESULTS, help="folder to write to (default bench/results)")
    options = parser.parse_args(arguments)

    suite = load(options.suite)
    plan = suite.plan
    rounds = plan.rounds if options.rounds is None else options.rounds
    warm_up = plan.warm_up if options.warm_up is None else options.warm_up
    with tempfile.TemporaryDirectory(prefix=f"headwater-bench-{plan.name}-") as scratch:
        folder = Path(scratch)
        print(f"{plan.name}: {len(plan.cases)} cases, arms {', '.join(plan.arms)}; preparing", flush=True)
        suite.prepare(folder)
        times = harness.measure(
            plan, folder, rounds=rounds, warm_up=warm_up, seed=options.seed, said=lambda text: print(f"  {text}", flush=True)
        )
    content = results.document(plan, times, seed=options.seed)
    for case in content["cases"]:
        doubt = "" if case["usable"] else f"   not usable: control {case['control']['low']} to {case['control']['high']}"
        print(f"  {case['name']:<28} {case['measure']:<16} {case['value']:>8} {case['unit']}  ({case['low']} to {case['high']}){doubt}")
    print(f"written: {results.write(content, options.results)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
