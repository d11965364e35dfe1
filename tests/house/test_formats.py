"""Code for one file format is a module in the folder of formats."""

import re
from pathlib import Path

_COMPARED = re.compile(r"""format_?\b\s*(?:==|!=|(?:not\s+)?in\s*[({\[])\s*["'(\[{]?|["']\s*(?:==|!=|(?:not\s+)?in)\s*[\w.]*\bformat\b""")


def test_no_module_but_those_of_formats_compares_the_name_of_a_format(root: Path) -> None:
    formats = root / "graph" / "files" / "formats"
    sources = [path for folder in ("graph", "graphql", "backend") for path in (root / folder).rglob("*.py") if formats not in path.parents]
    assert len(sources) > 100
    found = [
        f"{path.relative_to(root)}:{number}: {line.strip()}"
        for path in sources
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if _COMPARED.search(line)
    ]
    assert not found, "let the format say it: graph/files/formats"


def test_the_test_before_knows_a_comparison() -> None:
    for line in ('if shape.format == "csv":', "if 'csv' == sink.format:", 'format_ != "csv"', 'if source.format in {"csv", "text"}:'):
        assert _COMPARED.search(line), line
