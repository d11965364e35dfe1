"""RDD programs over 0.25 and 0.5 GB of text: word count, and grep, which keeps about one line in a hundred. Captured against plain."""

from __future__ import annotations

from dataclasses import replace
from operator import add
from pathlib import Path
from typing import Any

from bench.data.text import text
from bench.spark.measures import Target, measures
from bench.spark.rdds import Program, RddTurns
from bench.spark.turns import PLAIN
from bench.suite import PairedSuite, Plan, Turns

_SIZES = (0.25, 0.5)
_ARMS = ("active", "auto")


def _words(lines: Any) -> Any:
    return lines.flatMap(lambda line: line.split(" ")).map(lambda word: (word, 1)).reduceByKey(add)


def _grep(lines: Any) -> Any:
    return lines.filter(lambda line: "Qu" in line)


_PROGRAMS = {"word count": _words, "grep": _grep}


class RddSuite:
    """`scale` is a share of the sizes, for trying out."""

    def __init__(self, scale: float) -> None:
        self._sizes = {f"{name} {size} GB": (size * scale, make) for name, make in _PROGRAMS.items() for size in _SIZES}
        self.plan = Plan(
            name="rdd" if scale == 1 else f"rdd-{scale:g}",
            arms=(*PLAIN, *_ARMS),
            baseline=PLAIN[0],
            control=PLAIN[1],
            cases=tuple(self._sizes),
            measures=tuple(
                replace(measure, name=f"{name}: {measure.name}")
                for name, most in (("word count", 1.15), ("grep", 1.05))
                for measure in measures(_ARMS, [case for case in self._sizes if case.startswith(name)], {"active": Target(each=most)})
            ),
            rounds=15,
            warm_up=2,
            asked=("active",),
        )

    def prepare(self, folder: Path) -> None:  # noqa: ARG002  # what it makes is kept for the next run
        """Have the text made, if it is not there."""
        for size, _ in self._sizes.values():
            text(size)

    def turns(self, folder: Path) -> Turns:
        """Start a JVM."""
        return RddTurns(folder, {case: _over(str(text(size)), make) for case, (size, make) in self._sizes.items()})


def _over(path: str, make: Any) -> Program:
    return lambda context: make(context.textFile(path))


def suite(scale: float | None = None) -> PairedSuite:
    """The suite."""
    return RddSuite(scale or 1.0)
