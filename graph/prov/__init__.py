"""Provenance in the W3C's model (PROV), for auditors and other tools: docs/guide/prov.md has the mapping."""

from headwater.graph.prov.export import Export, export_column, export_dataset, export_records, export_run, export_view
from headwater.graph.prov.reader import GraphReader
from headwater.graph.prov.view_document import export_shown
from headwater.graph.prov.write import NOTATIONS, ProvFormat, write

__all__ = [
    "NOTATIONS",
    "Export",
    "GraphReader",
    "ProvFormat",
    "export_column",
    "export_dataset",
    "export_records",
    "export_run",
    "export_shown",
    "export_view",
    "write",
]
