"""The common parts of all tests: workers by resource, and an environment that keeps the developer's own home untouched."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from scripts.compile_java import CompilationError, build, installed
from tests import collected
from tests.demo import demo
from tests.servers import broker, hdfs_url

__all__ = ["broker", "demo", "hdfs_url"]

# Settings of the tests themselves; the last four are those of bench/truth/torture.py.
_OF_TESTS = ("HEADWATER_E2E_", "HEADWATER_PLANS", "HEADWATER_RDD_FAULTS", "HEADWATER_RDD_PROGRAMS", "HEADWATER_ROUNDS", "HEADWATER_SEED")
# One worker runs all tests of a group (`--dist loadgroup`): a JVM a worker is all that two cores and their memory bear.
_GROUPS = {"cluster": "spark", "spark": "spark", "neo4j": "neo4j", "e2e": "e2e"}


# The machine decides about the time of an example. All other settings are Hypothesis' own, which differ in CI.
settings.register_profile("headwater", settings(deadline=None))
settings.load_profile("headwater")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files without a test of the marks that are asked for, and folders without such a file, are not even imported."""
    is_test = collection_path.is_dir() or (collection_path.name.startswith("test_") and collection_path.suffix == ".py")
    return True if is_test and not collected.may_hold(collection_path, config.option.markexpr) else None  # None: as pytest thinks


@pytest.hookimpl(tryfirst=True)  # before what the marks leave out is taken away
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        collected.check(item)
    collected.mark_variants(items)
    for item in items:
        group = next((_GROUPS[name] for name in _GROUPS if item.get_closest_marker(name)), None)
        if group and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(group))


def pytest_configure() -> None:
    """Settings of the developer's shell reach no test, nor any fixture that lives longer than one. Spark loads our current classes."""
    for name in [name for name in os.environ if name.startswith("HEADWATER_") and not name.startswith(_OF_TESTS)]:
        del os.environ[name]
    try:
        build(installed())  # the sources may have changed since the last `make bootstrap`
    except CompilationError as error:
        pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder a test, counted here: `mktemp` would look through all that there are, for each of some thousand tests."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def _own_home(_homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that forgets `home=` writes into a folder of its own, not into ~/.headwater."""
    home = next(_homes)
    home.mkdir()
    monkeypatch.setenv("HEADWATER_HOME", str(home))


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the repository."""
    return Path(__file__).resolve().parent.parent
