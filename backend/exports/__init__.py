"""Exports for other catalogs: datasets, jobs, column lineage, owners and tags in the formats of DataHub and OpenMetadata.

The command line and the service write the chunks of one `Catalog`. An export must never state more than the graph: unknown
facts are left out. It contains no values of records, and no facets or texts of queries, because they may contain values.
"""

from __future__ import annotations

from headwater.backend.exports.request import CatalogRequest
from headwater.backend.exports.systems import SYSTEMS, Catalog, System, open_catalog

__all__ = ["SYSTEMS", "Catalog", "CatalogRequest", "System", "open_catalog"]
