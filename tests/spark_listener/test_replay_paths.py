"""Where a replayed program's paths lead."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.errors import ConfigurationError, UnsupportedError
from headwater.spark_listener.replay import ReplayOrder
from headwater.spark_listener.shadow_paths import ShadowPaths


@pytest.fixture
def shadow(tmp_path: Path) -> ShadowPaths:
    return ShadowPaths(str(tmp_path / "shadow"))


def wrote(shadow: ShadowPaths, path: str) -> Path:
    folder = Path(shadow.write(path))
    folder.mkdir(parents=True)
    (folder / "_SUCCESS").touch()
    return folder


def test_what_is_written_goes_below_the_shadow_root(shadow: ShadowPaths) -> None:
    assert shadow.write("file:///data/out") == f"{shadow.shadow}/data/out"
    assert shadow.write("/data/../data/out/") == f"{shadow.shadow}/data/out"


def test_what_was_written_again_is_read_from_the_shadow_and_the_rest_where_it_is(shadow: ShadowPaths) -> None:
    folder = wrote(shadow, "/data/clean/weather")
    assert shadow.read("/data/clean/weather") == str(folder)
    assert shadow.read("/data/clean/weather/origin=EWR") == f"{folder}/origin=EWR"
    assert shadow.read("/data/raw/weather.csv") == "/data/raw/weather.csv"


def test_a_folder_of_which_a_part_was_written_again_is_refused(shadow: ShadowPaths) -> None:
    wrote(shadow, "/data/clean/weather")
    with pytest.raises(UnsupportedError, match="only in part"):
        shadow.read("/data/clean")
    with pytest.raises(UnsupportedError, match="pattern"):
        shadow.read("/data/clean/*")


@pytest.mark.parametrize("name", ["run #1", "50%25", "a?b", "[x]*", "{a,b}", "b\\s", "a%2Fb", " ", "k=v", "new\nline", "ä"])
def test_nothing_in_a_path_is_an_escape_but_what_makes_a_pattern_of_it_a_name(shadow: ShadowPaths, name: str) -> None:
    folder = wrote(shadow, f"file:/data/{name}")
    assert folder == shadow.shadow / "data" / name
    pattern = re.sub(r"([{}\[\]*?\\])", r"\\\1", name)
    assert shadow.read(f"/data/{pattern}") == f"{shadow.shadow}/data/{pattern}"
    assert shadow.reaches(f"/data/{pattern}", f"/data/{name}/part-0")
    assert not shadow.reaches(f"/data/{pattern}x", f"/data/{name}/part-0")
    assert shadow.write(f"s3a://lake/{name}") == f"file:{shadow.shadow}/s3@lake/{name}"


def test_what_is_written_to_an_object_store_goes_below_the_shadow_root_whatever_its_scheme(shadow: ShadowPaths) -> None:
    assert shadow.write("s3a://lake/out/x/") == shadow.write("s3://lake//out/x") == f"file:{shadow.shadow}/s3@lake/out/x"
    assert shadow.write("hdfs://name:8020/out") == f"file:{shadow.shadow}/hdfs@name%3A8020/out"
    assert shadow.write("abfs://c@a.dfs.core.windows.net/o") == f"file:{shadow.shadow}/abfss@c%40a.dfs.core.windows.net/o"
    assert shadow.write("s3a://lake/%2e%2e/a?b#c") == f"file:{shadow.shadow}/s3@lake/%2e%2e/a?b#c", "keys are taken literally"
    assert shadow.read("s3a://lake/out/x") == "s3a://lake/out/x"
    folder = shadow.folder("s3a://lake/out/x")
    folder.mkdir(parents=True)
    (folder / "_SUCCESS").touch()
    assert shadow.read("s3n://lake/out/x") == f"file:{folder}"
    assert shadow.read("s3n://lake/out/x/k=1") == f"file:{folder}/k=1"
    with pytest.raises(UnsupportedError, match="only in part"):
        shadow.read("s3://lake/out")
    with pytest.raises(UnsupportedError, match="pattern"):
        shadow.read("s3://lake/*/x")


@pytest.mark.parametrize(
    "path", ["ftp://host/out", "jdbc:postgresql://h/d", "s3a://lake/../up", "s3a://lake/a/./b", "s3a:///out", "/s3@lake/out", "s3a:out"]
)
def test_a_path_that_leads_nowhere_sure_is_refused_rather_than_overwritten(shadow: ShadowPaths, path: str) -> None:
    with pytest.raises(UnsupportedError):
        shadow.write(path)


@pytest.mark.parametrize(
    ("read", "reached"),
    [
        ("/data/a", True), ("/data", True), ("/data/*.csv", True), ("/", True), ("/data/a.csv", False), ("/dat", False),
        ("/other/*", False), ("s3a://lake/raw", False),
    ],
)  # fmt: skip
def test_what_a_path_reaches(shadow: ShadowPaths, read: str, reached: bool) -> None:
    assert shadow.reaches(read, "/data/a") is reached
    assert shadow.reaches("s3a://lake/raw", "s3://lake/raw/part-0")
    assert shadow.reaches("s3n://lake/r*", "s3://lake/raw/part-0")
    assert not shadow.reaches("s3a://lake/raw", "s3://lake/raw2")


def test_an_order_survives_its_file_and_a_broken_one_is_named(tmp_path: Path) -> None:
    order = ReplayOrder(replay="a" * 32, shadow="/s", exclude={"file:/data/weather.csv": [1009]}, script_sha256="0" * 64)
    order.save(tmp_path / "order.json")
    assert ReplayOrder.load(tmp_path / "order.json") == order
    (tmp_path / "broken.json").write_text("{}")
    with pytest.raises(ConfigurationError, match="not a replay order"):
        ReplayOrder.load(tmp_path / "broken.json")


def test_an_order_says_whether_the_program_is_captured(tmp_path: Path) -> None:
    for captures in (False, True):
        order = ReplayOrder(replay="1", shadow="/s", exclude={}, script_sha256="0", captures=captures)
        order.save(tmp_path / "order.json")
        assert ReplayOrder.load(tmp_path / "order.json") == order
    (tmp_path / "order.json").write_text('{"replay": "1", "shadow": "/s", "exclude": {}, "script_sha256": "0"}')
    assert not ReplayOrder.load(tmp_path / "order.json").captures


LED = """
import sys
from headwater.spark_listener.replay import ReplayOrder, lead_paths
from pyspark import RDD, SparkContext
from headwater.errors import UnsupportedError
for owner in (RDD, SparkContext):
    for name in dir(owner):
        if name.startswith(("saveAs", "new", "hadoop", "text", "whole", "binary", "pickle", "sequence")):
            setattr(owner, name, lambda self, path=None, *more, name=name, **named: print(name, path))
lead_paths(ReplayOrder("1", sys.argv[1], {}, "0"))
for name in sorted(vars(RDD)):
    if name.startswith("saveAs"):
        try:
            getattr(RDD, name)(None, "/lake/out")
        except UnsupportedError:
            print(name, "refused")
"""


def test_every_way_in_which_an_rdd_is_saved_is_led_or_refused(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", LED, str(tmp_path)], capture_output=True, text=True, check=True, timeout=300)
    saved = dict(line.split() for line in done.stdout.splitlines())
    assert set(saved.values()) == {f"{tmp_path}/lake/out", "refused"}
    assert {name for name, path in saved.items() if path == "refused"} == {"saveAsHadoopDataset", "saveAsNewAPIHadoopDataset"}
    assert {"saveAsTextFile", "saveAsSequenceFile", "saveAsHadoopFile", "saveAsNewAPIHadoopFile", "saveAsPickleFile"} <= set(saved)
