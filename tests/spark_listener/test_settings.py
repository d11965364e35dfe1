"""Options win over the environment, and a wrong one is named."""

from pathlib import Path

import pytest

from headwater.errors import ConfigurationError
from headwater.spark_listener.settings import _VARIABLES, Mode, load_settings


def test_options_win_over_the_environment_and_that_over_defaults() -> None:
    environment = {
        "HEADWATER_MODE": "coarse",
        "HEADWATER_NAMESPACE": "team",
        "OPENLINEAGE_NAMESPACE": "other",
        "HEADWATER_EXIT_WAIT": "2.5",
        "HEADWATER_QUIET": "1",
    }
    settings = load_settings(environment, mode="off", name=None)
    assert settings.mode is Mode.OFF
    assert settings.namespace == "team"
    assert settings.exit_wait == 2.5
    assert settings.quiet
    assert load_settings({}).mode is Mode.AUTO
    assert load_settings({"OPENLINEAGE_NAMESPACE": "other"}).namespace == "other"
    assert load_settings({"HEADWATER_URL": "http://h:1/x/"}).url == "http://h:1/x"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HEADWATER_MODE", "propagated"), ("HEADWATER_EXIT_WAIT", "-1"), ("HEADWATER_SPOOL_BYTES", "many"),
        ("HEADWATER_URL", "localhost:8765"), ("HEADWATER_RDD_RECORDS", "ture"), ("HEADWATER_QUIET", "perhaps"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named(variable: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=value):
        load_settings({variable: value})


@pytest.mark.parametrize("url", ["user:hunter2@host:80", "ftp://user:hunter2@host", "user:p@hunter2@host"])
def test_a_wrong_address_is_told_without_its_password(url: str) -> None:
    with pytest.raises(ConfigurationError, match="host") as told:
        load_settings({"HEADWATER_URL": url})
    assert "hunter2" not in str(told.value)


def test_an_unknown_option_lists_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="namespace"):
        load_settings({}, mod="off")


def test_records_of_rdd_programs_are_captured_by_the_mode_or_where_it_is_asked_for() -> None:
    modes = ("off", "coarse", "lazy", "auto", "active")
    assert [load_settings({"HEADWATER_MODE": mode}).records_rdds for mode in modes] == [False, False, False, True, True]
    assert [load_settings({"HEADWATER_MODE": mode}).spares_rdds for mode in modes] == [False, False, False, True, False]
    assert not load_settings({"HEADWATER_RDD_RECORDS": "true"}).spares_rdds
    assert load_settings({"HEADWATER_RDD_RECORDS": "true"}).records_rdds
    assert not load_settings({"HEADWATER_RDD_RECORDS": "true", "HEADWATER_MODE": "coarse"}).records_rdds
    assert not load_settings({"HEADWATER_RDD_RECORDS": "false", "HEADWATER_MODE": "active"}).records_rdds


def test_the_key_is_not_shown() -> None:
    assert "hw_secret" not in repr(load_settings({"HEADWATER_API_KEY": "hw_secret"}))


def test_every_variable_is_documented(root: Path) -> None:
    page = (root / "docs" / "reference" / "spark-side.md").read_text(encoding="utf-8")
    assert [variable for variable in _VARIABLES.values() if f"`{variable}`" not in page] == []


def test_roots_that_the_service_reads_are_uris_of_folders(tmp_path: Path) -> None:
    settings = load_settings({"HEADWATER_READABLE": "s3://lake/data, hdfs://name:8020/warehouse"}, home=tmp_path)
    assert settings.readable == ("s3://lake/data", "hdfs://name:8020/warehouse")
    settings = load_settings({"HEADWATER_READABLE": "s3://lake/a b/50%25 #1?"}, home=tmp_path)
    assert settings.readable == ("s3://lake/a b/50%25 #1?",), "nothing in a path is an escape"
    for odd in ("lake/data", "s3:/lake", "s3://lake/a\nb", "s3://la ke/a", "/data", "s3://"):
        with pytest.raises(ConfigurationError, match="HEADWATER_READABLE"):
            load_settings({"HEADWATER_READABLE": odd}, home=tmp_path)
