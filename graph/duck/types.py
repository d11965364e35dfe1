"""Maps Spark's types to DuckDB's, if values mean the same in both."""

from __future__ import annotations

import re

_SAME = {
    "boolean": "BOOLEAN", "tinyint": "TINYINT", "byte": "TINYINT", "smallint": "SMALLINT", "short": "SMALLINT", "int": "INTEGER",
    "integer": "INTEGER", "bigint": "BIGINT", "long": "BIGINT", "float": "FLOAT", "real": "FLOAT", "double": "DOUBLE", "string": "VARCHAR",
    "binary": "BLOB",
    "date": "DATE", "timestamp": "TIMESTAMPTZ", "timestamp_ntz": "TIMESTAMP", "timestamp_ltz": "TIMESTAMPTZ",
}  # fmt: skip
_DECIMAL = re.compile(r"(?:decimal|dec|numeric)\((\d{1,2}),\s*(-?\d{1,2})\)")
_TEXT = re.compile(r"(?:var)?char\(\d+\)")

INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")


def duckdb_type(spark: str | None) -> str | None:
    """Return DuckDB's type for a type in Spark's DDL. None if no type has the same values."""
    name = (spark or "").strip().lower()
    if name in _SAME:
        return _SAME[name]
    if _TEXT.fullmatch(name):
        return "VARCHAR"
    if match := _DECIMAL.fullmatch(name):
        return f"DECIMAL({match[1]},{match[2]})"
    return None
