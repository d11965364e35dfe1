"""The wheel, installed into clean environments: the light one that a cluster installs, and the one with the server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts import compile_java

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200), pytest.mark.xdist_group("wheel")]

FOLDERS = ("backend", "capture", "graph", "graphql", "spark_listener")

# A bare install must never load these: the server's dependencies, and Spark, which is the user's. (pydantic comes with openlineage-python.)
# Modules with subclasses or changes of PySpark's own classes. A job or a trial loads them when it needs them.
OF_PYSPARK = ("headwater.spark_listener.rdd_records.batches", "headwater.spark_listener.trials.warm_context")
HEAVY = {"duckdb", "fastapi", "neo4j", "numpy", "pandas", "pyspark", "starlette", "strawberry", "structlog", "uvicorn"}

# By the distribution's list of files: pkgutil does not walk into graphql/, a namespace folder.
IMPORT_ALL = """
import importlib, importlib.metadata, json, sys
parts, failures, seen = sys.argv[1].split(","), {}, []
for file in importlib.metadata.files("headwater"):
    if file.suffix != ".py" or file.parts[0] != "headwater" or file.parts[1] == "examples" or file.stem == "__main__":
        continue
    name = ".".join(file.with_suffix("").parts).removesuffix(".__init__")
    if not any(name == part or name.startswith(part + ".") for part in parts):
        continue
    try:
        importlib.import_module(name)
        seen.append(name)
    except Exception as error:
        failures[name] = f"{type(error).__name__}: {error}"
print(json.dumps({"seen": seen, "failures": failures, "loaded": sorted({name.partition(".")[0] for name in sys.modules})}))
"""


@dataclass(frozen=True)
class Environment:
    """A virtual environment with the wheel in it, and nothing of this repository on its path."""

    folder: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run one of the environment's own programs, in an empty folder."""
        cwd = self.folder / "empty"
        cwd.mkdir(exist_ok=True)
        env = {"PATH": f"{self.folder / 'bin'}:/usr/bin:/bin", "HOME": str(cwd), "HEADWATER_HOME": str(cwd / "home")}
        program, *arguments = command
        return subprocess.run([str(self.folder / "bin" / program), *arguments], cwd=cwd, env=env, capture_output=True, text=True)

    def imports(self, *parts: str) -> dict:
        """Import every module under these names in a fresh interpreter."""
        done = self.run("python", "-W", "error", "-c", IMPORT_ALL, ",".join(parts))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def _uv(root: Path, *arguments: str, environment: Path | None = None) -> str:
    uv = shutil.which("uv") or str(root / ".tools" / "uv" / "bin" / "uv")
    # Links, as half a gigabyte of Spark is else copied where the cache lies on another disk.
    env = {**os.environ, "UV_PYTHON_DOWNLOADS": "never", "UV_LINK_MODE": "symlink"}
    if environment:
        env["UV_PROJECT_ENVIRONMENT"] = str(environment)
    done = subprocess.run([uv, *arguments], cwd=root, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"uv {' '.join(arguments)}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from what is committed or about to be, as from a clean clone: no leftover of an earlier build gets in."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.split("\0"):
        path = root / name
        if name and not name.startswith(("ui/", "tests/")) and (path.is_symlink() or path.exists()):
            copy = source / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy, follow_symlinks=False)
    compile_java.build()  # else the build does it, for which Maven fetches each version of Spark
    for built in ("backend/page", "spark_listener/jars"):
        if (root / built).is_dir():
            shutil.copytree(root / built, source / built)
    _uv(root, "build", "--quiet", "--wheel", "--out-dir", str(target), str(source))
    (wheel,) = target.glob("*.whl")
    return wheel


def _install(root: Path, folder: Path, wheel: Path, *extras: str) -> Environment:
    """Install the locked dependencies of the extras from uv's cache, and then the wheel, whose own metadata must agree."""
    environment = folder / "env"
    _uv(root, "venv", "--quiet", "--python", str(root / ".venv" / "bin" / "python"), str(environment))
    options = [option for extra in extras for option in ("--extra", extra)]
    _uv(root, "sync", "--quiet", "--frozen", "--no-dev", "--no-install-project", *options, environment=environment)
    _uv(root, "pip", "install", "--quiet", "--no-deps", "--python", str(environment), str(wheel))
    _uv(root, "pip", "check", "--python", str(environment))
    return Environment(environment)


@pytest.fixture(scope="module")
def bare(root: Path, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return _install(root, tmp_path_factory.mktemp("bare"), wheel)


@pytest.fixture(scope="module")
def server(root: Path, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return _install(root, tmp_path_factory.mktemp("server"), wheel, "server")


def _content(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_every_source_is_in_the_wheel(root: Path, wheel: Path):
    expected = {
        f"headwater/{path.relative_to(root)}"
        for folder in FOLDERS
        for pattern in ("*.py", "schema.graphql")
        for path in (root / folder).rglob(pattern)
    }
    assert expected
    assert not expected - _content(wheel)


def test_nothing_else_is_in_the_wheel(wheel: Path):
    strange = [
        name
        for name in _content(wheel)
        if not name.startswith(("headwater/", "headwater-"))
        or "/tests/" in name
        or "__pycache__" in name
        or name.endswith(".draft.graphql")
    ]
    assert not strange


def test_it_has_the_java_classes_for_every_line_of_spark_and_no_sources_of_them(wheel: Path, tmp_path: Path):
    java = {name for name in _content(wheel) if name.endswith((".jar", ".java", ".lock"))}
    assert java == {f"headwater/spark_listener/jars/headwater-{name}.jar" for name in compile_java.ALL}
    with zipfile.ZipFile(wheel) as archive:
        for name in compile_java.ALL:
            packed = archive.extract(f"headwater/spark_listener/jars/headwater-{name}.jar", tmp_path)
            assert Path(packed).read_bytes() == compile_java.jar_path(name).read_bytes()


def test_the_built_page_and_the_examples_travel_with_it(root: Path, wheel: Path):
    built = {f"headwater/{path.relative_to(root)}" for path in (root / "backend" / "page").rglob("*") if path.is_file()}
    examples = {f"headwater/{path.relative_to(root)}" for path in (root / "examples" / "flights").glob("*.py")}
    assert not (built | examples) - _content(wheel)


def test_the_bare_install_imports_what_runs_in_a_job_and_nothing_heavy(bare: Environment):
    found = bare.imports("headwater.errors", "headwater.capture", "headwater.spark_listener", "headwater.graph.associations")
    assert set(found["failures"]) == set(OF_PYSPARK)
    assert "headwater.spark_listener" in found["seen"]
    assert sorted(HEAVY.intersection(found["loaded"])) == []


def test_the_bare_installs_command_teaches(bare: Environment):
    done = bare.run("headwater", "--help")
    assert done.returncode == 0, done.stderr
    for command in ("run", "serve", "trace", "lineage", "export", "replay", "doctor", "demo"):
        assert command in done.stdout


def test_the_bare_install_runs_a_script_as_python_does(bare: Environment, tmp_path: Path):
    script = tmp_path / "plain.py"
    script.write_text("import sys\nprint(__name__, sys.argv[1:])\nsys.exit(3)\n")
    done = bare.run("headwater", "run", str(script), "a", "--b")
    assert (done.returncode, done.stdout) == (3, "__main__ ['a', '--b']\n"), done.stderr


def test_a_command_that_needs_the_server_names_the_extra(bare: Environment):
    done = bare.run("headwater", "serve")
    assert done.returncode != 0
    assert 'pip install "headwater[server]"' in " ".join(done.stderr.split())


def test_the_server_install_imports_every_module(server: Environment):
    found = server.imports("headwater")
    extras = (
        "headwater.graph.stores.neo4j",
        "headwater.backend.process.tracing.setup",
        *OF_PYSPARK,
    )  # Neo4j's driver, OpenTelemetry, PySpark
    failures = {name: error for name, error in found["failures"].items() if not name.startswith(extras)}
    assert failures == {}
    assert {"headwater.backend.app", "headwater.graphql.schema", "headwater.graph.trace"} <= set(found["seen"])


def test_the_server_install_starts_its_commands(server: Environment):
    for command in ("serve", "trace", "lineage", "export", "replay", "doctor", "demo"):
        done = server.run("headwater", command, "--help")
        assert done.returncode == 0, f"headwater {command} --help\n{done.stderr}"
