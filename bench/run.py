"""`python -m bench.run SUITE [options]`: run a suite and write bench/results/SUITE.json; `figures` runs all suites behind the documents.

A run of some arms or cases only is written below build/bench, because it must not replace the results of the whole suite. A paired suite
stores each finished case in build/bench/cases. `--resume` continues with the stored cases of the same commit, as `figures` always does.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import math
import pkgutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import suites
from bench.suite import PairedSuite, Plan, Suite

FIGURES = ("start", "tpch", "pigmix", "grep", "wordcount")
TABLES = ("orc", "json", "csv", "avro", "delta", "hive-orc", "iceberg-v2", "iceberg-v3", "s3")  # see bench/truth/layouts.py
_QUIET = 0.1  # share of the machine's processors


def names() -> list[str]:
    """Return the names of all suites."""
    return sorted(info.name for info in pkgutil.iter_modules(suites.__path__))


def load(name: str, scale: float | None = None, tables: str | None = None) -> Suite | PairedSuite:
    """Return a suite by its name. `scale` is the scale of its data, `tables` the format of its tables.

    Raises:
        ValueError: the suite does not have that scale, or no choice of formats.
    """
    made = importlib.import_module(f"bench.suites.{name}").suite
    if tables is not None and "tables" not in inspect.signature(made).parameters:
        raise ValueError(f"{name} has tables of one format alone")
    suite: Suite | PairedSuite = made(scale) if tables is None else made(scale, tables)
    return suite


def main(arguments: Sequence[str]) -> int:
    if "--truth" in arguments:
        from bench.truth.run import main as truth

        return truth([argument for argument in arguments if argument != "--truth"])
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.suite == "figures":
        return _figures(options)
    try:
        suite = load(options.suite, options.scale, options.tables)
        plan = suite.plan.only(arms=_listed(options.arms), cases=_listed(options.cases))
    except ValueError as error:
        parser.error(str(error))
    # A separate process delivers the rest of an application's spool, and may still write to the home here.
    with tempfile.TemporaryDirectory(prefix=f"headwater-bench-{plan.name}-", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)
        print(f"{plan.name}: {len(plan.cases)} cases, arms {', '.join(plan.arms)}; preparing", flush=True)
        suite.prepare(folder)
        content = _paired(suite, plan, folder, options) if isinstance(suite, PairedSuite) else _by_rounds(plan, folder, options)
    from bench import results

    if not content["cases"]:
        return 0  # there was no time
    for case in content["cases"]:
        print(line(case))
    whole = set(content["summary"]["medians"][plan.baseline]) == set(suite.plan.cases) and not (options.arms or options.cases)
    print(f"written: {results.write(content, options.results or (results.RESULTS if whole else results.ROOT / 'build' / 'bench'))}")
    return 0


def line(case: dict[str, Any]) -> str:
    """Format a figure of the results."""
    interval = f"({case['low']} to {case['high']})" if case["control"] else f"(of {case['n']})"
    target = "" if case["target"] is None else f"   target {case['target']}: {case['verdict']}"
    more = f", {case['rounds_needed']} rounds would settle it" if case["rounds_needed"] else ""
    doubt = "" if case["usable"] else f"   not usable: control {case['control']['value']} of {case['n']} rounds"
    detail = f" {case['detail']}" if case["detail"] else ""
    return f"  {case['name']:<34} {case['measure']:<44} {case['value']:>8} {case['unit']}  {interval}{detail}{target}{more}{doubt}"


def _figures(options: argparse.Namespace) -> int:
    """Run each suite in a separate process, one after the other. If the time is over, the next call continues."""
    from bench.rest import busy

    share = busy(2.0)
    if share > _QUIET:
        print(f"{share:.0%} of this machine is busy with other things: what is measured now is likely to stay open", flush=True)
    until = time.monotonic() + 60 * options.minutes
    failed = []
    for name in FIGURES:
        minutes = max(0.0, (until - time.monotonic()) / 60)
        command = [sys.executable, "-m", "bench.run", name, "--resume", "--seed", str(options.seed), "--minutes", str(minutes)]
        for option in ("rounds", "most_rounds", "warm_up", "results"):
            if (value := getattr(options, option)) is not None:
                command += [f"--{option.replace('_', '-')}", str(value)]
        if subprocess.run(command, check=False).returncode:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}; the same command goes on where it ended")
    return 1 if failed else 0


def _paired(suite: PairedSuite, plan: Plan, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    from bench import pairs, results

    kept = pairs.KeptCases(results.ROOT / "build" / "bench" / "cases" / plan.name, results.commit(), resume=options.resume)

    def done(case: str, rounds: pairs.Rounds, before: bool) -> None:
        samples = {arm: {case: rounds[arm]} for arm in plan.arms}
        print(f"  {case}{' (kept before)' if before else ''}", flush=True)
        for figure in results.figures(plan.only(arms=plan.arms, cases=[case]), samples):
            if figure["control"] and ", all" not in figure["name"]:
                print(line(figure), flush=True)

    rounds = plan.rounds if options.rounds is None else options.rounds
    warm_up = plan.warm_up if options.warm_up is None else options.warm_up
    samples = pairs.measure(
        plan, lambda: suite.turns(folder), kept, rounds=rounds, most=options.most_rounds or 2 * rounds, warm_up=warm_up, seed=options.seed,
        until=time.monotonic() + 60 * options.minutes, done=done,
    )  # fmt: skip
    there = [case for case in plan.cases if case in samples[plan.baseline]]
    if left := [case for case in plan.cases if case not in there]:
        print(f"  no time was left for {', '.join(left)}; --resume goes on with them")
    if not there:
        return {"cases": []}
    part = plan.only(arms=plan.arms, cases=there)
    content = results.document(part, samples, seed=options.seed) | {"pairs": results.pairs_of(part, samples)}
    content["machine"]["meanwhile"] = {case: kept.machine[case] for case in there}
    return content


def _by_rounds(plan: Plan, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    from bench import harness, results

    rounds = plan.rounds if options.rounds is None else options.rounds
    warm_up = plan.warm_up if options.warm_up is None else options.warm_up
    samples = harness.measure(
        options.suite, plan, folder, scale=options.scale, rounds=rounds, warm_up=warm_up, seed=options.seed,
        report=lambda text: print(f"  {text}", flush=True), seconds=60 * options.minutes,
    )  # fmt: skip
    return results.document(plan, samples, seed=options.seed)


def _listed(text: str | None) -> list[str] | None:
    return [part.strip() for part in text.split(",") if part.strip()] if text else None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench", description="Measure a suite into bench/results.")
    parser.add_argument("suite", choices=["figures", *names()], help="one of them, or figures: those that the documents state")
    parser.add_argument("--rounds", type=int, help="measured rounds, at least (each suite has its own default; paired ones 16)")
    parser.add_argument("--most-rounds", type=int, help="of a paired suite: limit of rounds, for wide intervals (default: twice --rounds)")
    parser.add_argument("--warm-up", type=int, help="rounds before them")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no further round (case of a paired suite) after that many")
    parser.add_argument("--resume", action="store_true", help="of a paired suite: keep the cases that were measured at this commit")
    parser.add_argument("--seed", type=int, default=1, help="of the order of arms (default 1)")
    parser.add_argument("--arms", help="some of the arms, as active,coarse; the plain ones always run")
    parser.add_argument("--cases", help="some of the cases, as q1,q6")
    parser.add_argument("--scale", type=float, help="size of the data, where the suite has a choice")
    parser.add_argument("--tables", choices=TABLES, help="of tpch: the format of tables and answers, if not Parquet of this machine")
    parser.add_argument("--truth", action="store_true", help="of tpch and tpcds: whether the lineage is true, instead of what it costs")
    parser.add_argument("--results", type=Path, help="folder to write to (default bench/results; of a part build/bench)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
