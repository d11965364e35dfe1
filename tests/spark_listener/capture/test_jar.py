"""The compiled classes: kept for the next start, in a folder that only the user may write."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.spark_listener.capture import Bridge
from headwater.spark_listener.capture.jar import compiled_jar, java_sources

pytestmark = pytest.mark.spark


def test_a_jar_is_compiled_once(spark: SparkSession, bridge: Bridge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # `bridge`: a jar of ours is loaded, and must not be what these sources are compiled against
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    jvm = spark.sparkContext._jvm
    first = compiled_jar(jvm, spark.version)
    written = first.stat().st_mtime_ns
    assert compiled_jar(jvm, spark.version) == first
    assert first.stat().st_mtime_ns == written
    assert first.parent == tmp_path / "headwater" / "jvm"
    assert stat.S_IMODE(first.parent.stat().st_mode) == 0o700
    assert compiled_jar(jvm, "another version") != first


def test_a_folder_that_others_may_write_is_not_trusted(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "headwater" / "jvm"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    jar = compiled_jar(spark.sparkContext._jvm, spark.version)
    assert folder not in jar.parents
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("version", ["3.5.9", "4.0.5", "4.1.0", "4.3.0"])
def test_every_source_is_in_the_package_of_its_folder(version: str) -> None:
    sources = java_sources(version)
    assert sources
    for name, text in sources.items():
        package = name.rsplit("/", 1)[0].replace("/", ".")
        assert f"package {package};" in text


def test_a_line_of_spark_has_its_own_classes_and_one_that_is_not_tested_the_plain_ones() -> None:
    assert "headwater/plain/PlainBridge.java" not in java_sources("4.1.0")
    assert "getOuterAttrs" in java_sources("4.1.0")["headwater/shim/Differences.java"]
    assert "getOuterAttrs" not in java_sources("4.0.5")["headwater/shim/Differences.java"]
    assert java_sources("4.0.5").keys() == java_sources("4.1.0").keys()
    assert {name.split("/")[1] for name in java_sources("4.2.0")} == {"plain"}
