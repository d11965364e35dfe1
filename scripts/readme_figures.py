"""Fill the README's figures from bench/results: `make readme`. A test fails where the two disagree.

A figure stands between marks that name the suite and the case, and, where a case has several measures, the measure:

    <!-- figure demo: all five jobs, active -->1.21 (1.19 to 1.24)<!-- /figure -->
    <!-- figure trace: witness of a cell: p50 -->41 ms (39 to 44)<!-- /figure -->
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_MARK = re.compile(
    r"(<!-- figure (?P<suite>[\w-]+): (?P<case>[^:>]+?)(?:: (?P<measure>[^>]+?))? -->)(?P<text>.*?)(<!-- /figure -->)", re.DOTALL
)


def filled(text: str, results: Path) -> str:
    """The text with every marked figure as the results say it.

    Raises:
        LookupError: a mark names a suite, case or measure that the results do not have.
    """
    return _MARK.sub(lambda mark: f"{mark[1]}{_shown(_find(mark, results))}{mark[6]}", text)


def marks(text: str) -> int:
    """How many figures are marked."""
    return len(_MARK.findall(text))


def _find(mark: re.Match[str], results: Path) -> dict[str, Any]:
    path = results / f"{mark['suite']}.json"
    if not path.exists():
        raise LookupError(
            f"{path.name} is not among the results; there are: {', '.join(sorted(p.name for p in results.glob('*.json'))) or 'none'}"
        )
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    found = [case for case in cases if case["name"] == mark["case"] and mark["measure"] in (None, case["measure"])]
    if len(found) != 1:
        known = "; ".join(f"{case['name']}: {case['measure']}" for case in cases)
        raise LookupError(
            f"'{mark['case']}' with measure {mark['measure'] or 'not given'} is {len(found)} cases of {path.name}; it has: {known}"
        )
    case: dict[str, Any] = found[0]
    return case


def _shown(case: dict[str, Any]) -> str:
    unit = "" if case["unit"] == "×" else f" {case['unit']}"
    doubt = "" if case["usable"] else f"; control {case['control']['low']:g} to {case['control']['high']:g}"
    return f"{case['value']:g}{unit} ({case['low']:g} to {case['high']:g}{doubt})"


if __name__ == "__main__":
    readme = ROOT / "README.md"
    before = readme.read_text(encoding="utf-8")
    readme.write_text(filled(before, ROOT / "bench" / "results"), encoding="utf-8")
    print(f"README.md: {marks(before)} figures")
