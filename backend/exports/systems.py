"""The catalogs with an export."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from headwater.backend.exports import datahub, openmetadata
from headwater.backend.exports.request import CatalogRequest
from headwater.graph.stores import GraphStore

_Portions = AsyncIterator[list[dict[str, Any]]]


class System(StrEnum):
    DATAHUB = "datahub"
    OPENMETADATA = "openmetadata"


@dataclass(frozen=True, slots=True)
class _Form:
    media_type: str
    opened: Callable[[GraphStore, str, CatalogRequest], Awaitable[_Portions]]
    written: Callable[[_Portions], AsyncIterator[bytes]]


# A new catalog is a module and a line here.
SYSTEMS = {
    System.DATAHUB: _Form("application/json", datahub.open_datahub, datahub.written),
    System.OPENMETADATA: _Form("application/x-ndjson", openmetadata.open_openmetadata, openmetadata.written),
}


@dataclass(frozen=True, slots=True)
class Catalog:
    """A document to write. `chunks` can be read once."""

    media_type: str
    chunks: AsyncIterator[bytes]


async def open_catalog(graph: GraphStore, tenant: str, system: System, request: CatalogRequest) -> Catalog:
    """Open the export for a catalog. Errors are raised here, before the first chunk.

    Raises:
        InvalidQueryError: the other catalog could not distinguish datasets of two namespaces.
    """
    form = SYSTEMS[system]
    return Catalog(form.media_type, form.written(await form.opened(graph, tenant, request)))
