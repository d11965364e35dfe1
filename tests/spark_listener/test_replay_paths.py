"""Where a replayed program's paths lead."""

from pathlib import Path

import pytest

from headwater.errors import ConfigurationError, UnsupportedError
from headwater.spark_listener.replay import ReplayOrder, ShadowPaths


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


def test_a_path_that_is_not_local_is_refused_rather_than_overwritten(shadow: ShadowPaths) -> None:
    with pytest.raises(UnsupportedError, match="s3a"):
        shadow.write("s3a://bucket/out")


def test_an_order_survives_its_file_and_a_broken_one_is_named(tmp_path: Path) -> None:
    order = ReplayOrder(replay="a" * 32, shadow="/s", exclude={"file:/data/weather.csv": [1009]}, script_sha256="0" * 64)
    order.save(tmp_path / "order.json")
    assert ReplayOrder.load(tmp_path / "order.json") == order
    (tmp_path / "broken.json").write_text("{}")
    with pytest.raises(ConfigurationError, match="not a replay order"):
        ReplayOrder.load(tmp_path / "broken.json")
