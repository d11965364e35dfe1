"""The same service as for the tests of the API."""

from tests.backend.api.conftest import client, service, stranger

__all__ = ["client", "service", "stranger"]
