"""SQL text for DuckDB: names and literals, and values that a capture recorded as 64 bits."""

from __future__ import annotations

from headwater.graph.duck.types import duckdb_type


class Untranslatable(Exception):  # noqa: N818 - a turn taken, not an error
    """The value cannot be computed in DuckDB as Spark computed it. The message names the value."""


def quoted(name: str) -> str:
    """Return an identifier, quoted for DuckDB."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text, quoted for DuckDB."""
    return "'" + text.replace("'", "''") + "'"


def decoded(value: str, spark: str | None) -> str:
    """Return SQL that decodes a value from its 64 bits (docs: capture format, role `value`)."""
    kind = duckdb_type(spark)
    if kind is None:
        raise Untranslatable(f"a value of the type {spark}")
    if kind == "DATE":
        return f"(DATE '1970-01-01' + CAST({value} AS INTEGER))"
    if kind in {"TIMESTAMP", "TIMESTAMPTZ"}:
        return f"CAST(make_timestamp({value}) AS {kind})"
    if kind.startswith("DECIMAL"):
        scale = int(kind.rstrip(")").split(",")[1])
        return f"CAST(CAST({value} AS DECIMAL(19,0)) * CAST({10.0**-scale:.{scale}f} AS DECIMAL({scale + 1},{scale})) AS {kind})"
    return f"CAST({value} AS {kind})"
