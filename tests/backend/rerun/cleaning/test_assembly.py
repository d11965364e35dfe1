"""The example `examples/assembly` in its short form: `headwater clean` takes the contigs of another genome out of an assembly."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]
EXAMPLE = Path(__file__).resolve().parents[4] / "examples" / "assembly"
PROGRAMS = ("count_kmers", "link_kmers", "build_contigs")
LENGTH = "300"


def _python(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True).stdout


def test_the_contigs_of_another_genome_are_cleaned_away(tmp_path: Path) -> None:
    folder, home = tmp_path / "data", str(tmp_path / "home")
    _python(str(EXAMPLE / "simulate_reads.py"), str(folder), LENGTH)
    for program in PROGRAMS:
        _python("-m", "headwater", "run", "--quiet", "--home", home, str(EXAMPLE / f"{program}.py"), str(folder))
    measure = str(EXAMPLE / "measure.py")
    before = json.loads(_python(measure, str(folder)))
    assert before["contamination"] > 0.1

    options = ["--quality", "coverage", "--below", "4", "--home", home, "--format", "json"]
    answer = json.loads(_python("-m", "headwater", "clean", str(folder / "contigs"), *options))
    assert answer["after"]["below"] < answer["before"]["below"]
    clean = Path(home) / "replays" / answer["replay"] / f"data{folder}" / "contigs"
    after = json.loads(_python(measure, str(folder), str(clean)))
    assert after["contamination"] <= before["contamination"] * 0.75
    assert after["completeness"] >= before["completeness"] - 0.02
