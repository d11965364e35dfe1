"""File formats, one module per format. Everything that depends on the format of a file is here.

`get_format` returns the `Format` for a name in manifests. A new format is a module with a subclass of `Format` (`formats/base.py`) and a
line in `FORMAT_MODULES`. Nothing outside of this folder compares the name of a format.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from headwater.graph.files.formats.base import Format

__all__ = ["Format", "get_format"]

FORMAT_MODULES = {
    "avro": "avro:Avro",
    "binaryFile": "binary:Binary",
    "bytes": "record_places:Ranges",
    "csv": "csv:Csv",
    "delta": "delta:Delta",
    "iceberg": "iceberg:Iceberg",
    "jdbc": "jdbc:Jdbc",
    "json": "json:JsonLines",
    "kafka": "kafka:Kafka",
    "local": "local_files:Local",
    "orc": "orc:Orc",
    "parquet": "parquet:Parquet",
    "stream": "record_places:Keyed",
    "table": "record_places:Keyed",
    "text": "text:Text",
    "xml": "xml:Xml",
}


@cache
def get_format(name: str) -> Format:
    """Return the format with a name. Records of an unknown format have numbers, but no values."""
    if name not in FORMAT_MODULES:
        return Format(name)
    module, _, kind = FORMAT_MODULES[name].partition(":")
    made: Format = getattr(import_module(f"{__name__}.{module}"), kind)(name)
    return made
