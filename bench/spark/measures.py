"""The measures of a suite with Spark: the cost of capture in processor time, wall time, bytes and planning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.suite import PROCESSOR, SECONDS, UNCOMPILED, Measure, Statistic

_BYTES_SPOOLED, _BYTES_KEPT, _KEPT_SHARE = 9.0, 2.0, 0.10
_PLANNING_MS, _PLANNING_WORST_MS = 5.0, 25.0


@dataclass(frozen=True)
class Target:
    """The limits of an arm's processor time in relation to the plain arm: geometric mean, worst, and by case.

    `keeping` is the limit of the service's time for sorting, in relation to the job's own processor time.
    """

    mean: float | None = None
    worst: float | None = None
    each: float | None = None
    keeping: float | None = None
    to_disk: float | None = None  # in milliseconds, for the slowest case


def measures(arms: Sequence[str], cases: Sequence[str], targets: Mapping[str, Target]) -> tuple[Measure, ...]:
    """Return the measures of every capturing arm: times, of all cases and of each, and counts."""
    return tuple(measure for arm in arms for measure in _of_arm(arm, cases, targets.get(arm, Target())))


def times(arm: str, cases: Sequence[str]) -> tuple[Measure, ...]:
    """Return the time measures of an arm with another agent than Headwater, without a target."""
    return tuple(measure for quantity in (PROCESSOR, UNCOMPILED, SECONDS) for measure in _times(arm, cases, quantity, Target()))


def _of_arm(arm: str, cases: Sequence[str], target: Target) -> list[Measure]:
    others = [measure for quantity in (UNCOMPILED, SECONDS) for measure in _times(arm, cases, quantity, Target())]
    return [*_times(arm, cases, PROCESSOR, target), *others, *_counts(arm, cases, target)]


def _times(arm: str, cases: Sequence[str], quantity: str, target: Target) -> list[Measure]:
    def of(name: str, cases: Sequence[str], statistic: Statistic, most: float | None) -> Measure:
        return Measure(name=f"{arm}, {name}", cases=cases, arm=arm, statistic=statistic, quantity=quantity, target=most)

    return [
        of("all", cases, Statistic.GEOMEAN, target.mean),
        of("all", cases, Statistic.WORST, target.worst),
        *(of(case, (case,), Statistic.RATIO, target.each) for case in cases),
    ]


def _counts(arm: str, cases: Sequence[str], target: Target) -> list[Measure]:
    def share(name: str, quantity: str, per: str, target: float | None = None, unit: str = "") -> Measure:
        return Measure(
            name=f"{arm}, {name}", cases=cases, arm=arm, statistic=Statistic.SHARE, quantity=quantity, per=per, target=target, unit=unit
        )

    def over_cases(statistic: Statistic, quantity: str, target: float | None, unit: str) -> Measure:
        return Measure(name=f"{arm}, planning", cases=cases, arm=arm, statistic=statistic, quantity=quantity, target=target, unit=unit)

    return [
        share("captured", "captured", "cases"),
        share("spooled an association", "spooled_bytes", "associations", _BYTES_SPOOLED, "bytes"),
        share("kept an association", "kept_bytes", "associations", _BYTES_KEPT, "bytes"),
        share("spooled a reference", "spooled_bytes", "references", None, "bytes"),
        share("kept a reference", "kept_bytes", "references", None, "bytes"),
        share("kept of the input", "kept_bytes", "input_bytes", _KEPT_SHARE),
        share("keeping, of the job's processor", "keeping_cpu_seconds", PROCESSOR, target.keeping),
        share("after the query, of the job's processor", "cpu_seconds_after", PROCESSOR),
        over_cases(Statistic.MEDIAN, "planning_ms", _PLANNING_MS, "ms"),
        over_cases(Statistic.MOST, "planning_ms", _PLANNING_WORST_MS, "ms"),
        *(
            Measure(name=f"{arm}, end to disk", cases=cases, arm=arm, statistic=statistic, quantity="to_disk_ms", target=most, unit="ms")
            for statistic, most in ((Statistic.MEDIAN, None), (Statistic.MOST, target.to_disk))
        ),
    ]
