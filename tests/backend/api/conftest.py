"""One real service for all tests of the web face; each test sends things of its own."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.backend.service import ServiceProcess


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    with ServiceProcess(
        tmp_path_factory.mktemp("service"), HEADWATER_MAX_BODY_BYTES="200000", HEADWATER_MAX_SEGMENT_BYTES="300000"
    ) as service:
        yield service


@pytest.fixture
def client(service: ServiceProcess) -> Iterator[httpx.Client]:
    with service.client() as client:
        yield client


@pytest.fixture
def stranger(service: ServiceProcess) -> Iterator[httpx.Client]:
    """Someone without the key."""
    with service.client(key=False) as client:
        yield client
