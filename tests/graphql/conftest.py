from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from headwater.graph.access.scopes import unrestricted
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.graph.stores.sqlite import SqliteStore
from headwater.graphql.context import Context
from headwater.graphql.schema import schema
from tests.stated import TENANT, state_pipeline


@pytest.fixture
async def context(tmp_path) -> AsyncIterator[Callable[..., Context]]:
    """Makes the context of a request over the small pipeline."""
    graph = SqliteStore(str(tmp_path / "graph.db"))
    await graph.open()
    await state_pipeline(graph)
    records = AssociationStore(tmp_path / "associations", sources=ANYWHERE)

    async def pending() -> int:
        return 3

    def make(**changed: Any) -> Context:
        parts = {"tenant": TENANT, "graph": graph, "records": records, "require": unrestricted, "store": "sqlite", "pending": pending}
        return Context(**{**parts, **changed})

    yield make
    records.close()
    await graph.close()


@pytest.fixture
def ask(context):
    """The data of an answer; fails where there is an error."""

    async def run(document: str, *, of: Context | None = None, **variables: Any) -> Any:
        result = await schema.execute(document, variable_values=variables, context_value=of or context())
        assert not result.errors, result.errors
        return result.data

    return run


@pytest.fixture
def refused(context):
    """The one error of an answer."""

    async def run(document: str, *, of: Context | None = None, **variables: Any) -> Any:
        result = await schema.execute(document, variable_values=variables, context_value=of or context())
        assert result.errors is not None
        (error,) = result.errors
        return error

    return run
