"""Below graph/ and backend/, folders import each other along the arrows that ARCHITECTURE.md draws, and never in a circle."""

from __future__ import annotations

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.house.test_imports import _imports

Folder = tuple[str, ...]


def _arrows(root: Path, package: str) -> set[tuple[Folder, Folder]]:
    """The imports between folders (and modules next to them), as their steps below a package."""
    return {
        (_folder(root / package, path.relative_to(root / package).with_suffix("").parts), imported)
        for path in sorted((root / package).rglob("*.py"))
        for name, _ in _imports(path, ".".join(("headwater", *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__"))
        if name.startswith(f"headwater.{package}.") and (imported := _folder(root / package, tuple(name.split(".")[2:])))
    }


@pytest.fixture(scope="module")
def arrows(root: Path) -> dict[str, set[tuple[Folder, Folder]]]:
    """The arrows of both packages."""
    return {package: _arrows(root, package) for package in ("graph", "backend")}


def _folder(package: Path, parts: tuple[str, ...]) -> Folder:
    """The folder of a module; for a module next to the folders of the package, its name."""
    while len(parts) > 1 and not package.joinpath(*parts).is_dir():
        parts = parts[:-1]
    return parts


def _drawn(root: Path) -> dict[str, set[str]]:
    """The arrows of ARCHITECTURE.md: the block after the words that announce it."""
    text = (root / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("Below `graph/`")[2]
    block = text.partition("```")[2].partition("```")[0]
    lines = [re.fullmatch(r"(\w+(?:, \w+)*) +→ ?(.*)", line.strip()) for line in block.strip().splitlines()]
    return {part: set(re.findall(r"\w+", line[2])) for line in lines if line for part in line[1].split(", ")}


Arrows = dict[str, set[tuple[Folder, Folder]]]


def test_the_folders_of_the_graph_import_what_the_architecture_says_and_nothing_else(root: Path, arrows: Arrows):
    found: dict[str, set[str]] = {path.stem: set() for path in (root / "graph").iterdir() if not path.stem.startswith("_")}
    for (importing, *_), (imported, *_) in arrows["graph"]:
        if importing not in (imported, "__init__"):
            found[importing].add(imported)
    assert _drawn(root) == found


def test_no_folder_of_the_backend_imports_one_that_the_architecture_places_above_it(root: Path, arrows: Arrows):
    text = (root / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("Below `backend/`")[2]
    lines = text.partition("```")[2].partition("```")[0].strip().splitlines()
    level = {name: number for number, line in enumerate(lines) for name in line.split(", ")}
    assert set(level) == {path.stem for path in (root / "backend").iterdir() if not path.stem.startswith("_")} - {"page"}
    upward = {
        (importing[0], imported[0])
        for importing, imported in arrows["backend"]
        if importing[0] not in (imported[0], "__init__") and level[imported[0]] >= level[importing[0]]
    }
    assert not upward


def test_no_folders_import_each_other_in_a_circle(arrows: Arrows):
    for package, found in arrows.items():
        for parent, level in _levels(found):
            try:
                TopologicalSorter(level).prepare()
            except CycleError as circle:
                pytest.fail(f"{package}/{'/'.join(parent)}: {' imports '.join(reversed(circle.args[1]))}")


def _levels(arrows: set[tuple[Folder, Folder]]) -> Iterator[tuple[Folder, dict[str, set[str]]]]:
    """The arrows between the folders of each folder. Modules next to folders may import these, and be imported by them."""
    levels: dict[Folder, dict[str, set[str]]] = {}
    for importing, imported in arrows:
        shared = next(
            (place for place, (one, other) in enumerate(zip(importing, imported, strict=False)) if one != other),
            min(len(importing), len(imported)),
        )
        if shared < min(len(importing), len(imported)):
            levels.setdefault(importing[:shared], {}).setdefault(importing[shared], set()).add(imported[shared])
    yield from sorted(levels.items())
