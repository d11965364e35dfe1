"""Recognizes the folders of tables. Plain folders of files have no metadata next to them."""

from __future__ import annotations

from pathlib import Path

_METADATA = {"_delta_log": "Delta", ".hoodie": "Hudi", "metadata": "Iceberg"}  # folder in a table -> kind of the table
_OF_ICEBERG = (".metadata.json", ".avro", "version-hint.text")


def table_kind(folder: Path) -> str | None:
    """Return the kind of the table in a folder (Delta, Iceberg or Hudi), or None if the folder holds plain files."""
    for name, kind in _METADATA.items():
        metadata = folder / name
        if metadata.is_dir() and (kind != "Iceberg" or any(entry.name.endswith(_OF_ICEBERG) for entry in metadata.iterdir())):
            return kind
    return None
