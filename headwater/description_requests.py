"""The requests of the clients that describe nodes, read the glossary, and save views of the page."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

_DESCRIPTION = (
    "owners stewards tags tagValues terms description retention legalHold statements { aspect value by at produced removed overruled }"
)
_VIEW = "id name location shared mine owner createdAt changedAt"
_MANY = {"owners": "OWNER", "stewards": "STEWARD", "tags": "TAG", "terms": "TERM"}
_SINGLE = {"description": "DESCRIPTION", "retention": "RETENTION", "legal_hold": "LEGAL_HOLD"}


@dataclass(frozen=True, slots=True)
class Description:
    """The description of a node. `statements` has the author and the time of each part."""

    owners: Sequence[str]
    stewards: Sequence[str]
    tags: Sequence[str]
    tag_values: Sequence[str]
    terms: Sequence[str]
    description: str | None
    retention: str | None
    legal_hold: str | None
    statements: Sequence[Mapping[str, Any]] = field(repr=False)


@dataclass(frozen=True, slots=True)
class GlossaryTerm:
    """A term of the glossary. `broader` is the name of the term above it; `level` counts the terms above it."""

    name: str
    broader: str | None
    level: int
    description: str | None
    owners: Sequence[str]
    stewards: Sequence[str]


@dataclass(frozen=True, slots=True)
class SavedView:
    """A name for an address of the page (`location`). `mine`: the holder of the key saved it."""

    id: str
    name: str
    location: str
    shared: bool
    mine: bool
    owner: str
    created_at: str
    changed_at: str


class _Asks(Protocol):
    def execute(self, document: str, **variables: Any) -> dict[str, Any]: ...


class DescriptionRequests:
    """The methods of `Client` for what people state. Nodes are named by their ids."""

    def description(self: _Asks, node: str) -> Description | None:
        """Return what describes a node, or None if nothing is known of the node."""
        found = self.execute(f"query ($i: ID!) {{ node(id: $i) {{ descriptions {{ {_DESCRIPTION} }} }} }}", i=node)["node"]
        return _description(found["descriptions"]) if found else None

    def describe(
        self: _Asks, node: str, *, owners: Sequence[str] = (), stewards: Sequence[str] = (), tags: Sequence[str] = (),
        terms: Sequence[str] = (), description: str | None = None, retention: str | None = None, legal_hold: str | None = None,
        remove: Mapping[str, Sequence[str]] | None = None,
    ) -> Description:  # fmt: skip
        """Add owners, stewards, tags and terms to a node, set its texts, and return what describes it then.

        `remove` takes them away, whoever stated them: `{"tags": ["pii"], "retention": []}`.
        """
        stated = {"owners": owners, "stewards": stewards, "tags": tags, "terms": terms}
        texts = {"description": description, "retention": retention, "legal_hold": legal_hold}
        changes: list[dict[str, Any]] = [{"aspect": _MANY[part], "value": value} for part, values in stated.items() for value in values]
        changes += [{"aspect": _SINGLE[part], "value": text} for part, text in texts.items() if text is not None]
        for part, values in (remove or {}).items():
            aspect = {**_MANY, **_SINGLE}[part]
            changes += [{"aspect": aspect, "value": value, "removed": True} for value in (values if part in _MANY else [""])]
        document = f"mutation ($n: ID!, $c: [DescriptionChange!]!) {{ describe(node: $n, changes: $c) {{ {_DESCRIPTION} }} }}"
        return _description(self.execute(document, n=node, c=changes)["describe"])

    def glossary(self: _Asks) -> list[GlossaryTerm]:
        """Return the business terms, each after the term above it."""
        found = self.execute("{ glossary { terms { name broader level description owners stewards } } }")["glossary"]["terms"]
        return [GlossaryTerm(**term) for term in found]

    def saved_views(self: _Asks) -> list[SavedView]:
        """Return the views that the holder of the key saved, and those that others share."""
        return [_view(one) for one in self.execute(f"{{ savedViews {{ {_VIEW} }} }}")["savedViews"]]

    def save_view(self: _Asks, name: str, location: str, *, shared: bool = False, replace: bool = False) -> SavedView:
        """Save an address of the page under a name. `replace` allows it to replace a view of the holder of the key with this name."""
        asked = "saveView(name: $n, location: $l, shared: $s, replace: $r)"
        document = f"mutation ($n: String!, $l: String!, $s: Boolean!, $r: Boolean!) {{ {asked} {{ {_VIEW} }} }}"
        return _view(self.execute(document, n=name, l=location, s=shared, r=replace)["saveView"])

    def change_view(self: _Asks, identifier: str, *, name: str | None = None, shared: bool | None = None) -> SavedView:
        """Rename a saved view, or share it or not."""
        document = f"mutation ($i: ID!, $n: String, $s: Boolean) {{ changeView(id: $i, name: $n, shared: $s) {{ {_VIEW} }} }}"
        return _view(self.execute(document, i=identifier, n=name, s=shared)["changeView"])

    def remove_view(self: _Asks, identifier: str) -> None:
        self.execute("mutation ($i: ID!) { removeView(id: $i) { id } }", i=identifier)


class AsyncDescriptionRequests:
    """The methods of `AsyncClient` for what people state. Each calls the method of `Client` on a thread."""

    _client: Any

    async def description(self, node: str) -> Description | None:
        return await asyncio.to_thread(DescriptionRequests.description, self._client, node)

    async def describe(self, node: str, **stated: Any) -> Description:
        return await asyncio.to_thread(DescriptionRequests.describe, self._client, node, **stated)

    async def glossary(self) -> list[GlossaryTerm]:
        return await asyncio.to_thread(DescriptionRequests.glossary, self._client)

    async def saved_views(self) -> list[SavedView]:
        return await asyncio.to_thread(DescriptionRequests.saved_views, self._client)

    async def save_view(self, name: str, location: str, *, shared: bool = False, replace: bool = False) -> SavedView:
        return await asyncio.to_thread(DescriptionRequests.save_view, self._client, name, location, shared=shared, replace=replace)

    async def change_view(self, identifier: str, **changed: Any) -> SavedView:
        return await asyncio.to_thread(DescriptionRequests.change_view, self._client, identifier, **changed)

    async def remove_view(self, identifier: str) -> None:
        await asyncio.to_thread(DescriptionRequests.remove_view, self._client, identifier)


def _description(found: Mapping[str, Any]) -> Description:
    return Description(
        found["owners"], found["stewards"], found["tags"], found["tagValues"], found["terms"], found["description"], found["retention"],
        found["legalHold"], found["statements"],
    )  # fmt: skip


def _view(found: Mapping[str, Any]) -> SavedView:
    return SavedView(
        found["id"], found["name"], found["location"], found["shared"], found["mine"], found["owner"], found["createdAt"],
        found["changedAt"],
    )  # fmt: skip
