"""RDD programs, captured against plain: grep and word count over 0.25 and 0.5 GB of text of 8,000 terms, and three scripts of PigMix.

Grep matches four lines in a thousand. The scripts of PigMix run over 200,000 page views as text. L2 joins a large table with a small one,
L6 sums by a key of four fields that few records share, and L7 takes whole groups. `--scale` is a share of the sizes.

Arms: `active`, `auto`, and `python`: active, with the loops in Python instead of C.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import add
from pathlib import Path
from typing import Any

from bench.data.pigmix import pigmix_lines
from bench.data.text import text
from bench.spark.measures import Target, measures
from bench.spark.rdds import Program, RddTurns
from bench.spark.turns import PLAIN
from bench.suite import Measure, PairedSuite, Plan, Turns

_SIZES, _VIEWS = (0.25, 0.5), 0.2
TERMS = 8_000
_ARMS = ("active", "auto", "python")


def _words(lines: Any) -> Any:
    return lines.flatMap(lambda line: line.split(" ")).map(lambda word: (word, 1)).reduceByKey(add)


def _grep(lines: Any) -> Any:
    return lines.filter(lambda line: "Qu" in line)


def _l2(views: Any, users: Any) -> Any:
    names = users.map(lambda line: (line.partition("\1")[0], None))
    return views.map(lambda line: line.split("\1")).map(lambda view: (view[0], view[6])).join(names).mapValues(lambda pair: pair[0])


def _l6(views: Any) -> Any:
    by_visit = views.map(lambda line: line.split("\1")).map(lambda view: ((view[0], view[3], view[4], view[5]), int(view[2])))
    return by_visit.reduceByKey(add)


def _l7(views: Any) -> Any:
    def halves(times: Any) -> tuple[int, int]:
        whole = list(times)
        morning = sum(time < 43_200 for time in whole)
        return morning, len(whole) - morning

    return views.map(lambda line: line.split("\1")).map(lambda view: (view[0], int(view[5]))).groupByKey().mapValues(halves)


TEXT_PROGRAMS = {"word count": _words, "grep": _grep}

# Limits of each program's processor time in relation to the plain arm, and of its bytes in relation to the input.
_TARGETS = {"word count": (1.15, 0.25), "grep": (1.05, 0.10), "PigMix": (1.15, 0.10)}


class RddSuite:
    def __init__(self, scale: float) -> None:
        self._scale = scale
        texts = {f"{name} {size} GB" for name in TEXT_PROGRAMS for size in _SIZES}
        self.plan = Plan(
            name="rdd" if scale == 1 else f"rdd-{scale:g}",
            arms=(*PLAIN, *_ARMS),
            baseline=PLAIN[0],
            control=PLAIN[1],
            cases=(*sorted(texts), "PigMix L2", "PigMix L6", "PigMix L7"),
            measures=(),
            rounds=16,
            warm_up=2,
            asked=("active",),
        )
        self.plan = replace(self.plan, measures=tuple(measure for name in _TARGETS for measure in self._measures(name)))

    def prepare(self, folder: Path) -> None:  # noqa: ARG002  # what it makes is kept for the next run
        self._programs()

    def turns(self, folder: Path) -> Turns:
        return RddTurns(folder, self._programs())

    def _measures(self, name: str) -> list[Measure]:
        processor, share = _TARGETS[name]
        cases = [case for case in self.plan.cases if case.startswith(name)]
        found = measures(_ARMS, cases, {"active": Target(each=processor)})
        spooled = [
            replace(measure, name=measure.name.replace("kept", "spooled"), quantity="spooled_bytes", target=None)
            for measure in found
            if measure.name.endswith("kept of the input")
        ]
        of_input = [replace(measure, target=share) if measure.name.endswith("kept of the input") else measure for measure in found]
        return [replace(measure, name=f"{name}: {measure.name}") for measure in (*of_input, *spooled)]

    def _programs(self) -> Mapping[str, Program]:
        found: dict[str, Program] = {}
        for size in _SIZES:
            path = str(text(size * self._scale, terms=TERMS))
            found |= {f"{name} {size} GB": _over(make, path) for name, make in TEXT_PROGRAMS.items()}
        tables = pigmix_lines(_VIEWS * self._scale)
        views, users = str(tables["page_views"]), str(tables["power_users"])
        return found | {"PigMix L2": _over(_l2, views, users), "PigMix L6": _over(_l6, views), "PigMix L7": _over(_l7, views)}


def _over(make: Callable[..., Any], *paths: str) -> Program:
    return lambda context: make(*map(context.textFile, paths))


def suite(scale: float | None = None) -> PairedSuite:
    return RddSuite(scale or 1.0)
