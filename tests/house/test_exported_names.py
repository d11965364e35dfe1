"""The public names are one list, and each of them is there."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import headwater

PUBLIC = ["HeadwaterError", "__version__", "attach", "detach", "lineage", "operation", "record_operations", "row_wise"]


def test_the_public_names_are_these():
    assert headwater.__all__ == PUBLIC


def test_every_public_name_can_be_had():
    for name in headwater.__all__:
        assert getattr(headwater, name) is not None


def test_an_unknown_name_says_what_there_is():
    with pytest.raises(AttributeError, match="attach"):
        headwater.atach  # noqa: B018  the access is what is tested


def test_every_list_of_names_is_true(root: Path):
    wrong = []
    folders = ("backend", "capture", "graph", "graphql", "spark_listener")
    for path in sorted(path for folder in folders for path in (root / folder).rglob("*.py")):
        name = ".".join(("headwater", *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        if name.endswith("__main__"):
            continue
        module = importlib.import_module(name)
        names = getattr(module, "__all__", [])
        wrong += [f"{name} has no {each}" for each in names if not hasattr(module, each)]
        if len(set(names)) != len(names):
            wrong.append(f"{name} lists a name twice")
    assert not wrong, "\n".join(wrong)


def test_the_version_is_the_distributions(root: Path):
    assert f'version = "{headwater.__version__}"' in (root / "pyproject.toml").read_text()
