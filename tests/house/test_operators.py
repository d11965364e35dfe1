"""One module knows the names of Spark's operators: all others use the stated behaviour of an operator."""

from __future__ import annotations

import ast
from pathlib import Path

from headwater.graph.associations.behaviours import ASSUMED, ASSUMED_JOINS

TABLE = Path("graph/associations/behaviours.py")
NAMES = frozenset(ASSUMED) | frozenset(ASSUMED_JOINS) - {"left", "right", "full", "outer"} | {"Join"}  # the others are words of a page, too


def test_no_module_of_the_graph_but_the_table_knows_an_operator_by_its_name(root: Path):
    named = [
        f"{path.relative_to(root)}:{node.lineno}: {node.value!r}"
        for path in sorted((root / "graph").rglob("*.py"))
        if path.relative_to(root) != TABLE
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in NAMES
    ]
    assert not named, "\n".join(["These decide by a name; let the operator state a behaviour (docs/reference/capture-format.md):", *named])


def test_no_module_of_the_graph_compares_the_name_of_an_operator(root: Path):
    compared = [
        f"{path.relative_to(root)}:{node.lineno}: {ast.unparse(node)}"
        for path in sorted((root / "graph").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Compare)
        and any(isinstance(part, ast.Attribute) and part.attr == "op" for part in (node.left, *node.comparators))
    ]
    assert not compared, "\n".join(compared)
