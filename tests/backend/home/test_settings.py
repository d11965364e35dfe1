"""Settings come from options, then the environment, then defaults; a wrong one is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.backend.home.settings import load_settings
from headwater.errors import ConfigurationError


def test_options_win_over_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADWATER_PORT", "1234")
    assert load_settings().port == 1234
    assert load_settings(port=5).port == 5
    assert load_settings(port=None).port == 1234
    assert load_settings(home=tmp_path).folder.path == tmp_path


def test_the_default_is_loopback_and_a_file_in_the_home(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "a b")
    assert settings.host == "127.0.0.1"
    assert settings.store_url == f"sqlite:///{tmp_path}/a%20b/graph.db"


def test_lists_are_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_ALLOWED_HOSTS", '["lineage.example.org"]')
    assert load_settings().allowed_hosts == ("lineage.example.org",)


@pytest.mark.parametrize(("name", "value"), [("PORT", "http"), ("PORT", "70000"), ("LOG_LEVEL", "loud"), ("MAX_BODY_BYTES", "0")])
def test_a_wrong_value_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"HEADWATER_{name}", value)
    with pytest.raises(ConfigurationError, match=f"HEADWATER_{name}") as caught:
        load_settings()
    assert value in caught.value.message


def test_the_key_of_the_environment_wins_and_is_never_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADWATER_API_KEY", "a-key-of-the-environment")
    settings = load_settings(home=tmp_path)
    assert settings.key() == "a-key-of-the-environment"
    assert "a-key-of-the-environment" not in repr(settings)


def test_a_list_that_is_not_json_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_ALLOWED_HOSTS", "lineage.example.org")
    with pytest.raises(ConfigurationError, match="allowed_hosts"):
        load_settings()


def test_the_settings_of_both_sides_are_one_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables of the Spark side do not disturb the service."""
    monkeypatch.setenv("HEADWATER_MODE", "coarse")
    monkeypatch.setenv("HEADWATER_URL", "http://127.0.0.1:1")
    assert load_settings().port == 8765
