"""Measures where the cost of capture for a short query goes: the processor time of each part of its work, captured minus plain.

python -m bench.query_cost [--cases q2,q6,q11,q16,q19,nothing] [--rounds 20] [--warm-up 8] [--scale 1]

The cases are queries of TPC-H, and one that reads nothing. A part is a kind of threads of the JVM, or the driver's Python. *Other* is all
other work: threads of exchanges, and those that end with the query. The parts add up to the whole, because each is a mean over the rounds.
All modes run in one warm JVM, in a random order and back (ABBA). The table is printed, and the means are written to build/bench.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.data.dialect import for_spark
from bench.data.tpc import benchmark
from bench.figures import rounded
from bench.harness import order
from bench.results import ROOT, head, write
from bench.spark.turns import PLAIN, SparkTurns
from bench.suite import IN_PART, PROCESSOR, Sample
from bench.suites.tpch import query

_ARMS = (PLAIN[0], "lazy", "auto", "active")
_NOTHING = "nothing"
_OTHER = "other"
_SEED = 1

Parts = Mapping[str, float]  # milliseconds of processor time


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=f"q2,q6,q11,q16,q19,{_NOTHING}", type=lambda text: text.split(","))
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=8)
    parser.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args(arguments)
    made = benchmark("tpch", options.scale)
    programs = {f"q{number}": query(for_spark(text)) for number, text in made.queries.items()}
    programs[_NOTHING] = query("select r_name from region where r_regionkey < 0")
    if unknown := [case for case in options.cases if case not in programs]:
        parser.error(f"unknown cases: {', '.join(unknown)}; known: {', '.join(programs)}")
    samples: dict[str, dict[str, list[Sample]]] = {case: {arm: [] for arm in _ARMS} for case in options.cases}
    with TemporaryDirectory(prefix="headwater-query-cost-") as folder, closing(SparkTurns(Path(folder), programs, made.tables)) as turns:
        for turn in range(-options.warm_up, options.rounds):
            for case in options.cases:
                for arm in order(_ARMS, _SEED, turn, case):
                    sample = turns.run(arm, case, turn)
                    if turn >= 0:
                        samples[case][arm].append(sample)
            print("  warm-up" if turn < 0 else f"  round {turn + 1} of {options.rounds}", flush=True)
    means = {case: {arm: split_time(samples[case][arm]) for arm in _ARMS} for case in options.cases}
    target = write(head("query-cost") | {"rounds": options.rounds, "milliseconds": means}, ROOT / "build" / "bench")
    print(f"\n{table(means)}\n\nThe result is in {target}.")


def split_time(samples: Sequence[Sample]) -> Parts:
    """Return the mean milliseconds of each part, with the rest as *other*."""
    names = sorted(name for name in samples[0] if name.startswith(IN_PART))
    parts = {name.removeprefix(IN_PART): 1000 * statistics.mean(sample[name] for sample in samples) for name in names}
    whole = 1000 * statistics.mean(sample[PROCESSOR] for sample in samples)
    return {name: rounded(value) for name, value in (parts | {_OTHER: whole - sum(parts.values())}).items()}


def table(means: Mapping[str, Mapping[str, Parts]]) -> str:
    """Return a Markdown table: a line for each case and mode, with the milliseconds that each part adds to the plain query."""
    parts = [*dict.fromkeys(part for arms in means.values() for used in arms.values() for part in used if part != _OTHER), _OTHER]
    lines = [f"| query | plain | mode | {' | '.join(parts)} | sum |", f"| --- | --- | --- | {' | '.join('---' for _ in parts)} | --- |"]
    for case, arms in means.items():
        plain = arms[PLAIN[0]]
        for arm, used in arms.items():
            if arm != PLAIN[0]:
                added = [used.get(part, 0.0) - plain.get(part, 0.0) for part in parts]
                shown = " | ".join(f"{value:+.1f}" for value in added)
                lines.append(f"| {case} | {sum(plain.values()):.0f} | {arm} | {shown} | {sum(added):+.1f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
