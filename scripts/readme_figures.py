"""Fill the figures of README.md and docs/benchmarks.md from bench/results: `make readme`.

A test fails if they disagree.

A figure has marks around it. They name the suite, the case, and the measure if a case has several. A figure is
refused if its control says that the machine was not quiet.

    <!-- figure tpch: active, all: processor, active ÷ plain, geometric mean -->1.11 (1.09 to 1.12)<!-- /figure -->

A round number:

    <!-- rounded first_tpch: auto, longest -->0.8 s<!-- /rounded -->

All figures of a suite that have a target, as a table with their verdicts:

    <!-- targets tpch -->…<!-- /targets -->

The results of a suite for tables and answers in other formats than Parquet, one line for a format and mode:

    <!-- formats tpch -->…<!-- /formats -->
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ("README.md", "docs/benchmarks.md")
_MARK = re.compile(
    r"(<!-- figure (?P<suite>[\w-]+): (?P<case>[^:>]+?)(?:: (?P<measure>[^>]+?))? -->)(?P<text>.*?)(<!-- /figure -->)", re.DOTALL
)
_ROUNDED = re.compile(_MARK.pattern.replace("figure", "rounded"), re.DOTALL)
_FORMATS = re.compile(r"(<!-- formats (?P<suite>[\w-]+) -->).*?(<!-- /formats -->)", re.DOTALL)
_TARGETS = re.compile(r"(<!-- targets (?P<suite>[\w-]+) -->).*?(<!-- /targets -->)", re.DOTALL)


# Figures of others for the same kind of cost, by suite (empty: each) and measure. Their data and machines differ, and they are wall times.
# Titian: Interlandi et al., PVLDB 9 (2015).
_BEST_KNOWN = {
    ("start", "processor, run − plain"): "1.1 s, openlineage-spark",
    ("tpch", "processor, active ÷ plain, geometric mean"): "1.21, SmokedDuck",
    ("tpch", "processor, active ÷ plain, worst"): "1.72, SmokedDuck",
    ("pigmix", "processor, active ÷ plain, worst"): "1.26, Titian",
    ("wordcount", "processor, active ÷ plain"): "1.14 to 1.29, Titian",
    ("grep", "processor, active ÷ plain"): "1.10 to 1.27, Titian",
    ("", "active: kept_bytes ÷ associations"): "11.5 bytes, Titian",
}


def filled(text: str, results: Path) -> str:
    """Return the text with every marked figure and table replaced by the results.

    Raises:
        LookupError: a mark names a suite, case or measure that the results do not have.
        ValueError: a marked figure is not usable.
    """
    text = _MARK.sub(lambda mark: f"{mark[1]}{_shown(_find(mark, results))}{mark[6]}", text)
    text = _ROUNDED.sub(lambda mark: f"{mark[1]}{_rounded(_find(mark, results))}{mark[6]}", text)
    text = _FORMATS.sub(lambda mark: f"{mark[1]}\n{_formats(mark['suite'], results)}\n{mark[3]}", text)
    return _TARGETS.sub(lambda mark: f"{mark[1]}\n{_table(mark['suite'], results)}\n{mark[3]}", text)


def marks(text: str) -> int:
    return len(_MARK.findall(text)) + len(_ROUNDED.findall(text))


def _results(suite: str, results: Path) -> dict[str, Any]:
    path = results / f"{suite}.json"
    if not path.exists():
        there = ", ".join(sorted(p.name for p in results.glob("*.json"))) or "none"
        raise LookupError(f"{path.name} is not among the results; there are: {there}")
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _find(mark: re.Match[str], results: Path) -> dict[str, Any]:
    cases = _results(mark["suite"], results)["cases"]
    found = [case for case in cases if case["name"] == mark["case"] and mark["measure"] in (None, case["measure"])]
    if len(found) != 1:
        known = "; ".join(f"{case['name']}: {case['measure']}" for case in cases)
        raise LookupError(
            f"'{mark['case']}' with measure {mark['measure'] or 'not given'} is {len(found)} cases of {mark['suite']}.json; it has: {known}"
        )
    case: dict[str, Any] = found[0]
    if not case["usable"]:
        control = f"{case['control']['value']:g} ({case['control']['low']:g} to {case['control']['high']:g})"
        raise ValueError(
            f"'{case['name']}' of {mark['suite']}.json is not usable: its control is {control}, of {case['n']} rounds. "
            f"Measure it again with nothing else on the machine, or do not state it."
        )
    return case


def _shown(case: dict[str, Any]) -> str:
    unit = "" if case["unit"] == "×" else f" {case['unit']}"
    return f"{case['value']:g}{unit} ({case['low']:g} to {case['high']:g})" if case["control"] else f"{case['value']:g}{unit}"


def _rounded(case: dict[str, Any]) -> str:
    """Round a figure to one digit, or to two if it begins with a one."""
    value, unit = case["value"], case["unit"]
    if unit == "ms" and value >= 100:
        value, unit = value / 1000, "s"
    digits = 2 if f"{value:e}"[0] == "1" else 1
    shown = f"{float(f'{value:.{digits}g}'):g}" if value >= 10 or digits == 1 else f"{value:.1f}"
    return shown if unit == "×" else f"{shown} {unit}"


def _table(suite: str, results: Path) -> str:
    if not (results / f"{suite}.json").exists():
        return f"Not measured yet: `make bench SUITE={suite}`."
    content = _results(suite, results)
    lines = ["| what | target | measured, 95 % | verdict | best known elsewhere |", "|---|---|---|---|---|"]
    for case in content["cases"]:
        if case["target"] is not None:
            what = f"{case['name']}: {case['measure']}" + (f" ({case['detail']})" if case["detail"] else "")
            unit = "" if case["unit"] in ("×", "") else f" {case['unit']}"
            shown = _shown(case) if case["usable"] else "not usable"
            known = _best_known(suite, case["measure"])
            lines.append(f"| {what} | ≤ {case['target']:g}{unit} | {shown} | {_verdict(case)} | {known} |")
    measured = f"commit {content['commit'].rstrip('+')}, {content['date'][:10]}, {_rounds(content)}"
    return "\n".join([*lines, "", f"`make bench SUITE={suite}`, {measured}."])


def _best_known(suite: str, measure: str) -> str:
    return _BEST_KNOWN.get((suite, measure)) or _BEST_KNOWN.get(("", measure)) or "–"


def _formats(suite: str, results: Path) -> str:
    lines = ["| tables and answers | mode | queries | captured | exact | wrong | another plan |", "|---|---|---|---|---|---|---|"]
    for path in sorted(results.glob(f"truth-{suite}-*-*-*.json")):
        kind, mode, scale = path.stem.removeprefix(f"truth-{suite}-").rsplit("-", 2)
        found = json.loads(path.read_text(encoding="utf-8"))["summary"]
        counts = [found[name] for name in ("queries", "captured", "exact", "wrong")]
        cells = [f"[{kind}, {scale}](../bench/results/{path.name})", f"`{mode}`", *counts, found["queries"] - found["same_plan"]]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def _verdict(case: dict[str, Any]) -> str:
    more = case.get("rounds_needed")
    return f"{case['verdict']}, {more} rounds would settle it" if more else str(case["verdict"])


def _rounds(content: dict[str, Any]) -> str:
    busy = [case["busy_with_others"] for case in content["machine"].get("meanwhile", {}).values()]
    quiet = f"; other programs had {min(busy):.0%} to {max(busy):.0%} of the machine" if busy else ""
    fewest, most = content["summary"].get("fewest_rounds"), content["summary"]["rounds"]
    return f"{most if fewest in (None, most) else f'{fewest} to {most}'} rounds{quiet}"


if __name__ == "__main__":
    for name in DOCUMENTS:
        document = ROOT / name
        before = document.read_text(encoding="utf-8")
        document.write_text(filled(before, ROOT / "bench" / "results"), encoding="utf-8")
        print(f"{name}: {marks(before)} figures")
