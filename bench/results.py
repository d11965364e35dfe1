"""The form of `bench/results/<suite>.json`."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.figures import Samples, figure, medians, rounded
from bench.suite import PROCESSOR, SECONDS, UNCOMPILED, Plan

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
_LISTS = re.compile(r"\[[\s\d.,e-]*\]")  # lists of numbers are written on one line


def document(plan: Plan, samples: Samples, *, seed: int) -> dict[str, Any]:
    found = figures(plan, samples)
    return head(plan.name) | {
        "cases": found,
        "summary": {
            "rounds": max(len(rounds) for cases in samples.values() for rounds in cases.values()),
            "fewest_rounds": min(len(rounds) for cases in samples.values() for rounds in cases.values()),
            "seed": seed,
            "usable": sum(entry["usable"] for entry in found),
            "of": len(found),
            "medians": medians(samples),
        },
    }


def figures(plan: Plan, samples: Samples) -> list[dict[str, Any]]:
    return [asdict(found) for measure in plan.measures if (found := figure(measure, plan, samples)) is not None]


def pairs_of(plan: Plan, samples: Samples) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Return the times of every round, by case, quantity and arm. The figures are computed from them."""
    return {
        case: {
            quantity: {arm: [rounded(sample[quantity]) for sample in samples[arm][case]] for arm in plan.arms}
            for quantity in (PROCESSOR, UNCOMPILED, SECONDS)
            if all(quantity in sample for arm in plan.arms for sample in samples[arm][case])
        }
        for case in plan.cases
    }


def head(suite: str) -> dict[str, Any]:
    """Return the head of a result: suite, time, commit and machine."""
    return {"suite": suite, "date": datetime.now(UTC).isoformat(timespec="seconds"), "commit": commit(), "machine": _machine()}


def write(content: Mapping[str, Any], folder: Path = RESULTS) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{content['suite']}.json"
    target.write_text(
        _LISTS.sub(lambda listed: " ".join(listed[0].split()), json.dumps(content, indent=2, ensure_ascii=False)) + "\n", encoding="utf-8"
    )
    return target


def commit() -> str:
    """Return the measured commit, with `+` if the tree has uncommitted changes."""
    done = subprocess.run(
        ["git", "describe", "--always", "--abbrev=12", "--dirty=+"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def _machine() -> dict[str, Any]:
    """Describe the machine, without its name or personal data."""
    cpuinfo = Path("/proc/cpuinfo")
    models = (
        [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        if cpuinfo.exists()
        else []
    )
    return {
        "load_1m": round(os.getloadavg()[0], 2),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "cpu": models[0] if models else platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }
