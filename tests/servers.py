"""Servers that take seconds to start, once for all tests of a process. Each test has topics and folders of its own there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.kafka_server import Kafka


@pytest.fixture(scope="session")
def broker() -> Iterator[Kafka]:
    """A Kafka of one broker."""
    from tests.kafka_server import kafka  # a library that other tests need not load

    with kafka() as running:
        yield running


@pytest.fixture(scope="session")
def hdfs_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a file system of one data node."""
    from tests.lake import hdfs

    with hdfs(tmp_path_factory.mktemp("hdfs")) as running:
        yield running
