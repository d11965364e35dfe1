from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark_listener.warm_spark import WarmSpark


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Processes started here obey SIGINT, even if the tests run in the background of a shell, which makes processes ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def warm_spark(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmSpark]:
    with WarmSpark(root, tmp_path_factory.mktemp("warm")) as spark:
        yield spark
