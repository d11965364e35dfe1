"""The shape of `bench/results/<suite>.json`."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.figures import Samples, figure, medians
from bench.suite import Plan

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"


def document(plan: Plan, samples: Samples, *, seed: int) -> dict[str, Any]:
    """The whole file's content."""
    figures = [found for measure in plan.measures if (found := figure(measure, plan, samples)) is not None]
    return head(plan.name) | {
        "cases": [asdict(entry) for entry in figures],
        "summary": {
            "rounds": max(len(rounds) for cases in samples.values() for rounds in cases.values()),
            "seed": seed,
            "usable": sum(entry.usable for entry in figures),
            "of": len(figures),
            "medians": medians(samples),
        },
    }


def head(suite: str) -> dict[str, Any]:
    """What was measured, when, of which commit, on what."""
    return {"suite": suite, "date": datetime.now(UTC).isoformat(timespec="seconds"), "commit": _commit(), "machine": _machine()}


def write(content: Mapping[str, Any], folder: Path = RESULTS) -> Path:
    """Write the file, and return where it is."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{content['suite']}.json"
    target.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return target


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
