"""Every command is documented (settings and endpoints: see their parts' tests), links lead somewhere, and the README's figures are true."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from headwater.graph.files.formats import FORMAT_MODULES
from tests.house.scripts import load_script

LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")


def _documents(root: Path) -> list[Path]:
    return [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "examples").rglob("*.md")]


def test_the_reference_of_commands_is_what_the_code_says(root: Path):
    reference = load_script(root, "reference")
    assert reference.TARGET.read_text(encoding="utf-8") == reference.written(), "type: make docs"


def test_every_page_of_the_guide_is_in_its_index(root: Path):
    index = (root / "docs" / "guide" / "index.md").read_text(encoding="utf-8")
    linked = {match["target"].partition("#")[0] for match in LINK.finditer(index)}
    pages = {path.name for path in (root / "docs" / "guide").glob("*.md")} - {"index.md"}
    assert pages <= linked
    references = {f"../reference/{path.name}" for path in (root / "docs" / "reference").glob("*.md")}
    assert references <= linked


def test_every_link_within_the_repository_leads_somewhere(root: Path):
    broken = []
    for document in _documents(root):
        for match in LINK.finditer(document.read_text(encoding="utf-8")):
            target = match["target"].partition("#")[0]
            if target and not re.match(r"[a-z]+:", target) and not (document.parent / target).exists():
                broken.append(f"{document.relative_to(root)}: {target}")
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("folder", ["trace", "files"])
def test_the_map_of_a_large_folder_has_every_module(root: Path, folder: str):
    text = (root / "graph" / folder / "__init__.py").read_text(encoding="utf-8")
    named = set(re.findall(r"\w+", text.split('"""')[1]))
    modules = {path.stem for path in (root / "graph" / folder).rglob("[a-z]*.py")}
    formats = {kind.partition(":")[0] for kind in FORMAT_MODULES.values()}
    assert modules - formats <= named, f"say in graph/{folder}/__init__.py what it is for"


def test_every_make_target_that_is_spoken_of_exists(root: Path):
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    for document in _documents(root):
        spoken = set(re.findall(r"`make ([a-z-]+)", document.read_text(encoding="utf-8")))
        assert spoken <= targets, f"{document.name} speaks of {spoken - targets}"


@pytest.mark.parametrize("document", ["README.md", "docs/benchmarks.md"])
def test_the_figures_of_a_document_are_those_of_the_results(root: Path, document: str):
    text = (root / document).read_text(encoding="utf-8")
    assert text == load_script(root, "readme_figures").filled(text, root / "bench" / "results"), "type: make readme"


CASE = {
    "name": "all five jobs, active", "measure": "active ÷ plain", "unit": "×", "value": 1.21, "low": 1.19, "high": 1.24, "n": 15,
    "control": {"value": 1.0, "low": 0.99, "high": 1.05}, "usable": True, "target": None, "detail": None,
}  # fmt: skip


@pytest.fixture
def results(tmp_path: Path) -> Path:
    cases = [
        CASE,
        CASE | {"name": "doubtful", "usable": False},
        CASE | {"name": "t", "measure": "p50", "unit": "ms"},
        CASE | {"name": "t", "measure": "p99"},
        CASE | {"name": "met", "target": 1.25, "verdict": "met"},
        CASE | {"name": "open", "target": 1.2, "verdict": "open", "rounds_needed": 40, "detail": "q1"},
        CASE | {"name": "noise", "target": 1.2, "verdict": "open", "usable": False},
    ]
    content = {
        "cases": cases, "commit": "abc+", "date": "2026-01-02T03:04:05+00:00", "summary": {"rounds": 15},
        "machine": {"meanwhile": {"q1": {"busy_with_others": 0.004}, "q2": {"busy_with_others": 0.02}}},
    }  # fmt: skip
    (tmp_path / "demo.json").write_text(json.dumps(content))
    return tmp_path


@pytest.mark.parametrize(
    ("mark", "shown"),
    [
        ("demo: all five jobs, active", "1.21 (1.19 to 1.24)"),
        ("demo: t: p50", "1.21 ms (1.19 to 1.24)"),
    ],
)
def test_a_marked_figure_is_filled_from_the_results(root: Path, results: Path, mark: str, shown: str):
    text = f"It costs <!-- figure {mark} -->nothing<!-- /figure -->, measured."
    filled = load_script(root, "readme_figures").filled(text, results)
    assert filled == f"It costs <!-- figure {mark} -->{shown}<!-- /figure -->, measured."
    assert load_script(root, "readme_figures").filled(filled, results) == filled


def test_a_figure_that_is_not_usable_is_refused(root: Path, results: Path):
    with pytest.raises(ValueError, match=r"'doubtful' of demo.json is not usable: its control is 1 \(0.99 to 1.05\), of 15 rounds"):
        load_script(root, "readme_figures").filled("<!-- figure demo: doubtful -->1<!-- /figure -->", results)


def test_a_table_of_targets_says_what_is_met_and_what_is_open(root: Path, results: Path):
    filled = load_script(root, "readme_figures").filled("<!-- targets demo -->old<!-- /targets -->", results)
    assert filled.splitlines()[3:] == [
        "| met: active ÷ plain | ≤ 1.25 | 1.21 (1.19 to 1.24) | met | – |",
        "| open: active ÷ plain (q1) | ≤ 1.2 | 1.21 (1.19 to 1.24) | open, 40 rounds would settle it | – |",
        "| noise: active ÷ plain | ≤ 1.2 | not usable | open | – |",
        "",
        "`make bench SUITE=demo`, commit abc, 2026-01-02, 15 rounds; other programs had 0% to 2% of the machine.",
        "<!-- /targets -->",
    ]


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [(61.43, "ms", "60 ms"), (821.4, "ms", "0.8 s"), (1.03, "×", "1.0"), (0.96, "×", "1"), (12.4, "ms", "12 ms"), (1350.0, "ms", "1.4 s")],
)
def test_a_figure_may_be_told_as_a_round_number(root: Path, tmp_path: Path, value: float, unit: str, shown: str):
    (tmp_path / "demo.json").write_text(json.dumps({"cases": [CASE | {"value": value, "unit": unit}]}))
    filled = load_script(root, "readme_figures").filled("<!-- rounded demo: all five jobs, active --><!-- /rounded -->", tmp_path)
    assert filled == f"<!-- rounded demo: all five jobs, active -->{shown}<!-- /rounded -->"


def test_a_suite_without_results_says_how_to_measure_it(root: Path, results: Path):
    filled = load_script(root, "readme_figures").filled("<!-- targets start --><!-- /targets -->", results)
    assert "Not measured yet: `make bench SUITE=start`." in filled


def test_a_table_of_formats_says_what_was_found_of_each(root: Path, tmp_path: Path):
    found = {"queries": 22, "captured": 21, "exact": 20, "wrong": 1, "same_plan": 19}
    for name in ("hive-orc-active-0.01", "active-0.01"):  # that of no other format stands elsewhere
        (tmp_path / f"truth-tpch-{name}.json").write_text(json.dumps({"summary": found}))
    filled = load_script(root, "readme_figures").filled("<!-- formats tpch -->old<!-- /formats -->", tmp_path)
    assert filled.splitlines()[3:] == [
        "| [hive-orc, 0.01](../bench/results/truth-tpch-hive-orc-active-0.01.json) | `active` | 22 | 21 | 20 | 1 | 3 |",
        "<!-- /formats -->",
    ]


@pytest.mark.parametrize(
    ("mark", "says"), [("other: a", "demo.json"), ("demo: nothing", "it has: all five jobs"), ("demo: t", "is 2 cases")]
)
def test_a_mark_without_its_result_says_what_there_is(root: Path, results: Path, mark: str, says: str):
    with pytest.raises(LookupError, match=says):
        load_script(root, "readme_figures").filled(f"<!-- figure {mark} -->1<!-- /figure -->", results)
