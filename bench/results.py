"""The shape of `bench/results/<suite>.json`, and when a figure may be used."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.intervals import Interval, quantile, ratio
from bench.suite import Measure, Plan, Statistic

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
_TOLERANCE = 0.03
_QUANTILES = {Statistic.P50: 0.50, Statistic.P99: 0.99}


@dataclass(frozen=True)
class Figure:
    """A case of the results: the figure, its control and whether it may be used and meets its target (null: there is none)."""

    name: str
    measure: str
    unit: str
    value: float
    low: float
    high: float
    n: int
    control: Mapping[str, float]
    usable: bool
    target: float | None
    met: bool | None


def quiet(control: Interval) -> bool:
    """Whether a control's interval holds 1 and stays within ±3 % of it."""
    return control.low <= 1 <= control.high and control.low >= 1 - _TOLERANCE and control.high <= 1 + _TOLERANCE


def figure(measure: Measure, plan: Plan, times: Mapping[str, Mapping[str, Sequence[float]]]) -> Figure:
    """A measure, from the times of all rounds."""
    arm, base, control = (_summed(times[name], measure.cases) for name in (measure.arm, plan.baseline, plan.control))
    if measure.statistic is Statistic.RATIO:
        found, unit = ratio(arm, base), "×"
    else:
        found, unit = quantile([1000 * seconds for seconds in arm], _QUANTILES[measure.statistic]), "ms"
    against = ratio(control, base)
    usable = quiet(against)
    return Figure(
        name=measure.name,
        measure=f"{measure.arm} ÷ {plan.baseline}" if measure.statistic is Statistic.RATIO else measure.statistic.value,
        unit=unit,
        value=_rounded(found.value),
        low=_rounded(found.low),
        high=_rounded(found.high),
        n=len(arm),
        control={name: _rounded(value) for name, value in asdict(against).items()},
        usable=usable,
        target=measure.target,
        met=None if measure.target is None else usable and found.value <= measure.target,
    )


def document(plan: Plan, times: Mapping[str, Mapping[str, Sequence[float]]], *, seed: int) -> dict[str, Any]:
    """The whole file's content."""
    figures = [figure(measure, plan, times) for measure in plan.measures]
    return {
        "suite": plan.name,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "machine": _machine(),
        "cases": [asdict(entry) for entry in figures],
        "summary": {
            "rounds": max(entry.n for entry in figures),
            "seed": seed,
            "usable": sum(entry.usable for entry in figures),
            "of": len(figures),
            "median_seconds": {
                arm: {case: _rounded(quantile(seconds, 0.5).value) for case, seconds in cases.items()} for arm, cases in times.items()
            },
        },
    }


def write(content: Mapping[str, Any], folder: Path = RESULTS) -> Path:
    """Write the file, and return where it is."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{content['suite']}.json"
    target.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return target


def _summed(times: Mapping[str, Sequence[float]], cases: Sequence[str]) -> list[float]:
    return [sum(seconds) for seconds in zip(*(times[case] for case in cases), strict=True)]


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _commit() -> str:
    """The commit measured; `+` where the tree holds more than it."""
    done = subprocess.run(
        ["git", "describe", "--always", "--abbrev=12", "--dirty=+"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def _machine() -> dict[str, Any]:
    """What the figures were measured on: no name, nothing personal."""
    cpuinfo = Path("/proc/cpuinfo")
    models = (
        [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        if cpuinfo.exists()
        else []
    )
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "cpu": models[0] if models else platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }
