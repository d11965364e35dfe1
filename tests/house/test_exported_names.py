"""The public names are one list, and each of them is there."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest

import headwater

PUBLIC = ["HeadwaterError", "__version__", "attach"]


def test_the_public_names_are_these():
    assert headwater.__all__ == PUBLIC


def test_every_public_name_can_be_had():
    for name in headwater.__all__:
        assert getattr(headwater, name) is not None


def test_an_unknown_name_says_what_there_is():
    with pytest.raises(AttributeError, match="attach"):
        headwater.atach  # noqa: B018  the access is what is tested


def test_every_list_of_names_is_true():
    wrong = []
    for info in pkgutil.walk_packages(headwater.__path__, "headwater."):
        if info.name.endswith("__main__") or info.name.startswith("headwater.examples."):
            continue
        module = importlib.import_module(info.name)
        names = getattr(module, "__all__", None)
        if names is None:
            continue
        wrong += [f"{info.name} has no {name}" for name in names if not hasattr(module, name)]
        if sorted(set(names)) != sorted(names):
            wrong.append(f"{info.name} lists a name twice")
    assert not wrong, "\n".join(wrong)


def test_the_version_is_the_distributions(root: Path):
    assert f'version = "{headwater.__version__}"' in (root / "pyproject.toml").read_text()
