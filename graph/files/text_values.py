"""Converts texts of a file's records to values of Spark's types, in DuckDB's SQL.

`convert_text` returns Spark's value to show it in an answer: null if Spark read null. `make_certainty_check` decides whether that value is
certain, which is required if an answer depends on it. Spark parses with Java, which accepts other forms than DuckDB. A decimal may have
commas, a double may be `3d` but not `nan`, and a date may not be `2024/05/01`.
"""

from __future__ import annotations

from collections.abc import Mapping

from headwater.graph.duck.types import INTEGERS, duckdb_type

_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_MODEST = {"DOUBLE": r"([0-9.]|[eE][+-]?[0-9]{1,2}$|[+-]){1,60}", "FLOAT": r"[0-9.+-]{1,30}"}  # far below infinity
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_LOCAL = _DATE + r"[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_ZONED = _LOCAL + r"(Z|[+-][0-9]{2}:[0-9]{2})"
_UTC = frozenset({"utc", "z", "gmt", "etc/utc", "etc/gmt", "uct", "etc/uct", "zulu", "etc/zulu", "universal", "+00:00"})


def convert_text(column: str, spark: str) -> str:
    """Return SQL for a text as a value of Spark's type; null if Spark would read null. Types that DuckDB lacks stay text."""
    kind = duckdb_type(spark)
    if kind is None or kind in ("VARCHAR", "BLOB"):
        return column
    if kind in INTEGERS:
        return f"TRY_CAST(CASE WHEN regexp_full_match({column}, '[+-]?[0-9]+') THEN {column} END AS {kind})"
    if kind == "BOOLEAN":
        return f"CASE lower({column}) WHEN 'true' THEN true WHEN 'false' THEN false END"
    if kind.startswith("DECIMAL"):  # Spark ignores commas at any place
        digits = f"replace({column}, ',', '')"
        return f"TRY_CAST(CASE WHEN regexp_full_match({digits}, '{_NUMBER}') THEN {digits} END AS {kind})"
    if kind in ("FLOAT", "DOUBLE"):
        return _check_floating(f"trim({column}, {_strip_blanks()})", column, kind)
    if kind == "DATE":
        return _convert_date(f"trim({column}, {_strip_blanks()})")
    if kind == "TIMESTAMPTZ":  # an instant in UTC without a zone, as from Parquet
        return f"TRY_CAST({column} AS TIMESTAMPTZ) AT TIME ZONE 'UTC'"
    return f"TRY_CAST({column} AS {kind})"


def make_certainty_check(column: str, spark: str, options: Mapping[str, str]) -> str:
    """Return an SQL condition on a text that is not null: Spark certainly reads the value of `convert_text`.

    `options` are the reader's options.
    """
    kind = duckdb_type(spark)
    if kind in ("VARCHAR", "BOOLEAN"):
        return "true"
    if kind in INTEGERS or (kind or "").startswith("DECIMAL"):
        return f"regexp_full_match({column}, '[\\x00-\\x7F]*')"  # Java accepts digits of other scripts
    if kind in ("FLOAT", "DOUBLE"):
        modest = f"regexp_full_match({column}, '{_MODEST[kind]}') AND regexp_full_match({column}, '{_NUMBER}')"
        return f"(({modest}) OR {column} IN ('NaN', 'nan', 'Inf', '-Inf', 'inf', '-inf', '') OR NOT regexp_matches({column}, '[0-9nN]'))"
    if kind == "DATE":
        return _check_date_form(column, _DATE)
    if kind == "TIMESTAMPTZ":
        utc = {name.lower(): value for name, value in options.items()}.get("timezone", "").lower() in _UTC
        return _check_date_form(column, f"{_LOCAL}|{_ZONED}" if utc else _ZONED)
    return _check_date_form(column, _LOCAL) if kind == "TIMESTAMP" else "false"


def _convert_date(text: str) -> str:
    """Convert text to a date as Spark casts it: a year may be alone, text after the day is ignored, other separators are refused."""
    day = f"regexp_full_match({text}, '[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}([ T].*)?') THEN regexp_extract({text}, '^[0-9-]+')"
    month = f"regexp_full_match({text}, '[0-9]{{4}}-[0-9]{{1,2}}') THEN {text} || '-01'"
    year = f"regexp_full_match({text}, '[0-9]{{4}}') THEN {text} || '-01-01'"
    return f"TRY_CAST(CASE WHEN {day} WHEN {month} WHEN {year} END AS DATE)"


def _check_date_form(column: str, form: str) -> str:
    """Return a condition: the text has this form and a year of today's calendar, or is certainly not a date."""
    return f"((regexp_full_match({column}, '{form}') AND {column} >= '1600') OR NOT regexp_matches({column}, '[0-9]'))"


def _check_floating(trimmed: str, column: str, kind: str) -> str:
    """Return a condition for floating-point text. Spark's special names are exact; Java's may have blanks around them and a suffix."""
    number = f"regexp_replace({trimmed}, '[fFdD]$', '')"
    special = "".join(
        f" WHEN {column} = '{name}' THEN CAST('{value}' AS {kind})"
        for name, value in (("NaN", "nan"), ("Inf", "inf"), ("-Inf", "-inf"), ("Infinity", "inf"), ("-Infinity", "-inf"))
    )
    return f"(CASE{special} WHEN regexp_full_match({number}, '{_NUMBER}') THEN TRY_CAST({number} AS {kind}) END)"


def _strip_blanks() -> str:
    return "concat(" + ", ".join(f"chr({code})" for code in range(1, 33)) + ")"
