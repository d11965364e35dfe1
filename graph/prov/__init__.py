"""Provenance in the W3C's model (PROV), for auditors and other tools: docs/guide/prov.md has the mapping."""

from headwater.graph.prov.export import Tracer, export_dataset, export_records, export_run
from headwater.graph.prov.reader import GraphReader

__all__ = ["GraphReader", "Tracer", "export_dataset", "export_records", "export_run"]
