"""The requests of the clients that hold, merge and drop blocks of datasets."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

_COLLECTION = "id dataset trash verdicts { sequence version isCollectable reasons files bytes }"
_COMPACTION = "id dataset state error blocks files bytes reasons notes"


class _Asks(Protocol):
    def execute(self, document: str, **variables: Any) -> dict[str, Any]: ...


class BlockRequests:
    """The methods of `Client` for enrolled datasets of the home. Datasets are named by their ids."""

    def enrol_dataset(self: _Asks, dataset: str) -> dict[str, Any]:
        """Allow to merge and drop blocks of a dataset. Needs the scope `admin`."""
        document = "mutation ($d: ID!) { enrolDataset(dataset: $d) { dataset path by at } }"
        return dict(self.execute(document, d=dataset)["enrolDataset"])

    def withdraw_dataset(self: _Asks, dataset: str) -> None:
        """End the enrolment of a dataset."""
        self.execute("mutation ($d: ID!) { withdrawDataset(dataset: $d) }", d=dataset)

    def collect_blocks(self: _Asks, dataset: str, *, keep: int = 1, apply: bool = False, trash_days: float = 7.0) -> dict[str, Any]:
        """List which blocks may be dropped. With `apply`, move their files to a trash folder."""
        document = (
            "mutation ($d: ID!, $k: Int!, $a: Boolean!, $t: Float!) "
            f"{{ collectBlocks(dataset: $d, keep: $k, apply: $a, trashDays: $t) {{ {_COLLECTION} }} }}"
        )
        return dict(self.execute(document, d=dataset, k=keep, a=apply, t=trash_days)["collectBlocks"])

    def compact_blocks(self: _Asks, dataset: str, *, apply: bool = False, trash_days: float = 7.0) -> dict[str, Any]:
        """Show what forbids a merge of the blocks. With `apply`, begin it. Call again without `apply` for its state."""
        document = (
            f"mutation ($d: ID!, $a: Boolean!, $t: Float!) {{ compactBlocks(dataset: $d, apply: $a, trashDays: $t) {{ {_COMPACTION} }} }}"
        )
        return dict(self.execute(document, d=dataset, a=apply, t=trash_days)["compactBlocks"])

    def restore_blocks(self: _Asks, identifier: str) -> str:
        """Undo a collection or a compaction. Returns the folder whose files are back."""
        return str(self.execute("mutation ($i: ID!) { restoreBlocks(id: $i) }", i=identifier)["restoreBlocks"])

    def hold(self: _Asks, node: str, reason: str | None) -> None:
        """Declare a legal hold on a dataset or a version, or end it (None)."""
        described = {"id": node, "aspect": "legalHold", "value": reason or "-", "removed": reason is None}
        self.execute("mutation ($d: JSON!) { declare(declaration: $d) }", d={"descriptions": [described]})


class AsyncBlockRequests:
    """The methods of `AsyncClient` for enrolled datasets. Each calls the method of `Client` on a thread."""

    _client: Any

    async def enrol_dataset(self, dataset: str) -> dict[str, Any]:
        found: dict[str, Any] = await asyncio.to_thread(self._client.enrol_dataset, dataset)
        return found

    async def withdraw_dataset(self, dataset: str) -> None:
        await asyncio.to_thread(self._client.withdraw_dataset, dataset)

    async def collect_blocks(self, dataset: str, **asked: Any) -> dict[str, Any]:
        found: dict[str, Any] = await asyncio.to_thread(self._client.collect_blocks, dataset, **asked)
        return found

    async def compact_blocks(self, dataset: str, **asked: Any) -> dict[str, Any]:
        found: dict[str, Any] = await asyncio.to_thread(self._client.compact_blocks, dataset, **asked)
        return found

    async def restore_blocks(self, identifier: str) -> str:
        return str(await asyncio.to_thread(self._client.restore_blocks, identifier))

    async def hold(self, node: str, reason: str | None) -> None:
        await asyncio.to_thread(self._client.hold, node, reason)
