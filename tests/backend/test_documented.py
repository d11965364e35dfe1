"""Every setting, endpoint and exit code of the service is documented."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.backend.app import create_app
from headwater.backend.cli.output import ExitCode
from headwater.backend.home.settings import Settings, load_settings


@pytest.fixture
def page(root: Path) -> str:
    return (root / "docs" / "reference" / "service.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_documented(page: str, name: str) -> None:
    assert f"`HEADWATER_{name.upper()}`" in page


def test_every_endpoint_is_documented(page: str, tmp_path: Path) -> None:
    paths = create_app(load_settings(home=tmp_path)).openapi()["paths"]
    endpoints = [
        f"`{method.upper()} {path}`" for path, methods in paths.items() for method in methods if method != "get" or path != "/graphql"
    ]
    assert len(endpoints) >= 7
    assert [endpoint for endpoint in endpoints if endpoint not in page] == []


@pytest.mark.parametrize("code", ExitCode)
def test_every_exit_code_is_documented(page: str, code: ExitCode) -> None:
    assert f"| {code.value} | " in page
