"""Imports run one way, and the Spark side stays light: read from the sources, so that a lazy import counts too."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

FOLDERS = ("backend", "capture", "graph", "graphql", "spark_listener")

# The permitted imports of a part from Headwater. The most specific part of a module decides; everything may import headwater.errors and
# headwater.paths.
MAY_IMPORT = {
    "headwater": {"headwater"},
    "headwater.backend": {"headwater.backend", "headwater.graphql", "headwater.graph", "headwater.spark_listener", "headwater.examples"},
    # A command may ask a service as any program does.
    "headwater.backend.cli": {
        "headwater.backend",
        "headwater.client",
        "headwater.transport",
        "headwater.graphql",
        "headwater.graph",
        "headwater.spark_listener",
        "headwater.examples",
    },
    "headwater.capture": {"headwater.capture", "headwater.spark_listener", "headwater.graph.associations"},
    "headwater.graph": {"headwater.graph"},
    "headwater.graph.associations": {"headwater.graph.associations"},
    "headwater.graphql": {"headwater.graphql", "headwater.graph"},
    "headwater.spark_listener": {"headwater.spark_listener", "headwater.graph.associations"},
}

# The permitted imports from others, for parts with narrow limits.
LIGHT = {
    "headwater.capture": {"pyarrow"},
    "headwater.graph.associations": {"pyarrow"},
    "headwater.spark_listener": {"attr", "openlineage", "py4j", "pyarrow", "pyspark", "requests", "sqlglot", "typer", "urllib3"},
}
WEB = {"fastapi", "starlette", "strawberry", "uvicorn", "typer", "graphql"}


def _imports(path: Path, module: str) -> Iterator[tuple[str, int]]:
    """Every module that a source imports, wherever in it, with the line."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                base = ".".join([*parts[: len(parts) - node.level + 1], *([base] if base else [])])
            # `from headwater import errors` names the module in the alias.
            for alias in node.names:
                yield (f"{base}.{alias.name}" if base in {"headwater", "headwater.graph"} else base), node.lineno


def _modules(root: Path) -> list[tuple[str, Path]]:
    found = [
        ("headwater", root / "headwater" / "__init__.py"),
        *((f"headwater.{name}", root / "headwater" / f"{name}.py") for name in ("errors", "paths")),
    ]
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found.append((".".join(("headwater", *parts)).removesuffix(".__init__"), path))
    return found


def _part(module: str, parts: dict[str, set[str]]) -> str | None:
    return max((part for part in parts if module == part or module.startswith(f"{part}.")), key=len, default=None)


def _within(module: str, part: str) -> bool:
    return module == part or module.startswith(f"{part}.")


def test_headwaters_parts_import_one_way(root: Path):
    wrong = []
    for module, path in _modules(root):
        allowed = MAY_IMPORT[_part(module, MAY_IMPORT) or "headwater"] | {"headwater.errors", "headwater.paths", "headwater.__version__"}
        for imported, line in _imports(path, module):
            if _within(imported, "headwater") and imported != "headwater" and not any(_within(imported, part) for part in allowed):
                wrong.append(f"{path.relative_to(root)}:{line}: {module} imports {imported}; it may import {', '.join(sorted(allowed))}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("part", LIGHT)
def test_what_runs_in_a_spark_application_needs_the_light_install_alone(root: Path, part: str):
    allowed = LIGHT[part] | {"headwater", "__future__"} | set(sys.stdlib_module_names)
    wrong = [
        f"{path.relative_to(root)}:{line}: {imported}"
        for module, path in _modules(root)
        if _part(module, LIGHT) == part
        for imported, line in _imports(path, module)
        if imported.split(".")[0] not in allowed
    ]
    assert not wrong, "\n".join(wrong)


def _imports_at_run_time(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        elif isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            yield from (found for other in child.orelse for found in _imports_at_run_time(other))
        else:
            yield from _imports_at_run_time(child)


def _imported_modules(path: Path, modules: dict[str, Path]) -> set[str]:
    """The modules of ours that a source imports when it runs, in functions too."""
    imported = set()
    for node in _imports_at_run_time(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        else:
            assert node.level == 0, f"{path} has a relative import"
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            imported |= members if members <= modules.keys() else {str(node.module), *members}
    return imported & modules.keys()


def test_no_modules_import_each_other_in_a_circle(root: Path):
    """Imports for type checks do not count."""
    others = ((f"headwater.{path.stem}", path) for path in (root / "headwater").glob("[!_]*.py"))
    modules = dict(sorted({*_modules(root), *others}))
    imports = {module: _imported_modules(path, modules) - {module} for module, path in modules.items()}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as circle:
        pytest.fail(" imports ".join(reversed(circle.args[1])))


def test_the_graph_knows_no_web_framework(root: Path):
    wrong = [
        f"{path.relative_to(root)}:{line}: {imported}"
        for module, path in _modules(root)
        if _within(module, "headwater.graph")
        for imported, line in _imports(path, module)
        if imported.split(".")[0] in WEB
    ]
    assert not wrong, "\n".join(wrong)


def test_the_graph_knows_spark_in_one_module_at_most(root: Path):
    knowing = {
        module
        for module, path in _modules(root)
        if _within(module, "headwater.graph")
        for imported, _ in _imports(path, module)
        if imported.split(".")[0] in {"pyspark", "py4j"}
    }
    assert len(knowing) <= 1, knowing


def test_graphql_stays_a_namespace_folder(root: Path):
    """With an __init__.py, `import graphql` from the root would find the folder instead of graphql-core."""
    assert not (root / "graphql" / "__init__.py").exists()
    assert not (root / "tests" / "graphql" / "__init__.py").exists()


def test_every_folder_is_linked_into_the_package(root: Path):
    for folder in (*FOLDERS, "examples"):
        link = root / "headwater" / folder
        assert link.is_symlink(), f"headwater/{folder} is no link to ../{folder}"
        assert link.resolve() == root / folder


def test_what_runs_in_every_job_loads_little(root: Path):
    """Each of these takes longer to import than a small program takes to capture: only who sends or reads with them loads them."""
    asked = (
        "import sys, headwater.spark_listener.launch, headwater.spark_listener.scribe, headwater.spark_listener.capture;"
        "sys.exit(str(sorted({'openlineage', 'requests', 'attr', 'pyarrow', 'pydantic', 'typer'} & set(sys.modules)) or ''))"
    )
    done = subprocess.run([sys.executable, "-c", asked], cwd=root, check=False, capture_output=True, text=True)
    assert not done.stderr.strip()


def test_what_follows_records_of_rdds_loads_with_the_first(root: Path):
    hooked = "import sys, headwater.spark_listener.agent, headwater.spark_listener.hooks; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", hooked], cwd=root, check=True, capture_output=True, text=True).stdout.split()
    ours = {name.rpartition(".")[2] for name in loaded if name.startswith("headwater.spark_listener.rdd_records.")}
    assert ours == {"operators", "known", "calls", "sources"}


def test_a_trace_on_the_command_line_loads_no_part_of_the_service(root: Path):
    """Nine tenths of the time of a short trace are imports."""
    asked = (
        "import sys, headwater.backend.cli.quick_trace, headwater.backend.cli.trace_command, headwater.backend.cli.trace_story;"
        "import headwater.backend.workspace, headwater.backend.traces.large_traces;"
        "heavy = {'pydantic', 'pandas', 'fastapi', 'headwater.graph.prov', 'headwater.graph.views', 'headwater.backend.questions'};"
        "sys.exit(str(sorted(heavy & set(sys.modules)) or ''))"
    )
    done = subprocess.run([sys.executable, "-c", asked], cwd=root, check=False, capture_output=True, text=True)
    assert not done.stderr.strip()
