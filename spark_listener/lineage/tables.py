"""Facets from a catalog: the name of a dataset there (`symlinks`), its levels (`hierarchy`), and the catalog (`catalog`)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from headwater.spark_listener.lineage.facets import Facet, facet, facets
from headwater.spark_listener.lineage.jdbc import LEVELS
from headwater.spark_listener.lineage.naming import address_of, dataset_name
from headwater.spark_listener.redact import redact, redact_address

_SESSION = "spark_catalog"
_FRAMEWORKS = ("iceberg", "delta", "hudi")
_METADATA = {
    "delta": "_delta_log",
    "iceberg": "metadata",
    "hudi": ".hoodie",
}  # the folder of a table's metadata, in the folder of the table
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")


def table_facets(described: Mapping[str, Any]) -> dict[str, Facet]:
    """Return the facets of a source or sink with a name in a catalog or database. Empty for others."""
    table = described.get("table")
    if not table:
        return {}
    levels = [part for part in _parts(str(table)) if part != _SESSION]
    kinds = ["TABLE", "DATABASE", "CATALOG"]
    hierarchy = [
        {"type": kinds[min(place, 2)] if place < len(kinds) else "NAMESPACE", "name": level} for place, level in enumerate(reversed(levels))
    ]
    known = described.get("catalog_of")
    return facets(
        symlinks=facet("symlinks", identifiers=[table_name(str(table), described.get("catalog"))]) if described.get("path") else None,
        hierarchy=facet("hierarchy", hierarchy=hierarchy[::-1]),
        catalog=_catalog(known, described) if isinstance(known, Mapping) else None,
    )


def table_name(table: str, catalog: Any) -> dict[str, str]:
    """Return a table's name in its catalog: `db.table` within the metastore, or within the warehouse's folder without a metastore."""
    if not catalog:
        return {"namespace": "spark", "name": table, "type": "TABLE"}
    if str(catalog).startswith("hive:"):
        namespace = str(catalog)
    else:
        root, folder = dataset_name(str(catalog))
        namespace = address_of((root, folder))
    return {"namespace": namespace, "name": table.removeprefix(f"{_SESSION}."), "type": "TABLE"}


def database_hierarchy(namespace: str, name: str) -> Facet | None:
    """Return the levels of a database table's name (`shop.public.orders`). None for other datasets."""
    kinds = LEVELS.get(namespace.partition("://")[0])
    parts = _parts(name)
    if kinds is None or not parts or len(parts) > len(kinds):
        return None
    named = zip(kinds[-len(parts) :], parts, strict=True)
    return facet("hierarchy", hierarchy=[{"type": kind, "name": part} for kind, part in named])


def _catalog(known: Mapping[str, Any], described: Mapping[str, Any]) -> Facet:
    form, kind = str(described.get("format") or ""), str(known.get("type") or "")
    framework = form if form in _FRAMEWORKS else "hive" if kind == "hive" else "spark"
    return facet(
        "catalog", framework=framework, type=kind or "unknown", name=str(known.get("name") or _SESSION), source="spark",
        warehouseUri=_address(known.get("warehouse")), metadataUri=_address(known.get("uri")),
    )  # fmt: skip


def _address(value: Any) -> str | None:
    if not value:
        return None
    text = str(value)
    if not _URI.fullmatch(text):
        return address_of(dataset_name(text)) if text.startswith("/") else None  # a name for the catalog's service only
    if text.startswith(("file:", "s3", "hdfs:", "webhdfs:", "swebhdfs:", "gs:", "abfs")):
        return address_of(dataset_name(text))
    return redact(redact_address(text)).partition("?")[0] or None


def _parts(name: str) -> list[str]:
    """Return the parts of a dotted name. Parts in quotes or backticks may contain dots."""
    found = re.findall(r'"((?:[^"]|"")*)"|`((?:[^`]|``)*)`|([^.]+)', name)
    return [(quoted or ticked or plain).replace('""', '"').replace("``", "`") for quoted, ticked, plain in found]


def format_at(namespace: str, name: str) -> str:
    """Return the format of the table with metadata in a folder of this machine. Empty if there is no such table."""
    if namespace != "file":
        return ""
    return next((format_ for format_, metadata in _METADATA.items() if os.path.isdir(os.path.join(name, metadata))), "")
