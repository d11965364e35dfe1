"""Data contracts of a service, for both clients."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

_REPORT = "name version status ignored clauses { table column demand outcome detail dataset }"
_ARGUMENTS = "$c: JSON!, $d: [ContractDataset!]"


@dataclass(frozen=True, slots=True)
class ContractClause:
    """A demand of a contract. `outcome` is KEPT, BROKEN or UNKNOWN, `detail` says what was found, `dataset` is the id of the dataset."""

    table: str
    column: str | None
    demand: str
    outcome: str
    detail: str
    dataset: str | None


@dataclass(frozen=True, slots=True)
class ContractReport:
    """A checked contract. `ignored` names its service levels that Headwater does not check."""

    name: str
    version: str
    status: str
    clauses: Sequence[ContractClause]
    ignored: Sequence[str]


class _Asks(Protocol):
    def execute(self, document: str, **variables: Any) -> dict[str, Any]: ...


class ContractRequests:
    """The methods of `Client` for data contracts. `contract` is the document, for example from `yaml.safe_load`.

    `datasets` gives the dataset of a table whose name is another one in Headwater.
    """

    def check_contract(self: _Asks, contract: Mapping[str, Any] | str, datasets: Mapping[str, str] | None = None) -> ContractReport:
        """Check datasets against a contract. Nothing is stored, and no row is read."""
        document = f"query ({_ARGUMENTS}) {{ checkContract(contract: $c, datasets: $d) {{ {_REPORT} }} }}"
        found = self.execute(document, c=contract, d=_named(datasets))["checkContract"]
        return ContractReport(**{**found, "clauses": [ContractClause(**each) for each in found["clauses"]]})

    def apply_contract(self: _Asks, contract: Mapping[str, Any] | str, datasets: Mapping[str, str] | None = None) -> int:
        """State the descriptions, tags, owners and stewards of a contract, and return their number."""
        document = f"mutation ({_ARGUMENTS}) {{ applyContract(contract: $c, datasets: $d) }}"
        count: int = self.execute(document, c=contract, d=_named(datasets))["applyContract"]
        return count


class AsyncContractRequests:
    """The methods of `AsyncClient` for data contracts. Each calls the method of `Client` on a thread."""

    _client: Any

    async def check_contract(self, contract: Mapping[str, Any] | str, datasets: Mapping[str, str] | None = None) -> ContractReport:
        return await asyncio.to_thread(ContractRequests.check_contract, self._client, contract, datasets)

    async def apply_contract(self, contract: Mapping[str, Any] | str, datasets: Mapping[str, str] | None = None) -> int:
        return await asyncio.to_thread(ContractRequests.apply_contract, self._client, contract, datasets)


def _named(datasets: Mapping[str, str] | None) -> list[dict[str, str]]:
    return [{"table": table, "dataset": dataset} for table, dataset in (datasets or {}).items()]
