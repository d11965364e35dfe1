"""The jars of our Java classes: one for each tested line of Spark, and one for all others."""

from __future__ import annotations

import re
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from headwater.errors import CaptureUnavailableError
from headwater.spark_listener.capture import jar
from scripts import compile_java


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with jars for two lines, as modules on the path would be found: in a folder, or below it in a zip file."""
    folder = tmp_path / "packages" / "installed"
    (folder / "jars").mkdir(parents=True)
    (folder / "__init__.py").touch()
    for name in ("4.0", "4.1", "plain"):
        (folder / "jars" / f"headwater-{name}.jar").write_text(name)
    monkeypatch.syspath_prepend(tmp_path / "packages")
    monkeypatch.setattr(jar, "_PACKAGE", "installed")
    _forget()
    yield folder
    sys.modules.pop("installed", None)
    _forget()


def _forget() -> None:
    jar.lines.cache_clear()
    jar.jar_for.cache_clear()


@pytest.mark.parametrize(
    ("version", "name"), [("4.0.5", "4.0"), ("4.1.0", "4.1"), ("4.10.0", "plain"), ("3.5.9", "plain"), ("4.2.0-SNAPSHOT", "plain")]
)
def test_a_line_of_spark_has_its_own_jar_and_one_that_is_not_tested_the_plain_one(package: Path, version: str, name: str) -> None:
    assert jar.jar_for(version) == package / "jars" / f"headwater-{name}.jar"


def test_a_line_without_a_jar_names_those_that_have_one(package: Path) -> None:
    assert jar.untried("4.1.4") is None
    assert jar.untried("4.2.1") == "records and columns are followed on Spark 4.0 and 4.1 alone; this is Spark 4.2.1"


def test_a_package_without_jars_says_what_to_install(package: Path) -> None:
    shutil.rmtree(package / "jars")
    with pytest.raises(CaptureUnavailableError, match="has no Java classes"):
        jar.jar_for("4.1.4")
    assert jar.untried("4.1.4") == "this installation of Headwater has no Java classes; this is Spark 4.1.4"


def test_the_jar_of_a_package_in_a_zip_file_is_copied_out(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zipped = shutil.make_archive(str(tmp_path / "zipped"), "zip", package.parent)
    shutil.rmtree(package)
    monkeypatch.syspath_prepend(zipped)
    assert jar.jar_for("4.1.4").read_text() == "4.1"


def test_the_tests_run_with_classes_of_the_sources_as_they_are() -> None:
    for name in compile_java.installed():
        assert compile_java.is_current(name)
        with zipfile.ZipFile(compile_java.jar_path(name)) as archive:
            classes = {re.sub(r"\$.*|\.class$", "", entry) for entry in archive.namelist()}
        expected = {f"headwater/{path.relative_to(compile_java.SOURCES).with_suffix('').as_posix()}" for path in compile_java.sources(name)}
        assert classes == {re.sub(r"/shim/v\d+/", "/shim/", source) for source in expected}


def test_a_changed_source_outdates_the_jars_that_contain_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = tmp_path / "headwater" / "spark_listener" / "jvm"
    shutil.copytree(compile_java.SOURCES, sources)
    monkeypatch.setattr(compile_java, "ROOT", tmp_path)
    monkeypatch.setattr(compile_java, "SOURCES", sources)
    monkeypatch.setattr(compile_java, "__file__", str(tmp_path / "compile_java.py"))
    (tmp_path / "compile_java.py").touch()
    before = {name: compile_java._digest(name) for name in compile_java.ALL}
    changed = {
        "tap/Tap.java": {"4.0", "4.1"},
        "shim/v41/Differences.java": {"4.1"},
        "plain/PlainPlan.java": {"plain"},
    }
    for source, outdated in changed.items():
        text = (sources / source).read_text(encoding="utf-8")
        (sources / source).write_text(text + "\n", encoding="utf-8")
        assert {name for name in compile_java.ALL if compile_java._digest(name) != before[name]} == outdated
        (sources / source).write_text(text, encoding="utf-8")
