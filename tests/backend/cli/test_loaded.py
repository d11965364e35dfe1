"""The modules that a short command loads. Imports take most of its time, so each unnecessary library is a part of the wait."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.captured import capture_pipeline

_COMMAND = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
sys.argv = ["headwater", *sys.argv[1:]]
from headwater.backend.cli import main
main()
"""
_SERVICE = {"fastapi", "starlette", "uvicorn", "headwater.backend.app", "headwater.backend.projector.projector"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with captured jobs, completely projected. Their data is in its folder `data`."""
    folder = tmp_path_factory.mktemp("loaded") / "home"
    asyncio.run(capture_pipeline(folder, folder.parent / "data"))
    return folder


def _ran(*arguments: str) -> set[str]:
    """Run a command, and return the names of the modules that it loaded."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HEADWATER_")}
    done = subprocess.run(
        [sys.executable, "-c", _COMMAND, *arguments], capture_output=True, text=True, timeout=120, check=True, env=environment
    )
    assert done.stdout
    return set(json.loads(done.stderr))  # standard error holds nothing else


def test_a_trace_loads_what_finds_records_and_no_more(home: Path) -> None:
    modules = _ran("trace", str(home.parent / "data" / "report"), "--where", "true", "--home", str(home))
    assert not modules & (_SERVICE | {"typer", "pydantic", "pandas", "pyarrow.compute", "pyarrow.dataset", "tenacity", "strawberry"})


def test_a_trace_that_is_printed_for_programs_loads_nothing_that_draws(home: Path) -> None:
    modules = _ran("trace", str(home.parent / "data" / "report"), "--where", "true", "--format", "json", "--home", str(home))
    assert "rich" not in modules


def test_lineage_loads_nothing_that_finds_records(home: Path) -> None:
    modules = _ran("lineage", str(home.parent / "data" / "report"), "--home", str(home))
    assert not modules & (_SERVICE | {"pandas", "duckdb", "pyarrow.compute", "pyarrow.dataset", "tenacity", "headwater.graph.trace.engine"})


def test_help_loads_no_library_of_the_graph() -> None:
    modules = _ran("--help")
    assert not modules & (_SERVICE | {"pydantic", "numpy", "pyarrow", "duckdb", "strawberry", "asyncio"})


def test_a_trace_leaves_nothing_of_its_databases_behind(home: Path) -> None:
    _ran("trace", str(home.parent / "data" / "report"), "--where", "true", "--home", str(home))
    left = [path.name for path in home.rglob("*") if path.name.endswith(("-wal", "-shm", ".tmp")) or path.parent.name == ".spill"]
    assert not left


def test_a_trace_whose_answer_nobody_reads_ends_with_an_error(home: Path) -> None:
    nobody, out = os.pipe()
    os.close(nobody)
    question = ["trace", str(home.parent / "data" / "report"), "--where", "true", "-f", "json", "--home", str(home)]
    done = subprocess.run(
        [sys.executable, "-m", "headwater", *question], stdout=out, stderr=subprocess.PIPE, text=True, timeout=120, check=False
    )
    os.close(out)
    assert done.returncode
    assert "BrokenPipeError" in done.stderr
