"""Makes descriptions for a declaration of what a contract states about its datasets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headwater.errors import NotFoundError
from headwater.graph.contracts.check import columns_of, find_datasets
from headwater.graph.contracts.document import Contract
from headwater.graph.model.declaration import Aspect
from headwater.graph.stores import GraphStore


async def statements_of(graph: GraphStore, tenant: str, contract: Contract, named: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the descriptions, owners, stewards and tags that a contract states. Nothing is removed.

    Raises:
        NotFoundError: a table or a column of the contract is not known, so that nothing can be stated about it.
        InvalidQueryError: several datasets have the name of a table.
    """
    found: list[dict[str, Any]] = []
    for table, dataset in await find_datasets(graph, tenant, contract, named):
        if dataset is None:
            raise NotFoundError(f"Nothing is known of {table.called[0]}.", hint="Run the program that writes the dataset first.")
        found += _described(dataset.id, table.description, table.tags)
        for aspect, names in ((Aspect.OWNER, contract.owners), (Aspect.STEWARD, contract.stewards)):
            found += [_stated(dataset.id, aspect, name) for name in names]
        known = {column.name.lower(): column.id for column in await columns_of(graph, tenant, dataset.id)}
        for column in table.columns:
            name = column.name.lower()
            if name in known:
                found += _described(known[name], column.description, column.tags)
            elif "." not in name and (column.description or column.tags):  # a field of a column has no node
                raise NotFoundError(f"{table.name} has no column {column.name}.", hint="`headwater contract check` lists what is missing.")
    return found


def _described(identifier: str, description: str | None, tags: tuple[str, ...]) -> list[dict[str, Any]]:
    texts = [_stated(identifier, Aspect.DESCRIPTION, description)] if description else []
    return [*texts, *(_stated(identifier, Aspect.TAG, tag) for tag in tags)]


def _stated(identifier: str, aspect: Aspect, value: str) -> dict[str, Any]:
    return {"id": identifier, "aspect": aspect.value, "value": value}
