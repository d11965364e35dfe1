"""The settings of the developer's shell that reach the tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from tests.conftest import pytest_configure


def test_the_number_of_random_programs_reaches_them_and_settings_of_the_product_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_PLANS", "100000")
    monkeypatch.setenv("HEADWATER_MODE", "off")
    pytest_configure()
    assert os.environ["HEADWATER_PLANS"] == "100000"
    assert "HEADWATER_MODE" not in os.environ


def test_an_example_may_take_its_time() -> None:
    assert settings().deadline is None
