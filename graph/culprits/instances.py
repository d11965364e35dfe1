"""Finds the instance of a dataflow (a task, or a file) through which wrong outputs passed, more of them than chance explains.

The test is Fisher's exact test, one side. If no instance is at fault, the wrong outputs are spread over the instances at random. The
chance of a false report is limited for all instances together (Bonferroni's method). An output passes through many instances, one in each
step. So the outputs of a suspect are set aside before the next one is sought: what it explains makes no other instance suspect.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
ERROR_RATE = 0.005  # the chance that healthy instances have a suspect
_MOST_SUSPECTS = 20


@dataclass(frozen=True, slots=True)
class InstanceSuspect:
    """An instance with more wrong outputs than chance explains: `bad` of `outputs` outputs that passed through it.

    `place` is the number of the instance. `expected` is the number of wrong outputs if it were like the others, and `chance` the
    probability of at least so many. Exactly these outputs passed through the instances `alike`, too. Outputs of earlier suspects do not
    count.
    """

    place: int
    bad: int
    outputs: int
    expected: float
    chance: float
    alike: Sequence[int] = ()


def find_instances(passed: Sequence[Numbers], is_bad: Flags, error_rate: float = ERROR_RATE) -> list[InstanceSuspect]:
    """Return the suspects, the least likely first. `passed` has for each instance the numbers of the outputs that passed through it.

    Two instances may have the same chance. Then the larger share of wrong outputs comes first.
    """
    factorials = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, len(is_bad) + 1)))))
    counts = [np.unique(outputs) for outputs in passed]
    left = np.ones(len(is_bad), dtype=np.bool_)
    found: list[InstanceSuspect] = []
    for _ in range(_MOST_SUSPECTS):
        everything, bad = int(left.sum()), int((left & is_bad).sum())
        if not 0 < bad < everything:
            break
        counts = [outputs[left[outputs]] for outputs in counts]
        tested = [_test(place, outputs, is_bad, everything, bad, factorials) for place, outputs in enumerate(counts)]
        best = min(tested, key=lambda suspect: (suspect.chance, -suspect.bad / max(suspect.outputs, 1), suspect.place), default=None)
        if best is None or best.chance > error_rate / len(passed):
            break
        alike = [place for place, outputs in enumerate(counts) if place != best.place and np.array_equal(outputs, counts[best.place])]
        found.append(InstanceSuspect(best.place, best.bad, best.outputs, best.expected, best.chance, alike))
        left[counts[best.place]] = False
    return found


def _test(place: int, outputs: Numbers, is_bad: Flags, everything: int, bad: int, factorials: npt.NDArray[np.float64]) -> InstanceSuspect:
    seen = int(is_bad[outputs].sum())
    chance = _upper_tail(seen, len(outputs), bad, everything, factorials)
    return InstanceSuspect(place, seen, len(outputs), len(outputs) * bad / everything, chance)


def _upper_tail(seen: int, drawn: int, bad: int, everything: int, factorials: npt.NDArray[np.float64]) -> float:
    """Return the chance of at least `seen` bad outputs in a draw (hypergeometric): `drawn` outputs of `everything`, with `bad` bad ones."""
    least = max(seen, drawn + bad - everything)
    counts = np.arange(least, min(drawn, bad) + 1)
    if seen <= max(0, drawn + bad - everything):
        return 1.0
    logs = (
        _choose(bad, counts, factorials)
        + _choose(everything - bad, drawn - counts, factorials)
        - _choose(everything, np.asarray(drawn), factorials)
    )
    top = float(logs.max())
    return min(1.0, math.exp(top) * float(np.exp(logs - top).sum()))


def _choose(size: int, counts: Numbers, factorials: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    chosen: npt.NDArray[np.float64] = factorials[size] - factorials[counts] - factorials[size - counts]
    return chosen
