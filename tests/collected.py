"""The marks of tests: which files a step of `make test` imports, and which variants of a test are left to `make test-more`.

A file names its marks itself (`pytestmark`, `@pytest.mark.spark`, `marks=pytest.mark.neo4j`), or a conftest.py above it does. That is read
from the text, without importing it. A mark that comes from elsewhere is an error: the step that has such tests might pass the file over.
"""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

NAMES = frozenset({"spark", "cluster", "neo4j", "lake", "e2e", "slow", "torture"})
_COSTLY = frozenset({"spark", "cluster", "neo4j", "lake"})
_TESTS = Path(__file__).parent


def may_hold(path: Path, marks: str) -> bool:
    """Whether a file, or one in a folder, by the marks that it names may have a test that the expression of `-m` selects."""
    if not marks:
        return True
    expression = Expression.compile(marks)
    return any(_may_hold(file, expression) for file in ([path] if path.is_file() else path.rglob("test_*.py")))


def check(item: pytest.Item) -> None:
    """Raise a UsageError unless a test's marks are those that its file names."""
    always, possible = _marks(item.path)
    found = NAMES & {mark.name for mark in item.iter_markers()}
    if not always <= found <= possible:
        strange = ", ".join(sorted(found ^ (always | (found & possible))))
        raise pytest.UsageError(f"{item.nodeid}: name the mark {strange} in its file, or in a conftest.py, as pytest.mark.{strange}.")


def mark_variants(items: Sequence[pytest.Item]) -> None:
    """Give the mark `slow` to variants of a test that needs Spark or a server: `make test` runs the first and the last of its parameters.

    A test whose parameters already have marks `slow` is left as it is.
    """
    variants: dict[str, list[pytest.Item]] = {}
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if marks & _COSTLY and "torture" not in marks:
            variants.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for same in variants.values():
        if not any(item.get_closest_marker("slow") for item in same):
            for item in same[1:-1]:
                item.add_marker(pytest.mark.slow)


def _may_hold(path: Path, expression: Expression) -> bool:
    always, possible = _marks(path)
    some = sorted(possible - always)
    chosen = (always | set(part) for count in range(len(some) + 1) for part in itertools.combinations(some, count))
    return any(expression.evaluate(lambda name, marks=marks, **_: name in marks) for marks in chosen)  # type: ignore[misc]


@functools.cache
def _marks(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The marks that all tests of a file have, and those that some may have."""
    always, possible = _named(path)
    if possible & _COSTLY and "parametrize" in path.read_text(encoding="utf-8"):
        possible |= {"slow"}  # of variants
    above = [folder / "conftest.py" for folder in path.parents if folder.is_relative_to(_TESTS)]
    return always, possible.union(*(_named(file)[1] for file in above if file.exists()))


@functools.cache
def _named(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The names of `mark.NAME` in a file: those of its `pytestmark`, and all."""
    text = path.read_text(encoding="utf-8")
    if not any(f"mark.{name}" in text for name in NAMES):
        return frozenset(), frozenset()
    tree = ast.parse(text)
    of_all = frozenset(name for node in tree.body if _is_of_all(node) for name in _names(node))
    return of_all, _names(tree)


def _is_of_all(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets)


def _names(tree: ast.AST) -> frozenset[str]:
    marks = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in NAMES)
    return frozenset(node.attr for node in marks if ast.unparse(node.value).endswith("mark"))
