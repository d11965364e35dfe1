"""Exports for other catalogs: datasets, jobs, lineage of columns, owners and tags in the forms that DataHub and OpenMetadata read.

For the command line and the service, which send the chunks of one `Catalog` on. An export must never say more than the graph: what is not
known is left out. It holds no value of any record, and neither facets nor the texts of queries, which may hold some.
"""

from __future__ import annotations

from headwater.backend.catalogs.request import CatalogRequest
from headwater.backend.catalogs.systems import SYSTEMS, Catalog, System, open_catalog

__all__ = ["SYSTEMS", "Catalog", "CatalogRequest", "System", "open_catalog"]
